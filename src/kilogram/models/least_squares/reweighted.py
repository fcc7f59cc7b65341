"""Least squares with unknown variances: iteratively reweighted, by a model of the variance.

Objective    min_W,b,sigma  sum_i w_i (log sigma_i^2 + (y_i - <x_i, W> - b)^2 / sigma_i^2)

(twice the negative log-likelihood of normal errors). Two steps in turn:

    W, b      weighted least squares with weights w_i / sigma_i^2
    sigma     from the residuals, by a model with few parameters

The lectures print sigma_i = |r_i| for every row by itself: the likelihood then has no minimum, and
the iteration ends on d rows fitted exactly. Models that do not collapse:

    log-linear   log sigma^2(x) = g_0 + <g, x>: scoring steps (Z'WZ)^-1 Z'W (r^2 / sigma^2 - 1)
    groups       one variance per group of rows: sigma_g^2 = sum w r^2 / sum w

with sigma^2 never below `floor` times the overall mean square. Every step is a sum over the rows,
so they may be streaming or distributed; they are read twice an iteration.

Reference: Harvey 1976.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Laws, warn_if_unfinished
from kilogram.base.constraints import Boolean, Constraint, Integer, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.least_squares.variance_models import LogLinear, grouped_fit, log_linear_fit
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.ridge import joint_moments


class ReweightedLeastSquares(LinearPredictor):
    """Linear regression whose errors have variances that are not known.

    Fits coefficients and variances in turn, by maximum likelihood: the variance depends on x
    (``log sigma^2 = g_0 + <g, x>``), or differs from group to group.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit the intercept b.
    floor : float, default=1e-3
        Smallest variance, as a fraction of the mean squared residual: a few rows that are fitted
        exactly must not get all the weight.
    max_iter : int, default=100
        Maximum number of iterations of the two steps.
    tol : float, default=1e-6
        Decrease of the objective per unit of weight at which the iterations end.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Coefficients W.
    intercept_ : float
        Intercept b; 0.0 without one.
    variance_coef_, variance_intercept_ : ndarray of shape (d,), float
        g and g_0; only without groups.
    groups_, group_variances_ : ndarray of shape (n_groups,)
        The groups and the variances found; only with groups.
    n_iter_ : int
        Number of iterations.
    objective_ : float
        sum_i w_i (log sigma_i^2 + r_i^2 / sigma_i^2).
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    GeneralizedLeastSquares : Variances that are known.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import ReweightedLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 2, size=(2000, 1))
    >>> y = 3 * x[:, 0] + np.exp(x[:, 0]) * rng.standard_normal(2000)
    >>> model = ReweightedLeastSquares().fit(x, y)
    >>> float(model.variance_coef_[0].round(1))  # log sigma^2 = 2 x
    2.0
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="at most max_iter direct solutions",
        rtol=1e-5,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "fit_intercept": Boolean(),
        "floor": Real(0, 1, closed="neither"),
        "max_iter": Integer(1),
        "tol": Real(0),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        floor: float = 1e-3,
        max_iter: int = 100,
        tol: float = 1e-6,
    ):
        self.fit_intercept = fit_intercept
        self.floor = floor
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit coefficients and variances.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Read twice in every iteration.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Frequency weights.
        groups : array-like of shape (n,), default=None
            Rows of a group share a variance; without groups it depends on x.

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight, finite=False)
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        moments, _ = joint_moments(rows)
        self._ensure_finite(moments.scatter, rows.X)
        self._ensure_target(moments.scatter_y)
        limits = (self.fit_intercept, self.floor, self.max_iter, self.tol)
        if groups is None:
            found, model = log_linear_fit(rows, moments, *limits)
            slopes = model.g[1:] * model.scale
            variances = {
                "variance_coef_": slopes,
                "variance_intercept_": float(model.g[0] - model.mean @ slopes),
                "_low": model.low,
            }
        else:
            found, names, by_group = grouped_fit(rows, _checked_groups(groups, rows), *limits)
            variances = {"groups_": names, "group_variances_": by_group}
        W, b = found.value
        self._store_linear((W[:, None], np.array([b])), rows, flat=True)
        for name in ("variance_coef_", "variance_intercept_", "groups_", "group_variances_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(variances)
        self.n_iter_, self.objective_ = max(1, found.n_iter), found.objective
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or tol.")
        return self

    def predict_variance(self, X: Any, groups: Any = None) -> Any:
        """sigma^2 of the errors at the rows of X, or of the groups of the rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        groups : array-like of shape (n,), default=None
            Needed if the model was fitted with groups.

        Returns
        -------
        variance : array of shape (n,)
        """
        check_is_fitted(self)
        if hasattr(self, "groups_"):
            return self._of_groups(groups)
        X = self._validate(X, reset=False).X
        g = np.append(self.variance_intercept_, self.variance_coef_)
        d = self.variance_coef_.shape[0]
        model = LogLinear(g, np.zeros(d), np.ones(d), self._low)

        def variances(block: Any) -> Any:
            logs = model.logs(block)
            return namespace(logs).exp(logs)

        return map_rows(variances, X)

    def _of_groups(self, groups: Any) -> np.ndarray:
        wanted = np.asarray([] if groups is None else groups, dtype=self.groups_.dtype)
        at = np.minimum(np.searchsorted(self.groups_, wanted), len(self.groups_) - 1)
        if groups is None or not np.array_equal(self.groups_[at], wanted):
            raise ValueError(f"groups must be given, among those fitted: {self.groups_!r}.")
        return self.group_variances_[at]

    def objective(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """sum_i w_i (log sigma_i^2 + r_i^2 / sigma_i^2) of the fitted model on these rows."""
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        r = to_numpy(rows.Y)[:, 0] - to_numpy(self.predict(rows.X))
        v = np.asarray(to_numpy(self.predict_variance(rows.X, groups)), dtype=np.float64)
        w = np.ones(r.shape[0]) if rows.w is None else to_numpy(rows.w)
        return float(w @ (np.log(v) + r**2 / v))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _checked_groups(groups: Any, rows: RegressionData) -> np.ndarray:
    groups = np.asarray(groups)
    if is_streamed(rows.X):
        raise ValueError("groups need the rows in memory: gather them, or fit without groups.")
    if groups.shape != (rows.Y.shape[0],):
        raise ValueError(
            f"groups must have one entry per row, shape ({rows.Y.shape[0]},), got {groups.shape}."
        )
    return groups
