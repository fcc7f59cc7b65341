"""Gradient descent on the costs of linear classifiers (first_encounter ch. 7; slides lecture 7).

    f_n = w'x_n - alpha,   y_n = +-1,   r_n = y_n - f_n

    squared    C = (1/2N) sum r_n^2               dC/df = -r       (Adaline, Widrow-Hoff)
    tanh       C = -(1/N) sum y_n tanh f_n        dC/df = -y (1 - tanh^2 f)
    log        C = (1/N) sum log(1 + exp(-2 y f)) dC/df = -2 y sigma(-2 y f)

    gradients  dC/dw = (1/N) sum (dC/df) x_n      dC/dalpha = -(1/N) sum (dC/df)

All rows at once, one random row, or a batch; step eta_t = eta / (1 + t / tau)^p. The tanh cost lies
between -1 and 1 and is not convex; it is the expected error rate of the model behind the log cost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin

COSTS: dict[str, tuple[Callable[[Array, Array], Array], Callable[[Array, Array], Array]]] = {
    "squared": (lambda y, f: 0.5 * (y - f) ** 2, lambda y, f: f - y),
    "tanh": (lambda y, f: -y * np.tanh(f), lambda y, f: -y * (1 - np.tanh(f) ** 2)),
    "log": (
        lambda y, f: np.logaddexp(0, -2 * y * f),
        lambda y, f: -2 * y / (1 + np.exp(np.clip(2 * y * f, -700, 700))),
    ),
}


def cost(X: Array, y: Array, w: Array, alpha: float, kind: str = "squared") -> float:
    """C(w, alpha)."""
    return float(np.mean(COSTS[kind][0](y, X @ w - alpha)))


def gradient(
    X: Array, y: Array, w: Array, alpha: float, kind: str = "squared"
) -> tuple[Array, float]:
    """dC/dw and dC/dalpha."""
    slope = COSTS[kind][1](y, X @ w - alpha)
    return X.T @ slope / len(y), float(-np.mean(slope))


def gradient_descent(
    X: Array,
    y: Array,
    kind: str = "squared",
    *,
    eta: float = 0.1,
    steps: int = 500,
    tol: float = 1e-10,
) -> States:
    """All rows at every step, until the gradient is small. eta too large diverges."""
    w, alpha = np.zeros(X.shape[1]), 0.0
    yield (s := begin("start", cost(X, y, w, alpha, kind), w=w, alpha=alpha))
    for step in range(1, steps + 1):
        dw, da = gradient(X, y, w, alpha, kind)
        w, alpha = w - eta * dw, alpha - eta * da
        yield (s := s.then(f"step {step}", cost(X, y, w, alpha, kind), w=w, alpha=alpha))
        if max(np.abs(dw).max(), abs(da)) < tol:
            break
    return s


def stochastic(
    X: Array,
    y: Array,
    rng: np.random.Generator,
    kind: str = "squared",
    *,
    eta: float = 0.1,
    tau: float = np.inf,
    p: float = 1.0,
    batch: int = 1,
    growth: float = 1.0,
    steps: int = 1000,
) -> States:
    """A random batch at every step; `tau` anneals the step size, `growth` lets batches grow."""
    w, alpha, size = np.zeros(X.shape[1]), 0.0, float(batch)
    yield (s := begin("start", cost(X, y, w, alpha, kind), w=w, alpha=alpha, rows=0))
    seen = 0
    for t in range(steps):
        rows = rng.integers(len(y), size=min(int(size), len(y)))
        dw, da = gradient(X[rows], y[rows], w, alpha, kind)
        step = eta / (1 + t / tau) ** p
        w, alpha, seen, size = w - step * dw, alpha - step * da, seen + len(rows), size * growth
        value = cost(X, y, w, alpha, kind)
        yield (s := s.then(f"step {t + 1}", value, w=w, alpha=alpha, rows=seen))
    return s


def newton_raphson(X: Array, y: Array) -> States:
    """One step on the squared cost reaches its minimum from anywhere."""
    Z = np.column_stack([X, -np.ones(len(X))])  # f = Z (w, alpha)
    start = np.zeros(Z.shape[1])
    yield (s := begin("start", cost(X, y, start[:-1], 0.0), w=start[:-1], alpha=start[-1]))
    H, g = Z.T @ Z / len(y), Z.T @ (Z @ start - y) / len(y)
    v = start - np.linalg.lstsq(H, g, rcond=None)[0]
    yield (s := s.then("one step", cost(X, y, v[:-1], v[-1]), w=v[:-1], alpha=v[-1]))
    return s
