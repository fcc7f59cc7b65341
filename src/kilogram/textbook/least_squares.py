"""Least squares beyond equal errors (lecture_notes L11, L12): LSQR, weights, TLS.

    LSQR          products with X and X' only; exact after at most d steps in exact arithmetic
    weighted      rows divided by sigma_i:  min sum_i (y_i - x_i'beta)^2 / sigma_i^2
    generalised   S^-1 = R'R, least squares of R X, R y:  beta = (X'S^-1 X)^-1 X'S^-1 y
    reweighted    sigma_i unknown: weighted fit, residuals, new sigma, again
    total         errors in X too: the last right singular vector of [X, y]

No offset: centre X and y first, or make the constant a feature (`total` centres by itself, for the
plane contains the centroid). `ridge_solvers.py` has the solvers for equal errors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin


def lsqr(
    times: Callable[[Array], Array],
    times_transposed: Callable[[Array], Array],
    y: Array,
    steps: int,
    *,
    tol: float = 1e-12,
) -> States:
    """X known by v -> X v and u -> X'u. B is (t + 1, t), lower bidiagonal: alpha over beta.

    One rotation a step takes beta out; only the last u, v, w are kept (Paige and Saunders 1982).
    """
    size = beta = np.linalg.norm(y)
    u = y / beta
    v = times_transposed(u)
    alpha = np.linalg.norm(v)
    v, x, phi_bar, rho_bar = v / alpha, np.zeros_like(v), beta, alpha
    w = v
    yield (s := begin("0 beta u = y, alpha v = X'u", float(size**2), u=u, v=v, beta=x))
    for t in range(1, steps + 1):
        u = times(v) - alpha * u
        b = np.linalg.norm(u)
        u = u / b if b > 0 else u
        v = times_transposed(u) - b * v
        alpha = np.linalg.norm(v)
        v = v / alpha if alpha > 0 else v
        rho = np.hypot(rho_bar, b)
        c, sine = rho_bar / rho, b / rho
        x = x + (c * phi_bar / rho) * w
        w = v - (sine * alpha / rho) * w
        gradient, phi_bar, rho_bar = c * alpha * phi_bar * sine, sine * phi_bar, -c * alpha
        yield (s := s.then(f"step {t}", float(phi_bar**2), u=u, v=v, beta=x, alpha=alpha, b=b))
        if abs(gradient) <= tol * size or phi_bar <= tol * size:
            break
    return s


def weighted(X: Array, y: Array, sigma: Array) -> States:
    """Known sigma_i: divide every row by it, then least squares."""
    yield (s := begin("1 divide rows by sigma", X=X / sigma[:, None], y=y / sigma))
    beta = np.linalg.lstsq(s["X"], s["y"], rcond=None)[0]
    yield (s := s.then("2 least squares", float(np.sum((s["y"] - s["X"] @ beta) ** 2)), beta=beta))
    return s


def generalised(X: Array, y: Array, S: Array) -> States:
    """Known covariance S of the errors: whiten with a factor of its inverse."""
    R = np.linalg.inv(np.linalg.cholesky(S))
    yield (s := begin("1 S^-1 = R'R", R=R))
    yield (s := s.then("2 whiten", X=R @ X, y=R @ y))
    beta = np.linalg.lstsq(s["X"], s["y"], rcond=None)[0]
    yield (s := s.then("3 least squares", float(np.sum((s["y"] - s["X"] @ beta) ** 2)), beta=beta))
    return s


def reweighted(X: Array, y: Array, groups: Array, steps: int) -> States:
    """Unknown sigma, one for every group of rows: its root mean squared residual.

    `groups = arange(N)` is the printed rule, sigma_i = |r_i|: it ends on d rows fitted exactly.
    """
    sigma = np.ones(len(y))
    yield (s := begin("0 sigma = 1", sigma=sigma))
    for t in range(1, steps + 1):
        beta = np.linalg.lstsq(X / sigma[:, None], y / sigma, rcond=None)[0]
        squares = (y - X @ beta) ** 2
        mean = np.bincount(groups, weights=squares) / np.maximum(np.bincount(groups), 1)
        sigma = np.sqrt(np.maximum(mean[groups], 1e-30))
        fit = float(np.sum(2 * np.log(sigma) + squares / sigma**2))
        yield (s := s.then(f"round {t}", fit, beta=beta, sigma=sigma, r=y - X @ beta))
    return s


def total(X: Array, Y: Array) -> States:
    """min |[gamma, e]|^2 with Y + e = (X + gamma) beta about the centroid; Y (N,) or (N, T)."""
    x_bar, y_bar = X.mean(axis=0), Y.mean(axis=0)
    columns = Y.reshape(len(Y), -1)
    Z = np.hstack([X - x_bar, columns - columns.mean(axis=0)])
    yield (s := begin("1 centre [X, Y]", Z=Z, x_bar=x_bar, y_bar=y_bar))
    _, S, Vt = np.linalg.svd(Z)
    d = X.shape[1]
    last = np.zeros(Z.shape[1])
    last[: len(S)] = S
    yield (s := s.then("2 Z = U S V'", S=last, V=Vt.T))
    z, alpha = Vt[d:, :d].T, Vt[d:, d:].T
    if np.linalg.svd(alpha, compute_uv=False)[-1] < 1e-12:
        raise ValueError("alpha is 0: the nearest plane is vertical, there is no solution")
    beta = -z @ np.linalg.inv(alpha)
    beta = beta[:, 0] if Y.ndim == 1 else beta
    value = float(np.sum(last[d:] ** 2))
    yield (s := s.then("3 beta = -z / alpha", value, beta=beta, b=y_bar - x_bar @ beta))
    return s


def bias_and_variance(estimates: Array, truth: Array) -> tuple[float, float]:
    """Squared bias and variance of repeated estimates (R, d), summed over coefficients."""
    bias = float(np.sum((estimates.mean(axis=0) - truth) ** 2))
    return bias, float(np.sum(estimates.var(axis=0)))


def anscombe(counts: Array) -> Array:
    """2 sqrt(x + 3/8): Poisson counts with a variance of about 1, whatever their mean."""
    return 2.0 * np.sqrt(np.asarray(counts) + 0.375)
