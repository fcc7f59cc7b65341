"""Distances between rows by the name of a metric or a function of two rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import distance_metrics

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.base.graphs import check_symmetric
from kilogram.functions import distances
from kilogram.kernels import Kernel
from kilogram.kernels.row_pairs import as_rows, row_ones
from kilogram.operators.half_squared_distances import half_squares


def _hamming(X: Any, Y: Any) -> Any:
    """The fraction of features in which two rows differ, as SciPy defines it."""
    return distances.hamming(X, Y) / X.shape[1]


#: Metrics computed on every array library.
OWN = {"cityblock": distances.city_block, "manhattan": distances.city_block, "hamming": _hamming}
#: Metrics of SciPy and scikit-learn, computed on the host.
NAMES = sorted(
    {
        "braycurtis", "canberra", "chebyshev", "correlation", "cosine", "dice", "jaccard",
        "mahalanobis", "matching", "minkowski", "rogerstanimoto", "russellrao", "seuclidean",
        "sokalsneath", "sqeuclidean", "yule",
    }
    | set(distance_metrics())
    - {"precomputed", "haversine"}
)  # fmt: skip


def check_metric(metric: Any, metric_params: Any) -> None:
    """A metric by name, "precomputed" or a callable; parameters only where they are used."""
    named = isinstance(metric, str) and metric in (*OWN, *NAMES, "precomputed")
    if not callable(metric) and not named:
        names = ", ".join(repr(name) for name in [*OWN, *NAMES, "precomputed"])
        raise ValueError(f"metric must be one of {names} or a callable, got {metric!r}.")
    unused = isinstance(metric, str) and metric in (*OWN, "euclidean", "precomputed")
    if metric_params and unused:
        raise ValueError(
            f"metric_params must be None or empty for metric={metric!r}, got {metric_params!r}: "
            "this metric has no parameters."
        )


def row_distances(X: Any, Y: Any, metric: Any, metric_params: Any = None) -> Any:
    """Distances (n, m) of the rows of X and Y, in their library and float type."""
    if isinstance(metric, str) and metric in OWN:
        D = OWN[metric](X, Y)
        return D if is_sparse(X) else namespace(X).astype(D, X.dtype, copy=False)
    A, B = to_numpy(X), to_numpy(Y)
    if isinstance(metric, str) and metric == "euclidean" and is_numpy(A) and is_numpy(B):
        found = distances.euclidean(A, B)
    else:
        found = _computed(A, B, metric, dict(metric_params or {}))
    return found.astype(X.dtype, copy=False) if is_sparse(X) else like(found, X)


def _computed(A: Any, B: Any, metric: Any, params: dict[str, Any]) -> np.ndarray:
    try:
        found = pairwise_distances(A, B, metric=metric, **params)
    except TypeError as error:
        raise ValueError(
            f"metric_params={params or None!r} do not suit metric={metric!r}."
        ) from error
    except ValueError as error:
        raise ValueError(
            f"metric={metric!r} with metric_params={params or None!r} failed on these rows: {error}"
        ) from error
    if not np.isfinite(found).all() or found.min(initial=0.0) < 0:
        raise ValueError(
            f"metric={metric!r} must give finite distances of at least 0; it gave NaN, infinite or "
            "negative ones for some pairs of rows."
        )
    return np.asarray(found, dtype=np.float64)


class HalfSquares(Kernel):
    """-d(x, y)^2 / 2 for a metric: a kernel once centred."""

    def __init__(self, metric: Any, metric_params: Any = None):
        self.metric = metric
        self.metric_params = metric_params

    def formula(self, X: Any, Y: Any) -> Any:
        return half_squares(
            row_distances(X, X if Y is None else Y, self.metric, self.metric_params)
        )

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X), 0.0)


def check_distances(D: Any) -> None:
    """A symmetric matrix of dissimilarities, none negative."""
    xp = namespace(D)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"Precomputed distances must be square (n, n), got {tuple(D.shape)}.")
    if float(xp.min(D)) < 0:
        raise ValueError(f"Distances must not be negative, the smallest is {float(xp.min(D)):g}.")
    check_symmetric(D, "Distances must be symmetric; d(i, j) and d(j, i)")
