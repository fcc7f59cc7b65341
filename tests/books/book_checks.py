"""What the tests of the books share: which items they cover, the two sides of a page, toy data.

A page has two sides, the textbook version and the fast estimator. A test that takes a side
(`fit_pca`, `fit_kernel_pca`, `fit_ridge`, `fit_kernel_ridge`) runs against both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import kernel_pca, kernel_ridge, kernels, pca, ridge
from kilogram.textbook.state import run

Array = np.ndarray[Any, Any]


def covers(*items: str) -> Callable[[Any], Any]:
    """Names the spec items a test stands for; `book_coverage.py` reads them from the source."""

    def named(test: Any) -> Any:
        test.covers = items
        return test

    return named


# the two sides of a page


@dataclass(frozen=True)
class FittedPCA:
    """Directions W (D, m), variances Lambda (m,) with divisor N, and the two maps."""

    mean: Array
    W: Array
    Lambda: Array
    scores: Callable[[Array], Array]
    back: Callable[[Array], Array]


def reference_pca(X: Array, m: int | None = None) -> FittedPCA:
    s = run(pca.pca(X, m))
    W, x_bar = s["W"], s["x_bar"]
    return FittedPCA(
        x_bar,
        W,
        s["Lambda"][: W.shape[1]],
        lambda new: (new - x_bar) @ W,
        lambda scores: run(pca.reconstruct(scores, W, x_bar))["X"],
    )


def fast_pca(X: Array, m: int | None = None) -> FittedPCA:
    model = kg.PCA(n_components=m).fit(X)
    N = len(X)  # explained_variance_ has scikit-learn's divisor N - 1
    return FittedPCA(
        model.mean_,
        model.components_.T,
        model.explained_variance_ * (N - 1) / N,
        model.transform,
        model.inverse_transform,
    )


@dataclass(frozen=True)
class TwoSided:
    """A kernel as the books write it and as the estimators take it."""

    name: str
    reference: Callable[[Array, Array], Array]
    make: Callable[[], Any]

    @property
    def fast(self) -> Any:
        return self.make()


def linear() -> TwoSided:
    return TwoSided("linear", kernels.linear, lambda: kg.Linear())


def gaussian(sigma: float) -> TwoSided:
    return TwoSided(
        f"gaussian {sigma}",
        lambda X, Y: kernels.gaussian(X, Y, sigma),
        lambda: kg.Gaussian(sigma=sigma),
    )


def polynomial(p: int, c: float) -> TwoSided:
    return TwoSided(
        f"polynomial {p} {c}",
        lambda X, Y: kernels.polynomial(X, Y, p, c),
        lambda: kg.Polynomial(degree=p, gamma=1.0, coef0=c),
    )


def all_subsets() -> TwoSided:
    return TwoSided("all subsets", kernels.all_subsets, lambda: kg.AllSubsets())


@dataclass(frozen=True)
class FittedKernelPCA:
    """Training scores (N, m), eigenvalues of the centred kernel matrix, map of new points."""

    X_hat: Array
    Lambda: Array
    scores: Callable[[Array], Array]


def reference_kernel_pca(kernel: TwoSided, X: Array, m: int) -> FittedKernelPCA:
    K = kernel.reference(X, X)
    s = run(kernel_pca.train(K, m))
    return FittedKernelPCA(
        s["X_hat"],
        s["Lambda"],
        lambda new: run(kernel_pca.project(kernel.reference(new, X), K, s["A"]))["X_hat"],
    )


def fast_kernel_pca(kernel: TwoSided, X: Array, m: int) -> FittedKernelPCA:
    model = kg.KernelPCA(n_components=m, kernel=kernel.fast)
    return FittedKernelPCA(model.fit_transform(X), model.eigenvalues_, model.transform)


@dataclass(frozen=True)
class FittedRidge:
    """Weights W (D,) or (D, T), offset b, and the prediction."""

    W: Array
    b: Array
    predict: Callable[[Array], Array]


def reference_ridge(X: Array, Y: Array, lam: float) -> FittedRidge:
    s = run(ridge.ridge(X, Y, lam))
    return FittedRidge(s["W"], s["b"], lambda new: new @ s["W"] + s["b"])


def fast_ridge(X: Array, Y: Array, lam: float) -> FittedRidge:
    model = kg.Ridge(alpha=lam).fit(X, Y)
    return FittedRidge(model.coef_.T, np.asarray(model.intercept_), model.predict)


@dataclass(frozen=True)
class FittedKernelRidge:
    alpha: Array
    predict: Callable[[Array], Array]


def reference_kernel_ridge(kernel: TwoSided, X: Array, y: Array, lam: float) -> FittedKernelRidge:
    alpha = run(kernel_ridge.kernel_ridge(kernel.reference(X, X), y, lam))["alpha"]
    return FittedKernelRidge(alpha, lambda new: kernel.reference(new, X) @ alpha)


def fast_kernel_ridge(kernel: TwoSided, X: Array, y: Array, lam: float) -> FittedKernelRidge:
    model = kg.KernelRidge(alpha=lam, kernel=kernel.fast).fit(X, y)
    return FittedKernelRidge(model.dual_coef_, model.predict)


SIDES = ["textbook", "kilogram"]
pca_sides = pytest.mark.parametrize("fit_pca", [reference_pca, fast_pca], ids=SIDES)
kernel_pca_sides = pytest.mark.parametrize(
    "fit_kernel_pca", [reference_kernel_pca, fast_kernel_pca], ids=SIDES
)
ridge_sides = pytest.mark.parametrize("fit_ridge", [reference_ridge, fast_ridge], ids=SIDES)
kernel_ridge_sides = pytest.mark.parametrize(
    "fit_kernel_ridge", [reference_kernel_ridge, fast_kernel_ridge], ids=SIDES
)


# comparisons


def same_up_to_sign(A: Array, B: Array, tol: float = 1e-8) -> bool:
    """Columns equal up to one sign each, relative to the largest entry of B."""
    if A.shape != B.shape:
        return False
    signs = np.where(np.sum(A * B, axis=0) < 0, -1.0, 1.0)
    return bool(np.max(np.abs(A * signs - B)) <= tol * np.max(np.abs(B)))


def numerical_gradient(f: Callable[[Array], float], w: Array, h: float = 1e-6) -> Array:
    """Central differences, entry by entry."""
    g = np.empty_like(w)
    for i in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[i] = h
        g[i] = (f(w + step) - f(w - step)) / (2 * h)
    return g


# toy data of the texts


def cloud(seed: int, n: int = 60, d: int = 5, offset: float = 3.0) -> Array:
    """A correlated Gaussian cloud away from the origin."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + offset


def rotated_cloud(seed: int, n: int = 500) -> Array:
    """The slides' recipe: N(0, I) scaled by (3, 1), turned by 45 degrees: C = [[5, 4], [4, 5]]."""
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    return np.random.default_rng(seed).standard_normal((n, 2)) @ np.diag([3.0, 1.0]) @ turn.T


def rings(seed: int, radii: tuple[float, float], n: int = 200, noise: float = 0.1):
    """Two noisy concentric circles and their labels 0, 1."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = np.asarray(radii)[label] + noise * rng.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


def xor(seed: int, n: int = 200, std: float = 0.3):
    """Four blobs at (+-1, +-1); the label is the sign of the product of the centre's entries."""
    rng = np.random.default_rng(seed)
    centre = rng.choice([-1.0, 1.0], (n, 2))
    return centre + std * rng.standard_normal((n, 2)), centre[:, 0] * centre[:, 1]


def noisy_sine(seed: int, n: int = 15, noise: float = 0.3):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 2 * np.pi, n))[:, None]
    return x, np.sin(x[:, 0]) + noise * rng.standard_normal(n)
