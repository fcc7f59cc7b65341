"""Multi-task elastic net and lasso with the penalty chosen by cross-validation along their paths.

The folds, grids and moments are those of `ElasticNetCV`; every path is fitted to all targets
together, and the error of a fold is the mean over rows and targets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Laws
from kilogram.models.sparse.elastic_net_cv import ElasticNetCV
from kilogram.models.sparse.folds import RegressionRows, fold_data
from kilogram.models.sparse.group_lasso import GroupedModel, MultiTaskElasticNet
from kilogram.models.sparse.paths import enet_path, lasso_path
from kilogram.models.sparse.problem import Centring
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.coordinate.elastic_net import PathPoint
from kilogram.solvers.coordinate.group_lasso import (
    Grouping,
    GroupOptions,
    group_path,
    group_strength_max,
)
from kilogram.solvers.least_squares.data import RegressionData

Array = np.ndarray[Any, np.dtype[Any]]


class MultiTaskElasticNetCV(ElasticNetCV):
    """Elastic net for targets that share their features, its penalty chosen by cross-validation.

    As `ElasticNetCV`, with the objective of `MultiTaskElasticNet`: a feature is used for all
    targets or for none. Takes scikit-learn's parameters; `sample_weight`, sparse and streaming rows
    are Kilogram's.

    Parameters
    ----------
    l1_ratio, eps, n_alphas, alphas, fit_intercept, max_iter, tol, cv, copy_X, verbose, n_jobs, \
random_state, selection
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_, l1_ratio_, mse_path_, alphas_, n_features_in_, feature_names_in_
        As in `ElasticNetCV`; the errors are means over rows and targets.
    coef_, intercept_, dual_gap_, n_iter_
        As in `MultiTaskElasticNet`.

    See Also
    --------
    MultiTaskLassoCV : The lasso alone.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MultiTaskElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> Y = X[:, :2] @ np.array([[2.0, -1.0], [1.0, 1.0]]) + rng.normal(size=(100, 2))
    >>> model = MultiTaskElasticNetCV(l1_ratio=[0.5, 1.0]).fit(X, Y)
    >>> model.coef_.shape, float(model.l1_ratio_)
    ((2, 5), 1.0)
    """

    laws: ClassVar[Laws] = replace(
        ElasticNetCV.laws,
        textbook="MultiTaskElasticNet's, once for every fold and alpha",
    )
    path: ClassVar[Any] = staticmethod(enet_path)
    parameter_constraints: ClassVar = {
        name: constraint
        for name, constraint in ElasticNetCV.parameter_constraints.items()
        if name != "positive"
    }
    positive: bool = False  # not a parameter: the norm of a group has no sign

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        n_alphas: Any = "deprecated",
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: Any = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.n_alphas = n_alphas
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty and fit the coefficients of all targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered in memory.
        y : array-like of shape (n, n_targets) or (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        data, rows = fold_data(self, X, y, sample_weight, joint=True)
        self._choose(data, rows)
        return self

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The value of the objective of the fitted model on these rows."""
        chosen = MultiTaskElasticNet(self.alpha_, l1_ratio=self.l1_ratio_)
        chosen.__dict__ |= {name: value for name, value in vars(self).items() if name[-1] == "_"}
        return chosen.objective(X, y, sample_weight)

    def _largest(self, design: Design) -> float:
        return group_strength_max(design, Grouping.single(len(design.q)))

    def _points(self, design: Design, ratio: float, grid: Array) -> list[PathPoint]:
        groups = Grouping.single(len(design.q))
        options = GroupOptions(groups, float(self.tol), int(self.max_iter))
        return group_path(design, [(a * ratio, a * (1 - ratio)) for a in grid.tolist()], options)

    def _squared_errors(
        self, part: RegressionRows, centring: Centring, points: list[PathPoint]
    ) -> Array:
        models = [(point.coef, centring.intercepts(point.coef)) for point in points]
        # targets count the same, so the mean over them follows that over the rows
        return np.array([part.squared_errors(*model).mean() for model in models])

    def _refit(self, design: Design, centring: Centring, rows: RegressionData) -> None:
        (point,) = self._points(design, float(self.l1_ratio_), np.array([self.alpha_]))
        flat = bool(rows.flat)
        self._store_linear((point.coef, centring.intercepts(point.coef)), rows, flat=flat)
        if not flat and point.coef.shape[1] == 1:
            self.coef_ = self.coef_[None, :]
        self.dual_gap_, self.n_iter_ = np.float64(point.gap * design.yy), point.n_iter
        GroupedModel._report(self, point)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class MultiTaskLassoCV(MultiTaskElasticNetCV):
    """Lasso for targets that share their features, its alpha chosen by cross-validation.

    As `LassoCV`, with the objective of `MultiTaskLasso`. Takes scikit-learn's parameters.

    Parameters
    ----------
    eps, n_alphas, alphas, fit_intercept, max_iter, tol, copy_X, cv, verbose, n_jobs, \
random_state, selection
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_, mse_path_, alphas_, coef_, intercept_, dual_gap_, n_iter_, n_features_in_, \
feature_names_in_
        As in `MultiTaskElasticNetCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MultiTaskLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> Y = X[:, :2] @ np.array([[2.0, -1.0], [1.0, 1.0]]) + rng.normal(size=(100, 2))
    >>> model = MultiTaskLassoCV(alphas=[1.0, 0.3, 0.1]).fit(X, Y)
    >>> float(model.alpha_), (model.coef_ != 0).sum(axis=0)
    (0.1, array([2, 2, 0, 0, 0]))
    """

    path: ClassVar[Any] = staticmethod(lasso_path)
    parameter_constraints: ClassVar = {
        name: constraint
        for name, constraint in MultiTaskElasticNetCV.parameter_constraints.items()
        if name != "l1_ratio"
    }
    l1_ratio: Any = 1.0  # not a parameter of the lasso

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        n_alphas: Any = "deprecated",
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: Any = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ):
        self.eps = eps
        self.n_alphas = n_alphas
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection
