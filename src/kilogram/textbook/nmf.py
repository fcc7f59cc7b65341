"""Non-negative factors: cookbook ch. 9 (algorithm 5) and B.5, lecture_notes L21.

J = 1/2 |X - W H|^2           the half makes W'(WH - X) the gradient, as printed without the 2
additive   H <- H - eta W'(WH - X)            may leave the positive orthant
multiplied H <- H * (W'X) / (W'WH)            the additive step with eta = H / (W'WH) by entry
Poisson    W <- W * ((X / WH) H') / (1 H')    the ratio inside the sum; then H, with the new W
columns    w_j <- max(0, w_j + (XH' - WHH')_j / (HH')_jj)      the exact minimum over one column
new rows   min_{w >= 0} 1/2 |x - w H|^2 + alpha sum_j w_j       alpha > 0: few parts, the lasso
PLSA       p(x, z, y) = p(z) p(x|z) p(y|z); EM: q(z|x, y), then its weighted fractions
X (n, d) holds one data point per row; the cookbook's X is its transpose, which swaps W and H.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin

TINY = 1e-12  # in denominators: added to X, as printed, it vanishes beside any ordinary entry


def squares(X: Array, W: Array, H: Array) -> float:
    return float(0.5 * ((X - W @ H) ** 2).sum())


def divergence(X: Array, W: Array, H: Array) -> float:
    """sum x log(x / p) - x + p: minus the Poisson log-likelihood, up to a constant of X."""
    P = W @ H
    x, p = X[X > 0], np.maximum(P[X > 0], TINY)
    return float((x * np.log(x / p)).sum() - X.sum() + P.sum())


def additive(X: Array, W: Array, H: Array, eta_H: Array, eta_W: Array) -> States:
    """One gradient step in H, then in W; eta a number, or one for every entry."""
    yield (s := begin("1 factors", objective=squares(X, W, H), W=W, H=H))
    H = H - eta_H * (W.T @ (W @ H) - W.T @ X)
    yield (s := s.then("2 step in H", objective=squares(X, W, H), H=H))
    W = W - eta_W * ((W @ H) @ H.T - X @ H.T)
    yield (s := s.then("3 step in W", objective=squares(X, W, H), W=W))
    return s


def multiplicative(X: Array, W: Array, H: Array, m: int = 200, tol: float = 0.0) -> States:
    """Algorithm 5, at most m rounds, until J falls by no more than tol of its first value."""
    if (X < 0).any():
        raise ValueError("X has negative entries: no non-negative factors describe them.")
    J = first = squares(X, W, H)
    yield (s := begin("1 factors", objective=J, W=W, H=H))
    for _ in range(m):
        H = H * (W.T @ X) / (W.T @ W @ H + TINY)
        yield (s := s.then("2 H", objective=squares(X, W, H), H=H))
        W = W * (X @ H.T) / (W @ (H @ H.T) + TINY)
        before, J = J, squares(X, W, H)
        yield (s := s.then("3 W, with the new H", objective=J, W=W))
        if before - J <= tol * first:
            break
    return s


def poisson(X: Array, W: Array, H: Array, m: int = 200, together: bool = False) -> States:
    """Lee and Seung's updates for counts; `together`, as printed: both from the old factors."""
    yield (s := begin("1 factors", objective=divergence(X, W, H), W=W, H=H))
    for _ in range(m):
        R = X / np.maximum(W @ H, TINY)
        new = W * (R @ H.T) / np.maximum(H.sum(axis=1), TINY)
        yield (s := s.then("2 loadings", objective=divergence(X, new, H), R=R, W=new))
        left = W if together else new
        R = X / np.maximum(left @ H, TINY)
        H = H * (left.T @ R) / np.maximum(left.sum(axis=0), TINY)[:, None]
        W = new
        yield (s := s.then("3 parts", objective=divergence(X, W, H), R=R, H=H))
    return s


def columns(X: Array, W: Array, H: Array, m: int = 200) -> States:
    """Hierarchical alternating least squares: the columns of W, then the rows of H."""
    W, H = W.copy(), H.copy()
    yield (s := begin("1 factors", objective=squares(X, W, H), W=W.copy(), H=H.copy()))
    for _ in range(m):
        P, B = X @ H.T, H @ H.T
        for j in range(len(H)):
            if B[j, j] > 0:
                W[:, j] = np.maximum(0.0, W[:, j] + (P[:, j] - W @ B[:, j]) / B[j, j])
        yield (s := s.then("2 columns of W", objective=squares(X, W, H), W=W.copy()))
        P, B = W.T @ X, W.T @ W
        for j in range(len(H)):
            if B[j, j] > 0:
                H[j] = np.maximum(0.0, H[j] + (P[j] - B[j] @ H) / B[j, j])
        yield (s := s.then("3 rows of H", objective=squares(X, W, H), H=H.copy()))
    return s


def loadings(X: Array, H: Array, alpha: float = 0.0, m: int = 500) -> States:
    """New rows X by parts H that stay: non-negative least squares, with alpha > 0 its lasso."""
    P, B = X @ H.T, H @ H.T
    W = np.zeros((len(X), len(H)))
    yield (s := begin("1 nothing yet", objective=squares(X, W, H), W=W.copy()))
    for _ in range(m):
        for j in range(len(H)):
            if B[j, j] > 0:
                W[:, j] = np.maximum(0.0, W[:, j] + (P[:, j] - W @ B[:, j] - alpha) / B[j, j])
        J = squares(X, W, H) + alpha * float(W.sum())
        yield (s := s.then("2 one part after the other", objective=J, W=W.copy()))
    return s


def plsa(X: Array, W: Array, H: Array, m: int = 200) -> States:
    """Probabilistic latent semantic analysis of counts X by EM, from factors W, H > 0.

    The likelihood of the counts is -divergence(X, W H) plus a constant for W H = total * p(x, y).
    """
    x_z, y_z = W / W.sum(axis=0), H.T / H.sum(axis=1)
    z = W.sum(axis=0) * H.sum(axis=1)
    z = z / z.sum()
    yield (s := begin("1 fractions", p_z=z, p_x=x_z, p_y=y_z))
    for _ in range(m):
        p = (x_z * z) @ y_z.T
        q = (x_z * z)[:, None, :] * y_z[None] / np.maximum(p, TINY)[:, :, None]
        log_likelihood = float((X * np.log(np.maximum(p, TINY))).sum())
        yield (s := s.then("2 whose word is it", objective=-log_likelihood, q=q))
        c = X[:, :, None] * q
        z = c.sum(axis=(0, 1)) / X.sum()
        x_z, y_z = (c.sum(axis=a) / np.maximum(c.sum(axis=(0, 1)), TINY) for a in (1, 0))
        yield (s := s.then("3 fractions", p_z=z, p_x=x_z, p_y=y_z))
    return s


def part_starts(X: Array, k: int, rng: np.random.Generator, few: int = 5) -> States:
    """Random Acol: every part the mean of a few rows drawn at random; loadings uniform."""
    rows = np.array([rng.choice(len(X), few, replace=False) for _ in range(k)])
    yield (s := begin("1 rows drawn", rows=rows))
    yield (s := s.then("2 their means", H=X[rows].mean(axis=1), W=rng.random((len(X), k))))
    return s
