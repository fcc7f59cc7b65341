"""Densities: lecture_notes L09 (kernels on every instance), L07 (bins), L02 (Bayes' rule).

p(x) = 1/(N h^d) sum_n k((x - x_n) / h)          k a density of its own
width: the largest  sum_n log p_{-n}(x_n),  p_{-n} = (N h^d p(x_n) - k(0)) / ((N - 1) h^d)
classes: p(c | x) = pi_c p_c(x) / sum_k pi_k p_k(x)
"""

from __future__ import annotations

from collections.abc import Callable
from math import gamma, pi

import numpy as np

from kilogram.textbook.state import Array, States, begin

Kernel = Callable[[Array], Array]


def gaussian(u: Array) -> Array:
    """(2 pi)^(-d/2) exp(-|u|^2 / 2) of the rows of u (.., d)."""
    return np.exp(-0.5 * (u**2).sum(axis=-1)) / (2 * pi) ** (u.shape[-1] / 2)


def epanechnikov(u: Array) -> Array:
    """(d + 2) / (2 V_d) (1 - |u|^2) within the unit ball of volume V_d."""
    d = u.shape[-1]
    V = pi ** (d / 2) / gamma(d / 2 + 1)
    return (d + 2) / (2 * V) * np.maximum(1 - (u**2).sum(axis=-1), 0.0)


def kernel_density(X: Array, x_new: Array, h: float, k: Kernel = gaussian) -> States:
    """p at the rows of x_new (M, d): the mean of kernels of width h on the rows of X (N, d)."""
    U = (x_new[:, None] - X[None]) / h
    yield (s := begin("1 distances in widths", U=U))
    K = k(U) / h ** X.shape[1]
    yield (s := s.then("2 a kernel on every point", K=K))
    yield (s := s.then("3 their mean", p=K.mean(axis=1)))
    return s


def leave_one_out(X: Array, widths: Array, k: Kernel = gaussian) -> States:
    """The log likelihood L of every point under the others, for each width; h has the largest."""
    N, d = X.shape
    L = []
    yield (s := begin("1 widths", widths=widths))
    for h in widths:
        K = k((X[:, None] - X[None]) / h) / h**d
        p = (K.sum(axis=1) - np.diag(K)) / (N - 1)  # the point itself is taken away
        with np.errstate(divide="ignore"):
            L.append(float(np.log(p).sum()))
        yield (s := s.then("2 every point under the others", p=p, L=L))
    yield (s := s.then("3 the best width", h=np.asarray(widths)[np.argmax(L)]))
    return s


def bayes(densities: Array, prior: Array) -> States:
    """Classes from p_c(x) (M, K) and priors (K,): posterior and label; all 0 gives the prior."""
    joint = densities * prior
    yield (s := begin("1 density times prior", joint=joint))
    total = joint.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1.0)
    posterior = np.where(total > 0, joint / safe, prior)
    yield (s := s.then("2 Bayes' rule", posterior=posterior, label=posterior.argmax(axis=1)))
    return s
