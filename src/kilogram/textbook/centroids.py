"""Nearest centroids: cookbook ch. 15 (algorithms 12, 13), slides lecture 3, lecture_notes L04.

mu_k = (1/N_k) sum_{i: y_i = k} x_i            predict argmin_k |mu_k - x|
online   mu_k <- N_k/(N_k + 1) mu_k + x/(N_k + 1),  N_k <- N_k + 1
linear   w = mu_o - mu_t,  b = (|mu_o|^2 - |mu_t|^2) / 2  (the half belongs to b)
kernel   |phi(x) - mu_k|^2 = k(x, x) - 2 mean_i k(x, x_i) + mean_ij k(x_i, x_j)
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def online_centroids(X: Array, labels: Array) -> States:
    """Algorithm 12: means mu (K, D) and counts N, point by point, from zero vectors."""
    classes = np.unique(labels)
    mu, N = np.zeros((len(classes), X.shape[1])), np.zeros(len(classes))
    yield (s := begin("1 zero vectors", classes=classes, mu=mu.copy(), N=N.copy()))
    for x, y in zip(X, labels, strict=True):
        k = int(np.searchsorted(classes, y))
        mu[k] = N[k] / (N[k] + 1) * mu[k] + x / (N[k] + 1)
        N[k] += 1
        yield (s := s.then("2 the mean moves", mu=mu.copy(), N=N.copy()))
    return s


def nearest_centroid(X: Array, mu: Array) -> States:
    """Algorithm 13: index of the nearest mean; of equal distances the first."""
    distance = np.linalg.norm(X[:, None] - mu[None], axis=2)
    yield (s := begin("1 distances", distance=distance, index=distance.argmin(axis=1)))
    return s


def linear_rule(mu_o: Array, mu_t: Array) -> States:
    """Slides 3 and cookbook C.2: class o where w'x - b > 0; folded into one vector too."""
    w, b = mu_o - mu_t, (mu_o @ mu_o - mu_t @ mu_t) / 2
    yield (s := begin("1 weights and offset", w=w, b=b))
    yield (s := s.then("2 folded: (1, x)'(-b, w)", folded=np.concatenate([[-b], w])))
    return s


def kernel_nearest_mean(K: Array, labels: Array, k_new: Array, k_self: Array) -> States:
    """The same in the space of a kernel: K (n, n), k_new (m, n), k(x, x) of the new points (m,)."""
    classes = np.unique(labels)
    own = [labels == c for c in classes]
    inner = np.array([K[np.ix_(i, i)].mean() for i in own])
    yield (s := begin("1 lengths of the means", inner=inner))
    cross = np.stack([k_new[:, i].mean(axis=1) for i in own], axis=1)
    distance = k_self[:, None] - 2 * cross + inner
    yield (s := s.then("2 nearest", distance=distance, label=classes[distance.argmin(axis=1)]))
    return s
