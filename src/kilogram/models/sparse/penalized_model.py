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

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base import Estimate, warn_if_unfinished
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Integer,
    Null,
    OneOf,
    Real,
)
from kilogram.base.estimator import Estimator
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
    PenaltyStrengths,
    StopRule,
)
from kilogram.solvers.coordinate.penalized_newton import SparsePenalty
from kilogram.solvers.coordinate.working_columns import PenalizedRows
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]

ADVICE = "Scale the features (StandardScaler), or raise max_iter, max_time or tol."
REGRESSION = ("squared_error", "huber", "poisson", "gamma")
CLASSIFICATION = ("logistic", "squared_hinge")
PENALTIES = ("l1", "elasticnet", "mcp", "scad")
LEAST_TARGET = {"poisson": ">= 0", "gamma": "> 0"}
#: Alphas from the empty model to the one asked for, where the penalty is concave: as for
#: ConcaveRegressor.
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

    def strengths(self, alpha: float) -> PenaltyStrengths:
        return PenaltyStrengths(alpha * self.ratio, alpha * (1.0 - self.ratio))


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
