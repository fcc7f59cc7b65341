"""How online classifiers run: passes over rows in memory or in blocks, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, row_blocks
from kilogram.base import Laws
from kilogram.base.progress import Tick
from kilogram.functions.online import LOSSES
from kilogram.models.classification.svm_kernel import is_number
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online import Data, Machines, Rule, one_pass

ONLINE_ADVICE = (
    "Raise max_iter or max_time, scale the columns, or let the steps shrink (power > 0)."
)

FAR = 1e12  # weights this large come from rows whose squares may overflow float32

ONLINE_LAWS = Laws(
    shift="the steps see the origin: their size is that of the row",
    weight="a weight is the length of a step; two rows are two steps",
    permutation="the order of the rows is the order of the steps",
    block="blocks are passed in their order, shuffled within: another order of steps",
    partial_fit="each call is one pass in the order given, fit makes several in shuffled order",
    backend="one row a step is no work for a device: rows come to the host, answers stay there",
    budget=True,
    example={"random_state": 0, "max_iter": 50, "tol": None},
    budget_example={"tol": 1e-12, "max_iter": 1000},
)


class Source(NamedTuple):
    """Where the rows come from, the classes, and the weights of the classes."""

    X: Any
    y: Any
    w: Any
    classes: np.ndarray
    factors: np.ndarray

    @property
    def machines(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def blocks(self) -> Iterator[Data]:
        """The rows as `Data`, block by block; arrays of other libraries come to the host."""
        blocks = row_blocks(self.X, self.y, self.w) if is_streamed(self.X) else None
        for X, y, w in blocks or [(self.X, self.y, self.w)]:
            codes = np.searchsorted(self.classes, np.asarray(to_numpy(y)).ravel())
            weights = None if w is None else np.ascontiguousarray(to_numpy(w), dtype=np.float64)
            if not np.all(self.factors == 1.0):
                weights = self.factors[codes] * (1.0 if weights is None else weights)
            yield Data(host_rows(X), codes, weights)


def host_rows(X: Any) -> Any:
    """Rows of floats that native code reads."""
    X = to_numpy(X)
    if is_sparse(X):
        X = X.tocsr()
    elif not is_numpy(X):
        X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def overflows(data: Data) -> bool:
    """Whether the squared length of some row is not finite."""
    values = data.X.data if is_sparse(data.X) else data.X
    with np.errstate(over="ignore"):
        return not math.isfinite(float(np.sum(np.square(values))))


def refuse_overflow(machines: Machines, source: Source) -> None:
    """Refuse rows whose squares overflow: no step is short enough, or no answer small enough.

    The rows are looked at only if the steps say that they may be such.
    """
    far = float(np.max(np.abs(machines.W), initial=0.0))
    if (far == 0.0 or far > FAR) and any(map(overflows, source.blocks())):
        raise ValueError(
            "the squares of the values of X overflow, so that no step is short enough. Divide "
            "the columns by their scale first (StandardScaler does)."
        )


def check_online(model: Any) -> None:
    """Numbers and words that make no steps are refused."""
    if model.loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}, got {model.loss!r}.")
    for name, lowest in (("eta0", None), ("alpha", 0.0), ("power", 0.0), ("tau", None)):
        value = getattr(model, name)
        bad = not is_number(value) or not math.isfinite(value)
        if bad or (value <= 0 if lowest is None else value < lowest):
            raise ValueError(f"{name} must be a number {'> 0' if lowest is None else '>= 0'}, "
                             f"got {value!r}.")  # fmt: skip
    for name in ("max_iter", "batch_size", "n_iter_no_change"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or int(value) < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    if model.tol is not None and not is_number(model.tol):
        raise ValueError(f"tol must be a number or None, got {model.tol!r}.")


def run_passes(
    model: Any, source: Source, machines: Machines, rule: Rule, tick: Tick
) -> tuple[Machines, Solution]:
    """Passes until the mean loss stops falling by tol, or a pass changes nothing."""
    rng = check_random_state(model.random_state)
    best, idle = math.inf, 0
    for step in range(1, int(model.max_iter) + 1):
        total, changes, weight = 0.0, 0, 0.0
        for data in source.blocks():
            n = data.X.shape[0]
            order = rng.permutation(n) if model.shuffle else np.arange(n)
            loss, moved = one_pass(data, order, rule, machines)
            total, changes = total + loss, changes + moved
            weight += n if data.c is None else float(data.c.sum())
        if not np.isfinite(machines.W).all() or not math.isfinite(total):
            raise ValueError(
                f"the steps diverged in pass {step}: eta0={rule.pace.eta0:g} is too large for rows "
                "of this length. Lower eta0, or scale the columns (StandardScaler)."
            )
        if step == 1:
            refuse_overflow(machines, source)
        mean = total / weight
        if changes == 0:
            return machines, Solution(machines, step, mean)
        if model.tol is not None:
            idle = idle + 1 if mean > best - model.tol else 0
            best = min(best, mean)
            if idle >= model.n_iter_no_change:
                return machines, Solution(machines, step, mean)
        if tick(step, mean):
            return machines, Solution(machines, step, mean, False, "the time is up.")
    done = model.tol is None
    why = "" if done else f"max_iter is reached; the mean loss is {mean:.3g}."
    return machines, Solution(machines, step, mean, done, why)
