"""Kernel sums over windows of sorted rows, and the growth of density trees.

Kinds of kernel, as functions of u in units of the bandwidth: "gaussian" exp(-u^2/2), "exponential"
exp(-|u|), "tophat" 1, "epanechnikov" 1 - u^2, "linear" 1 - |u|, "cosine" cos(pi u / 2), the last
four within |u| < 1. They are not normalised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.cancel import CancelFlag, Cancelled

KINDS = ("gaussian", "exponential", "tophat", "epanechnikov", "linear", "cosine")
PADDING = 32  # zeros after the rows: the loops read whole strips, of 32 at most


class ColumnMajorRows(NamedTuple):
    """Rows column by column, Y (d, n + PADDING), and their weights w (n + PADDING,)."""

    Y: Array
    w: Array

    @classmethod
    def of(cls, X: Array, w: Array) -> ColumnMajorRows:
        """Rows X (n, d) and weights w (n,), prepared for the native loops."""
        n, d = X.shape
        Y, padded = np.zeros((d, n + PADDING)), np.zeros(n + PADDING)
        Y[:, :n] = X.T
        padded[:n] = w
        return cls(Y, padded)

    @property
    def n(self) -> int:
        return len(self.w) - PADDING


def density_sums(
    kind: str, rows: ColumnMajorRows, Q: Array, lo: Array, hi: Array, *, product: bool = False
) -> Array:
    """sum_j w_j k(q_i - y_j) over the windows lo[i, s] <= j < hi[i, s], (m,); Q is (m, d).

    `product` multiplies the kernels of the columns instead of taking that of the distance.
    """
    Q = np.ascontiguousarray(Q, dtype=np.float64)
    lo, hi = (np.ascontiguousarray(a, dtype=np.int64) for a in (lo, hi))
    out = np.empty(len(Q))
    work = float(np.maximum(hi - lo, 0).sum()) * (Q.shape[1] + 16)
    run(_core.density_sums, work, KINDS.index(kind), product, rows.Y, rows.w, Q, lo, hi, out)
    return out


def exponential_line(y: Array, w: Array, q: Array) -> Array:
    """sum_j w_j exp(-|q_i - y_j|), (m,), for sorted y (n,) and sorted q (m,)."""
    y, w, q = (np.ascontiguousarray(a, dtype=np.float64) for a in (y, w, q))
    out = np.empty(len(q))
    _core.exponential_line(y, w, q, out)
    return out


class GrownDensityTree(NamedTuple):
    """Nodes of a tree: column (-1 in leaves), children, threshold, weight and gain of each."""

    feature: Array
    left: Array
    right: Array
    threshold: Array
    mass: Array
    gain: Array


def grow_density_tree(
    X: Array,
    w: Array,
    box: Array,
    *,
    likelihood: bool,
    max_depth: int,
    limits: Array,
    columns: int,
    seed: int,
    cancel: CancelFlag | None = None,
) -> GrownDensityTree:
    """Grow a tree on rows X (n, d) with weights w in the box (2, d), lower and upper ends.

    limits: least weight of a node to be split, least weight of a leaf, least density and least
    gain to go on, least side of a child as a fraction of the root's, distance of a cut from a value
    as a fraction of the node's side, least fraction of a node's weight in a child. `columns` are
    tried for each split.
    """
    X = np.ascontiguousarray(X.T, dtype=np.float64)
    n = X.shape[1]
    order = np.argsort(X, axis=1, kind="stable").astype(np.int32)
    leaves = min(float(n), max(float(w.sum()) / max(limits[1], 1e-300), 1.0))
    capacity = 2 * int(np.ceil(leaves)) + 3
    links, values = np.empty((3, capacity), np.int32), np.empty((3, capacity))
    w, box, limits = (np.ascontiguousarray(a, dtype=np.float64) for a in (w, box, limits))
    count = _core.grow_density_tree(
        X,
        order,
        w,
        box,
        likelihood,
        max_depth,
        limits,
        columns,
        seed,
        (CancelFlag() if cancel is None else cancel).value,
        links,
        values,
    )
    if count < 0:
        raise Cancelled
    return GrownDensityTree(*(a[:count].copy() for a in (*links, *values)))
