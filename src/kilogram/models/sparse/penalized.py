"""Sparse linear models of any loss: one loss, one penalty.

    min_{b, c}  1/W sum_i w_i loss(y_i, <x_i, b> + c) + sum_g P(f_g |b_g|)            W = sum_i w_i

    l1            P(t) = alpha t
    elasticnet    P(t) = alpha l1_ratio t, and alpha (1 - l1_ratio) / 2 |b|^2
    mcp, scad     rises like alpha t at 0 and is constant for large t

A group g is one feature, unless `groups` are given: a group is 0 as a whole. `functions/row_losses`
has the losses, `functions/penalties` the penalties, `solvers/coordinate/penalized` the algorithm.

References: Tibshirani 1996; Park and Hastie 2007; Friedman, Hastie and Tibshirani 2010; Zou and Li
2008; Breheny and Huang 2011.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Dictionary,
    Integer,
    Null,
    OneOf,
    Real,
    check_parameter,
)
from kilogram.base.estimator import Estimator
from kilogram.base.labels import class_weights, distinct_classes, signs, validate_labels
from kilogram.base.linear import LinearClassifier, LinearPredictor
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.base.validation.validate import ValidatedData
from kilogram.functions.logistic import log_sigmoid
from kilogram.functions.row_losses import (
    Gamma,
    Huber,
    Logistic,
    Poisson,
    PredictorLoss,
    SquaredError,
    SquaredHinge,
)
from kilogram.models.sparse.group_lasso import grouping_of
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.penalized import (
    PenalizedPath,
    PenalizedPoint,
    PenalizedRows,
    SparsePenalty,
    StopRule,
    Strengths,
)
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]

ADVICE = "Scale the features (StandardScaler), or raise max_iter, max_time or tol."
REGRESSION = ("squared_error", "huber", "poisson", "gamma")
CLASSIFICATION = ("logistic", "squared_hinge")
PENALTIES = ("l1", "elasticnet", "mcp", "scad")
LEAST_TARGET = {"poisson": ">= 0", "gamma": "> 0"}
#: Alphas from the empty model to the one asked for, where the penalty is concave.
WARM_STARTS = 20


def loss_of(name: str, epsilon: float = 1.35) -> PredictorLoss:
    """The loss of this name."""
    if name == "huber":
        return Huber(float(epsilon))
    losses: dict[str, PredictorLoss] = {
        "squared_error": SquaredError(), "poisson": Poisson(), "gamma": Gamma(),
        "logistic": Logistic(), "squared_hinge": SquaredHinge(),
    }  # fmt: skip
    return losses[name]


class PenaltySettings(NamedTuple):
    """The penalty as parameters give it."""

    kind: str
    l1_ratio: float
    gamma: float
    groups: Any
    weights: Any

    def check(self) -> None:
        if self.kind == "scad" and not self.gamma > 2:
            raise ValueError(
                f"gamma must be a float greater than 2 with penalty='scad', got {self.gamma}."
            )

    def penalty(self, p: int) -> SparsePenalty:
        grouping = grouping_of(1 if self.groups is None else self.groups, self.weights, p)
        kind = self.kind if self.kind in ("mcp", "scad") else "l1"
        return SparsePenalty(grouping, kind, self.gamma)

    @property
    def ratio(self) -> float:
        """The fraction of alpha that multiplies absolute values."""
        return self.l1_ratio if self.kind == "elasticnet" else 1.0

    def strengths(self, alpha: float) -> Strengths:
        return Strengths(alpha * self.ratio, alpha * (1.0 - self.ratio))


def weighted_rows(X: Any, y: Array, w: Array | None, intercept: bool) -> PenalizedRows:
    """Rows for the solver: sparse ones in CSC, weights of sum 1."""
    X = sp.csc_array(X) if is_sparse(X) else np.asarray(to_numpy(X))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    v = np.full(len(y), 1.0 / len(y)) if w is None else w / w.sum()
    return PenalizedRows(X, np.asarray(y, dtype=np.float64), v, intercept)


class PenalizedModel(Estimator):
    """What regression and classification share: parameters, the fit of one target."""

    loss: str
    penalty: str
    alpha: float
    l1_ratio: float
    gamma: float
    groups: Any
    weights: Any
    fit_intercept: bool
    max_iter: int
    tol: float
    warm_start: bool
    max_time: float | None
    coef_: Any
    intercept_: Any

    _copies = 3
    parameter_constraints: ClassVar = {
        "penalty": OneOf(*PENALTIES),
        "alpha": Real(0),
        "l1_ratio": Real(0, 1),
        "gamma": Real(1, closed="neither"),
        "groups": Integer(1) | ArrayLike() | Null(),
        "weights": ArrayLike() | Null(),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0, closed="neither"),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def _settings(self) -> PenaltySettings:
        settings = PenaltySettings(
            str(self.penalty), float(self.l1_ratio), float(self.gamma), self.groups, self.weights
        )
        settings.check()
        return settings

    def _row_loss(self) -> PredictorLoss:
        raise NotImplementedError

    def _fit_target(
        self, rows: PenalizedRows, tick: Any, start: tuple[Array, float] | None
    ) -> PenalizedPoint:
        """The solution of one target at alpha; concave penalties go down to it from the top."""
        settings = self._settings()
        penalty = settings.penalty(rows.X.shape[1])
        stop = StopRule(float(self.tol), int(self.max_iter))
        path = PenalizedPath(rows, self._row_loss(), penalty, stop, tick, start)
        alpha = float(self.alpha)
        if penalty.kind != "l1" and start is None and path.strength_max > alpha > 0:
            for higher in np.geomspace(path.strength_max, alpha, WARM_STARTS)[1:-1].tolist():
                point = path.solve(settings.strengths(higher))
                if path.late:
                    return point._replace(converged=False)
        return path.solve(settings.strengths(alpha))

    def _start(self, t: int, p: int) -> list[tuple[Array, float] | None]:
        if self.warm_start and hasattr(self, "coef_"):
            coef = np.atleast_2d(np.asarray(to_numpy(self.coef_), dtype=np.float64))
            if coef.shape == (t, p):
                b = np.atleast_1d(np.asarray(to_numpy(self.intercept_), dtype=np.float64))
                return list(zip(coef, b.tolist(), strict=True))
        return [None] * t

    def _keep_points(self, points: list[PenalizedPoint]) -> None:
        self.n_iter_ = max(point.n_iter for point in points)
        self.objective_ = sum(point.objective for point in points)
        self.dual_gap_ = sum(point.gap for point in points)
        self.violation_ = max(point.violation for point in points)
        done = all(point.converged for point in points)
        message = (
            f"the duality gap is {self.dual_gap_:.2g} and the optimality conditions are violated "
            f"by {self.violation_:.2g}."
        )
        found = Solution(None, self.n_iter_, converged=done, message=message)
        warn_if_unfinished(type(self).__name__, found, ADVICE)

    def _penalties(self, coef: Array) -> float:
        """The penalty of coefficients (p,)."""
        settings = self._settings()
        penalty = settings.penalty(len(coef))
        l1, l2 = settings.strengths(float(self.alpha))
        norms = penalty.grouping.norms(coef[:, None])
        return penalty.value(norms, l1) + 0.5 * l2 * float(coef @ coef)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        seconds = 100.0 * n * d / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "Newton steps on a working set", seconds, 8.0 * n * min(d, 1000))


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
        Most Newton steps for one strength.
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
    intercept_ : float
    dual_gap_ : float
        The duality gap that certifies the solution, in units of the objective; infinite for concave
        penalties.
    violation_ : float
        The largest distance of the gradient to the subdifferential of the penalty.
    objective_ : float
        The value of the objective, without terms that depend on y alone.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

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
        z = super().predict(X)
        if self.link_ == "identity":
            return z
        if is_streamed(z):
            return map_rows(lambda block: namespace(block).exp(block), z)
        return namespace(z).exp(z)

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
        tags.target_tags.positive_only = self.loss in LEAST_TARGET
        return tags


def ensure_targets(y: Array, w: Array | None, loss: str, name: str) -> None:
    """Refuse targets that the loss cannot have, and rows without weight."""
    used = y if w is None else y[w > 0]
    if not len(used):
        raise ValueError("All rows have weight zero. Give some of them a positive weight.")
    bound = LEAST_TARGET.get(loss)
    if bound is None:
        return
    if not ((used >= 0) if bound == ">= 0" else (used > 0)).all():
        raise ValueError(
            f"Some value(s) of y are out of the valid range of the loss of {name}: y must be "
            f"{bound}."
        )
    if not used.any():
        raise ValueError(
            f"{name} needs targets y with a positive mean, got 0: no finite intercept fits them."
        )


def _gives_probabilities(model: PenalizedModel) -> bool:
    if model.loss != "logistic":
        raise AttributeError(
            f"predict_proba needs loss='logistic', got loss={model.loss!r}. "
            "CalibratedClassifierCV turns decision values into probabilities."
        )
    return True


class PenalizedClassifier(LinearClassifier, PenalizedModel):
    """Sparse classification with a loss and a penalty of your choice.

    Minimises ``1/W sum_i w_i loss(y_i, z_i) + penalty(b)`` with ``z = <x, b> + c`` and y = +-1.
    More than two classes are one-vs-rest, each with its own features.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge"}, default="logistic"
    penalty : {"l1", "elasticnet", "mcp", "scad"}, default="l1"
    alpha : float, default=0.01
        Strength of the penalty, at least 0; 1 / (n C) of `LogisticRegression`.
    l1_ratio : float, default=0.5
        Fraction of the absolute values in `penalty="elasticnet"`.
    gamma : float, default=3.0
        Where "mcp" and "scad" become constant, in units of alpha; above 2 for "scad".
    groups, weights, fit_intercept, max_iter, tol, warm_start, max_time
        As in `PenalizedRegressor`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    dual_gap_ : float
        The duality gap, summed over the machines; infinite for concave penalties.
    violation_ : float
        The largest distance of the gradient to the subdifferential of the penalty.
    objective_ : float
        The value of the objective, summed over the machines.
    n_iter_ : int
        Most Newton steps of a machine.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    See Also
    --------
    LogisticRegression : All classes together, with streaming rows.
    penalized_path : Many strengths.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import PenalizedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> y = X[:, 0] - X[:, 1] > 0
    >>> PenalizedClassifier(alpha=0.1).fit(X, y).coef_.round(1)
    array([[ 1.1, -1. ,  0. ,  0. ,  0. ,  0. ]])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few Newton steps, of which max_iter is the most",
        textbook="the texts have the lasso of squares and of logistic loss alone; compared with "
        "scikit-learn and by optimality conditions",
        example={"alpha": 0.01, "tol": 1e-12},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "loss": OneOf(*CLASSIFICATION),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
        **PenalizedModel.parameter_constraints,
    }

    def __init__(
        self,
        loss: str = "logistic",
        penalty: str = "l1",
        *,
        alpha: float = 0.01,
        l1_ratio: float = 0.5,
        gamma: float = 3.0,
        groups: Any = None,
        weights: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
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
        self.groups = groups
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.max_time = max_time

    def _row_loss(self) -> PredictorLoss:
        return loss_of(self.loss)

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
        X, y, w = self._in_memory(validate_labels(self, X, y, sample_weight))
        classes = distinct_classes(y)
        w = self._row_weights(classes, y, w)
        Y = signs(y, classes)
        data = weighted_rows(X, Y[:, 0], w, bool(self.fit_intercept))
        starts = self._start(Y.shape[1], data.X.shape[1])
        points = []
        with ticking(self, "step", budget.deadline) as tick:
            for t, start in enumerate(starts):
                points.append(self._fit_target(data._replace(y=Y[:, t]), tick, start))
        self.classes_ = classes
        self._keep_linear(
            np.stack([point.coef for point in points]),
            np.array([point.intercept for point in points]), X,
        )  # fmt: skip
        if not is_sparse(X) and not is_numpy(X):
            self.coef_, self.intercept_ = like(self.coef_, X), like(self.intercept_, X)
        self._keep_points(points)
        return self

    def _in_memory(self, rows: ValidatedData) -> ValidatedData:
        if not is_streamed(rows.X):
            return rows
        names = getattr(self, "feature_names_in_", None)
        parts = list(zip(*row_blocks(*rows), strict=True))
        X, y, w = (None if part[0] is None else stack_rows(list(part)) for part in parts)
        found = validate_labels(self, X, y, w)
        if names is not None:
            self.feature_names_in_ = names
        return found

    def _row_weights(self, classes: Array, y: Any, w: Any) -> Array | None:
        factors = class_weights(self.class_weight, classes, y, w)
        found = None if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        if not np.all(factors == 1.0):
            own = factors[np.searchsorted(classes, np.asarray(to_numpy(y)))]
            found = own if found is None else own * found
        if found is not None and not found.sum() > 0:
            raise ValueError(
                "All rows have weight zero. Give some of them a positive sample_weight and "
                "class_weight."
            )
        return found

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the fitted model on these rows, summed over the machines."""
        check_is_fitted(self)
        X, y, w = validate_labels(self, X, y, sample_weight, reset=False)
        w = self._row_weights(self.classes_, y, w)
        Y = signs(y, self.classes_)
        Z = np.asarray(to_numpy(self.decision_function(X)), dtype=np.float64).reshape(Y.shape)
        coefs = np.asarray(to_numpy(self.coef_), dtype=np.float64)
        loss = self._row_loss()
        values = [np.average(loss.value(Y[:, t], Z[:, t]), weights=w) for t in range(Y.shape[1])]
        return float(sum(values)) + sum(self._penalties(coef) for coef in coefs)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities; see `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        logs : array of shape (m, n_classes)
        """

        def logs(Z: Any) -> Any:
            xp = namespace(Z)
            Z = Z.astype(np.float64) if is_numpy(Z) else Z
            if len(self.classes_) == 2:
                return xp.stack([log_sigmoid(-Z[:, 0]), log_sigmoid(Z[:, 0])], axis=1)
            own = log_sigmoid(Z)
            top = xp.max(own, axis=1, keepdims=True)
            return own - top - xp.log(xp.sum(xp.exp(own - top), axis=1, keepdims=True))

        return self._values(X, logs)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; of more than two, sigmoids divided by their sum.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        P : array of shape (m, n_classes)
        """
        logs = self.predict_log_proba(X)
        if is_streamed(logs):
            return map_rows(lambda block: namespace(block).exp(block), logs)
        return namespace(logs).exp(logs)


class PenalizedPathResult(NamedTuple):
    """Solutions along a path; gaps are infinite for concave penalties."""

    alphas: Array
    coefs: Array
    intercepts: Array
    dual_gaps: Array
    violations: Array
    n_iters: Array


def penalized_path(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_error",
    penalty: str = "l1",
    l1_ratio: float = 0.5,
    gamma: float = 3.0,
    epsilon: float = 1.35,
    groups: Any = None,
    weights: Any = None,
    eps: float = 1e-2,
    n_alphas: int = 100,
    alphas: Any = None,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-4,
    max_time: float | None = None,
    sample_weight: Any = None,
) -> PenalizedPathResult:
    """Sparse linear models of any loss for a decreasing grid of alphas, each from the one before.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        Numbers, or the labels of two classes for the losses "logistic" and "squared_hinge".
    loss : {"squared_error", "huber", "poisson", "gamma", "logistic", "squared_hinge"}
    penalty, l1_ratio, gamma, epsilon, groups, weights, fit_intercept, max_iter, tol
        As in `PenalizedRegressor` and `PenalizedClassifier`.
    eps : float, default=1e-2
        Ratio of the smallest to the largest alpha of the grid.
    n_alphas : int, default=100
        Length of the grid.
    alphas : array-like, default=None
        The alphas themselves, sorted in decreasing order before use.
    max_time : float or None, default=None
        Seconds after which the path ends; the alphas reached are returned.
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    PenalizedPathResult
        `alphas` (m,), `coefs` (d, m), `intercepts`, `dual_gaps`, `violations` and `n_iters` (m,).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kilogram import penalized_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = penalized_path(scale(X), y, loss="logistic", n_alphas=5)
    >>> (path.coefs != 0).sum(axis=0)
    array([ 0,  2,  5,  9, 13])
    """
    check_parameter("loss", loss, OneOf(*REGRESSION, *CLASSIFICATION))
    check_parameter("eps", eps, Real(0, 1, closed="neither"))
    check_parameter("n_alphas", n_alphas, Integer(1))
    classifies = loss in CLASSIFICATION
    shared: dict[str, Any] = dict(
        penalty=penalty, l1_ratio=l1_ratio, gamma=gamma, groups=groups, weights=weights,
        fit_intercept=fit_intercept, max_iter=max_iter, tol=tol, max_time=max_time,
    )  # fmt: skip
    if classifies:
        model: Any = PenalizedClassifier(loss, **shared)
        X, y, w = model._in_memory(validate_labels(model, X, y, sample_weight))
        classes = distinct_classes(y)
        if len(classes) > 2:
            raise ValueError(
                f"penalized_path needs two classes, got {len(classes)}. Take one class against the "
                "rest."
            )
        y, w = signs(y, classes)[:, 0], model._row_weights(classes, y, w)
    else:
        model = PenalizedRegressor(loss, epsilon=epsilon, **shared)
        rows = validate_regression_data(model, X, y, sample_weight)
        rows = gather_regression_data(model, rows)
        X, y = rows.X, column_or_1d(to_numpy(rows.Y))
        w = None if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
        ensure_targets(y, w, loss, "penalized_path")
    settings = model._settings()
    data = weighted_rows(X, y, w, bool(fit_intercept))
    with ticking(model, "step", Budget(max_time).deadline) as tick:
        path = PenalizedPath(
            data, model._row_loss(), settings.penalty(data.X.shape[1]),
            StopRule(float(tol), int(max_iter)), tick,
        )  # fmt: skip
        grid = _grid(path.strength_max, settings.ratio, alphas, eps, n_alphas)
        points = []
        for alpha in grid.tolist():
            points.append(path.solve(settings.strengths(alpha)))
            if path.late:
                break
    found = Solution(
        None, len(points), converged=all(point.converged for point in points),
        message=f"alphas missed the tolerance: {sum(not p.converged for p in points)}.",
    )  # fmt: skip
    warn_if_unfinished("penalized_path", found, ADVICE)
    return PenalizedPathResult(
        grid[: len(points)],
        np.stack([point.coef for point in points], axis=1),
        np.array([point.intercept for point in points]),
        np.array([point.gap for point in points]),
        np.array([point.violation for point in points]),
        np.array([point.n_iter for point in points]),
    )


def _grid(top: float, ratio: float, alphas: Any, eps: float, n_alphas: int) -> Array:
    if alphas is not None:
        found = np.sort(np.asarray(to_numpy(alphas), dtype=np.float64))[::-1]
        for alpha in found.tolist():
            check_parameter("alphas", alpha, Real(0))
        return found
    if ratio == 0:
        raise ValueError(
            "A grid of alphas cannot be made for l1_ratio=0, whose path never reaches 0. Give the "
            "alphas."
        )
    top = max(top / ratio, float(np.finfo(float).resolution))
    return np.geomspace(top, top * eps, n_alphas) if n_alphas > 1 else np.array([top])
