"""Manifolds: lecture_notes L20 (locally linear embedding); cookbook 8 names the other three.

LLE         C w = 1, w / sum(w);  M = (I - W)'(I - W);  its smallest eigenvectors but the constant
eigenmaps   L z = mu D z, L = D - A, D = diag(A 1);     the same
MDS         B = -1/2 H D^2 H, H = I - 1 1'/N;           Z = U Lambda^1/2 of the largest eigenvalues
Isomap      MDS of the shortest paths through the graph of neighbours

L20.X1: weights are divided by their sum; divided by their norm, as printed, M 1 is not 0.
L20.X2: C is the K x K matrix of products of neighbours, not a D x D sum of outer products; for
        K > D something must be added to its diagonal, here eps tr(C).
L20.X3: columns of Z have length 1 (unit covariance would be sqrt(N) Z); "the D' last eigenvectors"
        leaves the constant one out.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def distances(X: Array) -> Array:
    """|x_n - x_m|, (N, N)."""
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def neighbours(D: Array, K: int) -> Array:
    """The K nearest others of every point, (N, K)."""
    D = D + np.where(np.eye(len(D), dtype=bool), np.inf, 0.0)
    return np.argsort(D, axis=1, kind="stable")[:, :K]


def weights(x: Array, near: Array, eps: float = 1e-3) -> Array:
    """Weights of the points near (K, D) that mix to x, with sum 1."""
    C = (near - x) @ (near - x).T
    w = np.linalg.solve(C + eps * np.trace(C) * np.eye(len(near)), np.ones(len(near)))
    return np.asarray(w / w.sum())


def lle(X: Array, K: int, m: int = 2, eps: float = 1e-3) -> States:
    """Locally linear embedding of X (N, D) in m dimensions."""
    near = neighbours(distances(X), K)
    yield (s := begin("1 neighbours", near=near))
    W = np.zeros((len(X), len(X)))
    for n in range(len(X)):
        W[n, near[n]] = weights(X[n], X[near[n]], eps)
    yield (s := s.then("2 mixtures of neighbours", W=W))
    M = (np.eye(len(X)) - W).T @ (np.eye(len(X)) - W)
    yield (s := s.then("3 what the mixtures miss", M=M))
    Lambda, U = np.linalg.eigh(M)
    Z = U[:, 1 : m + 1]
    yield (
        s := s.then("4 smallest eigenvectors", float(Lambda[1 : m + 1].sum()), Lambda=Lambda, Z=Z)
    )
    return s


def lle_new(x: Array, X: Array, Z: Array, K: int, eps: float = 1e-3) -> States:
    """A new point: the mixture of its K neighbours that gives x, applied to their places."""
    near = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:K]
    yield (s := begin("1 neighbours", near=near))
    w = weights(x, X[near], eps)
    yield (s := s.then("2 mixture", w=w))
    yield (s := s.then("3 place", z=w @ Z[near]))
    return s


def eigenmaps(A: Array, m: int = 2) -> States:
    """Laplacian eigenmaps of affinities A (N, N)."""
    d = A.sum(axis=1)
    L = np.diag(d) - A
    yield (s := begin("1 Laplacian", A=A, d=d, L=L))
    mu, U = np.linalg.eigh(L / np.sqrt(np.outer(d, d)))
    Z = (U / np.sqrt(d)[:, None])[:, 1 : m + 1]
    yield (s := s.then("2 smallest eigenvectors", float(mu[1 : m + 1].sum()), mu=mu, Z=Z))
    return s


def mds(D: Array, m: int = 2) -> States:
    """Classical scaling of distances D (N, N)."""
    N = len(D)
    H = np.eye(N) - 1 / N
    B = -0.5 * H @ D**2 @ H
    yield (s := begin("1 centred on both sides", B=B))
    Lambda, U = np.linalg.eigh(B)
    Lambda, U = Lambda[::-1][:m], U[:, ::-1][:, :m]
    Z = U * np.sqrt(np.maximum(Lambda, 0))
    yield (s := s.then("2 coordinates", float(((B - Z @ Z.T) ** 2).sum()), Lambda=Lambda, Z=Z))
    return s


def shortest(G: Array) -> Array:
    """Floyd and Warshall: through every point in turn, if that is shorter."""
    G = G.copy()
    for k in range(len(G)):
        G = np.minimum(G, G[:, k : k + 1] + G[k])
    return G


def isomap(X: Array, K: int, m: int = 2) -> States:
    """Distances along the data, then classical scaling."""
    D = distances(X)
    near = neighbours(D, K)
    edge = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(edge, near, True, axis=1)
    G = np.where(edge | edge.T, D, np.inf)
    np.fill_diagonal(G, 0.0)
    yield (s := begin("1 graph of neighbours", near=near, G=G))
    G = shortest(G)
    yield (s := s.then("2 shortest paths", G=G))
    for moment in mds(G, m):
        yield (s := s.then(f"3 scaling: {moment.step}", moment.objective, **moment.arrays))
    return s
