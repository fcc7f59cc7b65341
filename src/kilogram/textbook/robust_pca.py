"""Robust PCA: lecture_notes L20, X = L + S with L of low rank and S sparse; the notes stop there.

pursuit   min |L|_* + lam |S|_1  subject to  L + S = X,    lam = 1 / sqrt(max(N, d))
steps     L <- U (Sigma - 1/mu)_+ V' of X - S + Y/mu;   S <- soft(X - L + Y/mu, lam/mu)
          Y <- Y + mu (X - L - S)                       mu fixed: this converges to the minimum
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def soft(T: Array, by: float) -> Array:
    """Every entry nearer to 0 by `by`."""
    return np.sign(T) * np.maximum(np.abs(T) - by, 0.0)


def pursuit(X: Array, lam: float | None = None, m: int = 1000, tol: float = 1e-9) -> States:
    """Principal component pursuit by alternating directions, at most m rounds."""
    lam = 1 / np.sqrt(max(X.shape)) if lam is None else lam
    mu = X.size / (4 * np.abs(X).sum())
    S, Y = np.zeros_like(X), np.zeros_like(X)
    yield (s := begin("1 nothing is an error yet", X=X, S=S))
    for _ in range(m):
        U, Sigma, Vt = np.linalg.svd(X - S + Y / mu, full_matrices=False)
        Sigma = np.maximum(Sigma - 1 / mu, 0.0)
        L = (U * Sigma) @ Vt
        yield (s := s.then("2 fewer directions", L=L, Sigma=Sigma))
        S = soft(X - L + Y / mu, lam / mu)
        J = float(Sigma.sum() + lam * np.abs(S).sum())
        yield (s := s.then("3 fewer errors", objective=J, S=S))
        Y = Y + mu * (X - L - S)
        if np.linalg.norm(X - L - S) <= tol * np.linalg.norm(X):
            break
    return s
