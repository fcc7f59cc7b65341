"""Circles and ellipses through points, by algebraic, geometric and robust fits.

algebraic    linear least squares of the equation of the curve: |x|^2 = 2 c'x + (r^2 - |c|^2) for a
             circle, a conic with 4 a c - b^2 = 1 for an ellipse. Closed form, exact without noise,
             biased to small curves on short arcs; not robust.
geometric    least squares of the distances to the curve, by Levenberg-Marquardt from the former.
robust       the geometric fit with biweight weights at the scale of the median distance, from the
             best of many curves through as few points as determine one.

References: Kasa 1976; Fitzgibbon, Pilu and Fisher 1999; Halir and Flusser 1998.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import OneOf, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.functions.m_losses import MAD
from kilogram.solvers.least_squares.levenberg_marquardt import (
    ResidualFunction,
    nonlinear_least_squares,
)

Array = np.ndarray
METHODS = ("geometric", "algebraic", "robust")
# 95 % efficiency at the normal distribution: Tukey's biweight in any book on robust statistics.
BIWEIGHT = 4.685
DRAWS = 500  # five points of an ellipse are found with 99 % if 40 % of all are its own


@dataclass(frozen=True, eq=False)
class Circle:
    """Centre, radius, signed distances (positive outside), weights of a robust fit."""

    center: Array
    radius: float
    residuals: Array = field(repr=False)
    weights: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Ellipse:
    """Centre, semi-axes (the longer first), angle of the longer one, distances, weights."""

    center: Array
    axes: Array
    angle: float
    residuals: Array = field(repr=False)
    weights: Array = field(repr=False)


def fit_circle(points: Any, method: str = "geometric", *, random_state: Any = 0) -> Circle:
    """The circle nearest to points in the plane.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least 3 that are not on one line.
    method : {"geometric", "algebraic", "robust"}, default="geometric"
        "geometric" minimises the squared distances; "algebraic" is in closed form, biased on short
        arcs; "robust" resists up to half of the points.
    random_state : int, RandomState instance, Generator or None, default=0
        Seed or generator for the draws of "robust".

    Returns
    -------
    Circle
        With `center`, `radius`, `residuals`, `weights`.

    Examples
    --------
    >>> from kilogram import fit_circle
    >>> circle = fit_circle([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0], [0.0, -3.0]])
    >>> round(circle.radius, 6)
    3.0
    """
    check_parameter("method", method, OneOf(*METHODS))
    P, middle, size = _points(points, 3)
    start = _algebraic_circle(P)
    if method == "robust":
        found = _consensus(P, 3, _circle_through, _circle_distances, random_state, start)
        start = start if found is None else found
    p, w = start, np.ones(len(P))
    if method == "geometric":
        p = _nearest(P, start, w, _circle_distances, _circle_gradient)
    elif method == "robust":
        p, w = _reweighted(P, start, _circle_distances, _circle_gradient)
    r = _circle_distances(P, p)
    return Circle(p[:2] * size + middle, float(abs(p[2])) * size, r * size, w)


def fit_ellipse(points: Any, method: str = "geometric", *, random_state: Any = 0) -> Ellipse:
    """The ellipse nearest to points in the plane.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        At least 5 that are not on one line.
    method : {"geometric", "algebraic", "robust"}, default="geometric"
        As in `fit_circle`.
    random_state : int, RandomState instance, Generator or None, default=0
        Seed or generator for the draws of "robust".

    Returns
    -------
    Ellipse
        With `center`, `axes` (semi-axes, the longer first), `angle` in radians in
        (-pi/2, pi/2], `residuals`, `weights`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import fit_ellipse
    >>> t = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    >>> fit_ellipse(np.c_[4 * np.cos(t) + 1, 2 * np.sin(t)]).axes.round(6)
    array([4., 2.])
    """
    check_parameter("method", method, OneOf(*METHODS))
    P, middle, size = _points(points, 5)
    start = _algebraic_ellipse(P)
    if start is None and method != "robust":
        raise ValueError("the points determine no ellipse: they lie on a line or a parabola.")
    if method == "robust":
        start = _consensus(P, 6, _algebraic_ellipse, _ellipse_distances, random_state, start)
    if start is None:
        raise ValueError("the points determine no ellipse: they lie on a line or a parabola.")
    p, w = start, np.ones(len(P))
    if method == "geometric":
        p = _nearest(P, start, w, _ellipse_distances, _ellipse_gradient)
    elif method == "robust":
        p, w = _reweighted(P, start, _ellipse_distances, _ellipse_gradient)
    r = _ellipse_distances(P, p) * size
    a, b, angle = abs(p[2]), abs(p[3]), p[4]
    if b > a:
        a, b, angle = b, a, angle + 0.5 * np.pi
    angle = float(0.5 * np.pi - np.mod(0.5 * np.pi - angle, np.pi))
    return Ellipse(p[:2] * size + middle, np.array([a, b]) * size, angle, r, w)


def _points(points: Any, least: int) -> tuple[Array, Array, float]:
    """Points about their median in units of their spread, the median and the spread."""
    P = np.asarray(to_numpy(points), dtype=np.float64)
    if P.ndim != 2 or P.shape[1] != 2:
        raise ValueError(f"points must have shape (n, 2), got {P.shape}.")
    if not np.isfinite(P).all():
        raise ValueError("points contains NaN or infinity.")
    if len(np.unique(P, axis=0)) < least:
        raise ValueError(f"at least {least} different points are needed, got {len(P)} points.")
    middle = np.median(P, axis=0)
    size = float(np.median(np.linalg.norm(P - middle, axis=1))) or float(np.abs(P - middle).max())
    Q = (P - middle) / size
    if np.linalg.matrix_rank(Q - Q.mean(axis=0), tol=1e-10 * len(Q) ** 0.5) < 2:
        raise ValueError("the points lie on one line: they determine no curve.")
    return Q, middle, size


def _algebraic_circle(P: Array) -> Array:
    beta = np.linalg.lstsq(np.c_[P, np.ones(len(P))], (P * P).sum(axis=1), rcond=None)[0]
    c = 0.5 * beta[:2]
    return np.append(c, np.sqrt(max(float(c @ c + beta[2]), 0.0)))


def _circle_through(P: Array) -> Array | None:
    """The circle through three points; None if they are nearly on one line."""
    A = np.c_[P, np.ones(len(P))]
    return None if abs(np.linalg.det(A)) < 1e-9 else _algebraic_circle(P)


def _circle_distances(P: Array, p: Array) -> Array:
    return np.hypot(P[:, 0] - p[0], P[:, 1] - p[1]) - p[2]


def _circle_gradient(P: Array, p: Array) -> Array:
    D = P - p[:2]
    length = np.maximum(np.hypot(D[:, 0], D[:, 1]), 1e-300)
    return np.c_[-D / length[:, None], -np.ones(len(P))]


def _algebraic_ellipse(P: Array) -> Array | None:
    """(c1, c2, a, b, angle) by the constraint 4 a c - b^2 = 1; None without such a conic."""
    x, y = P.T
    D1, D2 = np.c_[x * x, x * y, y * y], np.c_[x, y, np.ones(len(x))]
    try:
        T = -np.linalg.solve(D2.T @ D2, D2.T @ D1)
    except np.linalg.LinAlgError:
        return None
    M = D1.T @ (D1 + D2 @ T)
    M = np.array([0.5 * M[2], -M[1], 0.5 * M[0]])
    values, vectors = np.linalg.eig(M)
    V = np.real(vectors)
    sound = (4 * V[0] * V[2] - V[1] ** 2 > 0) & (np.abs(np.imag(values)) < 1e-9)
    if not sound.any():
        return None
    a = V[:, np.argmax(sound)]
    return _from_conic(np.append(a, T @ a))


def _from_conic(q: Array) -> Array | None:
    """Centre, semi-axes and angle of q0 x^2 + q1 xy + q2 y^2 + q3 x + q4 y + q5 = 0."""
    A = np.array([[q[0], 0.5 * q[1]], [0.5 * q[1], q[2]]])
    if abs(np.linalg.det(A)) < 1e-300:
        return None
    c = np.linalg.solve(A, -0.5 * q[3:5])
    level = float(c @ A @ c - q[5])
    values, vectors = np.linalg.eigh(A)
    squares = level / values
    if not (squares > 0).all():
        return None
    a, b = np.sqrt(squares)
    return np.array([c[0], c[1], a, b, np.arctan2(vectors[1, 0], vectors[0, 0])])


def _foot_points(P: Array, p: Array) -> tuple[Array, Array, Array]:
    """Angles t of the nearest points of the ellipse, and P in its axes."""
    cos, sin = np.cos(p[4]), np.sin(p[4])
    D = P - p[:2]
    u, v = cos * D[:, 0] + sin * D[:, 1], -sin * D[:, 0] + cos * D[:, 1]
    a, b = abs(p[2]), abs(p[3])
    grid = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    far = (u[:, None] - a * np.cos(grid)) ** 2 + (v[:, None] - b * np.sin(grid)) ** 2
    t = grid[np.argmin(far, axis=1)]
    for _ in range(8):  # Newton's iteration for the derivative of the squared distance
        c, s = np.cos(t), np.sin(t)
        slope = (a * a - b * b) * c * s * -1.0 + u * a * s - v * b * c
        bend = -(a * a - b * b) * (c * c - s * s) + u * a * c + v * b * s
        step = np.where(bend > 1e-12, slope / np.maximum(bend, 1e-12), 0.0)
        t = t - np.clip(step, -0.1, 0.1)
    return t, u, v


def _ellipse_distances(P: Array, p: Array) -> Array:
    t, u, v = _foot_points(P, p)
    a, b = abs(p[2]), abs(p[3])
    away = np.hypot(u - a * np.cos(t), v - b * np.sin(t))
    outside = (u / max(a, 1e-300)) ** 2 + (v / max(b, 1e-300)) ** 2 > 1
    return np.where(outside, away, -away)


def _ellipse_gradient(P: Array, p: Array) -> Array:
    """Of the signed distances: minus the motion of the nearest point along its normal."""
    t, _, _ = _foot_points(P, p)
    a, b = abs(p[2]), abs(p[3])
    c, s = np.cos(t), np.sin(t)
    normal = np.c_[b * c, a * s]
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    turn = np.array([[np.cos(p[4]), -np.sin(p[4])], [np.sin(p[4]), np.cos(p[4])]])
    n = normal @ turn.T
    spin = normal[:, 0] * -b * s + normal[:, 1] * a * c
    grow = normal * np.c_[c, s] * np.sign(p[2:4])
    return -np.c_[n, grow, spin]


def _nearest(P: Array, start: Array, w: Array, distances: Any, gradient: Any) -> Array:
    """Levenberg-Marquardt on weighted distances."""
    root, free = np.sqrt(w), np.full(len(start), np.inf)
    residuals = ResidualFunction(
        lambda p: root * distances(P, p), lambda p: root[:, None] * gradient(P, p), -free, free
    )
    return nonlinear_least_squares(residuals, start, method="lm", tol=1e-9, max_iter=300).params


def _reweighted(P: Array, p: Array, distances: Any, gradient: Any) -> tuple[Array, Array]:
    """Geometric fits with biweight weights, at the scale of the distances from the start."""
    s = max(MAD * float(np.median(np.abs(distances(P, p)))), 1e-12)
    w = np.ones(len(P))
    for _ in range(50):
        z = np.abs(distances(P, p)) / (BIWEIGHT * s)
        w = np.maximum(1.0 - z * z, 0.0) ** 2
        new = _nearest(P, p, w, distances, gradient)
        if np.abs(new - p).max() <= 1e-9:
            return new, w
        p = new
    return p, w


def _consensus(
    P: Array, size: int, through: Any, distances: Any, random_state: Any, start: Array | None
) -> Array | None:
    """The curve through `size` points with the smallest median distance to all."""
    rng = as_generator(random_state)
    best, least = start, np.inf if start is None else float(np.median(np.abs(distances(P, start))))
    size = min(size, len(P))
    for _ in range(DRAWS):
        p = through(P[rng.choice(len(P), size, replace=False)])
        if p is None or not np.isfinite(p).all():
            continue
        value = float(np.median(np.abs(distances(P, p))))
        if value < least:
            best, least = p, value
    return best
