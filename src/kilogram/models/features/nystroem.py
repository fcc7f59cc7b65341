"""Nystroem features: a kernel approximated from m landmarks.

With landmarks c_1 ... c_m among the rows and C = k(C, C),

    phi(x) = k(x, C) C^(-1/2),      <phi(x), phi(y)> = k(x, C) C^(-1) k(C, y),

the projection of both rows on the span of the landmarks in feature space: exact for rows in that
span (all rows, when all are landmarks), and never more than k(x, x) on the diagonal. C^(-1/2) is
taken from the eigenvectors of C; directions whose eigenvalue is rounding are left out.

Landmarks are drawn uniformly, or by k-means++ in feature space: one after another with probability
proportional to the squared distance |phi(x) - phi(c)|^2 = k(x, x) - 2 k(x, c) + k(c, c) from the
nearest landmark so far, which spreads them over the data.

References: Williams and Seeger 2001; Arthur and Vassilvitskii 2007.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_numpy, is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, row_count, take_rows
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, RandomState
from kilogram.base.random_state import as_generator
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.models.features.row_features import RowFeatures
from kilogram.operators.cost import rates

# K-means++ uses a uniform sample of this many rows, or 10 per landmark: its time is linear in them.
SPREAD_ROWS = 20_000


def inverse_root(C: Any, eps: float) -> np.ndarray:
    """C^(-1/2) of a positive semidefinite C (m, m), NumPy, on its numerical range."""
    values, vectors = eigh(C)
    kept = values > values[0] * C.shape[0] * eps
    shrink = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return (vectors * shrink) @ vectors.T


def uniform_landmarks(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """m of n positions, in order."""
    return np.sort(rng.choice(n, size=m, replace=False))


def spread_landmarks(kernel: Kernel, X: Any, m: int, rng: np.random.Generator) -> np.ndarray:
    """m positions among the rows of X by k-means++ in the kernel's feature space."""
    n = row_count(X)
    pool = uniform_landmarks(n, min(n, max(SPREAD_ROWS, 10 * m)), rng)
    rows = take_rows(X, pool)
    own = np.asarray(to_numpy(kernel.diag(rows)), dtype=np.float64)
    chosen = [int(rng.integers(len(pool)))]
    nearest = np.full(len(pool), np.inf)
    while True:
        last = chosen[-1]
        to_last = np.asarray(to_numpy(kernel(rows, take_rows(rows, [last]))))[:, 0]
        nearest = np.minimum(nearest, np.maximum(own - 2.0 * to_last + own[last], 0.0))
        nearest[chosen] = 0.0
        if len(chosen) == m:
            return np.sort(pool[chosen])
        # no distance left: all rows coincide with landmarks, so any other row will do
        weights = nearest if nearest.any() else _unchosen(len(pool), chosen)
        chosen.append(int(rng.choice(len(pool), p=weights / weights.sum())))


def _unchosen(n: int, chosen: list[int]) -> np.ndarray:
    left = np.ones(n)
    left[chosen] = 0.0
    return left


class Nystroem(RowFeatures):
    """Features of any kernel from landmarks among the rows.

    Maps rows to ``phi(x) = k(x, C) k(C, C)^(-1/2)`` for landmarks C, so that
    ``<phi(x), phi(y)>`` approximates ``k(x, y)``, from below on the diagonal.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The kernel; a callable takes two rows and returns a number.
    n_components : int, default=100
        Number of landmarks; at most the number of rows is used.
    gamma : float, "scale" or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    coef0 : float, default=None
        Constant of the polynomial and sigmoid kernels given by name; None is 1.
    degree : int, default=None
        Degree of a polynomial kernel given by name; None is 3.
    kernel_params : dict, default=None
        Further parameters of a kernel given by name, or keyword arguments of a callable.
    landmarks : {"uniform", "kmeans++"}, default="uniform"
        How landmarks are chosen: uniformly, or spread out by k-means++ in feature space, which
        needs fewer of them when the rows are unevenly spread.
    random_state : int, RandomState or None, default=None
        Seed of the choice.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: threads are those of OpenMP and BLAS.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        The landmarks.
    component_indices_ : ndarray of shape (n_components,)
        Positions of the landmarks among the rows.
    normalization_ : array of shape (n_components, n_components)
        k(C, C)^(-1/2).
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    FourierFeatures : Random features, independent of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Gaussian, Nystroem
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> Z = Nystroem(Gaussian(1.0), n_components=50).fit_transform(X)
    >>> np.allclose(Z @ Z.T, Gaussian(1.0)(X))
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="landmarks are rows drawn with equal probability",
        permutation="which rows become landmarks depends on their order",
        textbook="the texts give landmarks one sentence and no algorithm",
        example={"n_components": 20, "random_state": 0},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "landmarks": OneOf("uniform", "kmeans++"),
        "random_state": RandomState(),
        "n_jobs": Integer() | Null(),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        n_components: int = 100,
        *,
        gamma: float | str | None = None,
        coef0: float | None = None,
        degree: int | None = None,
        kernel_params: dict[str, Any] | None = None,
        landmarks: str = "uniform",
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, X: Any) -> None:
        """Choose the landmarks."""
        kernel = self._kernel()
        if not (is_streamed(X) or isinstance(kernel, Precomputed)):
            self._ensure_squares(X)
        kernel = kernel.resolve(X)
        chosen = self._landmarks(kernel, X)
        components = take_rows(X, chosen)
        single = "float32" in str(components.dtype)
        eps = float(np.finfo(np.float32 if single else np.float64).eps)
        root = inverse_root(_host(kernel, components), eps)
        self.kernel_, self.component_indices_, self.components_ = kernel, chosen, components
        self.normalization_ = like(root, components)

    def _features(self) -> Callable[[Any], Any]:
        kernel, C, root = self.kernel_, self.components_, self.normalization_

        def phi(block: Any) -> Any:
            if is_numpy(block) and is_sparse(C):
                return kernel.matmul(block, C.toarray(), root)
            beside = C if is_sparse(C) or is_sparse(block) else like(C, block)
            return kernel.matmul(block, beside, like(root, block))

        return phi

    def _kernel(self) -> Kernel:
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            coef0=1 if self.coef0 is None else self.coef0,
            degree=3 if self.degree is None else self.degree,
            params=self.kernel_params,
        )
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "Nystroem draws landmarks from the rows of X, which a precomputed kernel does not "
                "contain. Pass the kernel itself."
            )
        return kernel

    def _landmarks(self, kernel: Kernel, X: Any) -> np.ndarray:
        """Positions of the landmarks."""
        n, m = row_count(X), int(self.n_components)
        rng = as_generator(self.random_state)
        if m > n:
            warnings.warn(
                f"n_components={m} is more than the {n} rows; all of them become landmarks.",
                stacklevel=3,
            )
            m = n
        if self.landmarks == "uniform":
            return uniform_landmarks(n, m, rng)
        return spread_landmarks(kernel, X, m, rng)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, m = (4 if dtype == "float32" else 8), self.n_components
        work = n * m * (d + m) + 9.0 * m**3  # the eigenvectors of C cost about 9 m^3
        seconds = work / rates(size).multiply_adds + n * m / rates(size).values
        return self._costs(n, d, "all features of transform", seconds, size * n * m + 24 * m * m)


def _host(kernel: Kernel, C: Any) -> np.ndarray:
    """k(C, C) in float64 on the host, where the small eigenproblem is solved."""
    C = C if is_sparse(C) else to_numpy(C)
    return np.asarray(kernel(C.astype(np.float64)), dtype=np.float64)
