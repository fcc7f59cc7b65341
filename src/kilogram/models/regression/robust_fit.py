"""Huber's regression from sums over the rows: the start, the scale, Newton's steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.functions.medians import weighted_medians
from kilogram.models.regression.least_squares_factors import rounding
from kilogram.models.regression.least_squares_roads import solve_moments
from kilogram.models.regression.primal import Normal
from kilogram.models.regression.roads import joint_moments
from kilogram.models.regression.targets import Rows
from kilogram.solvers.smooth.clipped import BandSums, Frame, Point, newton, residual
from kilogram.solvers.solution import Solution

MAD = 1.4826022185056018  # standard deviation of a normal by its median absolute deviation
EFFICIENT = 1.35  # epsilon of the fit whose residuals give the scale "mad"
NARROW = 0.3  # from one width to the next, on the way to a scale that is given
SMALLEST = 1e-8  # scale, in units of the targets' spread


def is_scale(scale: Any) -> bool:
    """A word that is known, or a number above 0."""
    if isinstance(scale, str):
        return scale in ("joint", "mad")
    return isinstance(scale, Real) and not isinstance(scale, bool) and 0 < float(scale) < np.inf


def huber_losses(r: np.ndarray, sigma: float, epsilon: float) -> np.ndarray:
    """sigma + H(r / sigma) sigma of every residual."""
    z = np.minimum(np.abs(r) / sigma, epsilon)
    return sigma + z * (2.0 * np.abs(r) - z * sigma)


@dataclass(frozen=True, eq=False)
class Absolute:
    """|r| and the weights of rows, below one another by `+`."""

    r: np.ndarray
    w: np.ndarray

    def __add__(self, other: Absolute) -> Absolute:
        return Absolute(np.append(self.r, other.r), np.append(self.w, other.w))

    def median(self) -> float:
        """The weighted median; the middle of two where it lies between them."""
        return float(weighted_medians(self.r[:, None], self.w)[0])


def huber_fit(
    model: Any, rows: Rows, start: tuple[np.ndarray, float, float] | None
) -> tuple[Solution, float]:
    """Value (W (d,), b), and the scale."""
    moments, _ = joint_moments(rows)
    model._ensure_finite(moments.scatter, rows.X)
    if not np.isfinite(to_numpy(moments.scatter_y)).all():
        raise ValueError(
            f"{type(model).__name__}: the squares of y overflow, or y holds NaN or infinity. "
            "Divide y by its scale first."
        )
    normal = Normal.of(moments, model.fit_intercept)
    scales = to_numpy(normal.S).diagonal().astype(np.float64)
    floor = to_numpy(rounding(normal, moments.weight, sparse=is_sparse(rows.X)))
    spread = float(np.sqrt(max(float(to_numpy(normal.squares)[0]), 0.0) / moments.weight)) or 1.0
    least = 0.5 * SMALLEST * spread
    frame = Frame(
        -2.0 * model.epsilon,
        2.0 * model.epsilon,
        moments.weight,
        np.where(scales > floor, scales, 0.0),
        bool(model.fit_intercept),
        ridge=float(model.alpha),
        joint=model.scale == "joint",
    )
    if start is None:
        found = solve_moments(moments, model.fit_intercept, sparse=is_sparse(rows.X)).found
        W, b = (np.asarray(to_numpy(a), dtype=np.float64) for a in found.value)
        rms = float(np.sqrt(max(found.objective or 0.0, 0.0) / moments.weight))
        point = Point(W[:, 0], float(b[0]), max(0.5 * rms, least))
    else:
        point = Point(start[0], start[1], max(0.5 * start[2], least))
    return _solved(model, rows, frame, point, least)


def _solved(
    model: Any, rows: Rows, frame: Frame, point: Point, least: float
) -> tuple[Solution, float]:
    """Newton's steps with the scale free, or at the value asked for."""
    passes = 0
    if not frame.joint:
        sigma = model.scale
        if sigma == "mad":
            rough = replace(frame, low=-2 * EFFICIENT, high=2 * EFFICIENT, joint=True)
            reached = newton(
                rough, _sums(rough, rows), point, tol=1e-6, max_iter=model.max_iter, least=least
            )
            passes, point = reached.passes, reached.point
            sigma = max(MAD * _distances(rows, point).median(), 2 * least)
        passes, point = _narrowed(model, rows, frame, point, 0.5 * float(sigma), passes)
    reached = newton(
        frame,
        _sums(frame, rows),
        point,
        tol=max(model.tol**3, 1e-15),
        max_iter=max(int(model.max_iter) - passes, 1),
        least=least,
    )
    sigma, end = 2.0 * reached.point.kappa, reached.point
    value = frame.objective(reached.sums, end)
    if not frame.joint:
        value += frame.weight * sigma  # the part of the objective that does not move
    why = "" if reached.settled else "the steps still promise to lower the objective."
    found = Solution((end.w, end.b), passes + reached.passes, value, reached.settled, why)
    return found, sigma


def _narrowed(
    model: Any, rows: Rows, frame: Frame, point: Point, kappa: float, passes: int
) -> tuple[int, Point]:
    """The point brought to this width: by and by, for from far off few rows would have a say."""
    while NARROW * point.kappa > kappa and passes < model.max_iter:
        wide = replace(point, kappa=NARROW * point.kappa)
        left = int(model.max_iter) - passes
        reached = newton(frame, _sums(frame, rows), wide, tol=1e-4, max_iter=left)
        passes, point = passes + reached.passes, reached.point
    return passes, replace(point, kappa=kappa)


def _sums(frame: Frame, rows: Rows) -> Any:
    def at(point: Point) -> BandSums:
        loss = frame.loss(point)

        def statistic(X: Any, y: Any, w: Any = None) -> BandSums:
            return BandSums.of(X, y, w, point, loss)

        return reduce_rows(statistic, rows.X, rows.Y, rows.w)

    return at


def _distances(rows: Rows, point: Point) -> Absolute:
    def statistic(X: Any, y: Any, w: Any = None) -> Absolute:
        r = np.abs(np.asarray(to_numpy(residual(X, y, point)), dtype=np.float64))
        v = np.ones(len(r)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        return Absolute(r, v)

    return reduce_rows(statistic, rows.X, rows.Y, rows.w)
