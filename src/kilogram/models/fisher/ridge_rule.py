"""Fisher's rule on the fitted values of ridge regression, for three classes or more.

Ridge on class indicators and "the largest value wins" lets a class that lies between others be
masked: its value is never the largest. The fitted values F (n, K) hold all that Fisher's
discriminant of the same penalty needs (least squares and Fisher find the same directions), so the
rule is read off them instead:

    directions   eigenvectors of D^-1/2 (Y' W F) D^-1/2, D the weights of the classes
    means        m_k of the classes along each direction
    spread       s^2 along each, of the values of rows left out about the means of their class:
                 fitted values lie too near to them
    score        sum over directions of (z m_k - m_k^2 / 2) / s^2 + log weight of class k

The score is affine in F, and F linear in the targets: fitting Y A + c instead of Y gives it. A and
c are scaled so that scores spread as far as the values: which of the two rules is used may differ
from fold to fold, and one scale serves the probabilities of all. For text the largest value is the
better rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

# Directions that separate the classes by less than this fraction of the best are left out: our
# choice; their means would be noise.
LEAST_SEPARATION = 1e-3
MANY_CLASSES = 30  # the indicators of more are nearly all zeros: 97 %
# A spread below this fraction of that between the classes is rounding: of products of float32,
# 6e-8, and a sum of some of them.
LEAST_SPREAD = 1e-6


def class_sums(Y: np.ndarray, fitted: Any, weights: Any = None) -> Any:
    """Y' W F, (K, ...): the values of the rows of each class, summed; the weights sum to one."""
    w = np.ones(len(Y)) if weights is None else weights
    if Y.shape[1] <= MANY_CLASSES:
        return (Y * (w / np.sum(w))[:, None]).T @ fitted
    rows, classes = np.nonzero(Y)
    values = Y[rows, classes] * (w / np.sum(w))[rows]
    found = sp.csr_array((values, (classes, rows)), shape=Y.T.shape) @ fitted.reshape(len(Y), -1)
    return found.reshape(Y.shape[1], *fitted.shape[1:])


def fisher_rule(
    Y: np.ndarray, sums: np.ndarray, left_out: np.ndarray, rows: np.ndarray, weights: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """A (K, K) and c (K,): F A + c are the scores of the classes.

    Y (n, K) are the indicators, `sums` the `class_sums` of their fitted values, `left_out` (m, K)
    the values that `rows` had when they were not fitted; all of one penalty.
    """
    w = np.ones(len(Y)) if weights is None else weights
    p = class_sums(Y, np.ones(len(Y)), weights)
    M = sums / p[:, None] - p  # (K, K): the values' means in each class
    root = np.sqrt(p)
    G = root[:, None] * M / root
    separation, V = np.linalg.eigh((G + G.T) / 2)
    kept = separation > LEAST_SEPARATION * max(separation[-1], np.finfo(float).tiny)
    B = V[:, kept] / root[:, None]
    means = M @ B
    away = (left_out - p) @ B - Y[rows] @ means
    spread = np.average(away**2, axis=0, weights=w[rows])
    spread = np.maximum(spread, LEAST_SPREAD * (p @ means**2) + np.finfo(float).tiny)
    A = (B / spread) @ means.T
    c = np.log(p) - 0.5 * np.sum(means**2 / spread, axis=1)
    c = c - p @ A
    size = _typical_gap(left_out) / max(_typical_gap(left_out @ A + c), np.finfo(float).tiny)
    return size * A, size * c


def by_fisher(
    Y: np.ndarray, sums: np.ndarray, left_out: np.ndarray, rows: np.ndarray, weights: Any = None
) -> np.ndarray:
    """Scores (m, K, alphas) of `left_out` (m, K, alphas), each penalty by the rule of its own."""
    scores = np.empty_like(left_out)
    for j in range(left_out.shape[2]):
        A, c = fisher_rule(Y, sums[:, :, j], left_out[:, :, j], rows, weights)
        scores[:, :, j] = left_out[:, :, j] @ A + c
    return scores


def _typical_gap(F: np.ndarray) -> float:
    """Typical gap between the fitted values of a row."""
    return float(np.std(F - F.mean(axis=1, keepdims=True)))
