"""Kernel PCA (cookbook ch. 8, algorithms 3 and 4).

PCA of phi(x), seen through K = k(X, X) alone. A direction is a combination of the training
points, v_j = sum_i A_ij (phi(x_i) - mean), and

    centred      K_c = H K H,  H = I - 11'/N          (the mean of phi(x) must go, as in PCA)
    eigenvectors K_c U = U Lambda                     (variance of component j: Lambda_j / N)
    unit length  v_j'v_j = A_j'K_c A_j = 1   so   A_j = U_j / sqrt(Lambda_j)
    scores       X_hat = K_c A = U sqrt(Lambda)

A new point is centred with the means of the training kernel, then multiplied by A. The printed
boxes leave out both the centring and the division by sqrt(Lambda). Rows are data points:
k(X_test, X_train) has one row per test point. Also in: first_encounter ch. 12,
lecture_notes L20, summary section 7.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.pca import largest_first
from kilogram.textbook.state import Array, States, begin


def centre(K: Array) -> Array:
    """H K H: minus row means, minus column means, plus the grand mean."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def centre_new(K_t: Array, K: Array) -> Array:
    """The rows k(x_test, X_train), seen from the mean of the training features."""
    return K_t - K_t.mean(axis=1)[:, None] - K.mean(axis=0) + K.mean()


def train(K: Array, m: int | None = None, *, tol: float = 1e-10) -> States:
    """Algorithm 3: weights A (N, m), training scores X_hat (N, m), Lambda (m,)."""
    yield (s := begin("1 kernel matrix", K=K))
    K_c = centre(K)
    yield (s := s.then("2 centre it", K_c=K_c))
    Lambda, U = largest_first(K_c)
    kept = Lambda > tol * Lambda[0]  # directions of no variance have no unit vector
    Lambda, U = Lambda[kept][:m], U[:, kept][:, :m]
    yield (s := s.then("3 leading eigenvectors", Lambda=Lambda, U=U))
    A = U / np.sqrt(Lambda)
    yield (s := s.then("4 unit length in feature space", float(Lambda.sum()), A=A, X_hat=K_c @ A))
    return s


def project(K_t: Array, K: Array, A: Array) -> States:
    """Algorithm 4: scores of new points from K_t = k(X_test, X_train)."""
    yield (s := begin("1 kernel with the training points", K_t=K_t))
    yield (s := s.then("2 centre with the training means", K_t=centre_new(K_t, K)))
    yield (s := s.then("3 weigh", X_hat=s["K_t"] @ A))
    return s
