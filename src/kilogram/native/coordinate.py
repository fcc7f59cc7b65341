"""Coordinate descent on a stored Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.factorization import pad_rows

PENALTIES = {"l1": 0, "mcp": 1, "scad": 2}


class Penalty(NamedTuple):
    """sum_j l1_j |b_j| (or its concave relatives mcp and scad) + l2 / 2 |b|^2, b >= 0 if asked."""

    l1: Array
    l2: float = 0.0
    positive: bool = False
    kind: str = "l1"
    gamma: float = 3.0


def gram_descent(
    G: Array, q: Array, penalty: Penalty, b: Array, h: Array, *, tol: float, max_epochs: int
) -> tuple[int, float]:
    """Improve b (m,) in place, with h = q - G b; the epochs taken and the last largest move.

    Minimises 1/2 b'G b - q'b + penalty(b) over G (m, m); a move is measured as
    |move| sqrt(G_jj + l2). The rows of G may lie further apart than m.
    """
    m = len(b)
    if G.dtype != np.float64 or G.shape != (m, m) or (m and G.strides[1] != 8):
        raise ValueError(f"G must be ({m}, {m}) float64 with contiguous rows")
    if m == 0:
        return 0, 0.0
    epochs, change = _core.gram_descent(
        G, q, penalty.l1, penalty.l2, penalty.positive, PENALTIES[penalty.kind], penalty.gamma,
        b, h, tol, max_epochs,
    )  # fmt: skip
    return int(epochs), float(change)


class PathGoal(NamedTuple):
    """When a solution of a path is good enough, and the epochs that it may take.

    The duality gap; the largest move of coordinate descent at which it is computed first, and the
    smallest.
    """

    gap: float
    tol: float
    finest: float
    max_epochs: int


def gram_path(
    G: Array, q: Array, yy: float, strengths: Array, start: Array, goal: PathGoal, *, positive: bool
) -> tuple[Array, Array]:
    """The elastic net at strengths (k, 2) of (l1, l2), each from the solution before it.

    Minimises 1/2 (yy - 2 q'b + b'G b) + l1 |b|_1 + l2 / 2 |b|^2. Coefficients (s, m) and, for each,
    epochs, duality gap, objective and squared residual (s, 4) of the first s <= k strengths: up to
    the first that takes more than the epochs allowed.
    """
    m, k = len(q), len(strengths)
    if G.dtype != np.float64 or G.shape != (m, m) or (m and G.strides[1] != 8) or len(start) != m:
        raise ValueError(f"G must be ({m}, {m}) float64 with contiguous rows, start ({m},)")
    B, states = np.empty((k, m)), np.empty((k, 4))
    l1, l2 = np.ascontiguousarray(strengths.T, dtype=np.float64)
    solved = _core.gram_path(
        G, q, yy, positive, l1, l2, start, goal.gap, goal.tol, goal.finest, goal.max_epochs, B,
        states,
    )  # fmt: skip
    return B[:solved], states[:solved]


class SparseColumns(NamedTuple):
    """Columns side by side, column j from starts[j] to starts[j + 1], centred at their means.

    Without `rows` (of length 0) each column has all n entries. `curvature` has the squared lengths
    of the centred columns.
    """

    entries: Array
    rows: Array  # int32
    starts: Array  # int64
    mean: Array
    curvature: Array


def column_descent(
    X: SparseColumns, penalty: Penalty, b: Array, r: Array, *, tol: float, max_epochs: int
) -> tuple[int, float]:
    """Improve b (m,) in place, with r = y - X b before centring; epochs and the last largest move.

    Minimises 1/2 |y - (X - ones mean') b|^2 + penalty(b) for y orthogonal to `ones`, a vector of
    length 1 with X'ones = mean; a move is measured as in `gram_descent`.
    """
    m = len(b)
    dense = not len(X.rows) and np.all(np.diff(X.starts) == len(r))
    listed = dense or len(X.rows) >= X.starts[-1]
    if len(X.starts) != m + 1 or not listed or len(X.entries) < X.starts[-1]:
        raise ValueError(f"starts must have length {m + 1} and end within the entries")
    if not len(X.entries):
        b[:] = 0.0
        return min(m, 1), 0.0
    epochs, change = _core.column_descent(
        X.entries, X.rows, X.starts, X.mean, X.curvature,
        penalty.l1, penalty.l2, penalty.positive, PENALTIES[penalty.kind], penalty.gamma,
        b, r, tol, max_epochs,
    )  # fmt: skip
    return int(epochs), float(change)


class Groups(NamedTuple):
    """Consecutive groups: starts (g + 1,), bounds of the curvature (g,), strengths (g,)."""

    starts: Array
    curvature: Array
    strength: Array
    l2: float = 0.0


def group_descent(
    G: Array, groups: Groups, B: Array, H: Array, *, tol: float, max_epochs: int
) -> tuple[int, float]:
    """Improve B (m, t) in place, with H = Q - G B; the epochs taken and the last largest move.

    Minimises 1/2 <B, G B> - <Q, B> + sum_g strength_g |B_g| + l2 / 2 |B|^2 over G (m, m); a move is
    measured as its norm times the root of its curvature. Rows of G may lie further apart than m.
    """
    m = len(B)
    if G.dtype != np.float64 or G.shape != (m, m) or (m and G.strides[1] != 8):
        raise ValueError(f"G must be ({m}, {m}) float64 with contiguous rows")
    if B.shape != H.shape or int(groups.starts[-1]) != m:
        raise ValueError(f"groups must cover the {m} rows of B and H")
    if m == 0:
        return 0, 0.0
    epochs, change = _core.group_descent(
        G, groups.starts, groups.curvature, groups.strength, groups.l2, B, H, tol, max_epochs
    )
    return int(epochs), float(change)


def column_products(X: Array, R: Array) -> Array:
    """X'R (p, k) for X (n, p) in Fortran order and R (n, k) of the same type, reading X once."""
    n, p = X.shape
    if not X.flags.f_contiguous or X.dtype not in (np.float32, np.float64):
        raise ValueError("X must be in Fortran order, of float32 or float64")
    if R.ndim != 2 or len(R) != n or R.dtype != X.dtype:
        raise ValueError(f"R must have shape ({n}, k) and type {X.dtype}")
    wide = pad_rows(R)
    out = np.empty((p, wide.shape[1]), dtype=X.dtype)
    run(_core.column_products, n * p * wide.shape[1], X.T, wide, out)
    return out[:, : R.shape[1]]
