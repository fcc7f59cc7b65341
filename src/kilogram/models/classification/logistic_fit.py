"""From labels, weights and penalties to a `Problem`, and from its solution to coefficients.

Two classes are one machine with labels +-1; more are one machine per class. Rows in memory are
handed over as they are, rows in blocks as they come; labels and weights become codes and weights of
a block when the block is read.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import compute_class_weight

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import column_count, is_streamed, reduce_rows, row_blocks
from kilogram.arrays.rows_memmap import is_memmap
from kilogram.base import ConvergenceWarning
from kilogram.models.classification.svm_kernel import is_number
from kilogram.solvers.smooth.elastic import minimise_elastic
from kilogram.solvers.smooth.quasi_newton import Stop, solve
from kilogram.solvers.smooth.softmax import Block, Problem, strided
from kilogram.solvers.solution import Solution
from kilogram.statistics import Counts

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
ADVICE = "Scale the columns (StandardScaler), or raise max_iter, max_time or tol."
ROUGH = 1e-5  # tol from which float32 rows are near enough
LARGE = 5e7  # multiplications per pass from which they are worth a copy
HUGE = 1e8  # C from which a penalty is too weak to hold separable classes


class Penalty(NamedTuple):
    """lambda of 1/2 |W|^2 and mu of |W|_1, beside the plain sum of losses."""

    quadratic: float
    absolute: float


def check_logistic(model: Any) -> None:
    """Numbers and words that make no problem are refused."""
    if not is_number(model.C) or not model.C > 0:
        raise ValueError(f"C must be a number greater than 0 (inf: no penalty), got {model.C!r}.")
    if not is_number(model.tol) or not 0 <= model.tol < math.inf:
        raise ValueError(f"tol must be a number of at least 0, got {model.tol!r}.")
    if not isinstance(model.max_iter, Integral) or int(model.max_iter) < 0:
        raise ValueError(f"max_iter must be a whole number of at least 0, got {model.max_iter!r}.")
    if not is_number(model.intercept_scaling) or not model.intercept_scaling > 0:
        raise ValueError(f"intercept_scaling must be > 0, got {model.intercept_scaling!r}.")
    ratio = model.l1_ratio
    if ratio is not None and (not is_number(ratio) or not 0 <= ratio <= 1):
        raise ValueError(f"l1_ratio must lie between 0 and 1, got {ratio!r}.")
    if model.solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {model.solver!r}.")
    if model.penalty not in ("deprecated", "l1", "l2", "elasticnet", None):
        raise ValueError(
            f"penalty must be 'l1', 'l2', 'elasticnet' or None, got {model.penalty!r}; better "
            "leave it out and use l1_ratio and C."
        )


def penalty_of(model: Any, C: float) -> Penalty:
    """The two strengths that C, l1_ratio and the older `penalty` ask for."""
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, float(model.l1_ratio or 0.0))
    if model.penalty is None or math.isinf(C):
        return Penalty(0.0, 0.0)
    return Penalty((1.0 - ratio) / C, ratio / C)


def class_factors(class_weight: Any, classes: np.ndarray, y: Any, w: Any) -> np.ndarray:
    """Factors of the classes; "balanced" counts a row as often as its weight says."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be a dict or 'balanced', got {class_weight!r}.")
        found = reduce_rows(Counts.of, y, w)
        counts = found.counts[np.searchsorted(found.classes, classes)]
        return counts.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    return compute_class_weight(class_weight, classes=classes, y=classes)


class Rows(NamedTuple):
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
        """Some of the rows as the sums want them."""
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


def problem_of(model: Any, rows: Rows, penalty: Penalty) -> Problem:
    """The objective of these rows."""
    d = column_count(rows.X)
    quadratic, absolute = np.full(d + 1, penalty.quadratic), np.full(d + 1, penalty.absolute)
    penalised = model.solver == "liblinear" and model.fit_intercept
    s = float(model.intercept_scaling)
    quadratic[-1] = penalty.quadratic / s**2 if penalised else 0.0
    absolute[-1] = penalty.absolute / s if penalised else 0.0
    found = reduce_rows(Counts.of, rows.y, rows.w)
    if np.count_nonzero(found.counts) < 2:
        raise ValueError(
            f"Only one class has rows with a weight above 0, {found.classes[found.counts > 0]}: "
            "logistic regression needs two."
        )
    weights = found.counts * rows.factors[np.searchsorted(rows.classes, found.classes)]
    centred = model.fit_intercept and not penalised
    data: tuple[Any, ...] = (rows.X, rows.y, rows.w)
    prepare: Any = rows.block
    if rows.in_memory:  # once, not at every pass
        data, prepare = tuple(_rounded(rows.block(*data), rows.machines, model.tol)), Block
    return Problem(
        data,
        prepare,
        shift_of(rows.X) if centred else np.zeros(d),
        quadratic,
        absolute,
        rows.machines,
        float(weights.sum()),
        bool(model.fit_intercept),
        lambda statistic: model._ensure_finite(statistic, rows.X),
    )


def _rounded(block: Block, t: int, tol: float) -> Block:
    """Dense rows of many classes in float32, twice as fast, where `tol` lies far above its noise.

    The sums stay float64: what is lost is a ten-millionth of each margin.
    """
    X, y, c = block
    if t == 1 or tol < ROUGH or not is_numpy(X) or X.dtype != np.float64 or X.size * t < LARGE:
        return block
    return Block(X.astype(np.float32), y, None if c is None else c.astype(np.float32))


def shift_of(X: Any) -> np.ndarray:
    """Means of some rows: near the centre is near enough. 0 for sparse rows, which stay sparse."""
    if is_streamed(X):
        X = next(iter(row_blocks(X)))[0]
    if is_sparse(X):
        return np.zeros(X.shape[1])
    some = strided(X, max(1, X.shape[0] // 2048))
    means = np.asarray(to_numpy(namespace(some).mean(some, axis=0)), dtype=np.float64)
    return np.where(np.isfinite(means), means, 0.0)


def solve_problem(rows: Rows, problem: Problem, W: np.ndarray, stop: Stop) -> Solution:
    """The road that the penalty and the container allow."""
    if problem.absolute.any():
        return minimise_elastic(problem, W, stop, in_memory=rows.in_memory)
    return solve(problem, W, stop, in_memory=rows.in_memory)


def coefficients(problem: Problem, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (t, d) and intercepts (t,) of the rows as they came."""
    b = W[:, -1] - W[:, :-1] @ problem.shift if problem.intercept else np.zeros(len(W))
    if len(W) > 1 and problem.intercept and problem.quadratic[-1] == 0 == problem.absolute[-1]:
        b = b - b.mean()  # a common shift changes no chance
    return W[:, :-1], b


def shifted(problem: Problem, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """W (t, D) of coefficients and intercepts, the way back."""
    return np.column_stack([coef, intercept + coef @ problem.shift])


class Narrowest(NamedTuple):
    """The smallest margin of some rows: how far the own class is ahead; `+` takes the smaller."""

    margin: float

    def __add__(self, other: Any) -> Narrowest:
        return Narrowest(min(self.margin, other.margin))


def smallest_margin(problem: Problem, W: np.ndarray) -> float:
    """How far the own class is ahead at least, over all rows that have weight."""
    coef, b = W[:, :-1], W[:, -1] - W[:, :-1] @ problem.shift

    def margin(*rows: Any) -> Narrowest:
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
        return Narrowest(float(counted.min(initial=np.inf)))

    return reduce_rows(margin, *problem.rows).margin


def warn_if_separable(name: str, problem: Problem, W: np.ndarray, C: float) -> bool:
    """Say that no finite maximum exists: every row is on its own side and nothing holds W back."""
    free = not problem.quadratic[:-1].any() and not problem.absolute[:-1].any()
    if not (free or C >= HUGE) or not smallest_margin(problem, W) > 0:
        return False
    what = "without a penalty" if free else f"with C = {C:g}"
    warnings.warn(
        f"{name}: a plane separates the classes without error, and {what} the likelihood has no "
        "finite maximum: it grows with the length of the coefficients. Those returned separate the "
        "classes and are usable, but their length only tells where the fit stopped. Give a smaller "
        "C.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return True
