"""The columns that coordinate descent works on, and its descent on them.

    min_b  1/2 |y - X b|^2 + penalty(b)          over the columns X of the working set

Gram form       epochs over the stored Gram matrix of the columns: m^2 at most, whatever the number
                of rows.
Residual form   epochs over the columns themselves, with the residuals kept, where there are fewer
                entries to read.
Direct step     where epochs converge slowly, the linear system of the support gives the solution
                for the present signs; a step towards it ends at the first change of sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.native.coordinate import Penalty, gram_descent
from kilogram.solvers.coordinate.design_columns import ResidualColumns, design_columns, is_residual
from kilogram.solvers.coordinate.designs import Design

Array = np.ndarray[Any, np.dtype[Any]]

#: Epochs before a direct step is tried: designs of low correlation need 10 to 30 in all.
PATIENCE = 30


class WorkingSet:
    """Columns, and their Gram matrix with spare capacity, while that is worth its time.

    `once`: for one strength, not for a path.
    """

    def __init__(self, design: Design, once: bool):
        self.design, self.store, self.once = design, design_columns(design), once
        self.columns = np.empty(0, dtype=np.int64)
        self.G = np.empty((0, 0))
        self.entries: ResidualColumns | None = None  # where an epoch over these is shorter

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def gram(self) -> Array:
        return self.G[: self.size, : self.size]

    def add(self, new: Array) -> Array | None:
        """Columns enter; their Gram entries (m, k) with those before them, if they are stored."""
        m, k = self.size, len(new)
        self.store.append(new)
        if is_residual(self.store) and self.store.shorter_than_gram(self.once):
            self.entries, self.G = self.store, np.empty((0, 0))
        if self.entries is not None:
            self.columns = np.concatenate([self.columns, new])
            return None
        if m + k > len(self.G):
            capacity = min(max(2 * (m + k), 64), max(m + k, len(self.design.q)))
            grown = np.empty((capacity, capacity))
            grown[:m, :m] = self.gram
            self.G = grown
        entries = self.store.entries(k)
        self.G[: m + k, m : m + k] = entries
        self.G[m : m + k, :m] = entries[:m].T
        self.columns = np.concatenate([self.columns, new])
        return entries[:m]

    def gradient(self, b: Array) -> Array:
        """h = q - G b."""
        if self.entries is not None:
            return self.entries.gradient(b, self.entries.residual(b))
        return np.asarray(self.design.q[self.columns] - self.gram @ b)

    def descend(
        self, q: Array, penalty: Penalty, start: tuple[Array, Array], *, tol: float, max_epochs: int
    ) -> tuple[Array, Array, int, bool]:
        """b, h, the epochs and whether moves fell below tol."""
        if self.entries is None:
            return descend_quadratic(self.gram, q, penalty, start, tol=tol, max_epochs=max_epochs)
        b, epochs, settled, patience = start[0], 0, False, PATIENCE
        r = self.entries.residual(b)
        while epochs < max_epochs and not settled:
            # a direct step takes as long as some k / 8 epochs over its k columns
            most = min(max(patience, int(np.count_nonzero(b)) // 8), max_epochs - epochs)
            b, taken, settled = self.entries.descend(penalty, b, r, tol=tol, max_epochs=most)
            epochs, patience = epochs + taken, 2 * patience
            support = np.flatnonzero(b)
            G = None if settled or penalty.kind != "l1" else self.entries.support_gram(support)
            if G is not None:
                b = _direct_step(G, q, penalty, b, support)
                r = self.entries.residual(b)
        return b, self.entries.gradient(b, r), epochs, settled


def descend_quadratic(
    G: Array, q: Array, penalty: Penalty, start: tuple[Array, Array], *, tol: float, max_epochs: int
) -> tuple[Array, Array, int, bool]:
    """Minimise 1/2 b'G b - q'b + penalty(b) by coordinate descent with direct steps.

    From b and h = q - G b, which are changed; b, h, the epochs and whether moves fell below tol.
    """
    b, h = start
    epochs, settled = 0, False
    while epochs < max_epochs and not settled:
        most = min(PATIENCE, max_epochs - epochs)
        taken, change = gram_descent(G, q, penalty, b, h, tol=tol, max_epochs=most)
        epochs += taken
        settled = change <= tol
        if not settled and penalty.kind == "l1":
            support = np.flatnonzero(b)
            b = _direct_step(G[np.ix_(support, support)], q, penalty, b, support)
            h = q - G @ b
    return b, h, epochs, settled


def _direct_step(A: Array, q: Array, penalty: Penalty, b: Array, support: Array) -> Array:
    """Towards the solution for the present signs, up to the first change of a sign.

    A, which is overwritten, has the Gram entries of the support of b.
    """
    if not len(support):
        return b
    now, l1 = b[support], penalty.l1
    A[np.diag_indices_from(A)] += penalty.l2
    try:
        L = cholesky(A, overwrite=True)
        target = cholesky_solve(L, q[support] - l1[support] * np.sign(now))
    except NotPositiveDefinite:
        return b
    move = target - now
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(target * now < 0, -now / move, np.inf)
    length = min(1.0, float(steps.min(initial=np.inf)))
    there = b.copy()
    there[support] = now + length * move
    if length < 1.0:
        there[support[np.argmin(steps)]] = 0.0
    return there
