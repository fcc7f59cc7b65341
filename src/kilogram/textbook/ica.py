"""Independent components: lecture_notes L21 (objective) and L22 (FastICA).

X (N, d) rows of sensors, X = S A' + noise, S (N, d') independent sources of variance 1
aim       min_M sum_k H(s_k) - log |det M| - H(X),  s = M x: how far the joint density is from the
          product of the margins, 0 if the sources are independent; no scaling of s changes it
white     Z = (X - x_bar) U L^-1/2     covariance I, so that only a rotation W is left to find
contrast  J(u) = (E G(u) - E G(Gaussian))^2, G(r) = log cosh r or -exp(-r^2 / 2)
step      v = mean_i z_i G'(z_i w) - mean_i G''(z_i w) w;   v <- v - sum_l (v'w_l) w_l;  w = v / |v|
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin

Slopes = Callable[[Array], tuple[Array, Array]]


def log_cosh(r: Array) -> tuple[Array, Array]:
    """G' and G'' of log cosh r."""
    t = np.tanh(r)
    return t, 1 - t**2


def bump(r: Array) -> tuple[Array, Array]:
    """G' and G'' of -exp(-r^2 / 2)."""
    e = np.exp(-(r**2) / 2)
    return r * e, (1 - r**2) * e


def entropy(s: Array) -> float:
    """H of numbers s (N,), from the widths that a few of them in order take up (Vasicek 1976)."""
    s, i = np.sort(s), np.arange(len(s))
    few = round(np.sqrt(len(s)) / 2)
    low, high = np.maximum(i - few, 0), np.minimum(i + few, len(s) - 1)
    return float(np.log(len(s) * (s[high] - s[low]) / (high - low)).mean())


def dependence(X: Array, M: Array) -> States:
    """What sources M (x - x_bar) still know of each other, less H(X), which no M (d, d) changes."""
    S = (X - X.mean(axis=0)) @ M.T
    yield (s := begin("1 sources", S=S))
    H = np.array([entropy(column) for column in S.T])
    yield (s := s.then("2 their entropies", H=H))
    yield (s := s.then("3 less the volume", objective=float(H.sum() - np.linalg.slogdet(M)[1])))
    return s


def whiten(X: Array, k: int | None = None) -> States:
    """Centre, rotate to the principal axes, divide by the standard deviations."""
    x_bar = X.mean(axis=0)
    yield (s := begin("1 mean", x_bar=x_bar))
    Lambda, U = np.linalg.eigh((X - x_bar).T @ (X - x_bar) / len(X))
    Lambda, U = Lambda[::-1][:k], U[:, ::-1][:, :k]
    yield (s := s.then("2 principal axes", Lambda=Lambda, U=U))
    K = U / np.sqrt(Lambda)
    yield (s := s.then("3 variance one", K=K, Z=(X - x_bar) @ K))
    return s


def deflation(
    Z: Array, W: Array, slopes: Slopes = log_cosh, m: int = 200, tol: float = 1e-10
) -> States:
    """FastICA one source after the other, on white Z (N, d'); columns of W (d', d') begin."""
    W = np.array(W, dtype=float)
    yield (s := begin("1 white rows", Z=Z, W=W.copy()))
    for k in range(W.shape[1]):
        w = W[:, k] / np.linalg.norm(W[:, k])
        for _ in range(m):
            first, second = slopes(Z @ w)
            v = Z.T @ first / len(Z) - second.mean() * w
            v = v - W[:, :k] @ (W[:, :k].T @ v)
            old, w = w, v / np.linalg.norm(v)
            W[:, k] = w
            yield (s := s.then(f"2 source {k + 1}", W=W.copy(), v=v))
            if 1 - abs(w @ old) < tol:
                break
    yield (s := s.then("3 sources", S=Z @ W))
    return s


def symmetric(
    Z: Array, W: Array, slopes: Slopes = log_cosh, m: int = 200, tol: float = 1e-10
) -> States:
    """FastICA all sources together: a step for each, then W <- W (W'W)^-1/2."""
    U, _, Vt = np.linalg.svd(W)
    W = U @ Vt
    yield (s := begin("1 white rows", Z=Z, W=W))
    for _ in range(m):
        first, second = slopes(Z @ W)
        U, _, Vt = np.linalg.svd(Z.T @ first / len(Z) - W * second.mean(axis=0))
        old, W = W, U @ Vt
        yield (s := s.then("2 all directions", W=W))
        if np.abs(1 - np.abs(np.sum(W * old, axis=0))).max() < tol:
            break
    yield (s := s.then("3 sources", S=Z @ W))
    return s
