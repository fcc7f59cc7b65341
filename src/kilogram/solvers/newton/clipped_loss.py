"""Linear regression under a clipped loss: Newton steps from sums over the rows.

Objective    min_{w, b}  sum_i v_i h(y_i - <x_i, w> - b) + penalties    (h: functions/clipped.py)

Only rows within the band have curvature, so with z = (x, r / kappa) the Hessian in (w, kappa) is

    H = (1 / kappa) sum over the band of v z z'        offset eliminated: z about its mean there
    g = -sum_i v_i a_i x_i

The objective is piecewise quadratic: near the solution one step is exact. Where few rows are in the
band H has no inverse; Levenberg's damping, in units of the columns' own scatter, keeps steps short.
One pass over the rows gives all sums; they add, so rows may come in blocks or live on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.functions.clipped_loss import ClippedLoss
from kilogram.statistics import JointMoments

FALL = 1e-5  # fraction of the predicted fall that a step must bring: any small one
LEAST, MOST = 1e-13, 1e10  # damping
NOISE = 1e-9  # part of a gradient that may be rounding: sums of 10 million rows
SHRINK = 0.3  # of kappa is left after a step at least: our choice


@dataclass(frozen=True, eq=False)
class ClippedIterate:
    """Coefficients w (d,), offset b, and the width kappa of the bend."""

    w: np.ndarray
    b: float
    kappa: float


@dataclass(frozen=True, eq=False)
class BandSums:
    """Sums over weighted rows: of h, of a^2, a x and a; moments of the band."""

    value: float
    squares: float
    slope: np.ndarray
    slope_0: float
    band: JointMoments

    @classmethod
    def of(cls, X: Any, y: Any, v: Any, point: ClippedIterate, loss: ClippedLoss) -> BandSums:
        """Of the rows of X (n, d) with targets y (n,) or (n, 1) and weights v (n,) or None."""
        r = residual(X, y, point)
        xp = namespace(r)
        v = xp.ones_like(r) if v is None else like(v, r)
        a = loss.pull(r)
        va = v * a
        slope = X.T @ (va if is_sparse(X) else like(va, X))
        return cls(
            float(xp.sum(v * loss.value(r))),
            float(xp.sum(va * a)),
            np.asarray(to_numpy(slope), dtype=np.float64),
            float(xp.sum(va)),
            _band(X, r, v, (a > loss.low) & (a < loss.high) & (v > 0)),
        )

    def __add__(self, other: BandSums) -> BandSums:
        return BandSums(
            self.value + other.value,
            self.squares + other.squares,
            self.slope + other.slope,
            self.slope_0 + other.slope_0,
            self.band + other.band,
        )


def residual(X: Any, y: Any, point: ClippedIterate) -> Any:
    """y - X w - b of a block, as a vector in the widest floats of its device."""
    y = y[:, 0] if y.ndim == 2 else y
    f = X @ (point.w if is_sparse(X) else like(point.w, X))
    if namespace(f) is namespace():
        return np.asarray(to_numpy(y), dtype=np.float64) - np.asarray(f, dtype=np.float64) - point.b
    return like(y, f) - f - point.b


def _band(X: Any, r: Any, v: Any, inside: Any) -> JointMoments:
    """Moments of (x, r) over the rows inside, on the host; of no rows, sums of 0."""
    xp = namespace(r)
    at = xp.nonzero(inside)[0]
    few = max(int(at.shape[0]), 1)
    if 2 * few > r.shape[0]:
        found = JointMoments.of(X, r, v * xp.astype(inside, v.dtype))
    elif at.shape[0] == 0:
        found = JointMoments.of(X[:1, :], r[:1], 0 * v[:1])
    else:
        rows = X[at] if namespace(at) is namespace() else xp.take(X, at, axis=0)
        found = JointMoments.of(rows, xp.take(r, at), xp.take(v, at))
    parts = (found.mean, found.scatter, found.mean_y, found.cross, found.scatter_y)
    return JointMoments(found.weight, *(np.asarray(to_numpy(p), dtype=float) for p in parts))


@dataclass(frozen=True, eq=False)
class ScaledFrame:
    """Bounds, weights and scales that stay fixed from step to step.

    scales (d,) are the columns' scatters, 0 where one is constant; `ridge` the factor of |w|^2;
    `joint`: the width is found as well, and every unit of weight costs 2 kappa.
    """

    low: float
    high: float
    weight: float
    scales: np.ndarray
    fit_intercept: bool
    ridge: float = 0.0
    joint: bool = False

    def loss(self, point: ClippedIterate) -> ClippedLoss:
        return ClippedLoss(self.low, self.high, point.kappa)

    def objective(self, s: BandSums, point: ClippedIterate) -> float:
        """The value of the objective at a point."""
        F = s.value + self.ridge * float(point.w @ point.w)
        return F + 2.0 * self.weight * point.kappa if self.joint else F

    def _gradient(self, s: BandSums, point: ClippedIterate) -> tuple[np.ndarray, float, float]:
        g = -s.slope + 2.0 * self.ridge * point.w
        g_kappa = 2.0 * self.weight - 0.5 * s.squares if self.joint else 0.0
        return g, -s.slope_0 if self.fit_intercept else 0.0, g_kappa

    def _curvature(
        self, s: BandSums, point: ClippedIterate
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """H over (w, kappa) with the offset eliminated, the mean of z, the band's weight."""
        d, k, m = len(point.w), point.kappa, s.band
        H, mean = np.zeros((d + 1, d + 1)), np.append(m.mean, m.mean_y / k)
        H[:d, :d], H[:d, d], H[d, :d] = m.scatter, m.cross[:, 0] / k, m.cross[:, 0] / k
        H[d, d] = m.scatter_y[0, 0] / k**2
        if not self.fit_intercept:
            H += m.weight * np.outer(mean, mean)
        H /= k
        H[np.arange(d), np.arange(d)] += 2.0 * self.ridge
        return H, mean, m.weight

    def step(
        self, s: BandSums, point: ClippedIterate, damping: float
    ) -> tuple[ClippedIterate, float]:
        """The change of the point, and the fall of the objective it promises."""
        g_w, g_b, g_k = self._gradient(s, point)
        H, mean, n = self._curvature(s, point)
        k, own = point.kappa, damping * self.weight / point.kappa
        n_b = n / k + own
        g = np.append(g_w, g_k) - (mean * g_b if n > 0 else 0.0)
        D = np.append(self.scales / k + 2.0 * self.ridge, self.weight / k)
        live = np.append(self.scales > 0, self.joint)
        at = np.flatnonzero(live)
        root = np.sqrt(D[at])
        H = H[np.ix_(at, at)]  # in place from here: matrices of this order are what memory holds
        H /= np.outer(root, root)
        H[np.diag_indices(len(at))] += damping
        move = np.zeros(len(g))
        move[at] = -solve_symmetric(H, g[at] / root, downhill=True) / root
        shift = 0.0
        if self.fit_intercept:
            shift = -g_b / n_b - (float(mean @ move) if n > 0 else 0.0)
        fall = -float(np.append(g_w, g_k) @ move) - g_b * shift
        return ClippedIterate(move[:-1], shift, float(move[-1])), fall


def solve_symmetric(A: np.ndarray, g: np.ndarray, *, downhill: bool = False) -> np.ndarray:
    """A^-1 g for a symmetric A >= 0; the smallest solution where it is singular.

    `downhill`: where A has no curvature but g a slope, go far instead of nowhere.
    """
    if not len(g):  # no column varies
        return g
    try:
        L = np.linalg.cholesky(A)
        if L.diagonal().min() > 1e-6 * L.diagonal().max():
            return np.linalg.solve(L.T, np.linalg.solve(L, g))
    except np.linalg.LinAlgError:
        pass  # dependent columns, or few rows in the band: the spectrum tells which directions
    values, V = np.linalg.eigh(A)
    floor = 64 * np.finfo(float).eps * max(len(g), 32) * max(values[-1], 1e-300)
    along = V.T @ g
    # no curvature and a slope that is more than rounding: a long way down, not a dependent column
    down = (values <= floor) & (np.abs(along) > NOISE * np.linalg.norm(g))
    keep = (values > floor) | down if downhill else values > floor
    return V[:, keep] @ (along[keep] / np.maximum(values[keep], floor))


def limited_step(point: ClippedIterate, move: ClippedIterate, least: float) -> ClippedIterate:
    """point + move, shortened so that kappa keeps a third; not below `least`."""
    most = point.kappa * (1.0 - SHRINK)
    t = min(1.0, most / -move.kappa) if move.kappa < 0 else 1.0
    kappa = max(point.kappa + t * move.kappa, least)
    return ClippedIterate(point.w + t * move.w, point.b + t * move.b, kappa)


@dataclass(frozen=True, eq=False)
class Reached:
    """Where Newton's steps ended, the sums there, how many passes, whether they settled."""

    point: ClippedIterate
    sums: BandSums
    passes: int
    settled: bool


def newton(
    frame: ScaledFrame,
    sums_at: Callable[[ClippedIterate], BandSums],
    point: ClippedIterate,
    *,
    tol: float,
    max_iter: int,
    least: float = 0.0,
) -> Reached:
    """Steps until the promised fall is `tol` of the objective; at most `max_iter` passes."""
    s, damping, passes = sums_at(point), LEAST, 1
    F = frame.objective(s, point)
    while passes < max_iter:
        move, fall = frame.step(s, point, damping)
        if frame.joint and point.kappa <= least and move.kappa < 0:  # on the floor: only w moves
            move, fall = replace(frame, joint=False).step(s, point, damping)
        trial = limited_step(point, move, least)
        if not fall > tol * abs(F):
            return Reached(point, s, passes, True)
        new = sums_at(trial)
        passes += 1
        value = frame.objective(new, trial)
        if value < F - FALL * fall:
            point, s, F, damping = trial, new, value, max(LEAST, 0.01 * damping)
            continue
        damping = max(100.0 * damping, 1e-6)
        if damping > MOST or fall <= 1e-11 * abs(F):
            return Reached(point, s, passes, True)  # rounding: no step helps
    return Reached(point, s, passes, False)
