"""Where to stop on the exact path: by cross-validation, or by an information criterion.

Folds      every fold has knots of its own; between them its coefficients, and with them the
           residuals of the rows left out, are linear in alpha
AIC, BIC   n log(2 pi s^2) + |r|^2 / s^2 + penalty * (number of features), s^2 the noise variance of
           least squares on all features unless it is given; the lasso has as many degrees of
           freedom as features that are not 0 (Zou, Hastie and Tibshirani 2007)
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import ArrayLike, Boolean, Integer, Null, OneOf, Real
from kilogram.base.linear import LinearPredictor
from kilogram.models.sparse.folds import FoldDesigns, RegressionRows, fold_data, split_folds
from kilogram.models.sparse.lars import EPS
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.least_squares.least_squares import solve_moments
from kilogram.solvers.pursuit.lars import LarsOptions, LarsPath, least_angles
from kilogram.statistics import JointMoments

Array = np.ndarray[Any, np.dtype[Any]]


class LarsSelection(LinearPredictor):
    """A point of a path of one target: storage, tags and cost."""

    max_iter: int

    def _store_path(self, path: LarsPath, k: int, rows: Any, centring: Any) -> None:
        self.alpha_ = np.float64(path.alphas[k])
        W = path.coefs[k][:, None]
        self.active_ = [j for j in path.active if W[j, 0] != 0]
        self.n_iter_ = path.n_iter
        self._store_linear((W, centring.intercepts(W)), rows, flat=True)
        dtype = to_numpy(self.coef_).dtype
        self.alphas_ = np.array(path.alphas, dtype=dtype)
        self.coef_path_ = np.stack(path.coefs, axis=1).astype(dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 12.0 * n * d * min(self.max_iter, n, d)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "exact paths", seconds, 16.0 * n * d)


class LarsCV(LarsSelection):
    """Least-angle regression that ends where cross-validation has the smallest error.

    Takes scikit-learn's parameters; see `Lars`.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    verbose, precompute, n_jobs, eps, copy_X
        Accepted for compatibility with scikit-learn.
    max_iter : int, default=500
        Maximum number of knots of a path.
    cv : int, splitter or iterable, default=None
        Folds or splitter; None is five folds.
    max_n_alphas : int, default=1000
        Most alphas at which the folds are compared.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    alphas_ : ndarray of shape (n_knots,)
        Penalties at the knots of the path, largest first.
    coef_path_ : ndarray of shape (d, n_knots)
        Coefficients at the knots of the path, one column for each.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The knots of all folds.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        Mean squared errors on the rows left out.
    active_ : list of int
        Features with a coefficient other than 0.
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import LarsCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(LarsCV().fit(X, y).score(X, y), 2)
    0.52
    """

    laws: ClassVar[Laws] = Laws(
        weight="folds are cut between rows: a repeated row may lie in two of them",
        permutation="folds follow the order of the rows",
        block="folds need rows in memory; streaming rows are gathered",
        textbook="the textbook path, once for every fold",
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "precompute": Boolean() | OneOf("auto") | ArrayLike() | Null(),
        "max_n_alphas": Integer(1),
        "eps": Real(0),
    }
    _lasso: ClassVar[bool] = False
    positive: bool = False  # not a parameter of least angles

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: Any = False,
        max_iter: int = 500,
        precompute: Any = "auto",
        cv: Any = None,
        max_n_alphas: int = 1000,
        n_jobs: Any = None,
        eps: float = EPS,
        copy_X: bool = True,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha and fit the path down to it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered in memory.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        data, rows = fold_data(self, X, y, sample_weight)
        designs = FoldDesigns(data, bool(self.fit_intercept))
        options = LarsOptions(self._lasso, bool(self.positive), 0.0, int(self.max_iter))
        folds = split_folds(self.cv, data)
        found = [_fold_residuals(designs, train, test, options) for train, test in folds]
        alphas = np.unique(np.concatenate([a for a, _ in found]))
        stride = max(1, -(-len(alphas) // int(self.max_n_alphas)))
        alphas = alphas[::stride]
        parts = [data.part(test) for _, test in folds]
        errors = np.stack(
            [
                part.mean_squares(_interpolated_residuals(knots, R, alphas))
                for part, (knots, R) in zip(parts, found, strict=True)
            ],
            axis=1,
        )
        mean = np.average(errors, axis=1, weights=data.fold_weights(folds))
        best = float(alphas[int(np.argmin(mean))])
        self.cv_alphas_, self.mse_path_ = alphas, errors
        design, centring = designs.whole()
        end = LarsOptions(options.lasso, options.positive, best, options.max_iter)
        self._store_path(least_angles(design, end), -1, rows, centring)
        self.alpha_ = np.float64(best)
        return self


def _fold_residuals(
    designs: FoldDesigns, train: Array, test: Array, options: LarsOptions
) -> tuple[Array, Array]:
    """The knots of the training rows, and the residuals (m, n_knots) of the rows left out."""
    design, centring = designs.without(train, test)
    path = least_angles(design, options)
    coefs = np.stack(path.coefs, axis=1)
    residuals = designs.data.part(test).residuals(coefs, centring.intercepts(coefs))
    return np.array(path.alphas), residuals


def _interpolated_residuals(knots: Array, R: Array, alphas: Array) -> Array:
    """Residuals (m, n_alphas) between those at decreasing knots; beyond the ends as there."""
    place = np.interp(alphas, knots[::-1], np.arange(len(knots), dtype=np.float64)[::-1])
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, len(knots) - 1)
    fraction = place - low
    return np.asarray(R[:, low] * (1 - fraction) + R[:, high] * fraction)


class LassoLarsCV(LarsCV):
    """The lasso by its exact path, with alpha chosen by cross-validation.

    Takes scikit-learn's parameters; see `LarsCV` and `LassoLars`.

    Parameters
    ----------
    fit_intercept, verbose, max_iter, precompute, cv, max_n_alphas, n_jobs, eps, copy_X
        As in `LarsCV`.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.

    Attributes
    ----------
    alpha_, alphas_, coef_path_, cv_alphas_, mse_path_, active_, coef_, intercept_, n_iter_, \
n_features_in_, feature_names_in_
        As in `LarsCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import LassoLarsCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(LassoLarsCV().fit(X, y).score(X, y), 2)
    0.52
    """

    parameter_constraints: ClassVar = {**LarsCV.parameter_constraints, "positive": Boolean()}
    _lasso: ClassVar[bool] = True

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: Any = False,
        max_iter: int = 500,
        precompute: Any = "auto",
        cv: Any = None,
        max_n_alphas: int = 1000,
        n_jobs: Any = None,
        eps: float = EPS,
        copy_X: bool = True,
        positive: bool = False,
    ):
        super().__init__(
            fit_intercept=fit_intercept, verbose=verbose, max_iter=max_iter, precompute=precompute,
            cv=cv, max_n_alphas=max_n_alphas, n_jobs=n_jobs, eps=eps, copy_X=copy_X,
        )  # fmt: skip
        self.positive = positive


class LassoLarsIC(LarsSelection):
    """The lasso by its exact path, with alpha chosen by AIC or BIC.

    Takes scikit-learn's parameters; see `LassoLars`.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
        2 or log n for every feature that is not 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    verbose, precompute, eps, copy_X
        Accepted for compatibility with scikit-learn.
    max_iter : int, default=500
        Maximum number of knots.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.
    noise_variance : float or None, default=None
        Variance of the noise; None takes that of least squares on all features, which needs more
        rows than features.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    criterion_ : ndarray of shape (n_knots,)
        The criterion at every knot.
    noise_variance_ : float
        Variance of the noise.
    alphas_ : ndarray of shape (n_knots,)
        Penalties at the knots of the path, largest first.
    coef_path_ : ndarray of shape (d, n_knots)
        Coefficients at the knots of the path, one column for each.
    active_ : list of int
        Features with a coefficient other than 0.
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import LassoLarsIC
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoLarsIC(criterion="bic").fit(X, y)
    >>> int((model.coef_ != 0).sum())
    7
    """

    laws: ClassVar[Laws] = Laws(
        block="the noise variance needs rows in memory; streaming rows are gathered",
        textbook="the textbook path; the criterion is a sum over its knots",
        example={"noise_variance": 0.05},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "criterion": OneOf("aic", "bic"),
        "fit_intercept": Boolean(),
        "precompute": Boolean() | OneOf("auto") | ArrayLike() | Null(),
        "max_iter": Integer(1),
        "eps": Real(0),
        "positive": Boolean(),
        "noise_variance": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        criterion: str = "aic",
        *,
        fit_intercept: bool = True,
        verbose: Any = False,
        precompute: Any = "auto",
        max_iter: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        positive: bool = False,
        noise_variance: float | None = None,
    ):
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
        self.noise_variance = noise_variance

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, copy_X: bool | None = None
    ) -> Self:
        """Fit the path and choose its best knot.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered in memory.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Weights count as repeated rows.
        copy_X : bool or None, default=None
            Accepted for compatibility: X is never changed.

        Returns
        -------
        self
        """
        data, rows = fold_data(self, X, y, sample_weight)
        design, centring = FoldDesigns(data, bool(self.fit_intercept)).whole()
        n = centring.total
        variance = self.noise_variance or _noise_variance(data, n, bool(self.fit_intercept))
        options = LarsOptions(True, bool(self.positive), 0.0, int(self.max_iter))
        path = least_angles(design, options)
        squares = n * np.array([_mean_square(design, b) for b in path.coefs])
        features = np.array([np.count_nonzero(b) for b in path.coefs])
        factor = 2.0 if self.criterion == "aic" else float(np.log(n))
        self.criterion_ = n * np.log(2 * np.pi * variance) + squares / variance + factor * features
        self.noise_variance_ = np.float64(variance)
        self._store_path(path, int(np.argmin(self.criterion_)), rows, centring)
        return self


def _mean_square(design: Design, b: Array) -> float:
    """The mean squared residual of coefficients (p,)."""
    support = np.flatnonzero(b)
    none = np.empty(0, dtype=np.int64)
    return design.correlations(b[support], support, none)[1]


def _noise_variance(data: RegressionRows, n: float, fit_intercept: bool) -> float:
    """|r|^2 / (n - features) of least squares on all features."""
    free = n - data.X.shape[1] - int(fit_intercept)
    if free <= 0:
        raise ValueError(
            "You are using LassoLarsIC in the case where the number of samples is smaller than the "
            "number of features. In this setting, getting a good estimate for the variance of the "
            "noise is not possible. Provide an estimate of the noise variance in the constructor."
        )
    moments = JointMoments.of(data.X, data.y[:, None], data.w)
    W, b = solve_moments(moments, fit_intercept, sparse=False).found.value
    residual = data.y - np.asarray(data.X @ np.asarray(W)[:, 0]) - float(np.asarray(b)[0])
    squares = float(np.sum(residual**2 if data.w is None else data.w * residual**2))
    return max(squares / free, float(np.finfo(float).tiny))
