"""Gaussian classes (lecture_notes L05, L06; cookbook C.1): quadratic, linear, and least squares.

QDA   argmin_k (x - m_k)'S_k^-1 (x - m_k)/2 + b_k,  b_k = log det(2 pi S_k)/2 - log pi_k
LDA   S_w = (1/N) sum (x_i - m_{y_i})(x_i - m_{y_i})';  w_k = S_w^-1 m_k,
      b'_k = log pi_k - m_k'S_w^-1 m_k / 2
least squares   any two target values give w parallel to S_w^-1 (m_1 - m_0), if an offset is
      fitted (or the rows are centred); sizes of the classes do not matter. Targets N/N_1 and
      -N/N_0 give (N S_w + (N_0 N_1/N) S_B) w = N (m_1 - m_0) to the letter
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.fisher import class_means, scatters
from kilogram.textbook.state import Array, States, begin


def quadratic(X: Array, labels: Array, X_new: Array) -> States:
    """Means m, covariances S, offsets b, and the scores of new points (smaller is better)."""
    classes = np.unique(labels)
    m = class_means(X, labels)
    S = np.array([np.cov(X[labels == c].T, bias=True).reshape(2 * [X.shape[1]]) for c in classes])
    yield (s := begin("1 means and covariances", m=m, S=S))
    pi = np.array([np.mean(labels == c) for c in classes])
    b = np.linalg.slogdet(2 * np.pi * S)[1] / 2 - np.log(pi)
    yield (s := s.then("2 offsets", pi=pi, b=b))
    gap = X_new[:, None] - m
    d2 = np.einsum("nkd,kde,nke->nk", gap, np.linalg.inv(S), gap)
    yield (s := s.then("3 scores", score=d2 / 2 + b, label=classes[(d2 / 2 + b).argmin(axis=1)]))
    return s


def linear(X: Array, labels: Array, X_new: Array) -> States:
    """Weights w (K, D), offsets b, and the scores of new points (larger is better)."""
    classes = np.unique(labels)
    m, S_w = class_means(X, labels), scatters(X, labels)[0] / len(X)
    yield (s := begin("1 one covariance", m=m, S_w=S_w))
    pi = np.array([np.mean(labels == c) for c in classes])
    w = np.linalg.solve(S_w, m.T).T
    yield (s := s.then("2 weights", w=w, b=np.log(pi) - np.sum(m * w, axis=1) / 2))
    score = X_new @ w.T + s["b"]
    yield (s := s.then("3 scores", score=score, label=classes[score.argmax(axis=1)]))
    return s


def least_squares_view(
    X: Array, labels: Array, targets: tuple[float, float] | None = None, *, offset: bool = True
) -> States:
    """Regression on two target values, coded N/N_1 and -N/N_0 unless given: w and b."""
    N, N_1 = len(X), int(np.sum(labels == 1))
    low, high = (-N / (N - N_1), N / N_1) if targets is None else targets
    z = np.where(labels == 1, high, low)
    yield (s := begin("1 targets", z=z))
    A = np.hstack([X, np.ones((N, 1))]) if offset else X
    beta = np.linalg.lstsq(A, z, rcond=None)[0]
    yield (s := s.then("2 solution", w=beta[: X.shape[1]], b=beta[-1] if offset else 0.0))
    return s
