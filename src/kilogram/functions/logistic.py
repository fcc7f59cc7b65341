"""Logistic and softmax loss in the margins, over any array namespace.

    two classes    y = +-1       loss = log(1 + exp(-y z)),   dloss/dz = -y q,   curvature q (1 - q)
                                 q = 1 / (1 + exp(y z)), the probability of the wrong class
    t classes      y = 0..t-1    loss = log sum_k exp(z_k) - z_y,   dloss/dz_k = p_k - 1[y = k]

Every exponential has an argument of at most 0, so no margin is too large.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_numpy, like, namespace
from kilogram.native.logistic import softmax_inplace


class LogisticTerms(NamedTuple):
    """Summed loss; R = dloss/dz, (n,) or (n, t); curvature terms: h (n,) or P (n, t).

    All are times the weights c of the rows.
    """

    loss: float
    R: Any
    curved: Any


def logistic_terms(z: Any, y: Any, c: Any) -> LogisticTerms:
    """Of two classes: margins z, labels y = +-1, weights c, all (n,)."""
    xp = namespace(z)
    m = y * z
    e = xp.exp(-xp.abs(m))
    s = 1.0 / (1.0 + e)
    q = xp.where(m > 0, e * s, s)
    loss = xp.sum(c * (xp.log1p(e) + xp.clip(-m, 0.0, None)))
    return LogisticTerms(float(loss), -c * y * q, c * e * s * s)


def softmax_terms(Z: Any, y: Any, c: Any, *, keep: bool = False) -> LogisticTerms:
    """Of t classes: margins Z (n, t), codes y and weights c (n,); Z may be overwritten.

    The probabilities P, times c, are returned only with `keep`.
    """
    if is_numpy(Z) and Z.dtype in (np.float32, np.float64):
        loss = softmax_inplace(Z, y, c, keep=keep)
        if not keep:
            return LogisticTerms(loss, Z, None)
        R = Z.copy()
        R[np.arange(len(R)), y] -= 1.0 if c is None else c
        return LogisticTerms(loss, R, Z)
    xp = namespace(Z)
    own = like(np.arange(Z.shape[1]), Z)[None, :] == like(y, Z)[:, None]
    logs = log_softmax(Z)
    loss = -xp.sum(c[:, None] * xp.where(own, logs, xp.zeros_like(logs)))
    P = c[:, None] * xp.exp(logs)
    return LogisticTerms(float(loss), P - xp.where(own, c[:, None], xp.zeros_like(P)), P)


def log_softmax(Z: Any) -> Any:
    """log of exp(z_k) / sum_j exp(z_j), row by row."""
    xp = namespace(Z)
    Z = Z - xp.max(Z, axis=1, keepdims=True)
    return Z - xp.log(xp.sum(xp.exp(Z), axis=1, keepdims=True))


def log_sigmoid(z: Any) -> Any:
    """log of 1 / (1 + exp(-z))."""
    xp = namespace(z)
    return -xp.log1p(xp.exp(-xp.abs(z))) - xp.maximum(-z, xp.zeros_like(z))
