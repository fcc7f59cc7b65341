"""What LinearSVC and LinearSVR share: parameters to a task, a task to coefficients.

Rows in memory are solved machine by machine (Newton's method, or dual coordinate descent where the
hinge meets many columns); arrays of other libraries, Dask collections, files and blocks through the
streamed sums.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.arrays.threads import blas_threads, by_team
from kilogram.base import Budget, Estimate, warn_if_unfinished
from kilogram.base.estimate import within
from kilogram.base.linear import LinearAnswers
from kilogram.base.progress import ticking, with_callbacks
from kilogram.functions.losses import Bent
from kilogram.models.classification.svm_kernel import entered, is_number, refuse_overflow
from kilogram.models.classification.svm_linear_roads import Trail, in_primal, solve_one, together
from kilogram.operators.memory_plan import rates
from kilogram.solvers.smooth.curvature import Task
from kilogram.solvers.smooth.design import ArrayDesign
from kilogram.solvers.smooth.newton import DIRECT, Stop
from kilogram.solvers.smooth.streamed import Passes, minimise_streamed
from kilogram.solvers.smooth.together import minimise_together
from kilogram.solvers.solution import Solution

ONE_THREAD = 500_000  # entries of X up to which products stay on one thread
LINEAR_ADVICE = "Scale the columns (StandardScaler), or raise max_iter, max_time or tol."


class Answer(NamedTuple):
    """Coefficients (t, d + 1) of t machines, and how they were reached."""

    W: np.ndarray
    objective: float
    gap: float
    steps: int
    summary: Solution


def check_linear(model: Any) -> None:
    """Numbers that make no problem are refused."""
    if not is_number(model.C) or not 0 < model.C < math.inf:
        raise ValueError(f"C must be a finite number greater than 0, got {model.C!r}.")
    if not is_number(model.tol) or not 0 < model.tol < math.inf:
        raise ValueError(f"tol must be a positive number, got {model.tol!r}.")
    if not isinstance(model.max_iter, Integral) or int(model.max_iter) < 1:
        raise ValueError(f"max_iter must be a whole number of at least 1, got {model.max_iter!r}.")
    if not is_number(model.intercept_scaling) or not model.intercept_scaling > 0:
        raise ValueError(f"intercept_scaling must be > 0, got {model.intercept_scaling!r}.")
    if model.dual not in (True, False, "auto"):
        raise ValueError(f"dual must be True, False or 'auto', got {model.dual!r}.")


def in_arrays(X: Any) -> bool:
    """Whether the rows are in memory as NumPy or SciPy hold them."""
    return not is_streamed(X) and (is_numpy(X) or is_sparse(X))


def is_small(X: Any) -> bool:
    """Whether waking a second thread for a product with X costs more than the product."""
    return in_arrays(X) and X.shape[0] * X.shape[1] < ONE_THREAD


def penalties_of(model: Any, d: int) -> tuple[float, np.ndarray]:
    """The constant column (0: none), and the penalties of the d + 1 coefficients."""
    penalty = np.ones(d + 1)
    if not model.fit_intercept:
        return 0.0, penalty
    penalty[-1] = 1.0 if model.penalize_intercept else 0.0
    return float(model.intercept_scaling) if model.penalize_intercept else 1.0, penalty


def fit_in_memory(
    model: Any,
    X: Any,
    Y: np.ndarray,
    C: np.ndarray,
    loss: Bent,
    stop: Stop,
    start: Any,
    factors: Sequence[float] = (1.0,),
) -> list[Answer]:
    """One machine per column of Y (n, t), for penalties C (n,) times each of the factors."""
    kept = C > 0
    if not kept.all():
        at = np.nonzero(kept)[0]
        X, Y, C = X[at], Y[at], C[at]
    X = X.tocsr() if is_sparse(X) else X
    scale, penalty = penalties_of(model, X.shape[1])
    design = ArrayDesign(X, scale)
    rng = np.random.default_rng(check_random_state(model.random_state).randint(2**31))
    Y = np.asarray(Y, dtype=np.float64)
    if in_primal(model, design, loss):
        task = Task(Y[:, 0], factors[0] * C, penalty, loss)
        if start is None and Y.shape[1] > 1:
            start = together(design, Y, task)
        if len(factors) == 1 and is_small(X) and not is_sparse(X):
            W = np.zeros((Y.shape[1], design.width)) if start is None else start
            return [side_by_side(minimise_together(design, Y, task, stop, W))]
    rngs = rng.spawn(Y.shape[1])

    def along(j: int) -> list[Solution]:
        trail = Trail(None if start is None else start[j].copy(), factor=factors[0])
        y, found = np.ascontiguousarray(Y[:, j]), []
        for factor in factors:
            trail.to(factor)
            task = Task(y, factor * C, penalty, loss)
            found.append(solve_one(model, design, task, stop, trail, rngs[j]))
        return found

    machines = by_team(along, range(Y.shape[1]), alone=not side_by_side_pays(model, X, loss))
    return [side_by_side([along_one[k] for along_one in machines]) for k in range(len(factors))]


def side_by_side_pays(model: Any, X: Any, loss: Bent) -> bool:
    """Whether machines are solved by a thread each: those of coordinate descent, all in one call.

    Newton's steps on few rows are many short calls, which would wait for each other.
    """
    passes = math.isfinite(loss.width) and model.dual is not False
    few = is_small(X) or X.shape[1] >= DIRECT
    # callbacks are the user's code, which need not stand several threads
    return passes and few and not hasattr(model, "_skl_callbacks")


def side_by_side(found: list[Solution]) -> Answer:
    """The machines as one answer."""
    slow = [m for m in found if not m.converged]
    points, steps = [m.value for m in found], max(m.n_iter for m in found)
    summary = Solution(None, steps, None, not slow, slow[0].message if slow else "")
    return Answer(
        np.stack([p.w for p in points]),
        float(sum(p.objective for p in points)),
        float(sum(p.gap for p in points)),
        steps,
        summary,
    )


def fit_streamed(
    model: Any,
    rows: tuple[Any, ...],
    prepare: Callable,
    loss: Bent,
    t: int,
    stop: Stop,
    factors: Sequence[float] = (1.0,),
) -> list[Answer]:
    """All machines together, one pass over the rows per step."""
    scale, penalty = penalties_of(model, column_count(rows[0]))
    answers: list[Answer] = []
    for factor in factors:

        def priced(X: Any, y: Any, w: Any, factor: float = factor) -> tuple[Any, Any]:
            Y, C = prepare(X, y, w)
            return Y, C if factor == 1.0 else factor * C

        start = answers[-1].W if answers else None
        found = minimise_streamed(Passes(rows, priced, scale, penalty), loss, t, stop, start)
        machines = found.value
        answers.append(Answer(machines.W, machines.objective, machines.gap, found.n_iter, found))
    return answers


class LinearMachine(LinearAnswers, ABC):
    """f(x) = <x, w> + b, one or several."""

    @abstractmethod
    def _enter_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Check the words among the parameters; rows, labels or targets, and weights."""

    @abstractmethod
    def _solve(self, rows: Any, stop: Stop, factors: Sequence[float]) -> list[Answer]:
        """Coefficients for penalties times each of the factors."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of C.

        Returns
        -------
        self
        """
        self._fit_along(X, y, sample_weight, [self])
        return self

    def _fit_along(self, X: Any, y: Any, sample_weight: Any, models: Sequence[Any]) -> None:
        """Fit models that differ from this one in C only, each from the one before it."""
        budget = Budget(self.max_time)
        for model in models:
            check_linear(model)
        rows = self._enter_rows(X, y, sample_weight)
        with ticking(self, "step", budget.deadline) as tick:
            stop = Stop(float(self.tol), int(self.max_iter), tick)
            with blas_threads(1) if is_small(rows.X) else nullcontext():
                answers = self._solve(rows, stop, [m.C / self.C for m in models])
        if not math.isfinite(answers[0].gap) and in_arrays(rows.X):
            refuse_overflow(self, rows.X)
        for model, answer in zip(models, answers, strict=True):
            vars(model).update(entered(self))
            model._keep_coefficients(answer, rows.X)
            warn_if_unfinished(type(self).__name__, answer.summary, LINEAR_ADVICE)

    def _keep_coefficients(self, answer: Answer, X: Any) -> None:
        scale = penalties_of(self, answer.W.shape[1] - 1)[0]
        self._keep_linear(answer.W[:, :-1], scale * answer.W[:, -1], X)
        self.n_iter_ = max(1, answer.steps)
        self.objective_, self.dual_gap_ = answer.objective, answer.gap

    def _start(self, t: int, d: int) -> Any:
        """Coefficients of the previous fit, for `warm_start`."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        W = np.atleast_2d(self.coef_).astype(np.float64)
        if W.shape != (t, d):
            return None
        scale = penalties_of(self, d)[0]
        b = np.atleast_1d(self.intercept_).astype(np.float64) / scale if scale else np.zeros(t)
        return np.column_stack([W, b])

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        """A scatter of the rows and a dozen products with them."""
        speed = rates(4 if dtype == "float32" else 8)
        seconds = (n * d * d + 24.0 * n * d) / speed.multiply_adds
        return within(self, n, d, "Newton's method", seconds, 8.0 * (n * d / 2 + 3 * d * d + 8 * n))


def column(v: Any, X: Any) -> Any:
    """A vector (n,) as a column (n, 1) beside X."""
    v = like(v, X)
    return namespace(v).reshape(v, (-1, 1))
