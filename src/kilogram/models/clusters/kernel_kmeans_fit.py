"""Where kernel k-means begins, what a given kernel matrix must be, and the road by features."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.models.clusters.centres import first_labels
from kilogram.models.clusters.kmeans import KMeans
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.manifolds.graphs import check_symmetric
from kilogram.solvers.cluster import trace

STARTS = ("k-means++", "random", "farthest")
BLOCK_ENTRIES = 2**22  # of a block of squared distances
ROUNDING = 1e-6  # of the largest entry: so far below 0 may a squared distance come out


def kernel_start(model: Any, space: trace.Space, rng: np.random.Generator) -> np.ndarray:
    """The first centres, a (n, k): combinations of the rows."""
    n, k = len(space.w), int(model.n_clusters)
    a = np.zeros((n, k))
    if not isinstance(model.init, str):
        return trace.means_of(space, first_labels(model.init, n, k), k)
    if model.init not in STARTS:
        raise ValueError(f"init must be one of {STARTS} or labels, got {model.init!r}.")
    if model.init == "farthest":
        chosen = trace.farthest_first(space, k)
    elif model.init == "random":
        some = min(k, int((space.w > 0).sum()))
        chosen = list(rng.choice(n, some, replace=False, p=space.w / space.w.sum()))
        chosen += chosen[: k - some]
    else:
        chosen = trace.greedy(space, k, rng)
    a[chosen, np.arange(len(chosen))] = 1.0
    return a


def on_features(model: Any, kernel: Any) -> tuple[Any, KMeans]:
    """A feature map of the kernel and k-means on it, neither of them fitted."""
    if not isinstance(model.init, str):
        raise ValueError(
            f"init as labels of the rows goes with approximation=None, not {model.approximation!r}."
        )
    maps = {"nystroem": Nystroem, "fourier": FourierFeatures}
    basis = maps[model.approximation](
        kernel=kernel, n_components=model.n_features, random_state=model.random_state
    )
    same = ("init", "n_init", "max_iter", "tol", "max_time", "random_state")
    return basis, KMeans(model.n_clusters, **{name: getattr(model, name) for name in same})


def check_given(K: Any) -> None:
    """Refuse a matrix (n, n) in which rows have squared distances below 0, or two of them."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel matrix is square (n, n), got {tuple(K.shape)}.")
    check_symmetric(K, "A precomputed kernel matrix is symmetric; k(i, j) and k(j, i)")
    xp, n = namespace(K), K.shape[0]
    own, step = xp.linalg.diagonal(K), max(1, BLOCK_ENTRIES // n)
    least = min(
        float(xp.min(own[i : i + step, None] - 2 * K[i : i + step, :] + own[None, :]))
        for i in range(0, n, step)
    )
    if least < -ROUNDING * float(xp.max(xp.abs(K))):
        raise ValueError(
            f"a precomputed kernel matrix holds inner products, but here a squared distance, "
            f"k(i, i) - 2 k(i, j) + k(j, j), is {least:.3g}. If these are distances D, take "
            "KMedoids(metric='precomputed'), or exp(-D**2 / 2) for the matrix."
        )
