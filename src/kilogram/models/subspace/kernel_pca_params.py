"""What the parameters of kernel PCA may be, and the objects their names stand for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, namespace
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.arrays.threads import n_threads
from kilogram.base import Budget, Estimate, as_written
from kilogram.base.estimate import within
from kilogram.base.warnings import announce_road
from kilogram.kernels import Gaussian, Kernel, Precomputed, as_kernel
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.features.random_maps import generator
from kilogram.models.subspace.kernel_pca_roads import (
    FULL_COPIES,
    SOLVERS,
    Search,
    positive_part,
)
from kilogram.models.subspace.kernel_projection import BLOCK_ENTRIES, feature_block
from kilogram.models.subspace.pca_roads import Search as LinearSearch
from kilogram.models.subspace.pca_roads import Spectrum, primal
from kilogram.operators import choose_road
from kilogram.operators.memory_plan import rates
from kilogram.solvers.eigen import prefers_full
from kilogram.solvers.eigen.leading import block_width
from kilogram.statistics import Moments

CHOICES = {
    "eigen_solver": SOLVERS,
    "approximation": (None, "nystroem", "fourier"),
    "preimage": ("ridge", "fixed_point"),
}


def check_parameters(model: Any) -> Kernel:
    """The kernel that is meant; parameters that mean nothing are refused with what is allowed."""
    for name, allowed in CHOICES.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}.")
    for name, least in (("n_components", 1), ("max_iter", 1), ("n_features", 1)):
        value = getattr(model, name)
        optional = value is None and name != "n_features"
        if not optional and not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be a whole number from {least}, got {value!r}.")
    power = model.iterated_power
    if power != "auto" and not (isinstance(power, Integral) and int(power) >= 0):
        raise ValueError(f"iterated_power must be 'auto' or a number from 0, got {power!r}.")
    for name in ("tol", "alpha"):
        value = getattr(model, name)
        if not (isinstance(value, Real) and float(value) >= 0):
            raise ValueError(f"{name} must be a number from 0, got {value!r}.")
    kernel = as_kernel(
        model.kernel,
        gamma=model.gamma,
        degree=model.degree,
        coef0=model.coef0,
        params=model.kernel_params,
    )
    _check_way_back(model, kernel)
    return kernel


def check_rows(model: Any, kernel: Kernel, X: Any) -> None:
    """Refuse rows that the exact road cannot take."""
    if is_streamed(X):
        raise ValueError(
            "exact kernel PCA compares all rows with each other: rows that come in blocks need "
            "approximation='nystroem' or 'fourier'."
        )
    n, k = X.shape[0], model.n_components
    if isinstance(kernel, Precomputed) and X.shape[1] != n:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is {X.shape}.")
    if k is not None and k > n:
        raise ValueError(f"n_components={k} is more than the {n} rows of X can have.")
    if not isinstance(kernel, Precomputed):
        model._ensure_squares(X)
        model._ensure_felt(X)


def _check_way_back(model: Any, kernel: Kernel) -> None:
    back = model.fit_inverse_transform or model.preimage == "fixed_point"
    if back and isinstance(kernel, Precomputed):
        raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
    if back and model.approximation is not None:
        raise ValueError(
            "the way back needs the training rows: approximation must be None with "
            "fit_inverse_transform=True or preimage='fixed_point'."
        )
    if model.preimage == "fixed_point" and not isinstance(kernel, Gaussian):
        raise ValueError(
            f"preimage='fixed_point' holds for the Gaussian kernel only, got {kernel!r}: use "
            "preimage='ridge'."
        )


def search_of(model: Any, budget: Budget, tick: Any) -> Search:
    """What the parameters say about the eigenproblem."""
    return Search(
        model.eigen_solver,
        model.tol,
        model.max_iter,
        model.iterated_power,
        rng=lambda: generator(model.random_state),
        callback=tick,
        deadline=budget.deadline,
        max_memory=model.max_memory,
        announce=lambda sentence: announce_road("KernelPCA", sentence),
    )


def pca_of_features(model: Any, kernel: Kernel, X: Any, w: Any) -> tuple[Any, Spectrum]:
    """The feature map that stands in for the kernel, and the principal axes of its features."""
    made = Nystroem if model.approximation == "nystroem" else FourierFeatures
    phi = made(kernel, model.n_features, random_state=model.random_state).fit(X)
    features = as_written(phi)

    def moments(block: Any, v: Any = None) -> Moments:
        return Moments.of(features(block), v)

    sums = reduce_rows(moments, X, w, block_rows=feature_block(model.n_features))
    m = sums.mean.shape[0]
    k = m if model.n_components is None else min(m, model.n_components)
    return phi, primal(sums, k, LinearSearch(), round(sums.weight))


def expected_cost(model: Any, n: int, d: int, dtype: str) -> Estimate:
    """Time and memory of a fit, for `kg.estimate`."""
    k = None if model.n_components is None else min(n, model.n_components)
    if model.approximation is not None:
        m = min(model.n_features, n)
        work = n * m * (d + m / 2) + 4.5 * m**3
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return within(model, n, d, model.approximation, seconds, 8.0 * (3 * m * m + BLOCK_ENTRIES))
    full = prefers_full(n, k)
    road = choose_road(
        n,
        d,
        dtype,
        max_memory=model.max_memory,
        copies=FULL_COPIES if full else 1.0,
        products=0 if full else 10,
        outputs=block_width(k or n, n),
        flops=4.5 * n**3 if full else 0.0,
    )
    fits = road.fits and (road.stores or not full)
    return Estimate("KernelPCA", n, d, road.name, road.seconds, road.bytes, fits, road.reason)


def jobs(n_jobs: int) -> int:
    """Threads meant by scikit-learn's n_jobs: -1 is all, -2 all but one."""
    return n_jobs if n_jobs > 0 else max(1, n_threads() + 1 + n_jobs)


def own_rows(model: Any, X: Any, given: Any) -> Any:
    """The training rows, copied if a change of what was `given` would change them.

    A precomputed kernel is not read again, and a converted table is already our own.
    """
    shared = X is given or (is_numpy(X) and is_numpy(given) and np.may_share_memory(X, given))
    if not shared or not model.copy_X or isinstance(model.kernel_, Precomputed):
        return X
    return X.copy() if is_sparse(X) else namespace(X).asarray(X, copy=True)


def kept_values(model: Any, values: Any) -> Any:
    """The eigenvalues that stay: those above zero, where zeros are not wanted."""
    values = positive_part(values)
    if model.n_components is not None and not model.remove_zero_eig:
        return values
    xp = namespace(values)
    return values[: int(xp.sum(xp.astype(values > 0, xp.int64)))]
