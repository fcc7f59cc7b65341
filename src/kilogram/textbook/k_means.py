"""K-means: cookbook ch. 12 (algorithms 8, 9), first_encounter ch. 11, lecture_notes L23, slides 10.

J = sum_n |x_n - mu_{c_n}|^2          squared: of squared distances the mean is the minimiser
Lloyd      c_n = argmin_k |x_n - mu_k|,  mu_k = mean of its points; stop when c repeats
MacQueen   x at random: n_k += 1, mu_k += (x - mu_k) / n_k  for the nearest k
k-means++  the next centre with probability |x_n - nearest centre|^2 / sum
kernel     |phi(x_n) - mu_k|^2 = K_nn - (2/N_k) sum_{j in k} K_nj + (1/N_k^2) sum_{jl in k} K_jl
medoids    centres are points: mu_k = the member with the least sum of distances to the others
lines      centres are lines: mean and first principal direction of the members
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def _squared_distances(X: Array, mu: Array) -> Array:
    """|x_n - mu_k|^2, (N, K)."""
    return ((X[:, None] - mu[None]) ** 2).sum(axis=2)


def lloyd(X: Array, mu: Array, m: int = 300) -> States:
    """Algorithm 8 from centres mu (K, D), at most m rounds; an empty cluster takes the farthest."""
    mu, c = np.array(mu, dtype=float), np.full(len(X), -1)  # -1: no label yet
    yield (s := begin("1 centres", mu=mu.copy(), c=c.copy()))
    for _ in range(m):
        D, old = _squared_distances(X, mu), c
        c = D.argmin(axis=1)
        yield (s := s.then("2 nearest centre", objective=float(D.min(axis=1).sum()), c=c.copy()))
        if (c == old).all():
            break
        members = c.copy()
        for k in np.setdiff1d(np.arange(len(mu)), c):
            members[D[np.arange(len(X)), members].argmax()] = k
        mu = np.array(
            [
                X[members == k].mean(axis=0) if (members == k).any() else mu[k]
                for k in range(len(mu))
            ]
        )
        J = float(((X - mu[members]) ** 2).sum())
        yield (s := s.then("3 means", objective=J, mu=mu.copy()))
    return s


def online(X: Array, mu: Array, draws: Array, first: int = 0) -> States:
    """Algorithm 9: points X[draws] one by one; counts begin at 0 as printed, at 1 for MacQueen."""
    mu, n = np.array(mu, dtype=float), np.full(len(mu), float(first))
    yield (s := begin("1 centres", mu=mu.copy(), n=n.copy()))
    for x in X[draws]:
        k = int(_squared_distances(x[None], mu).argmin())
        n[k] += 1
        mu[k] += (x - mu[k]) / n[k]
        yield (s := s.then("2 the nearest moves", mu=mu.copy(), n=n.copy(), k=k))
    return s


def plus_plus(X: Array, K: int, rng: np.random.Generator) -> States:
    """k-means++: K points far apart from each other, mu (K, D), and their indices."""
    chosen = [int(rng.integers(len(X)))]
    yield (s := begin("1 the first at random", mu=X[chosen], chosen=chosen))
    while len(chosen) < K:
        delta = _squared_distances(X, X[chosen]).min(axis=1)
        p = delta / delta.sum() if delta.any() else np.full(len(X), 1 / len(X))
        chosen.append(int(rng.choice(len(X), p=p)))
        yield (s := s.then("2 the next, far away", p=p, mu=X[chosen], chosen=chosen))
    return s


def kernel_k_means(K: Array, labels: Array, m: int = 300) -> States:
    """Lloyd's algorithm from a kernel matrix K (N, N) and first labels; every cluster keeps points.

    Z (N, C) has one 1 in each row; the cost is tr K - tr(L^1/2 Z'K Z L^1/2), L = diag(1 / N_k).
    """
    c, C = np.asarray(labels), int(np.max(labels)) + 1
    yield (s := begin("1 labels", c=c))
    for _ in range(m):
        Z = np.eye(C)[c]
        N = np.maximum(Z.sum(axis=0), 1)
        D = np.diag(K)[:, None] - 2 * (K @ Z) / N + np.diag(Z.T @ K @ Z) / N**2
        cost = float(np.trace(K) - (np.diag(Z.T @ K @ Z) / N).sum())
        yield (s := s.then("2 distances from the means", objective=cost, Z=Z, D=D))
        new = D.argmin(axis=1)
        if (new == c).all():
            break
        c = new
        yield (s := s.then("3 nearest mean", c=c))
    return s


def k_medoids(D: Array, medoids: Array, m: int = 300) -> States:
    """Centres are points, D (N, N) any distances: assign, then the best member of each cluster."""
    medoids = np.array(medoids)
    yield (s := begin("1 medoids", medoids=medoids.copy()))
    for _ in range(m):
        c = D[:, medoids].argmin(axis=1)
        cost = float(D[np.arange(len(D)), medoids[c]].sum())
        yield (s := s.then("2 nearest medoid", objective=cost, c=c))
        own = [np.flatnonzero(c == k) for k in range(len(medoids))]
        new = np.array(
            [i[D[np.ix_(i, i)].sum(axis=0).argmin()] if len(i) else old
             for i, old in zip(own, medoids, strict=True)]
        )  # fmt: skip
        if (new == medoids).all():
            break
        medoids = new
        yield (s := s.then("3 best members", medoids=medoids.copy()))
    return s


def k_lines(X: Array, labels: Array, m: int = 100) -> States:
    """Clusters around lines: fit each by total least squares, assign by the distance from it."""
    c, K = np.asarray(labels), int(np.max(labels)) + 1
    yield (s := begin("1 labels", c=c))
    for _ in range(m):
        a, v = np.zeros((K, X.shape[1])), np.zeros((K, X.shape[1]))
        for k in range(K):
            own = X[c == k] if (c == k).any() else X
            a[k] = own.mean(axis=0)
            v[k] = np.linalg.svd(own - a[k], full_matrices=False)[2][0]
        R = X[:, None] - a[None]
        D = (R**2).sum(axis=2) - (R * v[None]).sum(axis=2) ** 2
        J = float(D[np.arange(len(X)), c].sum())
        yield (s := s.then("2 lines", objective=J, a=a, v=v))
        new = D.argmin(axis=1)
        if (new == c).all():
            break
        c = new
        yield (s := s.then("3 nearest line", c=c))
    return s
