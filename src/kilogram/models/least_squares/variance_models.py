"""Coefficients and variances in turn: the two variance models of `ReweightedLeastSquares`.

log-linear   log sigma^2 = <g, z>, z = (1, (x - m) / s):  one scoring step for g an iteration,
             g += (Z'WZ)^-1 Z'W (r^2 / sigma^2 - 1), halved until the objective does not rise
groups       sigma_g^2 = sum w r^2 / sum w over the rows of a group
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.solvers.least_squares.data import RegressionData, in_precision_of
from kilogram.solvers.least_squares.least_squares import solve_moments
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments


@dataclass(frozen=True, eq=False)
class LogLinear:
    """log sigma^2 = g_0 + <g, (x - m) / s>, not below `low`."""

    g: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    low: float

    def rows(self, X: Any) -> Any:
        """z (n, d + 1)."""
        X = X.toarray() if is_sparse(X) else X
        xp = namespace(X)
        wide = xp.astype(X, sum_dtype(X, xp), copy=False)
        Z = (wide - like(self.mean, wide)) * like(self.scale, wide)
        return xp.concat([xp.ones_like(Z[:, :1]), Z], axis=1)

    def logs(self, X: Any) -> Any:
        Z = self.rows(X)
        xp = namespace(Z)
        v = Z @ like(self.g, Z)
        return xp.where(v > self.low, v, xp.full_like(v, self.low))


@dataclass(frozen=True, eq=False)
class ScoringSums:
    """Objective, and the scoring sums Z'W (r^2 / sigma^2 - 1) and Z'WZ."""

    value: float
    slope: Any
    curve: Any

    def __add__(self, other: ScoringSums | int) -> ScoringSums:
        if other == 0:
            return self
        if not isinstance(other, ScoringSums):
            return NotImplemented
        return ScoringSums(
            self.value + other.value, self.slope + other.slope, self.curve + other.curve
        )

    __radd__ = __add__


def residual(X: Any, y: Any, W: np.ndarray, b: float) -> Any:
    """y - X W - b of a block, as a vector."""
    y = y[:, 0] if y.ndim == 2 else y
    if is_sparse(X):
        return y - X @ W - b
    X = in_precision_of(y, X)
    return y - X @ like(W, X) - b


def log_linear_fit(
    rows: RegressionData,
    moments: JointMoments,
    fit_intercept: bool,
    floor: float,
    max_iter: int,
    tol: float,
) -> tuple[Solution, LogLinear]:
    """Value (W (d,), b); the variances from a log-linear model."""
    d = moments.mean.shape[0]
    variance = to_numpy(moments.x.variance())
    mean, spread = to_numpy(moments.mean), np.sqrt(np.where(variance > 0, variance, 1.0))
    W, b = _weighted(moments, fit_intercept)
    square = _mean_square(rows, W, b, moments.weight)
    if square <= 1e-14 * float(moments.y.variance()[0]):  # an exact fit has no variances
        model = LogLinear(np.zeros(d + 1), mean, 1.0 / spread, 0.0)
        return Solution((W, b), 1, square * moments.weight), model
    low = float(np.log(floor * square))
    model = LogLinear(np.append(np.log(square), np.zeros(d)), mean, 1.0 / spread, low)
    value, step = np.inf, 0
    while step < max_iter:
        sums = _scores(rows, W, b, model)
        if value - sums.value <= tol * moments.weight:
            return Solution((W, b), step, sums.value), model
        value, step = sums.value, step + 1
        model, value = _scoring_step(rows, W, b, model, sums)
        W, b = _weighted(_reweighted(rows, model), fit_intercept)
    sums = _scores(rows, W, b, model)
    why = f"max_iter={max_iter} was reached."
    return Solution((W, b), step, sums.value, False, why), model


def _weighted(moments: JointMoments, fit_intercept: bool) -> tuple[np.ndarray, float]:
    W, b = solve_moments(moments, fit_intercept).found.value
    return to_numpy(W)[:, 0], float(b[0])


def _reweighted(rows: RegressionData, model: LogLinear) -> JointMoments:
    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        logs = model.logs(X)
        v = namespace(logs).exp(-logs)
        return JointMoments.of(X, Y, v if w is None else v * like(w, v))

    return reduce_rows(statistic, rows.X, rows.Y, rows.w)


def _mean_square(rows: RegressionData, W: np.ndarray, b: float, weight: float) -> float:
    def statistic(X: Any, Y: Any, w: Any = None) -> float:
        r = residual(X, Y, W, b)
        return float(namespace(r).sum(r * r if w is None else like(w, r) * r * r))

    return reduce_rows(statistic, rows.X, rows.Y, rows.w) / weight


def _scores(rows: RegressionData, W: np.ndarray, b: float, model: LogLinear) -> ScoringSums:
    def statistic(X: Any, Y: Any, w: Any = None) -> ScoringSums:
        Z, logs = model.rows(X), model.logs(X)
        xp = namespace(Z)
        r = like(residual(X, Y, W, b), Z)
        q = r * r * xp.exp(-logs)
        v = xp.ones_like(q) if w is None else like(w, q)
        value = float(xp.sum(v * (logs + q)))
        return ScoringSums(value, to_numpy(Z.T @ (v * (q - 1.0))), to_numpy((Z * v[:, None]).T @ Z))

    return reduce_rows(statistic, rows.X, rows.Y, rows.w)


def _scoring_step(
    rows: RegressionData, W: np.ndarray, b: float, model: LogLinear, sums: ScoringSums
) -> tuple[LogLinear, float]:
    """The scoring step, halved until the objective does not rise."""
    move = np.linalg.lstsq(sums.curve, sums.slope, rcond=None)[0]
    length = 1.0
    while length > 1e-6:
        tried = LogLinear(model.g + length * move, model.mean, model.scale, model.low)
        value = _scores(rows, W, b, tried).value
        if value <= sums.value:
            return tried, value
        length *= 0.5
    return model, sums.value


def grouped_fit(
    rows: RegressionData,
    groups: np.ndarray,
    fit_intercept: bool,
    floor: float,
    max_iter: int,
    tol: float,
) -> tuple[Solution, np.ndarray, np.ndarray]:
    """Value (W (d,), b), the names of the groups and their variances."""
    names, at = np.unique(groups, return_inverse=True)
    y = to_numpy(rows.Y)[:, 0]
    w = np.ones(y.shape[0]) if rows.w is None else to_numpy(rows.w).astype(np.float64)
    total = np.bincount(at, weights=w)
    total = np.where(total > 0, total, 1.0)
    v, value, step = np.ones(len(names)), np.inf, 0
    while True:
        weights = like(w / v[at], rows.Y)
        W, b = _weighted(JointMoments.of(rows.X, rows.Y, weights), fit_intercept)
        r = np.asarray(to_numpy(residual(rows.X, rows.Y, W, b)), dtype=np.float64)
        least = max(floor * float(w @ r**2) / float(w.sum()), np.finfo(float).tiny)
        v = np.maximum(np.bincount(at, weights=w * r**2) / total, least)
        old, value, step = value, float(w @ (np.log(v[at]) + r**2 / v[at])), step + 1
        if old - value <= tol * float(w.sum()):
            return Solution((W, b), step, value), names, v
        if step >= max_iter:
            why = f"max_iter={max_iter} was reached."
            return Solution((W, b), step, value, False, why), names, v
