"""Moments of random features and targets, without storing the features.

The compiled loop computes a panel of features in cache and adds its products; for other libraries
and sparse rows, blocks of rows are mapped and their moments merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels.row_pairs import as_rows
from kilogram.models.features.fourier_map import FourierMap
from kilogram.native import fourier_scatter
from kilogram.statistics import JointMoments
from kilogram.statistics.moments import pilot, total_weight


def feature_moments(phi: FourierMap, X: Any, Y: Any, w: Any = None) -> JointMoments:
    """JointMoments of phi(X) (n, D) and Y (n, t) or (n,), with weights w (n,)."""
    X = as_rows(X)
    Y = Y if Y.ndim == 2 else Y[:, None]
    if is_numpy(X) and is_numpy(Y):
        return _native_moments(phi, X, Y, w)
    total: Any = 0
    for i, j in _steps(X.shape[0], phi.b.shape[0]):
        total = JointMoments.of(phi(X[i:j, :]), Y[i:j, :], None if w is None else w[i:j]) + total
    return total


def _native_moments(phi: FourierMap, X: Any, Y: Any, w: Any) -> JointMoments:
    q = pilot(Y)  # targets far from 0 are summed near their mean; features are small anyway
    near = Y - q
    largest = float(np.abs(near).max(initial=0.0))
    # targets in the range of float32, by a power of two that changes no digit
    unit = 2.0 ** math.frexp(largest)[1] if not 1e-15 < largest < 1e15 and largest > 0 else 1.0
    sums = fourier_scatter(X, phi.W, phi.b, phi.scale, (near / unit).astype(X.dtype), w)
    W = total_weight(X, w)
    e, f = (sums.x / W, sums.y / W) if W else (0 * sums.x, 0 * sums.y)
    return JointMoments(
        W,
        e,
        sums.xx - (W * e)[:, None] * e,
        q + unit * f,
        unit * (sums.xy - (W * e)[:, None] * f),
        unit**2 * (sums.yy - (W * f)[:, None] * f),
    )


def feature_products(phi: FourierMap, X: Any, A: Any) -> Any:
    """phi(X) A for A (D,) or (D, t), holding a block of features at a time."""
    X = as_rows(X)
    blocks = [phi(X[i:j, :]) @ A for i, j in _steps(X.shape[0], phi.b.shape[0])]
    return blocks[0] if len(blocks) == 1 else namespace(*blocks).concat(blocks, axis=0)


def feature_rows(phi: FourierMap, X: Any) -> Any:
    """phi(X) (n, D), all of it: for the few rows of a wide problem."""
    return phi(as_rows(X))


def _steps(n: int, D: int) -> Iterator[tuple[int, int]]:
    """Bounds of blocks of rows, at least one."""
    step = max(64, BLOCK_ENTRIES // max(1, D))
    return ((i, min(i + step, n)) for i in range(0, max(n, 1), step))
