"""The dual problem of support vector machines, in signed variables.

    min  1/2 b'(K + diag(s)) b - t'b    subject to    sum b = 0,  lower <= b <= upper

with f(x) = sum_i b_i k(x_i, x) + bias. The machines:

    classification, linear slack     C_i xi_i                t = y, b in [0, C_i] or [-C_i, 0]
    classification, quadratic slack  C_i xi_i^2              the same, no upper end, s_i = 1/(2 C_i)
    hard margin                      C = inf                 the same, no upper end, s = 0
    regression, linear slack         C_i (xi_i + xi'_i)      two variables on each point:
                                                             t = y - eps, b in [0, C_i] and
                                                             t = y + eps, b in [-C_i, 0]
    regression, quadratic slack      C_i/2 (xi_i^2 + xi'_i^2)  the same, no ends, s_i = 1/C_i

s comes from the conjugate of the loss: sup_u u r - s u^2 / 2 = r^2 / (2 s).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Array = np.ndarray


class DualProblem(NamedTuple):
    """m variables: the point each stands on, and t, s, lower, upper, all (m,)."""

    point: Array
    t: Array
    s: Array
    lower: Array
    upper: Array

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.point.max()) + 1 if self.point.size else 0


def soft_margin(y: Array, C: Array, *, slack: int) -> DualProblem:
    """Classification of y = +-1 with penalties C > 0 (inf: hard margin), both (n,)."""
    n = y.shape[0]
    positive, zero = y > 0, np.zeros(n)
    if slack == 2:
        ceiling, s = np.full(n, np.inf), 0.5 / C
    else:
        ceiling, s = C, zero
    return DualProblem(
        np.arange(n),
        np.where(positive, 1.0, -1.0),
        np.ascontiguousarray(s, dtype=np.float64),
        np.where(positive, 0.0, -ceiling),
        np.where(positive, ceiling, 0.0),
    )


def tube(y: Array, C: Array, epsilon: float, *, slack: int) -> DualProblem:
    """Regression on y (n,) with a tube of half-width epsilon and penalties C > 0."""
    n = y.shape[0]
    y = np.asarray(y, dtype=np.float64)
    zero = np.zeros(n)
    ceiling, s = (np.full(n, np.inf), 1.0 / C) if slack == 2 else (C, zero)
    return DualProblem(
        np.concatenate([np.arange(n), np.arange(n)]),
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([s, s]).astype(np.float64),
        np.concatenate([zero, -ceiling]),
        np.concatenate([ceiling, zero]),
    )
