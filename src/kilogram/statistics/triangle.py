"""The triangle R of a QR factorisation of the rows, as a value with `+`.

    X = Q R,   R'R = X' diag(w) X,   R upper triangular (k, d), k = min(n, d), diagonal >= 0

Triangles of two sets of rows merge as the R factor of one stacked on the other (tall-skinny QR,
Demmel et al. 2012). R'R is the Gram matrix of the columns, but R is found without squaring the
condition number: take it where moments lose too many digits. `Triangle.joint(X, Y)` factors
[X, Y]; then

    R = [ R_x  C  ]         least squares of Y on X:   R_x B = C,   residual  |R_y|^2
        [  0   R_y ]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, namespace, sum_dtype
from kilogram.statistics.moments import total_weight

# Rows factored at once, at least; wide matrices take twice their width, so that stacking R costs
# half as much again.
PANEL_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Triangle:
    """Upper triangular R (k, d) with R'R = X' diag(w) X, and the total weight of the rows."""

    R: Any
    weight: float

    @classmethod
    def of(cls, X: Any, w: Any = None) -> Triangle:
        """Triangle of the rows of X (n, d) with weights w >= 0 (n,)."""
        return cls.joint(X, None, w)

    @classmethod
    def joint(cls, X: Any, Y: Any, w: Any = None) -> Triangle:
        """Of the rows of [X, Y] with X (n, d), Y (n, t) or (n,) and weights w >= 0 (n,)."""
        step = max(PANEL_ROWS, 2 * X.shape[1])
        R = None
        for start in range(0, max(X.shape[0], 1), step):
            P = _panel(X, Y, w, start, min(start + step, X.shape[0]))
            R = _triangle_of(P if R is None else namespace(P).concat([R, P], axis=0))
        return cls(R, total_weight(X, w))

    def __add__(self, other: Triangle | int) -> Triangle:
        if other == 0:  # so that sum() works
            return self
        if not isinstance(other, Triangle):
            return NotImplemented
        xp = namespace(self.R)
        R = _triangle_of(xp.concat([self.R, other.R], axis=0))
        return Triangle(R, self.weight + other.weight)

    __radd__ = __add__


def _panel(X: Any, Y: Any, w: Any, start: int, stop: int) -> Any:
    """Rows start to stop of sqrt(w) [X, Y], dense, in the float type of sums."""
    P = _dense(X, start, stop)
    xp = namespace(P)
    if Y is not None:
        Q = _dense(Y, start, stop)
        P = xp.concat([P, Q if Q.ndim == 2 else Q[:, None]], axis=1)
    return P if w is None else P * xp.sqrt(xp.astype(w[start:stop], P.dtype))[:, None]


def _dense(X: Any, start: int, stop: int) -> Any:
    P = X[start:stop, ...]
    P = P.toarray() if is_sparse(P) else P
    xp = namespace(P)
    return xp.astype(P, sum_dtype(P, xp))


def _triangle_of(A: Any) -> Any:
    """R of A = Q R, its rows signed so that the diagonal is not negative: then R is unique."""
    xp = namespace(A)
    # the standard has no mode without Q, which would double the work
    R = np.linalg.qr(A, mode="r") if is_numpy(A) else xp.linalg.qr(A, mode="reduced")[1]
    diagonal = xp.linalg.diagonal(R)
    return R * xp.where(diagonal < 0, -xp.ones_like(diagonal), xp.ones_like(diagonal))[:, None]
