"""Ridge regression with the penalty chosen by exact leave-one-out.

    min_alpha  (1/n) sum_i w_i |y_i - f_alpha^(-i)(x_i)|^2       f^(-i) fitted without row i

leave_one_out.py gives all residuals of all penalties from one eigendecomposition of X_c'X_c (or of
X_c X_c' where that is smaller), equal to refitting n times. Streaming rows are read twice: for the
moments, and for the sums of squared residuals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import GridSearchCV

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.base import Estimate, Laws, Twin
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Null,
    OneOf,
)
from kilogram.base.folds import split_rows
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.ridge.path_scores import (
    as_scorer,
    best_by_folds,
    check_alphas,
    check_folds,
    choose,
    cv_results,
)
from kilogram.models.ridge.ridge import Ridge
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.ridge_path import Path, tall_path, wide_path


class RidgeCV(LinearPredictor):
    """Ridge regression that chooses its penalty by exact leave-one-out.

    Minimises ``sum_i w_i |y_i - <x_i, W> - b|^2 + alpha |W|^2`` for every alpha of a grid from one
    eigendecomposition, and keeps the alpha with the best leave-one-out predictions. Takes
    scikit-learn's parameters; with leave-one-out also data frames, memory maps, Parquet files,
    iterables of blocks and Dask collections.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        The penalties to try, > 0 for leave-one-out.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None is the negative mean squared error for leave-one-out
        (weighted by `sample_weight`, over the number of rows), R^2 otherwise.
    cv : int, splitter or iterable, default=None
        None is leave-one-out; else the folds of scikit-learn's `GridSearchCV`.
    gcv_mode : {None, "auto", "eigen", "svd"}, default=None
        "svd" decomposes the rows themselves where there are at least as many as columns: more
        accurate for dependent columns, and slower. Else the moments of the columns, or the inner
        products of the rows where there are fewer.
    store_cv_results : bool, default=False
        Keep `cv_results_`; leave-one-out only, rows in memory.
    alpha_per_target : bool, default=False
        Every target chooses its own alpha; leave-one-out only.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen penalty.
    best_score_ : float or ndarray of shape (n_targets,)
        Score of the chosen penalty.
    scores_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        The score of every penalty.
    path_ : array of shape (n_alphas, d) or (n_alphas, n_targets, d)
        The coefficients of every penalty; leave-one-out only.
    cv_results_ : array of shape (n, n_alphas) or (n, n_targets, n_alphas)
        With `store_cv_results`: the squared leave-one-out errors of every row, weighted, or the
        leave-one-out predictions where `scoring` is given.
    coef_ : array of shape (d,) or (n_targets, d)
        The coefficients of the penalty chosen.
    intercept_ : float or array of shape (n_targets,)
        Intercept; 0.0 without one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Notes
    -----
    Leaving a row out removes its whole weight. A row of integer weight is therefore predicted
    without its copies, unlike the same row repeated, whose copies remain in the training data.

    See Also
    --------
    KernelRidgeCV : The kernel version.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> float(model.alpha_), round(model.score(X, y), 3)
    (0.01, 0.517)
    """

    laws: ClassVar[Laws] = Laws(
        twin=Twin("KernelRidgeCV", kernel_params={"fit_intercept": True}),
        objective="the penalty is chosen by leave-one-out, not by the objective it enters",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alphas": ArrayLike(),
        "fit_intercept": Boolean(),
        "gcv_mode": Null() | OneOf("auto", "eigen", "svd"),
        "store_cv_results": Boolean(),
        "alpha_per_target": Boolean(),
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        alphas = check_alphas(self.alphas, strictly=self.cv is None)
        if self.cv is not None:
            return self._search(alphas, X, y, sample_weight)
        scorer = as_scorer(self, self.scoring)
        rows = validate_regression_data(self, X, y, sample_weight, finite=False, min_samples=2)
        path = self._path(rows, alphas)
        choice = choose(path.press, path.residuals, rows, scorer, self.alpha_per_target)
        xp = namespace(path.W)
        W = xp.stack([path.W[:, j, i] for j, i in enumerate(choice.index)], axis=1)
        b = xp.stack([path.b[j, i] for j, i in enumerate(choice.index)])
        self._store_linear((W, b), rows, flat=path.flat)
        self.alpha_, self.best_score_ = choice.alpha(alphas), choice.best
        self.scores_ = choice.scores
        along = xp.permute_dims(path.W, (2, 1, 0))
        self.path_ = along[:, 0, :] if path.flat else along
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results:
            self.cv_results_ = cv_results(path.residuals, rows, scorer)
        return self

    def _path(self, rows: RegressionData, alphas: list[float]) -> Path:
        by_svd = self.gcv_mode == "svd" and not is_sparse(rows.X)
        keep = self.store_cv_results or self.scoring is not None
        streamed = is_streamed(rows.X)
        if streamed and (keep or by_svd):
            raise ValueError(
                "scoring, store_cv_results and gcv_mode='svd' need all rows in memory. Use their "
                "defaults for streaming input: leave-one-out with the mean squared error."
            )
        problem = (rows, alphas, bool(self.fit_intercept), lambda s: self._ensure_finite(s, rows.X))
        if not streamed and rows.X.shape[0] < rows.X.shape[1]:
            return wide_path(*problem)
        return tall_path(*problem, keep=keep, by_svd=by_svd)

    def _search(self, alphas: list[float], X: Any, y: Any, sample_weight: Any) -> Self:
        """Choose by the folds of `cv`, with scikit-learn's search."""
        check_folds(self.store_cv_results, self.alpha_per_target)
        search = GridSearchCV(
            Ridge(fit_intercept=self.fit_intercept),
            {"alpha": alphas},
            cv=split_rows(self.cv, X, y),
            scoring=self.scoring,
        )
        found = best_by_folds(search, X, y, sample_weight)
        self.alpha_, self.best_score_ = np.float64(found.alpha), search.best_score_
        self.scores_ = search.cv_results_["mean_test_score"]
        for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_"):
            if hasattr(found, name):
                setattr(self, name, getattr(found, name))
        return self

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        side, k = min(n, d), len(check_alphas(self.alphas, strictly=False))
        work = n * d * side / 2 + 9.0 * side**3 + n * side * (side + k)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "leave-one-out path", seconds, 8.0 * (4 * side**2 + n * k))
