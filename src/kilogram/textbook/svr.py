"""Support vector regression (first_encounter ch. 9).

    min_{w, b}  1/2 |w|^2 + C sum_i (xi_i + xi^_i)           linear slack    (9.11)
    min_{w, b}  1/2 |w|^2 + C/2 sum_i (xi_i^2 + xi^_i^2)     quadratic slack (9.1)
    f(x_i) - y_i <= epsilon + xi_i,    y_i - f(x_i) <= epsilon + xi^_i,    f(x) = w'phi(x) + b

    max_beta  -1/2 beta'K beta + beta'y - epsilon sum_i |beta_i|,   sum_i beta_i = 0
              linear: |beta_i| <= C      quadratic: no bound, and 1/C on the diagonal of K

    f(x) = sum_i beta_i k(x_i, x) + b,   beta = alpha^ - alpha

The absolute value is taken apart: alpha^, alpha >= 0, at most one of them positive. On the edge of
the tube y_i - f(x_i) = epsilon sign(beta_i) + (0 or beta_i / C), which gives b.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.quadratic_program import quadratic_program
from kilogram.textbook.state import Array, States, begin, run


def dual_value(K: Array, y: Array, beta: Array, epsilon: float) -> float:
    return float(-beta @ K @ beta / 2 + beta @ y - epsilon * np.abs(beta).sum())


def primal_value(
    K: Array, y: Array, beta: Array, b: float, C: float, epsilon: float, slack: int
) -> float:
    """The objective at f = K beta + b."""
    xi = np.maximum(np.abs(y - K @ beta - b) - epsilon, 0)
    penalty = C * xi.sum() if slack == 1 else C / 2 * xi @ xi
    return float(beta @ K @ beta / 2 + penalty)


def offset(Q: Array, y: Array, beta: Array, bound: float, epsilon: float) -> float:
    """Mean over the edge of the tube, else the middle of the interval that is left."""
    small = 1e-6 * max(float(np.abs(beta).max()), 1e-300)
    edge = (np.abs(beta) > small) & (np.abs(beta) < bound * (1 - 1e-6))
    r = y - Q @ beta
    if edge.any():
        return float((r - epsilon * np.sign(beta))[edge].mean())
    # beta_i < C asks r_i - b <= epsilon; beta_i > -C asks r_i - b >= -epsilon; and so on
    low = np.concatenate([(r - epsilon)[beta <= small], (r + epsilon)[beta < -small]])
    high = np.concatenate([(r + epsilon)[beta >= -small], (r - epsilon)[beta > small]])
    return float((low.max() + high.min()) / 2)


def svr(K: Array, y: Array, C: float, epsilon: float, *, slack: int = 1) -> States:
    """The dual as a quadratic programme in alpha^ and alpha, then beta, then b."""
    n = len(y)
    Q, bound = (K, C) if slack == 1 else (K + np.eye(n) / C, np.inf)
    yield (s := begin("1 kernel matrix", K=K, y=y))
    G, h = -np.eye(2 * n), np.zeros(2 * n)
    if slack == 1:
        G, h = np.vstack([G, np.eye(2 * n)]), np.concatenate([h, np.full(2 * n, C)])
    cost = np.concatenate([epsilon - y, epsilon + y])
    equal = np.concatenate([np.ones(n), -np.ones(n)])[None, :], np.zeros(1)
    split = run(quadratic_program(np.block([[Q, -Q], [-Q, Q]]), cost, G, h, *equal))["x"]
    yield (s := s.then("2 quadratic programme", alpha_hat=split[:n], alpha=split[n:]))
    beta = np.clip(split[:n] - split[n:], -bound, bound)
    yield (s := s.then("3 beta", dual_value(Q, y, beta, epsilon), beta=beta))
    b = offset(Q, y, beta, bound, epsilon)
    xi = np.maximum(np.abs(y - K @ beta - b) - epsilon, 0)
    yield (s := s.then("4 offset and slack", s.objective, b=b, xi=xi))
    return s
