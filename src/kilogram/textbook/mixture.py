"""Mixture of Gaussians: cookbook ch. 13 (algorithm 10), lecture_notes L23 and L24, summary 8.

p(x) = sum_k phi_k N(x; mu_k, Sigma_k)        L = sum_n log p(x_n): of a product over n
E    gamma_nk = phi_k N(x_n; mu_k, Sigma_k) / sum_l phi_l N(x_n; mu_l, Sigma_l)
M    N_k = sum_n gamma_nk,  phi_k = N_k / N,  mu_k = sum_n gamma_nk x_n / N_k
     Sigma_k = sum_n gamma_nk (x_n - mu_k)(x_n - mu_k)' / N_k          with the new mu_k
log  gamma = exp(a - logsumexp a),  a_k = log phi_k - |y|^2/2 - sum log diag C - D/2 log 2 pi,
     Sigma_k = C C', C y = x - mu_k: densities underflow, their logarithms do not
any  theta_k = argmax sum_n gamma_nk log p(x_n | theta)                weighted maximum likelihood
MAP  Sigma_k = (sum_n gamma_nk (..)(..)' + a Lambda) / (N_k + a)       a prior of a rows
NaN  x_o is seen: N(x_o; mu_o, Sigma_oo); the rest is expected,
     x_h = mu_h + Sigma_ho Sigma_oo^-1 (x_o - mu_o), and its covariance is
     Sigma_hh - Sigma_ho Sigma_oo^-1 Sigma_oh
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin


def log_gaussian(X: Array, mu: Array, Sigma: Array) -> Array:
    """log N(x_n; mu, Sigma), (N,), by the Cholesky factor."""
    C = np.linalg.cholesky(Sigma)
    y = np.linalg.solve(C, (X - mu).T)
    D = len(mu)
    return -0.5 * (y * y).sum(axis=0) - np.log(np.diag(C)).sum() - 0.5 * D * np.log(2 * np.pi)


def em(
    X: Array,
    mu: Array,
    m: int = 100,
    *,
    Sigma: Array | None = None,
    phi: Array | None = None,
    tol: float = 1e-6,
    floor: float = 0.0,
    prior: float = 0.0,
    Lambda: Array | None = None,
) -> States:
    """Algorithm 10 in logarithms from means mu (K, D), until L rises by less than tol of itself.

    floor is added to the diagonal of every covariance; prior counts as rows of the shape Lambda.
    """
    (N, D), K = X.shape, len(mu)
    phi = np.full(K, 1 / K) if phi is None else np.asarray(phi)
    Sigma = np.stack([np.eye(D)] * K) if Sigma is None else np.asarray(Sigma)
    shape = np.zeros((D, D)) if Lambda is None else Lambda
    before = -np.inf
    yield (s := begin("1 start", phi=phi, mu=mu, Sigma=Sigma))
    for _ in range(m):
        a = np.log(phi) + np.stack([log_gaussian(X, mu[k], Sigma[k]) for k in range(K)], axis=1)
        log_p = np.logaddexp.reduce(a, axis=1)
        gamma, L = np.exp(a - log_p[:, None]), float(log_p.sum())
        yield (s := s.then("2 E: responsibilities", objective=-L, gamma=gamma, L=L))
        if L - before < tol * abs(L):
            break
        before = L
        N_k = gamma.sum(axis=0)
        phi, mu = N_k / N, gamma.T @ X / N_k[:, None]
        Z = X[:, None] - mu[None]
        S = np.einsum("nk,nki,nkj->kij", gamma, Z, Z)
        Sigma = (S + prior * shape) / (N_k + prior)[:, None, None] + floor * np.eye(D)
        yield (s := s.then("3 M: components", objective=-L, phi=phi, mu=mu, Sigma=Sigma))
    return s


def em_as_printed(X: Array, mu: Array, m: int = 20) -> States:
    """Algorithm 10 as printed: plain densities, no floor, no test for convergence."""
    (N, D), K = X.shape, len(mu)
    phi, Sigma = np.full(K, 1 / K), np.stack([np.eye(D)] * K)
    yield (s := begin("1 start", phi=phi, mu=mu, Sigma=Sigma))
    for _ in range(m):
        with np.errstate(all="ignore"):
            p = np.stack(
                [phi[k] * np.exp(log_gaussian(X, mu[k], Sigma[k])) for k in range(K)], axis=1
            )
            gamma = p / p.sum(axis=1, keepdims=True)
        yield (s := s.then("2 responsibilities", p=p, gamma=gamma))
        if not np.isfinite(gamma).all():
            break  # 0 / 0: every density of a row has underflowed
        N_k = gamma.sum(axis=0)
        phi, mu = N_k / N, gamma.T @ X / N_k[:, None]
        Z = X[:, None] - mu[None]
        Sigma = np.einsum("nk,nki,nkj->kij", gamma, Z, Z) / N_k[:, None, None]
        yield (s := s.then("3 components", phi=phi, mu=mu, Sigma=Sigma))
    return s


def em_missing(X: Array, phi: Array, mu: Array, Sigma: Array, m: int = 100) -> States:
    """EM of rows in which NaN was not seen, row by row: expected sums instead of sums."""
    (N, D), K = X.shape, len(mu)
    yield (s := begin("1 start", phi=phi, mu=mu, Sigma=Sigma))
    for _ in range(m):
        a, x_hat, C = np.zeros((N, K)), np.zeros((N, K, D)), np.zeros((N, K, D, D))
        for n, x in enumerate(X):
            o, h = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
            for k in range(K):
                S = Sigma[k]
                A = S[np.ix_(h, o)] @ np.linalg.inv(S[np.ix_(o, o)])
                seen = log_gaussian(x[None, o], mu[k, o], S[np.ix_(o, o)]) if len(o) else 0.0
                a[n, k] = np.log(phi[k]) + np.sum(seen)
                x_hat[n, k, o], x_hat[n, k, h] = x[o], mu[k, h] + A @ (x[o] - mu[k, o])
                C[n, k][np.ix_(h, h)] = S[np.ix_(h, h)] - A @ S[np.ix_(o, h)]
        log_p = np.logaddexp.reduce(a, axis=1)
        gamma, L = np.exp(a - log_p[:, None]), float(log_p.sum())
        yield (
            s := s.then("2 E: responsibilities and what is hidden", objective=-L, gamma=gamma, L=L)
        )
        N_k = gamma.sum(axis=0)
        phi, mu = N_k / N, np.einsum("nk,nkd->kd", gamma, x_hat) / N_k[:, None]
        Z = x_hat - mu[None]
        S = np.einsum("nk,nki,nkj->kij", gamma, Z, Z) + np.einsum("nk,nkij->kij", gamma, C)
        Sigma = S / N_k[:, None, None]
        yield (s := s.then("3 M: components", objective=-L, phi=phi, mu=mu, Sigma=Sigma))
    return s


def em_of(
    X: Array, gamma: Array, fit: Callable[[Array, Array], Array],
    log_p: Callable[[Array, Array], Array], m: int = 100, tol: float = 1e-9,
) -> States:  # fmt: skip
    """EM of any family, from responsibilities gamma (N, K): 0 and 1 if labels are known.

    fit(X, w) finds the parameters of largest likelihood of points with weights w (N,);
    log_p(X, theta) are the log-densities (N,).
    """
    before = -np.inf
    yield (s := begin("1 responsibilities", gamma=gamma))
    for _ in range(m):
        phi, theta = gamma.mean(axis=0), np.array([fit(X, w) for w in gamma.T])
        yield (s := s.then("2 M: components", s.objective, phi=phi, theta=theta))
        a = np.log(phi) + np.stack([log_p(X, parameters) for parameters in theta], axis=1)
        log_total = np.logaddexp.reduce(a, axis=1)
        gamma, L = np.exp(a - log_total[:, None]), float(log_total.sum())
        yield (s := s.then("3 E: responsibilities", objective=-L, gamma=gamma, L=L))
        if L - before < tol * abs(L):
            break
        before = L
    return s


def gradient(X: Array, phi: Array, mu: Array, Sigma: Array) -> States:
    """dL/dmu_k = sum_n gamma_nk dlog N(x_n; mu_k)/dmu_k: maximum likelihood with weights gamma."""
    a = np.log(phi) + np.stack([log_gaussian(X, mu[k], Sigma[k]) for k in range(len(mu))], axis=1)
    log_p = np.logaddexp.reduce(a, axis=1)
    gamma = np.exp(a - log_p[:, None])
    yield (s := begin("1 responsibilities", objective=-float(log_p.sum()), gamma=gamma))
    slope = np.stack([np.linalg.solve(Sigma[k], (X - mu[k]).T).T for k in range(len(mu))], axis=1)
    yield (s := s.then("2 each component's own slope", slope=slope))
    yield (s := s.then("3 weighted", g=np.einsum("nk,nkd->kd", gamma, slope)))
    return s
