"""Sparse regression with a loss and a penalty of choice; see penalized_model.py."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Budget, Laws
from kilogram.base.constraints import (
    OneOf,
    Real,
)
from kilogram.base.linear import LinearPredictor, inverse_link
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.functions.row_losses import (
    PredictorLoss,
)
from kilogram.models.sparse.penalized_model import (
    LEAST_TARGET,
    REGRESSION,
    PenalizedModel,
    ensure_targets,
    loss_of,
    weighted_rows,
)

Array = np.ndarray[Any, np.dtype[Any]]


class PenalizedRegressor(PenalizedModel, LinearPredictor):
    """Sparse regression with a loss and a penalty of your choice.

    Minimises ``1/W sum_i w_i loss(y_i, z_i) + penalty(b)`` with ``z = <x, b> + c``: robust lasso
    (``loss="huber"``), sparse counts (``"poisson"``), sparse positive amounts (``"gamma"``), each
    with the lasso's penalty, the elastic net, MCP or SCAD, on features or on groups of them.

    Parameters
    ----------
    loss : {"squared_error", "huber", "poisson", "gamma"}, default="squared_error"
        Poisson and gamma have the log link: the prediction is ``exp(z)``.
    penalty : {"l1", "elasticnet", "mcp", "scad"}, default="l1"
        The penalty on the coefficients.
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    l1_ratio : float, default=0.5
        Fraction of the absolute values in `penalty="elasticnet"`.
    gamma : float, default=3.0
        Where "mcp" and "scad" become constant, in units of alpha; above 2 for "scad".
    epsilon : float, default=1.35
        Where `loss="huber"` becomes linear, in units of y.
    groups : int, list of int, list of lists of int or None, default=None
        Groups of features, as in `GroupLasso`; None: every feature by itself.
    weights : array-like of shape (n_groups,) or (d,), default=None
        Factors f_g of the penalty, at least 0; a feature of weight 0 is not penalised. Default:
        1, or the roots of the sizes of groups.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    max_iter : int, default=1000
        Maximum number of Newton steps for one penalty.
    tol : float, default=1e-4
        The duality gap at the solution, relative to the loss that features could explain; for
        concave penalties the violation of the optimality conditions, relative to the largest alpha
        that keeps a feature.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    dual_gap_ : float
        The duality gap that certifies the solution, in units of the objective; infinite for concave
        penalties.
    violation_ : float
        The largest distance of the gradient to the subdifferential of the penalty.
    objective_ : float
        The value of the objective, without terms that depend on y alone.
    n_iter_ : int
        Number of Newton steps.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PenalizedClassifier : Two classes or more.
    penalized_path : Many strengths.
    Lasso, GroupLasso, ConcaveRegressor : The squared loss, with streaming rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import PenalizedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = rng.poisson(np.exp(0.8 * X[:, 0] - 0.5 * X[:, 1]))
    >>> PenalizedRegressor("poisson", alpha=0.1).fit(X, y).coef_.round(1)
    array([ 0.7, -0.5,  0. ,  0. ,  0. ,  0. ])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few Newton steps, of which max_iter is the most",
        textbook="the texts have the lasso of squares and of logistic loss alone; compared with "
        "scikit-learn and by optimality conditions",
        example={"alpha": 0.05, "tol": 1e-12},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "loss": OneOf(*REGRESSION),
        "epsilon": Real(0, closed="neither"),
        **PenalizedModel.parameter_constraints,
    }

    def __init__(
        self,
        loss: str = "squared_error",
        penalty: str = "l1",
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        gamma: float = 3.0,
        epsilon: float = 1.35,
        groups: Any = None,
        weights: Any = None,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.gamma = gamma
        self.epsilon = epsilon
        self.groups = groups
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.max_time = max_time

    def _row_loss(self) -> PredictorLoss:
        return loss_of(self.loss, self.epsilon)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Streaming rows are gathered in memory.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = validate_regression_data(self, X, y, sample_weight)
        if rows.flat is False and rows.Y.shape[1] == 1:
            column_or_1d(to_numpy(rows.Y), warn=True)
        rows = gather_regression_data(self, rows)
        if rows.Y.shape[1] != 1:
            raise ValueError(
                f"y must have one column, got {rows.Y.shape[1]}. Fit one model for each target."
            )
        host = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        w = None if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
        ensure_targets(host, w, self.loss, type(self).__name__)
        data = weighted_rows(rows.X, host, w, bool(self.fit_intercept))
        (start,) = self._start(1, data.X.shape[1])
        with ticking(self, "step", budget.deadline) as tick:
            point = self._fit_target(data, tick, start)
        self._store_linear((point.coef[:, None], np.array([point.intercept])), rows, flat=True)
        self._keep_points([point])
        return self

    def predict(self, X: Any) -> Any:
        """Predict the targets of the rows of X; of the log link, their means.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)

        Returns
        -------
        y : array of shape (n,)
        """
        return inverse_link(super().predict(X), self.link_)

    @property
    def link_(self) -> str:
        """The link of the mean, "log" or "identity"."""
        return "log" if self.loss in LEAST_TARGET else "identity"

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The value of the objective of the fitted model on these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        rows = gather_regression_data(self, rows, reset=False)
        z = np.asarray(to_numpy(super().predict(rows.X)), dtype=np.float64)
        y = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        w = None if rows.w is None else to_numpy(rows.w)
        value = float(np.average(self._row_loss().value(y, z), weights=w))
        return value + self._penalties(np.asarray(to_numpy(self.coef_), dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.positive_only = isinstance(self.loss, str) and self.loss in LEAST_TARGET
        return tags
