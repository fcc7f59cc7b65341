"""Logistic and softmax regression (cookbook ch. 19, algorithm 18, B.6; lecture_notes L06, L07).

    p_k(x) = exp(w_k'x) / sum_j exp(w_j'x)        L(W) = -sum_i log p_{y_i}(x_i) + lambda/2 |W|^2

    gradient    X'(P - Y)           Y one-hot; sigma(z) = 1 / (1 + exp(-z)) for two classes
    Hessian     blocks X'diag(p_a (1[a = b] - p_b)) X

Rows are data points; the bias is the weight of a leading column of ones and is not penalised. The
Hessian of K full blocks is singular (a common shift of all w_k changes nothing) and separable
classes have no finite minimum: a small lambda, or a cap on the steps, makes the answer one.
Also in: summary section 4, first_encounter ch. 7.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def sigma(z: Array) -> Array:
    """1 / (1 + exp(-z)) without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


def softmax(Z: Array) -> Array:
    """Chances of the classes, row by row; the largest exponent is 0."""
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def one_hot(y: Array, K: int) -> Array:
    """Row i has its 1 in column y_i."""
    return (np.asarray(y)[:, None] == np.arange(K)).astype(float)


def with_ones(X: Array) -> Array:
    """The column of ones that carries the bias."""
    return np.column_stack([np.ones(len(X)), X])


def _penalty(D: int, lam: float) -> Array:
    return np.array([0.0] + [lam] * (D - 1))


def cost(X1: Array, Y: Array, W: Array, lam: float = 0.0) -> float:
    """L(W), W (D, K); by log-sum-exp."""
    Z = X1 @ W
    top = Z.max(axis=1)
    log_Z = top + np.log(np.exp(Z - top[:, None]).sum(axis=1))
    size = 0.5 * float(_penalty(len(W), lam) @ np.sum(W**2, axis=1))
    return float(np.sum(log_Z - np.sum(Z * Y, axis=1))) + size


def gradient(X1: Array, Y: Array, W: Array, lam: float = 0.0) -> Array:
    """X'(P - Y) + lambda W (B.6)."""
    return X1.T @ (softmax(X1 @ W) - Y) + _penalty(len(W), lam)[:, None] * W


def hessian(X1: Array, W: Array, lam: float = 0.0) -> Array:
    """(K D, K D), class by class."""
    P, (D, K) = softmax(X1 @ W), W.shape
    H = np.zeros((K, D, K, D))
    for a in range(K):
        for b in range(K):
            H[a, :, b] = X1.T @ ((P[:, a] * ((a == b) - P[:, b]))[:, None] * X1)
        H[a, :, a] += np.diag(_penalty(D, lam))
    return H.reshape(K * D, K * D)


def softmax_sgd(
    X: Array, y: Array, rng: np.random.Generator, *, steps: int = 2000, show: int = 50
) -> States:
    """Algorithm 18 with its sign set right: W <- W - (1/t) x_i (p_i - y_i)', i drawn at random."""
    K = int(np.max(y)) + 1
    X1, Y = with_ones(X), one_hot(y, K)
    W = np.zeros((X1.shape[1], K))
    yield (s := begin("start", cost(X1, Y, W), X=X1, W=W))
    for t in range(1, steps + 1):
        i = rng.integers(len(X1))
        W = W - np.outer(X1[i], softmax(X1[i] @ W) - Y[i]) / t
        if t % show == 0 or t == steps:
            yield (s := s.then(f"step {t}", cost(X1, Y, W), W=W))
    return s


def logistic_sgd(
    X: Array,
    y: Array,
    rng: np.random.Generator,
    *,
    kappa: float = 0.5,
    epochs: int = 50,
    decay: bool = True,
) -> States:
    """L06: every epoch a new order, then w <- w + kappa_t (y_i - sigma(w'x_i)) x_i; y is 0 or 1."""
    X1 = with_ones(X)
    w = np.zeros(X1.shape[1])
    yield (s := begin("start", float(len(y) * np.log(2)), X=X1, w=w))
    for t in range(epochs):
        step = kappa / (t + 1) if decay else kappa
        for i in rng.permutation(len(X1)):
            w = w + step * (y[i] - sigma(X1[i] @ w)) * X1[i]
        value = float(np.sum(np.logaddexp(0, -(2 * y - 1) * (X1 @ w))))
        yield (s := s.then(f"epoch {t + 1}", value, w=w, kappa=step))
    return s


def irls(
    X: Array, y: Array, lam: float = 0.0, *, max_steps: int = 30, tol: float = 1e-10
) -> States:
    """L07: weighted least squares on z_i = w'x_i + (y_i - sigma_i) / lambda_i, again and again.

    Weights lambda_i = sigma_i (1 - sigma_i) are largest, 1/4, at the boundary; they are kept from
    becoming 0, where z_i would be infinite.
    """
    X1 = with_ones(X)
    w, penalty = np.zeros(X1.shape[1]), np.diag(_penalty(X1.shape[1], lam))
    yield (s := begin("start", float(len(y) * np.log(2)), X=X1, w=w))
    for step in range(1, max_steps + 1):
        p = sigma(X1 @ w)
        weights = np.maximum(p * (1 - p), 1e-12)
        z = X1 @ w + (y - p) / weights
        A = X1.T @ (weights[:, None] * X1) + penalty
        new = np.linalg.lstsq(A, X1.T @ (weights * z), rcond=None)[0]
        moved, w = float(np.abs(new - w).max()), new
        value = float(np.sum(np.logaddexp(0, -(2 * y - 1) * (X1 @ w))) + 0.5 * w @ penalty @ w)
        yield (s := s.then(f"step {step}", value, w=w, weights=weights, z=z))
        if moved < tol:
            break
    return s


def newton(
    X: Array, y: Array, lam: float = 0.0, *, max_steps: int = 30, tol: float = 1e-10
) -> States:
    """Summary section 4: W <- W - H^+ gradient, with a pseudo-inverse since H is singular."""
    K = int(np.max(y)) + 1
    X1, Y = with_ones(X), one_hot(y, K)
    W = np.zeros((X1.shape[1], K))
    yield (s := begin("start", cost(X1, Y, W, lam), X=X1, W=W))
    for step in range(1, max_steps + 1):
        g = gradient(X1, Y, W, lam)
        size = float(np.abs(g).max())
        if size < tol:
            break
        move = np.linalg.pinv(hessian(X1, W, lam), rcond=1e-10, hermitian=True) @ g.T.ravel()
        W = W - move.reshape(K, -1).T
        yield (s := s.then(f"step {step}", cost(X1, Y, W, lam), W=W, size=size))
    return s


def coordinate_descent(
    X: Array, y: Array, mu: float, *, max_passes: int = 500, tol: float = 1e-9
) -> States:
    """Two classes with mu |w|_1: one weight at a time, on a parabola that lies above the cost.

    The curvature along column j is at most sum_i x_ij^2 / 4; the minimum of that parabola plus
    mu |w_j| is a soft threshold. Columns that do not help get exactly 0.
    """
    X1, s01 = with_ones(X), 2 * y - 1.0
    w, bound = np.zeros(X1.shape[1]), np.sum(X1**2, axis=0) / 4
    threshold = np.array([0.0] + [mu] * X.shape[1]) / bound
    yield (s := begin("start", float(len(y) * np.log(2)), X=X1, w=w))
    for sweep in range(1, max_passes + 1):
        before = w.copy()
        for j in range(len(w)):
            u = w[j] - X1[:, j] @ (sigma(X1 @ w) - y) / bound[j]
            w = w.copy()
            w[j] = np.sign(u) * max(abs(u) - threshold[j], 0.0)
        value = float(np.sum(np.logaddexp(0, -s01 * (X1 @ w))) + mu * np.abs(w[1:]).sum())
        yield (s := s.then(f"pass {sweep}", value, w=w))
        if np.abs(w - before).max() < tol:
            break
    return s
