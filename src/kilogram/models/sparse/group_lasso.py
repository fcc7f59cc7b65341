"""Groups of coefficients that are 0 together: multi-task lasso and elastic net, group lasso.

    min_{B, c}  1/(2 W) sum_i w_i |y_i - B'x_i - c|^2 + alpha rho sum_g f_g |B_g|
                + alpha (1 - rho) / 2 |B|^2                         |.| Frobenius, W = sum_i w_i

multi-task   g is a feature, B_g its coefficients for all targets, f_g = 1
group lasso  g is a set of features, f_g = sqrt(size of g) unless weights are given

References: Yuan and Lin 2006; Obozinski, Taskar and Jordan 2010.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import column_count
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.budget import Budget
from kilogram.base.constraints import ArrayLike, Boolean, Integer, Null, OneOf, RandomState, Real
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.sparse.elastic_net import ADVICE, SparseLinearModel
from kilogram.models.sparse.paths import enet_path
from kilogram.models.sparse.problem import joint_design
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.elastic_net import PathPoint
from kilogram.solvers.coordinate.group_lasso import Grouping, GroupOptions, group_path
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]


class GroupedModel(SparseLinearModel):
    """A fit of all targets together with a penalty on groups; subclasses name the groups."""

    alpha: float
    tol: float
    max_iter: int
    warm_start: bool
    max_time: float | None

    def _grouping(self, p: int) -> Grouping:
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = validate_regression_data(self, X, y, sample_weight)
        options = GroupOptions(
            self._grouping(column_count(rows.X)), float(self.tol), int(self.max_iter)
        )
        design, centring, flat = joint_design(rows, bool(self.fit_intercept))
        alpha, ratio = float(self.alpha), float(self.l1_ratio)
        with ticking(self, "round", budget.deadline) as tick:
            (point,) = group_path(
                design, [(alpha * ratio, alpha * (1 - ratio))], options,
                start=self._start(design.q.shape), tick=tick,
            )  # fmt: skip
        self._store_linear((point.coef, centring.intercepts(point.coef)), rows, flat=flat)
        if not flat and point.coef.shape[1] == 1:
            self.coef_ = self.coef_[None, :]
        self.dual_gap_, self.n_iter_ = point.gap * design.yy, point.n_iter
        self.eps_ = float(self.tol) * design.yy
        self.objective_ = point.objective
        self._report(point)
        return self

    def _start(self, shape: tuple[int, ...]) -> Array | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef = np.atleast_2d(np.asarray(to_numpy(self.coef_), dtype=np.float64)).T
        return np.ascontiguousarray(coef) if coef.shape == shape else None

    def _report(self, point: PathPoint) -> None:
        message = f"the duality gap is {point.gap:.2g} of the mean square of y, above tol."
        found = Solution(None, point.n_iter, converged=point.converged, message=message)
        warn_if_unfinished(type(self).__name__, found, ADVICE)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The value of the objective of the fitted model on these rows."""
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        F = np.asarray(to_numpy(self.predict(rows.X)), dtype=np.float64)
        R = np.asarray(to_numpy(rows.Y), dtype=np.float64) - F.reshape(len(F), -1)
        w = None if rows.w is None else to_numpy(rows.w)
        B = np.atleast_2d(np.asarray(to_numpy(self.coef_), dtype=np.float64)).T
        groups = self._grouping(len(B))
        loss = 0.5 * float(np.average(np.sum(R**2, axis=1), weights=w))
        norms = float(groups.factors @ groups.norms(B))
        ridge = 0.5 * (1 - self.l1_ratio) * float(np.vdot(B, B))
        return loss + float(self.alpha) * (self.l1_ratio * norms + ridge)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        seconds = 40.0 * n * d / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "block coordinate descent", seconds, 8.0 * n * d)


class MultiTaskElasticNet(GroupedModel):
    """Elastic net for several targets that share their features.

    Minimises ``1/(2 n) |Y - X B - c|^2 + alpha * l1_ratio * sum_j |B_j| + alpha *
    (1 - l1_ratio) / 2 * |B|^2``, where B_j has the coefficients of feature j for all targets: a
    feature is used for all of them or for none. Takes scikit-learn's parameters and reaches its
    optimum; `sample_weight`, sparse and streaming rows and `max_time` are Kilogram's.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    l1_ratio : float, default=0.5
        Mixture of the two penalties, in [0, 1].
    fit_intercept : bool, default=True
        Fit intercepts that are not penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=1000
        Maximum number of epochs of block coordinate descent.
    tol : float, default=1e-4
        The duality gap at the solution, relative to the mean square of the centred targets.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    random_state, selection
        Accepted for compatibility: groups are visited in order.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, d), or (d,) for a target of one axis
        Coefficients of the features.
    sparse_coef_ : sparse matrix of shape (n_targets, d)
        The coefficients as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    dual_gap_ : float
        The duality gap that certifies the solution, in units of the objective.
    eps_ : float
        The gap that `tol` allows.
    n_iter_ : int
        Number of epochs.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    MultiTaskLasso : Without squares.
    GroupLasso : Groups of features.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MultiTaskElasticNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> Y = X[:, :2] @ np.array([[2.0, -1.0], [1.0, 1.0]])
    >>> MultiTaskElasticNet(alpha=0.2).fit(X, Y).coef_.round(1)
    array([[ 1.7,  0.9,  0. ,  0. ,  0. ],
           [-0.8,  0.8,  0. ,  0. ,  0. ]])
    """

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few epochs of block coordinate descent, of which max_iter is the most",
        textbook="the textbook group lasso of one target; tested against scikit-learn",
        example={"alpha": 0.05, "tol": 1e-12, "max_iter": 10000},
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
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time

    def _grouping(self, p: int) -> Grouping:
        return Grouping.single(p)


class MultiTaskLasso(MultiTaskElasticNet):
    """Lasso for several targets that share their features.

    Minimises ``1/(2 n) |Y - X B - c|^2 + alpha sum_j |B_j|``; see `MultiTaskElasticNet`. Takes
    scikit-learn's parameters and reaches its optimum.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    fit_intercept, copy_X, max_iter, tol, warm_start, random_state, selection, max_time
        As in `MultiTaskElasticNet`.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_, dual_gap_, eps_, n_iter_, objective_, n_features_in_, \
feature_names_in_
        As in `MultiTaskElasticNet`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MultiTaskLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> Y = X[:, :2] @ np.array([[2.0, -1.0], [1.0, 1.0]])
    >>> (MultiTaskLasso(alpha=0.2).fit(X, Y).coef_ != 0).sum(axis=0)
    array([2, 2, 0, 0, 0])
    """

    parameter_constraints: ClassVar = {
        name: constraint
        for name, constraint in MultiTaskElasticNet.parameter_constraints.items()
        if name != "l1_ratio"
    }
    l1_ratio: float = 1.0  # not a parameter of the lasso

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time


class GroupLasso(GroupedModel):
    """Linear regression with a penalty on groups of features: a group is 0 as a whole.

    Minimises ``1/(2 n) |y - X b - c|^2 + alpha sum_g f_g |b_g|``, with ``f_g = sqrt(size of g)``
    unless weights are given. Groups are one-hot columns of a category, powers of a feature, or
    lags. Of several targets, |b_g| is the norm over features and targets.

    Parameters
    ----------
    groups : int, list of int or list of lists of int, default=1
        The size of all groups, the sizes of consecutive groups, or the features of every group;
        every feature must be in one group.
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    weights : array-like of shape (n_groups,), default=None
        f_g, at least 0; a group of weight 0 is not penalised.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    max_iter : int, default=1000
        Maximum number of epochs of block coordinate descent.
    tol : float, default=1e-4
        The duality gap at the solution, relative to the mean square of the centred target.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    sparse_coef_ : sparse matrix of shape (n_targets, d)
        The coefficients as a sparse matrix.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    dual_gap_ : float
        The duality gap that certifies the solution, in units of the objective.
    eps_ : float
        The gap that `tol` allows.
    n_iter_ : int
        Number of epochs.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Lasso : Groups of one feature.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import GroupLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> y = X[:, 0] - X[:, 1]
    >>> GroupLasso(groups=[2, 4], alpha=0.1).fit(X, y).coef_.round(1)
    array([ 0.9, -0.9,  0. ,  0. ,  0. ,  0. ])
    """

    l1_ratio: float = 1.0  # not a parameter of the group lasso
    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few epochs of block coordinate descent, of which max_iter is the most",
        example={"alpha": 0.05, "tol": 1e-12, "max_iter": 10000},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "groups": Integer(1) | ArrayLike(),
        "alpha": Real(0),
        "weights": ArrayLike() | Null(),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        groups: Any = 1,
        *,
        alpha: float = 1.0,
        weights: Any = None,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.groups = groups
        self.alpha = alpha
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.max_time = max_time

    def _grouping(self, p: int) -> Grouping:
        return grouping_of(self.groups, self.weights, p)


def grouping_of(groups: Any, weights: Any, p: int) -> Grouping:
    """Groups of p features from a size, sizes, or lists of features."""
    if isinstance(groups, (int, np.integer)):
        if p % int(groups):
            raise ValueError(f"groups must divide the number of features, {p}, got {groups}.")
        members, sizes = np.arange(p), np.full(p // int(groups), int(groups))
    elif all(isinstance(g, (int, np.integer)) for g in groups):
        members, sizes = np.arange(p), np.asarray(groups, dtype=np.int64)
    else:
        parts = [np.asarray(g, dtype=np.int64).ravel() for g in groups]
        members, sizes = np.concatenate(parts), np.array([len(part) for part in parts])
    whole = len(members) == p and np.array_equal(np.sort(members), np.arange(p))
    if not whole or int(sizes.sum()) != p or not (sizes > 0).all():
        raise ValueError(f"groups must hold each of the {p} features once, got {groups!r}.")
    factors = np.sqrt(sizes.astype(np.float64))
    if weights is not None:
        factors = np.asarray(to_numpy(weights), dtype=np.float64)
        if factors.shape != sizes.shape or not (factors >= 0).all():
            raise ValueError(
                f"weights must be {len(sizes)} numbers of at least 0, one per group, got "
                f"{weights!r}."
            )
    return Grouping(members, np.concatenate([[0], np.cumsum(sizes)]), factors)
