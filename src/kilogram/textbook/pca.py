"""Principal component analysis (cookbook ch. 7, algorithms 1 and 2; B.1; A.3).

    max_W  tr(W' C W)   subject to  W'W = I,      C = (1/N) sum_n (x_n - x_bar)(x_n - x_bar)'

The Lagrangian w'Cw + lambda (1 - w'w) is stationary where C w = lambda w, so W holds the
eigenvectors of the largest eigenvalues. The same W minimises the squared error of the
reconstruction x_bar + W W'(x - x_bar); that error is the sum of the eigenvalues left out.

Rows are data points here. The cookbook and the slides have points in columns: their X X' is this
page's X'X, their W'X is X W. Also in: first_encounter ch. 12, lecture_notes L19, summary
section 6, slides lecture 9.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kilogram.textbook.state import Array, States, begin, run


def signed(W: Array) -> Array:
    """Columns turned so that their largest entry is positive: eigenvectors have no sign."""
    largest = W[np.argmax(np.abs(W), axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1.0, 1.0)


def unit(w: Array) -> Array:
    return w / np.linalg.norm(w)


def largest_first(S: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix, sorted as the page needs them."""
    Lambda, W = np.linalg.eigh(S)
    return Lambda[::-1], signed(W[:, ::-1])


def pca(X: Array, m: int | None = None) -> States:
    """Algorithm 1: scores X_hat (N, m), directions W (D, m), variances Lambda (D,)."""
    x_bar = X.mean(axis=0)
    X = X - x_bar
    yield (s := begin("1 subtract the mean", x_bar=x_bar, X=X))
    C = X.T @ X / len(X)
    yield (s := s.then("2 covariance", C=C))
    Lambda, W = largest_first(C)
    yield (s := s.then("3 eigenvectors of C, largest variance first", Lambda=Lambda, W=W))
    W = W[:, :m]
    variance = float(np.trace(W.T @ C @ W))
    yield (s := s.then("4 project", variance, W=W, X_hat=X @ W, explained=Lambda / Lambda.sum()))
    return s


def pca_dual(X: Array, m: int | None = None, *, tol: float = 1e-12) -> States:
    """A.3: the same W through the N x N matrix of inner products, for D > N.

    In the page's columns X = E S F'; in rows X = F S E', so X X' = F S^2 F' and E = X' F / S.
    """
    x_bar = X.mean(axis=0)
    X = X - x_bar
    K = X @ X.T
    yield (s := begin("1 inner products of the centred points", x_bar=x_bar, X=X, K=K))
    S2, F = largest_first(K)
    kept = tol * S2[0] < S2  # centring alone makes one eigenvalue zero
    S, F = np.sqrt(S2[kept])[:m], F[:, kept][:, :m]
    yield (s := s.then("2 eigenvectors of K", S=S, F=F))
    E = signed(X.T @ F / S)
    yield (s := s.then("3 back to the input space", W=E))
    Lambda = S**2 / len(X)
    yield (s := s.then("4 project", float(Lambda.sum()), Lambda=Lambda, X_hat=X @ E))
    return s


def reconstruct(X_hat: Array, W: Array, x_bar: Array) -> States:
    """Algorithm 2, with the mean the printed page forgets."""
    yield (s := begin("1 map the scores back", X_hat=X_hat, X=X_hat @ W.T))
    yield (s := s.then("2 add the mean", X=s["X"] + x_bar))
    return s


def denoise(X: Array, components: Sequence[int]) -> States:
    """Keep any components I: sum_{i in I} w_i w_i' x, one at a time. They need not be the first.

    Noise of small variance: keep the first ones. An artifact stronger than the signal: keep the
    others (slides lecture 9).
    """
    found = run(pca(X))
    X_I = np.tile(found["x_bar"], (len(X), 1))
    yield (s := begin("0 the mean alone", W=found["W"], Lambda=found["Lambda"], X=X_I))
    for i in components:
        w = found["W"][:, i]
        X_I = X_I + np.outer(found["X"] @ w, w)
        yield (s := s.then(f"add component {i + 1}", float(np.sum((X - X_I) ** 2)), X=X_I))
    return s


def deflation(X: Array, m: int, *, seed: int = 0, tol: float = 1e-12, most: int = 9999) -> States:
    """Slides lecture 9: power iteration w <- C w / |C w|, then project w out and begin again."""
    rng = np.random.default_rng(seed)
    X = X - X.mean(axis=0)
    yield (s := begin("0 subtract the mean", X=X, W=np.empty((X.shape[1], 0))))
    for j in range(1, m + 1):
        C = X.T @ X / len(X)
        w = unit(rng.standard_normal(size=(X.shape[1],)))
        for _ in range(most):
            w_old, w = w, unit(C @ w)
            yield (s := s.then(f"component {j}: power step", float(w @ C @ w), w=w))
            if w @ w_old > 1 - tol:
                break
        X = X - np.outer(X @ w, w)
        W = signed(np.column_stack([s["W"], w]))
        yield (s := s.then(f"component {j}: project it out", X=X, W=W))
    return s


def whiten(X: Array, *, tol: float = 1e-12) -> States:
    """Centre, rotate, and divide by the standard deviations: covariance I (first_encounter D.2)."""
    found = run(pca(X))
    kept = found["Lambda"] > tol * found["Lambda"][0]
    yield (s := begin("1 rotate to the principal axes", X=found["X_hat"][:, kept]))
    yield (s := s.then("2 scale to unit variance", X=s["X"] / np.sqrt(found["Lambda"][kept])))
    return s
