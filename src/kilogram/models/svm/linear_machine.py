"""Shared by LinearSVC and LinearSVR: parameters, fit, and storage of coefficients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.threads import blas_threads
from kilogram.base import Budget, Estimate, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
    check_parameters,
)
from kilogram.base.linear import LinearModel
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.models.svm.kernel_machine import learnt_from_data, refuse_overflow
from kilogram.models.svm.linear_solvers import (
    LinearSettings,
    LinearSolution,
    in_arrays,
    is_small,
)
from kilogram.operators.cost import rates
from kilogram.solvers.newton.newton import GapStop

ADVICE = "Scale the features (StandardScaler), or raise max_iter, max_time or tol."


class LinearMachine(LinearModel, ABC):
    """f(x) = <x, w> + b, one or several."""

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "tol": Real(0, closed="neither"),
        "C": Real(0, closed="neither"),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(0, closed="neither"),
        "dual": Boolean() | OneOf("auto"),
        "verbose": Boolean() | Integer(0),
        "random_state": RandomState(),
        "max_iter": Integer(1),
        "penalize_intercept": Boolean(),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    @abstractmethod
    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Rows, labels or targets, and weights."""

    @abstractmethod
    def _solve(self, rows: Any, stop: GapStop, factors: Sequence[float]) -> list[LinearSolution]:
        """Coefficients for penalties times each of the factors."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of C.

        Returns
        -------
        self
        """
        self._fit_path(X, y, sample_weight, [self])
        return self

    def _fit_path(self, X: Any, y: Any, sample_weight: Any, models: Sequence[Any]) -> None:
        """Fit models that differ from this one in C only, each from the one before it."""
        budget = Budget(self.max_time)
        for model in models:
            check_parameters(model)
        rows = self._validate_rows(X, y, sample_weight)
        if in_arrays(rows.X):
            refuse_overflow(type(self).__name__, rows.X)
        with ticking(self, "iteration", budget.deadline) as tick:
            stop = GapStop(float(self.tol), int(self.max_iter), tick)
            with blas_threads(1) if is_small(rows.X) else nullcontext():
                solutions = self._finite_solutions(rows, stop, [m.C / self.C for m in models])
        for model, solution in zip(models, solutions, strict=True):
            vars(model).update(learnt_from_data(self))
            model._store(solution, rows)
            warn_if_unfinished(type(self).__name__, solution.summary, ADVICE)

    def _finite_solutions(
        self, rows: Any, stop: GapStop, factors: Sequence[float]
    ) -> list[LinearSolution]:
        """The solutions; an error with advice where sums of squares overflow."""
        try:
            found = self._solve(rows, stop, factors)
            if all(math.isfinite(solution.gap) for solution in found):
                return found
        except np.linalg.LinAlgError:
            pass  # of a Hessian that is not finite
        raise ValueError(
            f"{type(self).__name__}: the squares of the values of X, times C, overflow. Divide the "
            "features by their scale first (StandardScaler does)."
        )

    def _constant(self) -> float:
        """The constant column that carries the intercept; 0: no intercept."""
        if not self.fit_intercept:
            return 0.0
        return float(self.intercept_scaling) if self.penalize_intercept else 1.0

    def _linear_settings(self) -> LinearSettings:
        return LinearSettings(
            getattr(self, "penalty", "l2"),
            self.dual if self.dual == "auto" else bool(self.dual),
            self._constant(),
            bool(self.penalize_intercept or not self.fit_intercept),
            as_generator(self.random_state),
            not hasattr(self, "_skl_callbacks"),
        )

    def _store(self, solution: LinearSolution, rows: Any) -> None:
        W, X = solution.W, rows.X
        self._keep_linear(W[:, :-1], self._constant() * W[:, -1], X)
        self.n_iter_ = max(1, solution.steps)
        self.objective_, self.dual_gap_ = solution.objective, solution.gap

    def _start(self, t: int, d: int) -> Any:
        """Coefficients of the previous fit, for `warm_start`."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        W = np.atleast_2d(self._dense_coef()).astype(np.float64)
        if W.shape != (t, d):
            return None
        constant = self._constant()
        b = np.atleast_1d(self.intercept_).astype(np.float64)
        return np.column_stack([W, b / constant if constant else np.zeros(t)])

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        """A scatter of the rows and a dozen products with them."""
        speed = rates(4 if dtype == "float32" else 8)
        seconds = (n * d * d + 24.0 * n * d) / speed.multiply_adds
        return self._costs(n, d, "Newton's method", seconds, 8.0 * (n * d / 2 + 3 * d * d + 8 * n))


def column(v: Any, X: Any) -> Any:
    """A vector (n,) as a column (n, 1) beside X."""
    v = like(v, X)
    return namespace(v).reshape(v, (-1, 1))
