"""Orthogonal matching pursuit: one column at a time, least squares on those chosen.

    j = argmax |X_j'r|  over columns not chosen,    r = y - X_A b_A,   b_A least squares on A

With `positive` the largest correlation counts, not its size, and b_A is the non-negative
least-squares solution. A column that depends on the chosen ones is passed over.

References: Pati, Rezaiifar and Krishnaprasad 1993; Rubinstein, Zibulevsky and Elad 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.pursuit.active_columns import ActiveColumns

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Pursuit:
    """Columns in the order of their choice, coefficients after each choice, mean squared residual.

    `complete` is False where no column was left that would lower the residual.
    """

    columns: Array
    steps: list[Array]
    rr: float
    complete: bool

    def coef(self, p: int, step: int | None = None) -> Array:
        """(p,), after `step` choices, or after all."""
        found = np.zeros(p)
        if self.steps and step != 0:
            b = self.steps[-1 if step is None else min(step, len(self.steps)) - 1]
            found[self.columns[: len(b)]] = b
        return found


def matching_pursuit(
    design: Design, most: int, *, tol: float | None = None, positive: bool = False
) -> Pursuit:
    """At most `most` columns, until r'r (a mean over the rows) is at most `tol`."""
    active = ActiveColumns(design)
    usable = design.norms > 0
    c, rr = design.q, design.yy
    negligible = active.dependent * float(design.norms.max(initial=0.0)) * np.sqrt(design.yy)
    steps: list[Array] = []
    complete = True
    while active.size < most and not (tol is not None and rr <= tol):
        j = _choice(active, c, usable, negligible, positive)
        if j is None:
            complete = rr <= 1e-10 * design.yy if tol is None else rr <= tol
            break
        columns = np.array(active.columns)
        b = (
            _non_negative(active, design.q[columns])
            if positive
            else active.solve(design.q[columns])
        )
        steps.append(b)
        c, rr = design.correlations(b, columns, None)
    return Pursuit(np.array(active.columns, dtype=np.int64), steps, rr, bool(complete))


def _choice(
    active: ActiveColumns, c: Array, usable: Array, negligible: float, positive: bool
) -> int | None:
    """The column most correlated with the residual among the independent ones, now chosen."""
    size = np.where(usable, c if positive else np.abs(c), 0.0)
    while True:
        j = int(np.argmax(size))
        if not size[j] > negligible:
            return None
        usable[j] = False  # chosen, or dependent on the chosen ones for good
        if active.add(j):
            return j
        size[j] = 0.0


def _non_negative(active: ActiveColumns, q: Array) -> Array:
    """min |R b - z| with b >= 0, the least-squares problem of the chosen columns."""
    z = solve_triangular(active.L, q, lower=True)
    return np.asarray(nnls(np.ascontiguousarray(active.L.T), z)[0])
