"""Stochastic gradient steps on t linear one-vs-rest classifiers.

    w_k <- (1 - eta l2) w_k - eta (1/|B|) sum_{i in B} c_i loss'(y_ik, f_ik) x_i
    eta  = eta0 / (1 + s / tau)^power         s: steps so far

A step of the squared loss never overshoots the row's own target (eta <= 1 / (|x|^2 + 1)), so rows
of any scale are handled. One row a step runs in native code, batches in NumPy. The mean of all
iterates is kept by adding each change times the number of steps before it.

References: Robbins and Monro 1951; Rosenblatt 1958; Widrow and Hoff 1960; Polyak and Juditsky 1992.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.functions.online_losses import LOSSES
from kilogram.native.logistic import OnlineMean, OnlineRows, online_pass

Array = np.ndarray


class StepSchedule(NamedTuple):
    """Step sizes eta0 / (1 + s / tau)^power and the l2 penalty."""

    eta0: float
    tau: float
    power: float
    l2: float

    def eta(self, step: float) -> float:
        # the power itself may overflow, where the step is 0
        return self.eta0 * math.exp(-self.power * math.log1p(step / self.tau))


class UpdateRule(NamedTuple):
    """The loss, the step sizes, whether there is an intercept, and the rows in a batch."""

    loss: str
    pace: StepSchedule
    intercept: bool = True
    batch: int = 1


@dataclass
class OnlineMachines:
    """W (t, d) and b (t,), changed in place; the steps taken; the sums for the mean of iterates."""

    W: Array
    b: Array
    steps: float = 0.0
    mean: OnlineMean | None = field(default=None)

    @classmethod
    def zero(cls, t: int, d: int, averaged: bool) -> OnlineMachines:
        mean = OnlineMean(np.zeros((t, d)), np.zeros(t)) if averaged else None
        return cls(np.zeros((t, d)), np.zeros(t), 0.0, mean)

    def copy(self) -> OnlineMachines:
        """A copy, to be changed while this one stays as it is."""
        mean = None if self.mean is None else OnlineMean(self.mean.W.copy(), self.mean.b.copy())
        return OnlineMachines(self.W.copy(), self.b.copy(), self.steps, mean)

    def averaged(self) -> tuple[Array, Array]:
        """The mean over the steps of W and b; the latest where none is kept."""
        if self.mean is None or self.steps == 0:
            return self.W, self.b
        return self.W - self.mean.W / self.steps, self.b - self.mean.b / self.steps


class OnlineData(NamedTuple):
    """Rows in memory, codes of their classes (0..), weights (or None)."""

    X: Any
    codes: Array
    c: Array | None


def one_pass(
    data: OnlineData, order: Array, rule: UpdateRule, machines: OnlineMachines
) -> tuple[float, int]:
    """Steps over the rows in this order: the summed loss before each step, and the changes."""
    order = np.ascontiguousarray(order, dtype=np.int64)
    if rule.batch > 1:
        return _in_batches(data, order, rule, machines)
    X: Any = data.X.tocsr() if is_sparse(data.X) else np.ascontiguousarray(data.X)
    codes = np.ascontiguousarray(data.codes, dtype=np.int64)
    if is_sparse(X):
        rows = OnlineRows(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), codes)
    else:
        rows = OnlineRows(X.reshape(-1), None, None, codes)
    found = online_pass(
        rows, data.c, order, rule.loss, np.array(rule.pace, dtype=np.float64),
        rule.intercept, (machines.W, machines.b), machines.mean, machines.steps,
    )  # fmt: skip
    machines.steps += len(order) if data.c is None else int(np.count_nonzero(data.c[order]))
    return found


def _in_batches(
    data: OnlineData, order: Array, rule: UpdateRule, machines: OnlineMachines
) -> tuple[float, int]:
    loss, t = LOSSES[rule.loss], len(machines.b)
    total, changes = 0.0, 0
    for start in range(0, len(order), rule.batch):
        at = order[start : start + rule.batch]
        X = data.X[at]
        own = (data.codes[at] == 1)[:, None] if t == 1 else data.codes[at][:, None] == np.arange(t)
        Y = np.where(own, 1.0, -1.0)
        weight = np.ones((len(at), 1)) if data.c is None else data.c[at][:, None]
        F = np.asarray(X @ machines.W.T, dtype=np.float64) + machines.b
        slopes = weight * loss.slope(Y, F)
        total, changes = total + float(np.sum(weight * loss.value(Y, F))), changes + 1
        eta = rule.pace.eta(machines.steps)
        if rule.loss == "squared":
            squares = X.multiply(X).sum() if is_sparse(X) else float(np.sum(np.square(X)))
            eta = min(eta, len(at) / max(float(weight.max()) * (squares + len(at)), 1e-300))
        pulled = np.asarray((X.T @ slopes).T, dtype=np.float64)
        dW = -eta * (pulled / len(at) + rule.pace.l2 * machines.W)
        db = -eta * slopes.mean(axis=0) if rule.intercept else np.zeros(t)
        machines.W += dW
        machines.b += db
        if machines.mean is not None:
            machines.mean.W[:] += machines.steps * dW
            machines.mean.b[:] += machines.steps * db
        machines.steps += 1
    return total, changes
