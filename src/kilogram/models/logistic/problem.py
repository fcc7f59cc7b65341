"""From labels, weights and penalties to a logistic problem, and from its solution to coefficients.

Two classes are one machine with labels +-1; more are one machine per class. Rows in memory are
passed on as they are, rows in blocks as they are read; labels and weights become codes and weights
of a block when the block is read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.memmap_rows import is_memmap
from kilogram.arrays.namespace import is_numpy, is_sparse, like, to_numpy
from kilogram.arrays.rows import column_count, is_streamed, reduce_rows
from kilogram.base import ConvergenceWarning
from kilogram.solvers.newton.lbfgs import GradientStop, solve
from kilogram.solvers.newton.shift import shift_of
from kilogram.solvers.newton.softmax import Block, Problem
from kilogram.solvers.proximal.logistic import minimise_elastic
from kilogram.solvers.solution import Solution
from kilogram.statistics import Counts

ADVICE = "Scale the features (StandardScaler), or raise max_iter, max_time or tol."
ROUGH = 1e-5  # tol from which the rounding of float32 rows, near 1e-7, is negligible
LARGE = 5e7  # multiplications per pass from which float32 rows repay their copy: 10 ms
# C from which a penalty is too weak to bound the coefficients of separable classes: 1 / C is then
# the root of eps.
HUGE = 1e8


class ElasticPenalty(NamedTuple):
    """lambda of 1/2 |W|^2 and mu of |W|_1, beside the plain sum of losses."""

    quadratic: float
    absolute: float

    @classmethod
    def of(cls, C: float, penalty: str | None, l1_ratio: float | None) -> ElasticPenalty:
        """The strengths for C, l1_ratio and scikit-learn's deprecated `penalty`."""
        if penalty is None or math.isinf(C):
            return cls(0.0, 0.0)
        ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, float(l1_ratio or 0.0))
        return cls((1.0 - ratio) / C, ratio / C)


class Intercept(NamedTuple):
    """Whether there is an intercept, and the constant column by which it is penalised, or None."""

    fitted: bool
    penalised_scale: float | None = None


class LogisticRows(NamedTuple):
    """Rows, labels and weights, the classes and their factors."""

    X: Any
    y: Any
    w: Any
    classes: np.ndarray
    factors: np.ndarray

    @property
    def machines(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def block(self, X: Any, y: Any, w: Any) -> Block:
        """Rows, codes of the labels and weights of a block."""
        codes = np.searchsorted(self.classes, np.asarray(to_numpy(y)).ravel())
        host = None if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        if not np.all(self.factors == 1.0):
            host = self.factors[codes] if host is None else host * self.factors[codes]
        foreign = not (is_numpy(X) or is_sparse(X))
        if host is None and foreign:
            host = np.ones(len(codes))
        labels: Any = np.where(codes == 1, 1.0, -1.0) if self.machines == 1 else codes
        c = None if host is None else host.astype(X.dtype) if not foreign else like(host, X)
        if self.machines == 1:
            labels = labels.astype(X.dtype) if not foreign else like(labels, X)
        X = X.tocsr() if is_sparse(X) else X
        return Block(X, labels, c)

    @property
    def in_memory(self) -> bool:
        return not is_streamed(self.X) and not is_memmap(self.X)


def make_problem(
    rows: LogisticRows,
    penalty: ElasticPenalty,
    intercept: Intercept,
    tol: float,
    ensure_finite: Callable[[Any], None],
) -> Problem:
    """The objective of these rows; classes without weight keep their coefficients."""
    d = column_count(rows.X)
    quadratic, absolute = np.full(d + 1, penalty.quadratic), np.full(d + 1, penalty.absolute)
    s = intercept.penalised_scale
    quadratic[-1] = 0.0 if s is None else penalty.quadratic / s**2
    absolute[-1] = 0.0 if s is None else penalty.absolute / s
    found = reduce_rows(Counts.of, rows.y, rows.w)
    weights = found.counts * rows.factors[np.searchsorted(rows.classes, found.classes)]
    if not weights.any():
        raise ValueError(
            "All rows have weight zero. Give some of them a positive sample_weight and "
            "class_weight."
        )
    data: tuple[Any, ...] = (rows.X, rows.y, rows.w)
    prepare: Any = rows.block
    if rows.in_memory:  # once, not at every pass
        data, prepare = tuple(_rounded(rows.block(*data), rows.machines, tol)), Block
    return Problem(
        data,
        prepare,
        shift_of(rows.X) if intercept.fitted and s is None else np.zeros(d),
        quadratic,
        absolute,
        rows.machines,
        float(weights.sum()),
        intercept.fitted,
        ensure_finite,
    )


def _rounded(block: Block, t: int, tol: float) -> Block:
    """Dense rows of many classes in float32, twice as fast, where `tol` is far above its rounding.

    The sums stay float64; the margins lose about 1e-7 of their size.
    """
    X, y, c = block
    if t == 1 or tol < ROUGH or not is_numpy(X) or X.dtype != np.float64 or X.size * t < LARGE:
        return block
    return Block(X.astype(np.float32), y, None if c is None else c.astype(np.float32))


def solve_problem(
    rows: LogisticRows, problem: Problem, W: np.ndarray, stop: GradientStop
) -> Solution:
    """By proximal Newton with an l1 penalty, else by Newton or L-BFGS."""
    if problem.absolute.any():
        return minimise_elastic(problem, W, stop, in_memory=rows.in_memory)
    return solve(problem, W, stop, in_memory=rows.in_memory)


def coefficients(problem: Problem, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (t, d) and intercepts (t,) of the rows as they came."""
    b = W[:, -1] - W[:, :-1] @ problem.shift if problem.intercept else np.zeros(len(W))
    if len(W) > 1 and problem.intercept and problem.quadratic[-1] == 0 == problem.absolute[-1]:
        b = b - b.mean()  # a common shift changes no probability
    return W[:, :-1], b


def shifted(problem: Problem, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """W (t, D) from coefficients and intercepts: the inverse of `coefficients`."""
    return np.column_stack([coef, intercept + coef @ problem.shift])


class SmallestMargin(NamedTuple):
    """The smallest margin of some rows, own class less the best other; `+` takes the smaller."""

    margin: float

    def __add__(self, other: Any) -> SmallestMargin:
        return SmallestMargin(min(self.margin, other.margin))


def smallest_margin(problem: Problem, W: np.ndarray) -> float:
    """The smallest margin over all rows with weight."""
    coef, b = W[:, :-1], W[:, -1] - W[:, :-1] @ problem.shift

    def margin(*rows: Any) -> SmallestMargin:
        X, y, c = problem.prepare(*rows)
        Z = X @ coef.T if is_sparse(X) else to_numpy(X @ like(np.ascontiguousarray(coef.T), X))
        Z = np.asarray(Z, dtype=np.float64) + b
        if problem.t == 1:
            ahead = Z[:, 0] * to_numpy(y)
        else:
            own = Z[np.arange(len(Z)), y].copy()
            Z[np.arange(len(Z)), y] = -np.inf
            ahead = own - Z.max(axis=1)
        counted = ahead if c is None else ahead[to_numpy(c) > 0]
        return SmallestMargin(float(counted.min(initial=np.inf)))

    return reduce_rows(margin, *problem.rows).margin


def warn_if_separable(name: str, problem: Problem, W: np.ndarray, C: float) -> bool:
    """Warn that no finite maximum exists: the classes are separable and W is not penalised."""
    free = not problem.quadratic[:-1].any() and not problem.absolute[:-1].any()
    if not (free or C >= HUGE) or not smallest_margin(problem, W) > 0:
        return False
    what = "without a penalty" if free else f"with C = {C:g}"
    warnings.warn(
        f"{name}: a hyperplane separates the classes without error, and {what} the likelihood has "
        "no finite maximum: it grows with the norm of the coefficients. Those returned separate "
        "the classes and are usable, but their norm depends on where the fit stopped. Give a "
        "smaller C.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return True
