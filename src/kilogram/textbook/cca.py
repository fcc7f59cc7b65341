"""Canonical correlation analysis of two or more views, and with kernels (cookbook ch. 10, 11).

    max  sum_{i<j} tr(W_i' C_ij W_j)       C_ij = X_i'X_j / N, every view centred

Algorithm 6 stacks the views and solves (L, R): R holds the C_ii on its diagonal, L the rest,

    L W = R W Lambda     under the SUMMED constraint  sum_i W_i' C_ii W_i = I   (MAXVAR)

so every view is scaled afterwards to W_i' C_ii W_i = I. For two views Lambda are the canonical
correlations (and their negatives); for M views they lie in [-1, M - 1].

Two views at once: the SVD of C_x^-1/2 C_xy C_y^-1/2 has the correlations as singular values. With
as many columns as points every view agrees with every other: kappa is a ridge on each C_ii.

Kernels (algorithm 7): X_i becomes the centred K_i, W_i the coefficients A_i, and the ridge cannot
be left out: R_i = K_i^2 + N kappa K_i ("norm": kappa on the covariance of phi, so the linear kernel
gives linear CCA) or K_i^2 + kappa I ("coefficients", first_encounter 14.12). Rows are data points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag, eigh

from kilogram.textbook.kernel_pca import centre, centre_new
from kilogram.textbook.state import Array, States, begin


def inverse_root(C: Array) -> Array:
    """C^-1/2 of a symmetric positive definite matrix."""
    values, U = np.linalg.eigh(C)
    return np.asarray((U / np.sqrt(values)) @ U.T)


def two_views(X: Array, Y: Array, m: int | None = None, *, kappa: float = 0.0) -> States:
    """A (D_x, m), B (D_y, m) and correlations rho, all pairs from one SVD (B.2)."""
    X, Y, n = X - X.mean(axis=0), Y - Y.mean(axis=0), len(X)
    yield (s := begin("1 centre", X=X, Y=Y))
    C_x = X.T @ X / n + kappa * np.eye(X.shape[1])
    C_y = Y.T @ Y / n + kappa * np.eye(Y.shape[1])
    yield (s := s.then("2 covariances", C_x=C_x, C_y=C_y, C_xy=X.T @ Y / n))
    T_x, T_y = inverse_root(C_x), inverse_root(C_y)
    P, rho, Qt = np.linalg.svd(T_x @ s["C_xy"] @ T_y, full_matrices=False)
    yield (s := s.then("3 singular values", float(rho[:m].sum()), rho=rho[:m]))
    A, B = T_x @ P[:, :m], T_y @ Qt[:m].T
    yield (s := s.then("4 directions", s.objective, A=A, B=B, U=X @ A, V=Y @ B))
    return s


def _pairs(R: Sequence[Array], L: Array, m: int) -> tuple[Array, list[Array]]:
    """Leading generalised eigenvectors, cut into views, each scaled to W_i'R_i W_i = 1."""
    Lambda, W = eigh(L, block_diag(*R))
    Lambda, W = Lambda[::-1][:m], W[:, ::-1][:, :m]
    parts = np.split(W, np.cumsum([len(r) for r in R])[:-1])
    return Lambda, [w / np.sqrt(np.sum(w * (r @ w), axis=0)) for r, w in zip(R, parts, strict=True)]


def cca(views: Sequence[Array], m: int | None = None, *, kappa: float = 0.0) -> States:
    """Algorithm 6: directions W0, W1, ... and scores U0, U1, ... of every view; Lambda."""
    n, m = len(views[0]), m or min(X.shape[1] for X in views)
    centred = [X - X.mean(axis=0) for X in views]
    Z = np.hstack(centred)
    yield (s := begin("1 centre and stack", Z=Z))
    R = [X.T @ X / n for X in centred]
    L = Z.T @ Z / n - block_diag(*R)
    R = [r + kappa * np.eye(len(r)) for r in R]
    yield (s := s.then("2 within and across views", R=block_diag(*R), L=L))
    Lambda, W = _pairs(R, L, m)
    W_ = {f"W{i}": w for i, w in enumerate(W)}
    yield (s := s.then("3 eigenvectors, scaled per view", float(Lambda.sum()), Lambda=Lambda, **W_))
    scores = {f"U{i}": X @ w for i, (X, w) in enumerate(zip(centred, W, strict=True))}
    yield (s := s.then("4 scores", s.objective, **scores))
    return s


def kernel_cca(Ks: Sequence[Array], kappa: float, m: int = 1, *, penalty: str = "norm") -> States:
    """Algorithm 7: coefficients A0, A1, ..., scores U0, U1, ... and their correlations rho."""
    n = len(Ks[0])
    centred = [centre(K) for K in Ks]
    yield (
        s := begin("1 centred kernel matrices", None, **{f"K{i}": K for i, K in enumerate(centred)})
    )
    Z = np.hstack(centred)
    squares = [K @ K for K in centred]
    L = Z.T @ Z - block_diag(*squares)
    R = []
    for K, square in zip(centred, squares, strict=True):
        r = square + (n * kappa * K if penalty == "norm" else kappa * np.eye(n))
        # centred kernels have the ones in their null space; far below what the ridge does
        R.append(r + 1e-10 * np.trace(r) / n * np.eye(n))
    yield (s := s.then("2 within and across views", R=block_diag(*R), L=L))
    Lambda, A = _pairs([r / n for r in R], L / n, m)
    coefficients = {f"A{i}": a for i, a in enumerate(A)}
    yield (s := s.then("3 eigenvectors", float(Lambda.sum()), Lambda=Lambda, **coefficients))
    U = [K @ a for K, a in zip(centred, A, strict=True)]
    rho = [float(np.corrcoef(U[0][:, j], U[1][:, j])[0, 1]) for j in range(m)]
    scores = {f"U{i}": u for i, u in enumerate(U)}
    yield (s := s.then("4 scores and their correlations", s.objective, rho=rho, **scores))
    return s


def kernel_scores(K_t: Array, K: Array, A: Array) -> States:
    """(11.2): scores of new points, K_t = k(X_test, X_train) centred with the training means."""
    yield (s := begin("1 kernel with the training points", K_t=K_t))
    yield (s := s.then("2 centre with the training means", K_t=centre_new(K_t, K)))
    yield (s := s.then("3 weigh", U=s["K_t"] @ A))
    return s
