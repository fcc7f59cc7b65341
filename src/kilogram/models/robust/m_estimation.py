"""M-, S- and MM-estimates of regression coefficients, with their covariance.

    M    sum_i v_i psi(r_i / s) q_i = 0,  s = 1.4826 median |r|, by reweighted least squares
    S    min s(r),  sum_i v_i rho(r_i / s) / max rho = b (V - p),   V = sum_i v_i
    MM   M at the scale s of an S-estimate, started from it; its breakdown, a higher efficiency

S-estimates start from fits to small subsets: some weighted fits each, the best to convergence
(Salibian-Barrera and Yohai 2006). Of many rows a random part selects the starts.

References: Huber 1981; Rousseeuw and Yohai 1984; Yohai 1987; Croux, Dhaene and Hoorelbeke 2003.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.functions.m_losses import MAD, MLoss
from kilogram.functions.weighted_medians import weighted_medians
from kilogram.models.robust.subsets import (
    draw_subsets,
    subset_fits,
    weighted_fit,
    weighted_fits,
)

Array = np.ndarray
SCREENED = 1500  # rows that select the starts: as many as in FAST-MCD (1999)
REFINED = 8  # best starts iterated to convergence on all rows; fast-S (2006) takes 5
TINY = 1e-13  # scales below, relative to the targets, are 0: an exact fit, up to 450 eps


@dataclass(frozen=True, eq=False)
class MFit:
    """theta, the scale, the number of iterations and whether they converged."""

    theta: Array
    scale: float
    n_iter: int
    settled: bool


@dataclass(frozen=True, eq=False)
class Weighted:
    """Rows Q (n, r), targets and weights v > 0; `total` is their sum."""

    Q: Array
    y: Array
    v: Array

    @property
    def total(self) -> float:
        return float(self.v.sum())

    @property
    def floor(self) -> float:
        """Scale below which residuals are rounding."""
        return TINY * float(np.max(np.abs(self.y), initial=0.0)) + 1e-300

    def residuals(self, theta: Array) -> Array:
        return self.y - self.Q @ theta

    def mad(self, r: Array) -> float:
        return MAD * float(weighted_medians(np.abs(r)[:, None], self.v)[0])


def iterate(
    rows: Weighted, loss: MLoss, c: float, start: MFit, *, fixed: bool, tol: float, max_iter: int
) -> MFit:
    """Reweighted least squares; the scale is fixed or the median absolute residual."""
    theta, s = start.theta, start.scale
    for t in range(1, max_iter + 1):
        r = rows.residuals(theta)
        if not fixed:
            s = rows.mad(r)
        if s <= rows.floor:
            return MFit(theta, 0.0, t, True)
        new = weighted_fit(rows.Q, rows.y, rows.v * loss.weight(np.abs(r) / s, c))
        step, theta = float(np.abs(new - theta).max(initial=0.0)), new
        if step <= tol * s:
            return MFit(theta, s if fixed else rows.mad(rows.residuals(theta)), t, True)
    return MFit(theta, s, max_iter, False)


def m_estimate(rows: Weighted, loss: MLoss, c: float, tol: float, max_iter: int) -> MFit:
    """M-estimate by reweighted least squares, started from least squares."""
    start = MFit(weighted_fit(rows.Q, rows.y, rows.v), 0.0, 0, False)
    return iterate(rows, loss, c, start, fixed=False, tol=tol, max_iter=max_iter)


def m_scales(
    R: Array, v: Array, loss: MLoss, c: float, goal: float, steps: int = 60, start: Any = None
) -> Array:
    """s of every row of residuals R (B, n) with sum_i v_i rho(r_i / s) / max rho = goal.

    Newton's iteration for log s: the sum decreases in s, with slope -sum_i v_i psi(z_i) z_i.
    """
    if start is None:
        s = MAD * np.median(np.abs(R), axis=1)
        s = np.where(s > 0, s, np.sqrt(np.mean(R * R, axis=1)))
    else:
        s = np.array(start, dtype=np.float64)
    top = loss.top(c) if loss.top is not None else 1.0
    live = s > 0
    for _ in range(steps):
        if not live.any():
            break
        z = np.abs(R[live]) / s[live, None]
        excess = (loss.rho(z, c) @ v) / top - goal
        slope = ((loss.weight(z, c) * z * z) @ v) / top
        step = np.clip(excess / np.maximum(slope, 1e-300), -0.7, 0.7)  # a factor of 2 at most
        s[live] = s[live] * np.exp(step)
        live[np.flatnonzero(live)[np.abs(step) <= 1e-13]] = False
        live &= s > 1e-280
    return np.where(s > 1e-280, s, 0.0)


def s_estimate(
    rows: Weighted,
    loss: MLoss,
    c: float,
    b: float,
    n_starts: int,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> MFit:
    """The smallest scale over `n_starts` subsets, each improved by weighted fits."""
    n, p = rows.Q.shape
    part = rows
    if n > SCREENED:
        at = rng.choice(n, SCREENED, replace=False)
        part = Weighted(rows.Q[at], rows.y[at], rows.v[at])
    starts = subset_fits(part.Q, part.y, draw_subsets(len(part.y), p, n_starts, rng))
    first = weighted_fit(rows.Q, rows.y, rows.v)
    starts = np.vstack([first[None, :], starts])
    goal = b * max(part.total - p, 0.5 * part.total)
    for _ in range(2):  # as many improvements as tell good starts from bad ones
        R = part.y - starts @ part.Q.T
        s = np.maximum(m_scales(R, part.v, loss, c, goal, 3), part.floor)
        starts = weighted_fits(part.Q, part.y, part.v * loss.weight(np.abs(R) / s[:, None], c))
    scales = m_scales(part.y - starts @ part.Q.T, part.v, loss, c, goal, 20)
    order = np.argsort(scales, kind="stable")[:REFINED]
    rough = [_refine(rows, loss, c, b, theta, 1e-3, max_iter) for theta in starts[order]]
    best = min(rough, key=lambda fit: fit.scale)
    return best if best.scale == 0.0 else _refine(rows, loss, c, b, best.theta, tol, max_iter)


def _refine(
    rows: Weighted, loss: MLoss, c: float, b: float, theta: Array, tol: float, max_iter: int
) -> MFit:
    """Weighted fits at the M-scale of the residuals until the coefficients stay."""
    p = rows.Q.shape[1]
    goal = b * max(rows.total - p, 0.5 * rows.total)
    s = float(m_scales(rows.residuals(theta)[None, :], rows.v, loss, c, goal)[0])
    for t in range(1, max_iter + 1):
        r = rows.residuals(theta)
        s = float(m_scales(r[None, :], rows.v, loss, c, goal, start=[s])[0])
        if s <= rows.floor:
            return MFit(theta, 0.0, t, True)
        new = weighted_fit(rows.Q, rows.y, rows.v * loss.weight(np.abs(r) / s, c))
        step, theta = float(np.abs(new - theta).max(initial=0.0)), new
        if step <= tol * s:
            r = rows.residuals(theta)
            end = m_scales(r[None, :], rows.v, loss, c, goal, start=[s])
            return MFit(theta, float(end[0]), t, True)
    return MFit(theta, s, max_iter, False)


def m_covariance(rows: Weighted, loss: MLoss, c: float, fit: MFit) -> Array:
    """Huber's formula with his correction kappa: equal errors, X'X as it stands."""
    p, n = rows.Q.shape[1], rows.total
    r = rows.residuals(fit.theta)
    z = np.abs(r) / fit.scale
    slope = loss.slope(z, c)
    mean = float(rows.v @ slope / n)
    spread = float(rows.v @ (slope - mean) ** 2 / max(n - 1.0, 1.0))
    kappa = 1.0 + p * spread / (n * mean * mean)
    squares = float(rows.v @ (loss.weight(z, c) * r) ** 2 / (n - p))
    bread = np.linalg.pinv((rows.Q * rows.v[:, None]).T @ rows.Q, hermitian=True)
    return squares * (kappa / mean) ** 2 * bread


def mm_covariance(
    rows: Weighted, loss: MLoss, c: float, final: MFit, chi: float, b: float, initial: MFit
) -> Array:
    """The sandwich of the stacked equations of theta, of the S-estimate and of its scale.

    With z the final and z0 the initial standardised residuals, A = s (sum psi'(z) q q')^-1 and
    a = A sum psi'(z) z q / mean(chi'(z0) z0), theta moves with psi(z) A q - a (chi(z0) - b).
    """
    n, v, Q, s = rows.total, rows.v, rows.Q, final.scale
    z, z0 = rows.residuals(final.theta) / s, rows.residuals(initial.theta) / s
    slope = v * loss.slope(np.abs(z), c)
    A = s * np.linalg.pinv((Q * slope[:, None]).T @ Q, hermitian=True)
    top = loss.top(chi) if loss.top is not None else 1.0
    lever = float(v @ (loss.weight(np.abs(z0), chi) * z0 * z0)) / (top * n)
    a = A @ (Q.T @ (slope * z)) / lever
    psi = loss.weight(np.abs(z), c) * z
    level = loss.relative(z0, chi)  # of mean b up to p / n, which R leaves out as well
    across = A @ (Q.T @ (v * psi * level)) / n
    meat = A @ ((Q * (v * psi * psi)[:, None]).T @ Q) @ A
    crossed = np.outer(a, across)
    covariance = meat - crossed - crossed.T + float(v @ (level**2 - b * b)) * np.outer(a, a) / n**2
    return _positive(covariance)


def _positive(C: Array) -> Array:
    """C without the negative eigenvalues that the small-sample form may have."""
    values, vectors = np.linalg.eigh(0.5 * (C + C.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
