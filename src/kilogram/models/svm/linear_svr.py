"""Linear support vector regression; `svr` has the kernel version.

Objective    min_w  1/2 |w~|^2 + sum_i C_i loss(|y_i - <w~, x~_i>| - eps)
             x~ = [x, intercept_scaling]

    loss(m) = max(0, m)      epsilon-insensitive
              max(0, m)^2    squared; SVR(slack=2) has half this loss

The intercept is penalised as in LIBLINEAR unless `penalize_intercept=False`. `linear_solvers`
chooses the solver: Newton steps on sums over the rows, through smoothed losses where the loss has a
kink. Targets keep their own precision: coefficients and predictions of float64 targets are float64.

References: Ho and Lin 2012; Keerthi and DeCoste 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import (
    is_array,
    is_sparse,
    like,
    to_numpy,
    wide_enough,
)
from kilogram.base import Laws, Twin
from kilogram.base.constraints import Constraint, OneOf, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.linear import predict_wide
from kilogram.base.regression_data import validate_regression_data
from kilogram.functions.hinge_losses import Tube
from kilogram.models.svm.linear_machine import LinearMachine, column
from kilogram.models.svm.linear_solvers import (
    LinearSolution,
    fit_in_memory,
    fit_streaming,
    in_arrays,
)
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.newton.newton import GapStop


class LinearSVR(RegressorMixin, LinearMachine):
    """Linear epsilon-insensitive regression for many rows.

    Minimises ``1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon)``, or its square. Takes
    scikit-learn's parameters and reaches its optimum; `penalize_intercept`, `warm_start` and
    `max_time` are Kilogram's.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube, at least 0, in units of y.
    tol : float, default=1e-4
        Largest duality gap at the end, relative to the objective.
    C : float, default=1.0
        Penalty of a residual outside the tube, greater than 0, times the weight of the row.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss of the residuals beyond epsilon.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1.0
        The constant column that carries the intercept.
    dual : bool or "auto", default="auto"
        True: dual coordinate descent; False: Newton's method in the primal; "auto": the dual for
        the unsquared loss with more than 3 000 features and, at first, with up to 20 000 rows. The
        optimum is the same.
    verbose : int, default=0
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    random_state : int, RandomState or None, default=None
        Order of the rows in dual coordinate descent.
    max_iter : int, default=1000
        Largest number of Newton steps, or passes of coordinate descent.
    penalize_intercept : bool, default=True
        False leaves the intercept out of the penalty.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,)
        Intercept of the decision or regression function.
    n_iter_ : int
        Number of iterations.
    objective_, dual_gap_ : float
        The objective at the solution, and its duality gap.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    SVR : The same with any kernel.
    LinearSVC : Classification.

    Examples
    --------
    >>> from kilogram import LinearSVR
    >>> model = LinearSVR(epsilon=0.1).fit([[-1.0], [1.0]], [-1.0, 1.0])
    >>> model.predict([[1.0]]).round(2)
    array([0.9])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **LinearMachine.parameter_constraints,
        "epsilon": Real(0, closed="left"),
        "loss": OneOf("epsilon_insensitive", "squared_epsilon_insensitive"),
    }
    laws: ClassVar[Laws] = Laws(
        twin=Twin(
            "SVR",
            kernel_params={"slack": 2, "C": 2.0, "tol": 1e-11, "epsilon": 0.1},
            linear_params={"penalize_intercept": False, "epsilon": 0.1},
        ),
        shift="the intercept is penalised, as in scikit-learn, so the origin matters",
        objective=True,
        budget=True,
        example={"tol": 1e-14, "loss": "squared_epsilon_insensitive"},
        budget_example={"loss": "epsilon_insensitive"},
        rtol=1e-6,
    )

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.warm_start = warm_start
        self.max_time = max_time

    def _loss(self, spread: float = 1.0) -> Tube:
        """The loss; where it is to be smoothed, over half the spread of the targets at first."""
        loss = Tube(epsilon=float(self.epsilon))
        return loss if self.loss.startswith("squared") else loss.smoothed(0.5 * spread)

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> RegressionData:
        return validate_regression_data(self, X, y, sample_weight)

    def _solve(
        self, rows: RegressionData, stop: GapStop, factors: Sequence[float]
    ) -> list[LinearSolution]:
        X, Y, w, flat = rows
        settings = self._linear_settings()
        if not in_arrays(X):
            if is_array(X):  # of another library
                rows = rows._replace(X=wide_enough(X, Y))
            return fit_streaming(settings, rows[:3], self._prepare, self._loss(), 1, stop, factors)
        y = column_or_1d(Y, warn=flat is False).astype(np.float64)
        C = self.C * (np.ones(y.shape[0]) if w is None else w.astype(np.float64))
        X = wide_enough(X, y)  # coefficients of the size of y may exceed float32
        loss = self._loss(float(np.std(y)) or 1.0)
        start = self._start(1, X.shape[1])
        return fit_in_memory(settings, X, y[:, None], C, loss, stop, start, factors)

    def _store(self, solution: LinearSolution, rows: RegressionData) -> None:
        super()._store(solution, rows)
        self.coef_ = self.coef_[0]
        if "float64" in str(getattr(rows.Y, "dtype", "")):
            W = solution.W[0]
            self.coef_, self.intercept_ = W[:-1].copy(), self._constant() * W[-1:]

    def _prepare(self, X: Any, y: Any, w: Any) -> tuple[Any, Any]:
        """Targets and penalties of a block, one column each."""
        y = to_numpy(y).reshape(-1)
        C = self.C * (np.ones(y.shape[0]) if w is None else to_numpy(w).astype(np.float64))
        if is_sparse(X):
            return y.astype(np.float64)[:, None], C[:, None]
        return column(y, X), column(C, X)

    def _machine(self) -> Callable[[Any], Any]:
        """Rows (m, d) -> their values (m, 1), in float64 where the targets were."""
        w = to_numpy(self.coef_)
        b = np.atleast_1d(to_numpy(self.intercept_))

        def values(block: Any) -> Any:
            if is_sparse(block):
                return np.asarray(wide_enough(block, w) @ w[:, None]) + b
            if w.dtype == np.float64:
                return predict_wide(block, w[:, None], b)
            block = wide_enough(block, w)
            f = block @ like(w[:, None], block)
            return f + like(b, f)

        return values

    def predict(self, X: Any) -> Any:
        """f of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        return self._values(X, lambda Z: Z[:, 0])

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the fitted machine on the rows given.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        value : float
        """
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        y, f = to_numpy(rows.Y).reshape(-1), to_numpy(self.predict(rows.X))
        y, f = y.astype(np.float64), f.astype(np.float64)
        w = np.ones(y.shape[0]) if rows.w is None else to_numpy(rows.w)
        settings = self._linear_settings()
        penalty = settings.penalties(self.coef_.shape[0])
        b = float(self.intercept_[0]) / settings.constant if settings.constant else 0.0
        W = np.append(self.coef_, b)
        loss = self._loss().limit(y, f)
        return float(0.5 * (W * W) @ penalty + self.C * (w @ loss))
