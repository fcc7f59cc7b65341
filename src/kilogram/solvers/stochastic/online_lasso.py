"""The lasso by stochastic proximal gradient steps, one row a step.

    min_{w, b}  1/(2 C) sum_i c_i (y_i - <w, x_i> - b)^2 + alpha |w|_1        C = sum_i c_i

    e = y - <w, x> - b     w <- S(w + eta c e x, eta c alpha)     b <- b + eta c e

S is the soft threshold, eta = eta0 t^-power, and eta c is cut at 1 / (|x|^2 + 1), where the step
would overshoot the row's own target: rows of any scale are handled. The iterates have exact zeros;
the solution is their mean with weights t (t + 1) (t + 2), which needs to know no number of steps
beforehand and has about the variance of the mean of the last half.

References: Robbins and Monro 1951; Duchi and Singer 2009; Shamir and Zhang 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.native.stochastic import LassoState, SingleRows, online_lasso_pass

Array = np.ndarray[Any, np.dtype[Any]]


class LassoRule(NamedTuple):
    """The penalty, the step sizes eta0 t^-power, and whether there is an intercept."""

    alpha: float
    eta0: float
    power: float
    intercept: bool


@dataclass
class OnlineLassoState:
    """The iterate, the mean of the iterates, and the number of steps; changed in place."""

    arrays: LassoState
    steps: int = 0

    @classmethod
    def zero(cls, d: int) -> OnlineLassoState:
        return cls(LassoState(np.zeros(d), np.zeros(d), np.zeros(2)))

    def copy(self) -> OnlineLassoState:
        """A copy, to be changed while this one stays as it is."""
        return OnlineLassoState(LassoState(*(a.copy() for a in self.arrays)), self.steps)

    def solution(self, *, average: bool) -> tuple[Array, float]:
        """Coefficients and intercept: the mean of the iterates, or the last."""
        w, mean, b = self.arrays
        return (mean, float(b[1])) if average else (w, float(b[0]))


def online_lasso_steps(
    X: Any, y: Array, c: Array | None, order: Array, rule: LassoRule, state: OnlineLassoState
) -> float:
    """Steps over the rows of X (n, d) in this order: the summed loss before each step."""
    if is_sparse(X):
        X = X.tocsr()
        rows = SingleRows(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
    else:
        rows = SingleRows(np.ascontiguousarray(X).reshape(-1), None, None)
    pace = (rule.eta0, rule.power, rule.alpha)
    loss, longest = online_lasso_pass(
        rows, y, c, order, pace, rule.intercept, state.arrays, float(state.steps)
    )
    state.steps += len(order) if c is None else int(np.count_nonzero(c[order]))
    for name, size in (("X", longest), ("y", loss)):
        if not np.isfinite(size):
            raise ValueError(
                f"the squares of the values of {name} overflow. Divide them by their scale first."
            )
    return loss
