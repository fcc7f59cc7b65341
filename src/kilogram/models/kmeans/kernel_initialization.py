"""Initial centres of kernel k-means, the check of a given kernel matrix, and feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import row_slices
from kilogram.base.clustering import first_labels
from kilogram.base.graphs import check_symmetric
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.nystroem import Nystroem
from kilogram.solvers.lloyd import kernel_lloyd as trace

INITIALIZATIONS = ("k-means++", "random", "farthest")
# Of the largest entry: so far below 0 may a squared distance come out, with kernels in float32 (eps
# 1.2e-7).
ROUNDING = 1e-6


def kernel_start(
    space: trace.KernelSpace, init: Any, k: int, rng: np.random.Generator
) -> np.ndarray:
    """The initial centres, a (n, k): combinations of the rows."""
    n = len(space.w)
    a = np.zeros((n, k))
    if not isinstance(init, str):
        return trace.means_of(space, first_labels(init, n, k), k)
    if init == "farthest":
        chosen = trace.farthest_first(space, k)
    elif init == "random":
        some = min(k, int((space.w > 0).sum()))
        chosen = list(rng.choice(n, some, replace=False, p=space.w / space.w.sum()))
        chosen += chosen[: k - some]
    else:
        chosen = trace.greedy(space, k, rng)
    a[chosen, np.arange(len(chosen))] = 1.0
    return a


def feature_map(kernel: Any, name: Any, n_components: int, random_state: Any) -> Any:
    """A feature map of the kernel, "nystroem" or "fourier", not fitted."""
    maps = {"nystroem": Nystroem, "fourier": FourierFeatures}
    return maps[name](kernel=kernel, n_components=n_components, random_state=random_state)


def check_given(K: Any) -> None:
    """Refuse a matrix (n, n) in which rows have squared distances below 0, or two of them."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel matrix is square (n, n), got {tuple(K.shape)}.")
    check_symmetric(K, "A precomputed kernel matrix is symmetric; k(i, j) and k(j, i)")
    xp = namespace(K)
    own = xp.linalg.diagonal(K)
    least = min(
        float(xp.min(own[some, None] - 2 * K[some, :] + own[None, :]))
        for some in row_slices(K, K.shape[0], BLOCK_ENTRIES)
    )
    if least < -ROUNDING * float(xp.max(xp.abs(K))):
        raise ValueError(
            f"a precomputed kernel matrix holds inner products, but here a squared distance, "
            f"k(i, i) - 2 k(i, j) + k(j, j), is {least:.3g}. If these are distances D, take "
            "KMedoids(metric='precomputed'), or exp(-D**2 / 2) for the matrix."
        )
