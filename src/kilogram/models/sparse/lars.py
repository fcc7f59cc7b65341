"""Least-angle regression and the lasso by its exact path.

The lasso's coefficients are piecewise linear in alpha. The path is followed from knot to knot
(`solvers/pursuit/lars.py`): no tolerance, and every alpha at which a feature enters or leaves is
found exactly. Plain least angles never let a feature leave.

References: Efron, Hastie, Johnstone and Tibshirani 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
    check_parameter,
)
from kilogram.base.linear import LinearPredictor
from kilogram.base.random_state import as_generator
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.sparse.elastic_net import SparseLinearModel
from kilogram.models.sparse.problem import designs_of, from_rows
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.pursuit.lars import LarsOptions, LarsPath, least_angles

EPS = float(np.finfo(float).eps)


class LarsModel(LinearPredictor):
    """What Lars and LassoLars share: one path for every target, and its attributes."""

    fit_path: bool
    jitter: float | None
    random_state: Any

    def _options(self) -> LarsOptions:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the path and its last point.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = self._jittered(validate_regression_data(self, X, y, sample_weight))
        designs, flat = designs_of(rows, bool(self.fit_intercept))
        paths = [
            least_angles(design, self._options(), keep=bool(self.fit_path)) for design, _ in designs
        ]
        W = np.stack([path.coefs[-1] for path in paths], axis=1)
        b = np.array([c.intercept(W[:, t]) for t, (_, c) in enumerate(designs)])
        self._store_linear((W, b), rows, flat=flat)
        self._store_paths(paths, flat)
        return self

    def _store_paths(self, paths: list[LarsPath], flat: bool) -> None:
        dtype = to_numpy(self.coef_).dtype
        alphas = [np.array(path.alphas, dtype=dtype) for path in paths]
        active = [path.active for path in paths]
        coefs = [np.stack(path.coefs, axis=1).astype(dtype, copy=False) for path in paths]
        self.alphas_: Any = alphas[0] if flat else alphas
        self.n_iter_: Any = paths[0].n_iter if flat else [path.n_iter for path in paths]
        for name in ("active_", "coef_path_"):
            self.__dict__.pop(name, None)
        if self.fit_path:
            self.active_ = active[0] if flat else active
            self.coef_path_ = coefs[0] if flat else coefs

    def _jittered(self, rows: RegressionData) -> RegressionData:
        """Targets with uniform noise of `jitter`, which resolves ties."""
        if self.jitter is None:
            return rows
        if is_streamed(rows.X):
            raise ValueError("jitter needs targets in memory, got streaming rows. Leave it None.")
        noise = as_generator(self.random_state).uniform(high=self.jitter, size=rows.Y.shape)
        return rows._replace(Y=like(to_numpy(rows.Y) + noise, rows.Y))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        steps = min(self._options().max_iter, n, d)
        seconds = 2.0 * n * d * steps / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "least angles", seconds, 8.0 * (n * d + d * steps))


class Lars(LarsModel):
    """Least-angle regression: features enter one after another, correlations fall together.

    Starts from 0 and moves along the direction that is equiangular with all active features until
    another one is as correlated with the residual; ends at least squares or after
    `n_nonzero_coefs` features. Takes scikit-learn's parameters; `sample_weight`, sparse and
    streaming rows are Kilogram's.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    verbose, precompute, eps, copy_X
        Accepted for compatibility with scikit-learn.
    n_nonzero_coefs : int, default=500
        Maximum number of features.
    fit_path : bool, default=True
        Whether to store the whole path in `coef_path_`.
    jitter : float or None, default=None
        Largest uniform noise added to y, which resolves ties.
    random_state : int, RandomState or None, default=None
        Seed of the noise.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_knots,) or list of them
        The common absolute correlation at every knot.
    active_ : list of int or list of them
        Features in the order in which they enter the model.
    coef_path_ : ndarray of shape (d, n_knots) or list of them
        Coefficients at the knots of the path, one column for each.
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    n_iter_ : int or list of int
        Number of knots after the first.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LassoLars : Features may leave again: the path of the lasso.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import Lars
    >>> X, y = load_diabetes(return_X_y=True)
    >>> Lars(n_nonzero_coefs=3).fit(X, y).active_
    [2, 8, 3]
    """

    laws: ClassVar[Laws] = Laws(
        budget="at most n_nonzero_coefs knots", example={"n_nonzero_coefs": 3}, rtol=1e-6
    )
    parameter_constraints: ClassVar = {
        "fit_intercept": Boolean(),
        "precompute": Boolean() | OneOf("auto") | ArrayLike() | Null(),
        "n_nonzero_coefs": Integer(1),
        "eps": Real(0),
        "fit_path": Boolean(),
        "jitter": Real(0, closed="left") | Null(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: Any = False,
        precompute: Any = "auto",
        n_nonzero_coefs: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        fit_path: bool = True,
        jitter: float | None = None,
        random_state: Any = None,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.n_nonzero_coefs = n_nonzero_coefs
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.jitter = jitter
        self.random_state = random_state

    def _options(self) -> LarsOptions:
        return LarsOptions(lasso=False, max_iter=int(self.n_nonzero_coefs))


class LassoLars(LarsModel, SparseLinearModel):
    """The lasso by its exact piecewise linear path, down to alpha.

    Minimises ``1/(2 W) sum_i w_i (y_i - f(x_i))^2 + alpha |b|_1`` exactly; every alpha at
    which a feature enters or leaves is in `alphas_`. Takes scikit-learn's parameters;
    `sample_weight`, sparse and streaming rows are Kilogram's. For few values of alpha and many
    features `Lasso` is faster.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    verbose, precompute, eps, copy_X
        Accepted for compatibility with scikit-learn.
    max_iter : int, default=500
        Maximum number of knots.
    fit_path : bool, default=True
        Whether to store the whole path in `coef_path_`.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.
    jitter : float or None, default=None
        Largest uniform noise added to y, which resolves ties.
    random_state : int, RandomState or None, default=None
        Seed of the noise.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_knots,) or list of them
        The alphas of the knots, and the one asked for.
    active_ : list of int or list of them
        Features that are not 0 at the end, in the order of their entry.
    coef_path_ : ndarray of shape (d, n_knots) or list of them
        Coefficients at the knots of the path, one column for each.
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    n_iter_ : int or list of int
        Number of knots after the first.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Lasso : The same optimum by coordinate descent.
    LassoLarsIC : alpha chosen by AIC or BIC.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import LassoLars
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoLars(alpha=0.5).fit(X, y)
    >>> model.active_, model.alphas_.round(2)
    ([2, 8, 3, 6], array([2.15, 2.01, 1.02, 0.72, 0.5 ]))
    """

    l1_ratio: float = 1.0  # not a parameter of the lasso
    laws: ClassVar[Laws] = Laws(budget="at most max_iter knots", example={"alpha": 0.05}, rtol=1e-6)
    parameter_constraints: ClassVar = {
        "alpha": Real(0),
        **{k: v for k, v in Lars.parameter_constraints.items() if k != "n_nonzero_coefs"},
        "max_iter": Integer(1),
        "positive": Boolean(),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        verbose: Any = False,
        precompute: Any = "auto",
        max_iter: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        fit_path: bool = True,
        positive: bool = False,
        jitter: float | None = None,
        random_state: Any = None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.positive = positive
        self.jitter = jitter
        self.random_state = random_state

    def _options(self) -> LarsOptions:
        return LarsOptions(
            positive=bool(self.positive), alpha_min=float(self.alpha), max_iter=int(self.max_iter)
        )


def lars_path(
    X: Any,
    y: Any,
    Xy: Any = None,
    *,
    Gram: Any = None,
    max_iter: int = 500,
    alpha_min: float = 0,
    method: str = "lar",
    copy_X: bool = True,
    eps: float = EPS,
    copy_Gram: bool = True,
    verbose: Any = 0,
    return_path: bool = True,
    return_n_iter: bool = False,
    positive: bool = False,
) -> Any:
    """The path of least angles or of the lasso, knot by knot, without an intercept.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    Xy, Gram, copy_X, copy_Gram, eps, verbose
        Accepted for compatibility with scikit-learn.
    max_iter : int, default=500
        Maximum number of knots.
    alpha_min : float, default=0
        Penalty at which the path ends.
    method : {"lar", "lasso"}, default="lar"
        "lasso" lets features leave: the exact path of the lasso.
    return_path : bool, default=True
        Whether to return all knots or only the last one.
    return_n_iter : bool, default=False
        Whether to return the number of knots too.
    positive : bool, default=False
        Only coefficients of at least 0; with method "lasso".

    Returns
    -------
    alphas : ndarray of shape (n_knots,)
    active : list of int
    coefs : ndarray of shape (d, n_knots)
    n_iter : int, if `return_n_iter`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import lars_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, active, coefs = lars_path(X, y - y.mean(), method="lasso")
    >>> len(alphas), active[:4]
    (13, [2, 8, 3, 1])
    """
    check_parameter("method", method, OneOf("lar", "lasso"))
    check_parameter("max_iter", max_iter, Integer(1))
    check_parameter("alpha_min", alpha_min, Real(0))
    if positive and method == "lar":
        raise ValueError("positive=True needs method='lasso': least angles have no signs to keep.")
    if X is None or y is None:
        raise ValueError("X and y must be given: the path is not computed from Gram and Xy alone.")
    single = all("float32" in str(getattr(values, "dtype", "")) for values in (X, y))
    X = X if is_sparse(X) else np.asarray(to_numpy(X), dtype=np.float64)
    y = np.asarray(to_numpy(y), dtype=np.float64)
    if y.ndim != 1 or X.shape[0] != len(y):
        raise ValueError(f"y must have shape ({X.shape[0]},), got {y.shape}.")
    design, _ = from_rows(X, y, None, fit_intercept=False)
    options = LarsOptions(method == "lasso", positive, float(alpha_min), max_iter)
    path = least_angles(design, options, keep=return_path)
    dtype = np.float32 if single else np.float64  # the path itself is computed in float64
    alphas, coefs = np.array(path.alphas, dtype=dtype), np.stack(path.coefs, axis=1).astype(dtype)
    if return_path:
        found = alphas, path.active, coefs
    else:
        found = alphas[-1], path.active, coefs[:, -1]
    return (*found, path.n_iter) if return_n_iter else found
