"""Passes of online classifiers over rows in memory or in blocks, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, row_blocks
from kilogram.base import Laws
from kilogram.base.progress import Tick
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online import OnlineData, OnlineMachines, UpdateRule, one_pass

ADVICE = "Raise max_iter or max_time, scale the features, or let the steps decrease (power > 0)."

FAR = 1e12  # weights above it come from rows whose squares may overflow float32, at 3e38

ONLINE_LAWS = Laws(
    shift="steps depend on the origin: their length is proportional to that of the row",
    weight="a weight is the length of a step; two rows are two steps",
    permutation="the order of the rows is the order of the steps",
    block="blocks are taken in their order, shuffled within: another order of steps",
    partial_fit="each call is one pass in the order given, fit makes several in shuffled order",
    backend="one row a step is no work for a device: rows are copied to the host",
    budget=True,
    example={"random_state": 0, "max_iter": 50, "tol": None},
    budget_example={"tol": 1e-12, "max_iter": 1000},
)


class OnlineSource(NamedTuple):
    """Rows, labels and weights, the classes, and the weights of the classes."""

    X: Any
    y: Any
    w: Any
    classes: np.ndarray
    factors: np.ndarray

    @property
    def machines(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def blocks(self) -> Iterator[OnlineData]:
        """The rows block by block, on the host."""
        blocks = row_blocks(self.X, self.y, self.w) if is_streamed(self.X) else None
        for X, y, w in blocks or [(self.X, self.y, self.w)]:
            codes = np.searchsorted(self.classes, np.asarray(to_numpy(y)).ravel())
            weights = None if w is None else np.ascontiguousarray(to_numpy(w), dtype=np.float64)
            if not np.all(self.factors == 1.0):
                weights = self.factors[codes] * (1.0 if weights is None else weights)
            yield OnlineData(host_rows(X), codes, weights)


def host_rows(X: Any) -> Any:
    """Rows as the native code reads them: NumPy or CSR, of floats."""
    X = to_numpy(X)
    if is_sparse(X):
        X = X.tocsr()
    elif not is_numpy(X):
        X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def overflows(data: OnlineData) -> bool:
    """Whether the squared length of some row is not finite."""
    values = data.X.data if is_sparse(data.X) else data.X
    with np.errstate(over="ignore"):
        return not math.isfinite(float(np.sum(np.square(values))))


def check_overflow(machines: OnlineMachines, source: OnlineSource) -> None:
    """Raise for rows whose squares overflow: no step is short enough.

    The rows are read only if the size of the weights makes it possible.
    """
    far = float(np.max(np.abs(machines.W), initial=0.0))
    if (far == 0.0 or not far <= FAR) and any(map(overflows, source.blocks())):
        raise squares_overflow()


def squares_overflow() -> ValueError:
    return ValueError(
        "the squares of the values of X overflow, so that no step is short enough. Divide "
        "the features by their scale first (StandardScaler does)."
    )


class PassOptions(NamedTuple):
    """How many passes, when they stop, and the order of the rows."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool
    rng: np.random.Generator


def run_passes(
    options: PassOptions,
    source: OnlineSource,
    machines: OnlineMachines,
    rule: UpdateRule,
    tick: Tick,
) -> Solution:
    """Passes until the mean loss stops falling by tol, or a pass changes nothing."""
    best, idle = math.inf, 0
    for step in range(1, options.max_iter + 1):
        total, changes, weight = 0.0, 0, 0.0
        for data in source.blocks():
            n = data.X.shape[0]
            order = options.rng.permutation(n) if options.shuffle else np.arange(n)
            loss, moved = one_pass(data, order, rule, machines)
            total, changes = total + loss, changes + moved
            weight += n if data.c is None else float(data.c.sum())
        if not np.isfinite(machines.W).all() or not math.isfinite(total):
            raise ValueError(
                f"the steps diverged in pass {step}: eta0={rule.pace.eta0:g} is too large for rows "
                "of this length. Lower eta0, or scale the features (StandardScaler)."
            )
        if step == 1:
            check_overflow(machines, source)
        mean = total / weight
        if changes == 0:
            return Solution(machines, step, mean)
        if options.tol is not None:
            idle = idle + 1 if mean > best - options.tol else 0
            best = min(best, mean)
            if idle >= options.n_iter_no_change:
                return Solution(machines, step, mean)
        if tick(step, mean):
            return Solution(machines, step, mean, False, "max_time is reached.")
    done = options.tol is None
    why = "" if done else f"max_iter is reached; the mean loss is {mean:.3g}."
    return Solution(machines, step, mean, done, why)
