"""Random kitchen sinks (cookbook ch. 24, algorithm 24).

Draw K directions w_k ~ P, map x to z(x) = e^{i W'x} / sqrt(K), fit ridge on z:

    a = (Z^H Z + lambda I)^-1 Z^H y,      f(x) = Re(z(x) a)

For P the Fourier transform of a kernel, E[z(x) z(y)^H] = k(x, y) with an error of K^(-1/2): the
fit tends to kernel ridge regression. The Gaussian kernel of width sigma has P = N(0, I / sigma^2).
^H is the conjugate transpose: with the plain one nothing approximates the kernel. Real features
say the same: sqrt(2/K) cos(W'x + b), b uniform on [0, 2 pi], or [cos W'x, sin W'x] / sqrt(K).

Rows are data points (N, D); W is (D, K) as on the page. For classes, fit -1 and +1 and take signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin

FeatureMap = Callable[[Array, Array], Array]


def draw(D: int, K: int, sigma: float, rng: np.random.Generator) -> Array:
    """K directions for the Gaussian kernel of width sigma, as columns (D, K)."""
    return rng.standard_normal((D, K)) / sigma


def exponential(X: Array, W: Array) -> Array:
    """e^{i W'x} / sqrt(K)."""
    return np.exp(1j * X @ W) / np.sqrt(W.shape[1])


def cosine_sine(X: Array, W: Array) -> Array:
    """[cos W'x, sin W'x] / sqrt(K): the exponential's two real halves."""
    return np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(W.shape[1])


def shifted_cosine(b: Array) -> FeatureMap:
    """sqrt(2/K) cos(W'x + b) for phases b (K,)."""
    return lambda X, W: np.sqrt(2 / W.shape[1]) * np.cos(X @ W + b)


def kitchen_sinks(
    X: Array, y: Array, W: Array, lam: float, *, features: FeatureMap = exponential
) -> States:
    """Algorithm 24: weights a of the random features; keep W, prediction needs it."""
    yield (s := begin("1 random directions", W=W))
    yield (s := s.then("2 random features", Z=features(X, W)))
    ZH = s["Z"].conj().T
    yield (s := s.then("3 normal equations", A=ZH @ s["Z"] + lam * np.eye(len(ZH)), b=ZH @ y))
    a = np.linalg.solve(s["A"], s["b"])
    cost = np.sum(np.abs(y - s["Z"] @ a) ** 2) + lam * np.sum(np.abs(a) ** 2)
    yield (s := s.then("4 solve", float(cost), a=a))
    return s


def predict(X: Array, W: Array, a: Array, *, features: FeatureMap = exponential) -> Array:
    """f(x) = Re(z(x) a) for new rows."""
    return np.real(features(X, W) @ a)
