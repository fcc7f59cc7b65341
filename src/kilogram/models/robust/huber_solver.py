"""Huber regression from sums over the rows: the start, the scale, Newton iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows, take_rows
from kilogram.functions.m_losses import MAD
from kilogram.functions.weighted_medians import weighted_medians
from kilogram.solvers.interior_point.quantile import quantile_program
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.factorizations import rounding
from kilogram.solvers.least_squares.least_squares import solve_moments
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.least_squares.ridge import joint_moments
from kilogram.solvers.newton.clipped_loss import (
    BandSums,
    ClippedIterate,
    Reached,
    ScaledFrame,
    newton,
    residual,
)
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

EFFICIENT = 1.35  # epsilon of the fit whose residuals give the scale "mad": 95 % efficiency
NARROW = 0.3  # ratio of consecutive widths on the way to a given scale: 2 or 3 iterations each
NEAR_ONE = 1.2  # epsilon below which the scale may be near 0; at 1.2 a normal scale is 0.7 sigma
SAMPLED, ROWS_PER_COLUMN = 2000, 30  # rows of the problem whose solution is the start
SMALLEST = 1e-8  # smallest scale, in standard deviations of the targets: half the digits


def huber_losses(r: np.ndarray, sigma: float, epsilon: float) -> np.ndarray:
    """sigma + H(r / sigma) sigma of every residual."""
    z = np.minimum(np.abs(r) / sigma, epsilon)
    return sigma + z * (2.0 * np.abs(r) - z * sigma)


@dataclass(frozen=True, eq=False)
class Absolute:
    """|r| and the weights of rows, concatenated by `+`."""

    r: np.ndarray
    w: np.ndarray

    def __add__(self, other: Absolute) -> Absolute:
        return Absolute(np.append(self.r, other.r), np.append(self.w, other.w))

    def median(self) -> float:
        """The weighted median; the middle of two where it lies between them."""
        return float(weighted_medians(self.r[:, None], self.w)[0])


@dataclass(frozen=True, eq=False)
class HuberProblem:
    """One Huber regression: data and parameters; `scale` is "joint", "mad" or a number."""

    rows: RegressionData
    epsilon: float
    alpha: float
    fit_intercept: bool
    scale: str | float
    tol: float
    max_iter: int


def huber_fit(
    p: HuberProblem, moments: JointMoments, start: tuple[np.ndarray, float, float] | None
) -> tuple[Solution, float]:
    """Value (W (d,), b), and the scale; `moments` are those of the rows."""
    sparse = is_sparse(p.rows.X)
    normal = Normal.of(moments, p.fit_intercept)
    scatter = to_numpy(normal.S).diagonal().astype(np.float64)
    floor = to_numpy(rounding(normal, moments.weight, sparse=sparse))
    spread = float(np.sqrt(max(float(to_numpy(normal.squares)[0]), 0.0) / moments.weight)) or 1.0
    least = 0.5 * SMALLEST * spread
    frame = ScaledFrame(
        -2.0 * p.epsilon,
        2.0 * p.epsilon,
        moments.weight,
        np.where(scatter > floor, scatter, 0.0),
        p.fit_intercept,
        ridge=p.alpha,
        joint=p.scale == "joint",
    )
    if start is None:
        start = _start_from_a_sample(p)
    if start is None:
        found = solve_moments(moments, p.fit_intercept, sparse=sparse).found
        W, b = (np.asarray(to_numpy(a), dtype=np.float64) for a in found.value)
        rms = float(np.sqrt(max(found.objective or 0.0, 0.0) / moments.weight))
        point = ClippedIterate(W[:, 0], float(b[0]), max(0.5 * rms, least))
    else:
        point = ClippedIterate(start[0], start[1], max(0.5 * start[2], least))
    return _solve(p, frame, point, least)


def _start_from_a_sample(p: HuberProblem) -> tuple[np.ndarray, float, float] | None:
    """The solution of some of many rows in memory: half of the passes over all are saved."""
    X, Y, w, flat = p.rows
    if is_streamed(X) or is_sparse(X) or p.scale == "mad":
        return None
    n, d = X.shape
    few = max(SAMPLED, ROWS_PER_COLUMN * d)
    if n < 8 * few:
        return None
    at = np.sort(np.random.default_rng(0).choice(n, few, replace=False))
    part = RegressionData(
        take_rows(X, at), take_rows(Y, at), None if w is None else take_rows(w, at), flat
    )
    moments, _ = joint_moments(part)
    if not moments.weight > 0 or not np.isfinite(to_numpy(moments.scatter)).all():
        return None
    found, sigma = huber_fit(replace(p, rows=part), moments, None)
    return (*found.value, sigma) if np.isfinite(found.value[0]).all() else None


def _solve(
    p: HuberProblem, frame: ScaledFrame, point: ClippedIterate, least: float
) -> tuple[Solution, float]:
    """Newton iterations with a free scale, or at the scale asked for."""
    passes = 0
    if frame.joint and p.epsilon < NEAR_ONE:
        passes, point = _profiled(p, frame, point, least)
    if not frame.joint:
        sigma = p.scale
        if sigma == "mad":
            rough = replace(frame, low=-2 * EFFICIENT, high=2 * EFFICIENT, joint=True)
            reached = newton(
                rough, _sums(rough, p.rows), point, tol=1e-6, max_iter=p.max_iter, least=least
            )
            passes, point = reached.passes, reached.point
            sigma = max(MAD * _distances(p.rows, point).median(), 2 * least)
        passes, point = _narrowed(p, frame, point, 0.5 * float(sigma), passes)
    reached = newton(
        frame,
        _sums(frame, p.rows),
        point,
        tol=max(p.tol**3, 1e-15),
        max_iter=max(p.max_iter - passes, 1),
        least=least,
    )
    if frame.joint and p.epsilon < NEAR_ONE and not (reached.settled or is_streamed(p.rows.X)):
        again = _from_absolute_deviations(p, frame, least)
        if frame.objective(again.sums, again.point) <= frame.objective(reached.sums, reached.point):
            reached = replace(again, passes=min(p.max_iter, reached.passes))
    sigma, end = 2.0 * reached.point.kappa, reached.point
    value = frame.objective(reached.sums, end)
    if not frame.joint:
        value += frame.weight * sigma  # the constant part of the objective
    why = "" if reached.settled else "the objective still decreases."
    found = Solution((end.w, end.b), passes + reached.passes, value, reached.settled, why)
    return found, sigma


def _profiled(
    p: HuberProblem, frame: ScaledFrame, point: ClippedIterate, least: float
) -> tuple[int, ClippedIterate]:
    """The point where the objective, minimal over (w, b) at each width, stops to decrease with it.

    For epsilon near 1 the best width is near 0, where the loss is that of absolute deviations and
    Newton iterations from far away hardly move: the width decreases by NARROW at a time, and the
    coefficients follow.
    """
    fixed, passes = replace(frame, joint=False), 0
    while passes < p.max_iter // 2:
        reached = newton(fixed, _sums(fixed, p.rows), point, tol=1e-6, max_iter=p.max_iter // 4)
        passes, point = passes + reached.passes, reached.point
        rising = frame.weight * 2.0 < 0.5 * reached.sums.squares
        if rising or point.kappa <= least:
            break
        point = replace(point, kappa=max(NARROW * point.kappa, least))
    return passes, point


def _from_absolute_deviations(p: HuberProblem, frame: ScaledFrame, least: float) -> Reached:
    """Newton iterations from least absolute deviations, the solution for a scale of 0."""
    X, y, w, _ = p.rows
    y = np.asarray(to_numpy(y), dtype=np.float64)[:, 0]
    v = np.ones(len(y)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
    on = np.flatnonzero(v > 0)
    W, b = quantile_program(
        take_rows(X, on), y[on], v[on], 0.5, fit_intercept=frame.fit_intercept
    ).value
    r = np.abs(to_numpy(residual(X, y, ClippedIterate(W, b, 1.0))))
    low, high = np.log(least), np.log(max(float(r.max(initial=0.0)), 2.0 * least))
    for _ in range(60):  # bisection for the width of smallest objective at these residuals
        middle = 0.5 * (low + high)
        a = np.minimum(r / np.exp(middle), 2.0 * p.epsilon)
        low, high = (middle, high) if 0.5 * v @ a**2 > 2.0 * frame.weight else (low, middle)
    point = ClippedIterate(W, b, max(float(np.exp(high)), least))
    tol = max(p.tol**3, 1e-15)
    return newton(frame, _sums(frame, p.rows), point, tol=tol, max_iter=p.max_iter, least=least)


def _narrowed(
    p: HuberProblem, frame: ScaledFrame, point: ClippedIterate, kappa: float, passes: int
) -> tuple[int, ClippedIterate]:
    """The point at this width, reached in several steps: few rows have curvature far from it."""
    while NARROW * point.kappa > kappa and passes < p.max_iter:
        wide = replace(point, kappa=NARROW * point.kappa)
        left = p.max_iter - passes
        reached = newton(frame, _sums(frame, p.rows), wide, tol=1e-4, max_iter=left)
        passes, point = passes + reached.passes, reached.point
    return passes, replace(point, kappa=kappa)


def _sums(frame: ScaledFrame, rows: RegressionData) -> Any:
    def at(point: ClippedIterate) -> BandSums:
        loss = frame.loss(point)

        def statistic(X: Any, y: Any, w: Any = None) -> BandSums:
            return BandSums.of(X, y, w, point, loss)

        return reduce_rows(statistic, rows.X, rows.Y, rows.w)

    return at


def _distances(rows: RegressionData, point: ClippedIterate) -> Absolute:
    def statistic(X: Any, y: Any, w: Any = None) -> Absolute:
        r = np.abs(np.asarray(to_numpy(residual(X, y, point)), dtype=np.float64))
        v = np.ones(len(r)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        return Absolute(r, v)

    return reduce_rows(statistic, rows.X, rows.Y, rows.w)
