"""Robust location and regression: lecture_notes L15 to L17, as corrected.

loss           rho(r)                               pull psi = rho'/2       weight psi/r
squared        r^2                                  r                       1
absolute       |r|                                  sign(r)/2               1/(2|r|)
Huber          r^2 to kappa, then 2 kappa|r|-kappa^2    clip(r, +-kappa)    min(1, kappa/|r|)
biweight       1 - (1 - (r/kappa)^2)^3 to kappa, then 1  redescends         (1 - (r/kappa)^2)^2

(print: the weight as rho/r^2, which is not the kappa/|r| displayed beside it, and the biweight
without the inner square). kappa = 1.37 sigma, sigma from the median absolute deviation.

A constant is a column of X. RANSAC: fit as few rows as determine a model, count those near it, keep
the largest set; T >= log(1 - alpha) / log(1 - gamma^D) draws find one without outliers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog, minimize

from kilogram.textbook.state import Array, States, begin

MAD = 1.4826  # 1 / Phi^-1(3/4) as printed


def huber_loss(r: Array, kappa: float) -> Array:
    """r^2 within kappa, the tangent beyond."""
    return np.where(np.abs(r) <= kappa, r**2, 2 * kappa * np.abs(r) - kappa**2)


def huber_weight(r: Array, kappa: float) -> Array:
    """psi(r) / r."""
    return np.minimum(1.0, kappa / np.maximum(np.abs(r), 1e-300))


def biweight_loss(r: Array, kappa: float) -> Array:
    """Bounded: a far row costs 1, however far."""
    return 1 - np.maximum(1 - (r / kappa) ** 2, 0.0) ** 3


def biweight_weight(r: Array, kappa: float) -> Array:
    """0 beyond kappa: a far row has no say at all."""
    return np.maximum(1 - (r / kappa) ** 2, 0.0) ** 2


def scale(r: Array) -> float:
    """sigma of normal errors from the median of |r|; up to half of the rows may be arbitrary."""
    return MAD * float(np.median(np.abs(r)))


def location(
    x: Array, weight: Callable[[Array, float], Array], kappa: float, steps: int = 50
) -> States:
    """The centre t of numbers x (N,): weighted means again and again, from the median."""
    t = float(np.median(x))
    yield (s := begin("1 median", t=t, w=np.ones(len(x))))
    for _ in range(steps):
        w = weight(x - t, kappa)
        t = float(w @ x / w.sum())
        yield (s := s.then("2 weighted mean", t=t, w=w))
    return s


def huber(X: Array, y: Array, kappa: float | None = None, steps: int = 100) -> States:
    """Weighted least squares again and again; kappa = 1.37 sigma, sigma anew from the start's r."""
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    if kappa is None:
        rough = _last_coefficients(absolute(X, y))
        kappa = 1.37 * scale(y - X @ rough)
    yield (s := begin("1 least squares", beta=beta, kappa=kappa, w=np.ones(len(y))))
    for _ in range(steps):
        r = y - X @ beta
        w = huber_weight(r, kappa)
        root = np.sqrt(w)
        beta = np.linalg.lstsq(root[:, None] * X, root * y, rcond=None)[0]
        J = float(huber_loss(y - X @ beta, kappa).sum())
        yield (s := s.then("2 weighted least squares", J, beta=beta, w=w))
    return s


def _last_coefficients(states: States) -> Array:
    for state in states:
        beta = state["beta"]
    return beta


def absolute(X: Array, y: Array, eps: float = 1e-6, steps: int = 100) -> States:
    """Least absolute deviations by weights 1 / (|r| + eps): close to the optimum, not at it."""
    beta: Array = np.linalg.lstsq(X, y, rcond=None)[0]
    yield (s := begin("1 least squares", float(np.abs(y - X @ beta).sum()), beta=beta))
    for _ in range(steps):
        root = 1 / np.sqrt(np.abs(y - X @ beta) + eps)
        beta = np.linalg.lstsq(root[:, None] * X, root * y, rcond=None)[0]
        J = float(np.abs(y - X @ beta).sum())
        yield (s := s.then("2 weighted least squares", J, beta=beta, w=root**2))
    return s


def absolute_program(X: Array, y: Array) -> States:
    """min sum u_i with u_i >= +-(y_i - x_i'beta); of many solutions that of least squares."""
    N, d = X.shape
    cost = np.concatenate([np.zeros(d), np.ones(N)])
    A = np.block([[-X, -np.eye(N)], [X, -np.eye(N)]])
    found = linprog(cost, A, np.concatenate([-y, y]), bounds=[(None, None)] * d + [(0, None)] * N)
    beta, u = found.x[:d], found.x[d:]
    yield (s := begin("1 linear program", float(u.sum()), beta=beta, u=u))
    m = -found.ineqlin.marginals
    a = m[:N] - m[N:]  # multipliers: +-1 away from the fit, between on it
    on = np.abs(a) < 1 - 1e-9
    sides = [
        {"type": "eq", "fun": lambda b: y[on] - X[on] @ b, "jac": lambda b: -X[on]},
        {"type": "ineq", "fun": lambda b: a[~on] * (y - X @ b)[~on],
         "jac": lambda b: -a[~on][:, None] * X[~on]},
    ]  # fmt: skip
    squares = minimize(
        lambda b: np.sum((y - X @ b) ** 2), beta, jac=lambda b: -2 * X.T @ (y - X @ b),
        constraints=sides, method="SLSQP",
    )  # fmt: skip
    chosen = squares.x if np.abs(y - X @ squares.x).sum() <= u.sum() * (1 + 1e-9) else beta
    yield (s := s.then("2 least squares among the best", s.objective, beta=chosen, a=a))
    return s


def draws(alpha: float, gamma: float, D: int) -> int:
    """T: draws of D rows after which one is all inliers with probability alpha; at least 1."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must be in [0, 1), got {alpha}. No number of draws is certain.")
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma must be in (0, 1], got {gamma}. Without inliers no draw is clean.")
    if D < 1:
        raise ValueError(f"D must be at least 1, got {D}.")
    if gamma == 1:
        return 1
    return max(1, int(np.ceil(np.log1p(-alpha) / np.log1p(-(gamma**D)))))


def ransac(
    X: Array,
    kappa: float,
    T: int,
    rng: np.random.Generator,
    fit: Callable[[Array], Array],
    distance: Callable[[Array, Array], Array],
    D: int,
) -> States:
    """T times: D rows, the model through them, the rows within kappa; refit on the largest set."""
    if not 1 <= D <= len(X) or T < 1:
        raise ValueError(f"D must be in [1, {len(X)} rows] and T at least 1, got {D} and {T}.")
    best = np.zeros(len(X), dtype=bool)
    yield (s := begin("1 nothing yet", inliers=best))
    for _ in range(T):
        model = fit(X[rng.choice(len(X), D, replace=False)])
        near = distance(X, model) <= kappa
        if near.sum() > best.sum():
            best = near
            yield (s := s.then("2 more inliers", float(-best.sum()), inliers=best, model=model))
    if best.sum() < D:
        raise ValueError(
            f"No model of {T} draws has {D} rows within kappa={kappa:g}. Raise kappa or T."
        )
    yield (s := s.then("3 refit", model=fit(X[best])))
    return s


def line(P: Array) -> Array:
    """(n_1, n_2, c) with n'x = c, |n| = 1: the line through two points, or nearest to more."""
    centre = P.mean(axis=0)
    n = np.linalg.svd(P - centre)[2][-1]
    return np.append(n, n @ centre)


def line_distance(P: Array, model: Array) -> Array:
    """|n'x - c|."""
    return np.abs(P @ model[:2] - model[2])


def circle(P: Array) -> Array:
    """(c_1, c_2, R): the circle through three points, or the algebraic fit of more."""
    beta = np.linalg.lstsq(np.c_[P, np.ones(len(P))], np.sum(P**2, axis=1), rcond=None)[0]
    c = beta[:2] / 2
    return np.append(c, np.sqrt(max(beta[2] + c @ c, 0.0)))


def circle_distance(P: Array, model: Array) -> Array:
    """| |x - c| - R |."""
    return np.abs(np.linalg.norm(P - model[:2], axis=1) - model[2])
