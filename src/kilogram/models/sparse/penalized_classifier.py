"""Sparse classification with a loss and a penalty of choice; see penalized_model.py."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.base import Budget, Laws
from kilogram.base.constraints import (
    Dictionary,
    Null,
    OneOf,
)
from kilogram.base.labels import class_weights, distinct_classes, signs, validate_labels
from kilogram.base.linear import LinearClassifier
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.validation.validate import ValidatedData
from kilogram.functions.logistic import log_sigmoid
from kilogram.functions.row_losses import (
    PredictorLoss,
)
from kilogram.models.sparse.penalized_model import (
    CLASSIFICATION,
    PenalizedModel,
    loss_of,
    weighted_rows,
)

Array = np.ndarray[Any, np.dtype[Any]]


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
        The loss of the margins.
    penalty : {"l1", "elasticnet", "mcp", "scad"}, default="l1"
        The penalty on the coefficients.
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
        Class labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the decision or regression function.
    dual_gap_ : float
        The duality gap, summed over the machines; infinite for concave penalties.
    violation_ : float
        The largest distance of the gradient to the subdifferential of the penalty.
    objective_ : float
        The value of the objective, summed over the machines.
    n_iter_ : int
        Largest number of Newton steps of a binary problem.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

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
