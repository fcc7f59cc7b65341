"""Lasso and elastic net with the penalty chosen by cross-validation along their paths.

Where the Gram matrix of all columns is used (few columns, or rows that stream), the moments of the
training rows of a fold are those of all rows minus those of the fold: the rows are read once.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.models.sparse.elastic_net import ElasticNet, SparseLinearModel
from kilogram.models.sparse.folds import FoldDesigns, RegressionRows, fold_data, split_folds
from kilogram.models.sparse.paths import enet_path, lasso_path
from kilogram.models.sparse.problem import Centring, logarithmic_grid
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.coordinate.elastic_net import (
    ElasticNetOptions,
    PathPoint,
    elastic_net_path,
    strength_max,
)
from kilogram.solvers.least_squares.data import RegressionData

Array = np.ndarray[Any, np.dtype[Any]]


class ElasticNetCV(SparseLinearModel):
    """Elastic net whose penalty is chosen by cross-validation along the path.

    For every `l1_ratio` and every fold the path of alphas is fitted with warm starts; the pair with
    the smallest mean squared error on the rows left out is refitted on all rows. Takes
    scikit-learn's parameters.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Mixture of the penalties, or several to try.
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha.
    n_alphas : int, default="deprecated"
        Number of alphas in the grid, as older versions of scikit-learn take it.
    alphas : array-like, int or None, default=100
        Penalties to try, or how many of them; None is 100.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    precompute : default="auto"
        Accepted for compatibility: decided from the shape of X.
    max_iter, tol, positive : int, float, bool
        As in `ElasticNet`.
    cv : int, splitter or iterable, default=None
        Folds or splitter; None is five folds.
    copy_X, verbose, n_jobs, random_state, selection
        Accepted for compatibility with scikit-learn.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    l1_ratio_ : float
        The mixture chosen.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds) or (n_alphas, n_folds)
        Mean squared errors on the rows left out.
    alphas_ : ndarray of shape (n_l1_ratio, n_alphas) or (n_alphas,)
        The penalties tried, largest first; for every mixture, or once where they are the same.
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    dual_gap_ : float
        Duality gap at the solution, in units of the objective.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LassoCV : The lasso alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.52
    """

    laws: ClassVar[Laws] = Laws(
        weight="folds are cut between rows: a repeated row may lie in two of them",
        permutation="folds follow the order of the rows",
        block="folds need rows in memory; streaming rows are gathered",
        objective="the penalty is chosen by cross-validation, not by the objective it enters",
        budget="the paths of the folds are fitted to the end",
        textbook="ElasticNet's, once for every fold and alpha",
        example={"tol": 1e-12, "max_iter": 10000},  # solutions of a larger tol are not unique
        rtol=1e-5,
    )
    path: ClassVar[Any] = staticmethod(enet_path)
    parameter_constraints: ClassVar = {
        "l1_ratio": Real(0, 1) | ArrayLike(),
        "eps": Real(0, 1, closed="right"),
        "n_alphas": Integer(1) | OneOf("deprecated", "warn"),
        "alphas": Integer(1) | ArrayLike() | Null() | OneOf("warn"),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0),
        "positive": Boolean(),
        "random_state": RandomState(),
        "selection": OneOf("cyclic", "random"),
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        n_alphas: Any = "deprecated",
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: Any = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.n_alphas = n_alphas
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _ratios(self) -> list[float]:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64)).tolist()
        if not ratios or not all(0 <= ratio <= 1 for ratio in ratios):
            raise ValueError(f"l1_ratio must be floats in [0, 1], got {self.l1_ratio!r}.")
        return ratios

    def _largest(self, design: Design) -> float:
        """The smallest l1 strength at which all coefficients are 0."""
        return strength_max(design, None, bool(self.positive))

    def _points(self, design: Design, ratio: float, grid: Array) -> list[PathPoint]:
        """Solutions for the alphas of the grid."""
        options = ElasticNetOptions(
            positive=bool(self.positive), tol=float(self.tol), max_iter=int(self.max_iter)
        )
        strengths = [(a * ratio, a * (1 - ratio)) for a in grid.tolist()]
        return elastic_net_path(design, strengths, options)

    def _squared_errors(
        self, part: RegressionRows, centring: Centring, points: list[PathPoint]
    ) -> Array:
        """The mean squared error of each solution on these rows."""
        coefs = np.stack([point.coef for point in points], axis=1)
        return part.squared_errors(coefs, centring.intercepts(coefs))

    def _grid(self, design: Design, ratio: float) -> Array:
        if self.alphas is None or isinstance(self.alphas, (int, np.integer, str)):
            sizes = (self.n_alphas, self.alphas)  # the older parameter, where it is given
            count = next((size for size in sizes if isinstance(size, (int, np.integer))), 100)
            return logarithmic_grid(self._largest(design), ratio, int(count), float(self.eps))
        given = np.asarray(to_numpy(self.alphas))
        if given.dtype.kind not in "iufb":
            raise ValueError(f"alphas must be numbers of at least 0, got {self.alphas!r}.")
        grid = np.sort(given.astype(np.float64).ravel())[::-1]
        if not len(grid) or not np.all(grid >= 0):
            raise ValueError(f"alphas must be numbers of at least 0, got {self.alphas!r}.")
        return grid

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty and fit the coefficients.

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
        self._choose(data, rows)
        return self

    def _choose(self, data: RegressionRows, rows: RegressionData) -> None:
        designs = FoldDesigns(data, bool(self.fit_intercept))
        design, centring = designs.whole()
        ratios = self._ratios()
        grids = [self._grid(design, ratio) for ratio in ratios]
        folds = split_folds(self.cv, data)
        errors = self._fold_errors(designs, folds, ratios, grids)
        mean = np.average(errors, axis=2, weights=data.fold_weights(folds))
        best, place = np.unravel_index(int(np.argmin(mean)), mean.shape)
        self.l1_ratio_, self.alpha_ = np.float64(ratios[best]), np.float64(grids[best][place])
        self.mse_path_ = errors[0] if len(ratios) == 1 else errors
        shared = all(np.array_equal(grid, grids[0]) for grid in grids)
        self.alphas_ = grids[0] if shared else np.array(grids)
        self._refit(design, centring, rows)

    def _fold_errors(
        self,
        designs: FoldDesigns,
        folds: list[tuple[Array, Array]],
        ratios: list[float],
        grids: list[Array],
    ) -> Array:
        """Mean squared errors (ratios, alphas, folds) on the rows left out."""
        errors = np.empty((len(ratios), len(grids[0]), len(folds)))
        for f, (train, test) in enumerate(folds):
            design, centring = designs.without(train, test)
            part = designs.data.part(test)
            for k, (ratio, grid) in enumerate(zip(ratios, grids, strict=True)):
                points = self._points(design, ratio, grid)
                errors[k, :, f] = self._squared_errors(part, centring, points)
        return errors

    def _refit(self, design: Design, centring: Centring, rows: RegressionData) -> None:
        (point,) = self._points(design, float(self.l1_ratio_), np.array([self.alpha_]))
        intercept = np.array([centring.intercept(point.coef)])
        self._store_linear((point.coef[:, None], intercept), rows, flat=True)
        self.dual_gap_, self.n_iter_ = np.float64(point.gap * design.yy), point.n_iter
        ElasticNet._warn(self, [point])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        moments = d <= 500 and n >= d
        work = 2.0 * n * d * d if moments else 600.0 * n * d
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        size = 8.0 * (6 * d * d if moments else 2 * n * d)
        return self._costs(n, d, "paths of the folds", seconds, size)


class LassoCV(ElasticNetCV):
    """Lasso whose alpha is chosen by cross-validation along the path.

    Takes scikit-learn's parameters; see `ElasticNetCV`.

    Parameters
    ----------
    eps, n_alphas, alphas, fit_intercept, precompute, max_iter, tol, copy_X, cv, verbose, n_jobs, \
positive, random_state, selection
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_, mse_path_, alphas_, coef_, intercept_, dual_gap_, n_iter_, n_features_in_, \
feature_names_in_
        As in `ElasticNetCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV().fit(X, y)
    >>> round(model.score(X, y), 2), int((model.coef_ != 0).sum())
    (0.52, 9)
    """

    path: ClassVar[Any] = staticmethod(lasso_path)
    parameter_constraints: ClassVar = {
        name: constraint
        for name, constraint in ElasticNetCV.parameter_constraints.items()
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
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: Any = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ):
        self.eps = eps
        self.n_alphas = n_alphas
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
