"""Lasso and elastic net: linear regression with few coefficients that are not 0.

    min_{b, c}  1/(2 W) sum_i w_i (y_i - <x_i, b> - c)^2
                + alpha l1_ratio |b|_1 + alpha (1 - l1_ratio) / 2 |b|^2          W = sum_i w_i

The lasso is l1_ratio = 1. The absolute values keep small coefficients at exactly 0; the square
makes correlated columns share their coefficient. Columns should have comparable scales, because
one alpha holds for all of them. The intercept c is not penalised.

`solvers/coordinate/elastic_net.py` has the algorithm. Streaming rows, and many rows of few columns,
are reduced to their moments in one pass; the rest is independent of the number of rows.

References: Tibshirani 1996; Zou and Hastie 2005.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.budget import Budget
from kilogram.base.constraints import Boolean, Integer, Null, OneOf, RandomState, Real
from kilogram.base.linear import LinearPredictor
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.sparse.paths import enet_path
from kilogram.models.sparse.problem import designs_of, objective_value
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.elastic_net import ElasticNetOptions, PathPoint, elastic_net_path
from kilogram.solvers.solution import Solution

ADVICE = "Raise max_iter or tol, or scale the columns (StandardScaler)."


class SparseLinearModel(LinearPredictor):
    """What lasso and elastic net share: coefficients of several targets, and their attributes."""

    l1_ratio: float

    @property
    def sparse_coef_(self) -> sp.csr_matrix:
        """The coefficients as a sparse matrix of one row per target."""
        return sp.csr_matrix(np.atleast_2d(to_numpy(self.coef_)))

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The value of the objective of the fitted model on these rows, summed over targets."""
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        F = np.asarray(to_numpy(self.predict(rows.X)), dtype=np.float64)
        R = np.asarray(to_numpy(rows.Y), dtype=np.float64) - F.reshape(len(F), -1)
        w = None if rows.w is None else to_numpy(rows.w)
        alpha = getattr(self, "alpha_", None)
        alpha = self.alpha if alpha is None else alpha
        ratio = getattr(self, "l1_ratio_", self.l1_ratio)
        coefs = np.atleast_2d(np.asarray(to_numpy(self.coef_), dtype=np.float64))
        values = [objective_value(R[:, t], w, coefs[t], alpha, ratio) for t in range(len(coefs))]
        return float(sum(values))


class ElasticNet(SparseLinearModel):
    """Linear regression with a penalty of absolute values and squares.

    Minimises ``1/(2 W) sum_i w_i (y_i - f(x_i))^2 + alpha * l1_ratio * |b|_1 + alpha *
    (1 - l1_ratio) / 2 * |b|^2``. Takes scikit-learn's parameters and reaches its optimum;
    `sample_weight`, several targets, sparse matrices, data frames, Parquet files, iterables of
    blocks and Dask collections are accepted.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0; 0 is least squares (use `LinearRegression`).
    l1_ratio : float, default=0.5
        Mixture of the two penalties, in [0, 1]; 1 is the lasso, 0 ridge regression.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    precompute : bool or array-like, default=False
        Accepted for compatibility with scikit-learn: whether the Gram matrix is computed is decided
        from the shape of X.
    max_iter : int, default=1000
        Maximum number of epochs of coordinate descent for one target.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    tol : float, default=1e-4
        The duality gap at the solution, relative to the mean square of the centred target.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.
    random_state : int, RandomState or None, default=None
        Accepted for compatibility: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Accepted for compatibility: coordinates are visited in order.
    max_time : float or None, default=None
        Seconds after which the fit stops between targets and reports it.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    sparse_coef_ : sparse matrix of shape (n_targets, d)
        The coefficients as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap that certifies the solution, in units of the objective.
    n_iter_ : int or list of int
        Number of epochs of coordinate descent.
    objective_ : float
        The value of the objective at the solution, summed over targets.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Lasso : Absolute values alone.
    ElasticNetCV : The penalty chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import ElasticNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=100)
    >>> ElasticNet(alpha=0.2).fit(X, y).coef_.round(1)
    array([ 1.7, -0.8,  0. ,  0. ,  0. ])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few epochs of coordinate descent, of which max_iter is the most",
        example={"alpha": 0.05, "tol": 1e-10},
        rtol=1e-5,
    )
    path: ClassVar[Any] = staticmethod(enet_path)
    parameter_constraints: ClassVar = {
        "alpha": Real(0),
        "l1_ratio": Real(0, 1),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0),
        "warm_start": Boolean(),
        "positive": Boolean(),
        "random_state": RandomState(),
        "selection": OneOf("cyclic", "random"),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None
        check_input : bool, default=True
            Accepted for compatibility: input is always checked.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = validate_regression_data(self, X, y, sample_weight)
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        designs, flat = designs_of(rows, bool(self.fit_intercept), alpha * ratio)
        options = ElasticNetOptions(
            positive=bool(self.positive), tol=float(self.tol), max_iter=int(self.max_iter)
        )
        starts = self._starts(len(designs))
        points: list[PathPoint] = []
        with ticking(self, "target", budget.deadline) as tick:
            for (design, _), start in zip(designs, starts, strict=True):
                strengths = [(alpha * ratio, alpha * (1 - ratio))]
                points += elastic_net_path(design, strengths, options, start=start, tick=tick)
        intercepts = [
            centring.intercept(point.coef)
            for (_, centring), point in zip(designs, points, strict=True)
        ]
        W = np.stack([point.coef for point in points], axis=1)
        self._store_linear((W, np.array(intercepts)), rows, flat=flat)
        gaps = np.array([p.gap * d.yy for p, (d, _) in zip(points, designs, strict=True)])
        self.dual_gap_ = gaps[0] if flat else gaps
        self.n_iter_ = points[0].n_iter if flat else [point.n_iter for point in points]
        self.objective_ = float(sum(point.objective for point in points))
        self._warn(points)
        return self

    def _starts(self, targets: int) -> list[np.ndarray | None]:
        if not (self.warm_start and hasattr(self, "coef_")):
            return [None] * targets
        coefs = np.atleast_2d(np.asarray(to_numpy(self.coef_), dtype=np.float64))
        if coefs.shape != (targets, self.n_features_in_):
            return [None] * targets
        return list(coefs)

    def _warn(self, points: list[PathPoint]) -> None:
        late = [point for point in points if not point.converged]
        if late:
            worst = max(point.gap for point in late)
            message = f"the duality gap is {worst:.2g} of the mean square of y, above tol."
            n_iter = max(point.n_iter for point in late)
            found = Solution(None, n_iter, converged=False, message=message)
            warn_if_unfinished(type(self).__name__, found, ADVICE)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        moments = d <= 500 and n >= d
        work = n * d * d / 2 if moments else 20.0 * n * d
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        size = 8.0 * (4 * d * d if moments else n * d)
        return self._costs(n, d, "coordinate descent", seconds, size)


class Lasso(ElasticNet):
    """Linear regression with a penalty of absolute values: few coefficients are not 0.

    Minimises ``1/(2 W) sum_i w_i (y_i - f(x_i))^2 + alpha |b|_1``. Takes scikit-learn's parameters
    and reaches its optimum; see `ElasticNet` for parameters and attributes.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0. The smallest alpha at which all coefficients are 0 is
        ``max |X_c' y_c| / n``.
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, \
selection, max_time
        As in `ElasticNet`.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_, dual_gap_, n_iter_, objective_, n_features_in_, \
feature_names_in_
        As in `ElasticNet`.

    See Also
    --------
    LassoCV : alpha chosen by cross-validation.
    lasso_path : The coefficients for many alphas.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Lasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=100)
    >>> Lasso(alpha=0.2).fit(X, y).coef_.round(1)
    array([ 1.7, -0.8,  0. ,  0. ,  0. ])
    """

    parameter_constraints: ClassVar = {
        name: constraint
        for name, constraint in ElasticNet.parameter_constraints.items()
        if name != "l1_ratio"
    }
    l1_ratio: float = 1.0  # not a parameter of the lasso

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time
