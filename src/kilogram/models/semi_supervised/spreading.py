"""The equations of label spreading, (I - alpha S) F = (1 - alpha) Y, to the last row.

S >= 0 has no eigenvalue above 1, so

    F <- alpha S F + (1 - alpha) Y

rises entry by entry from any F below the solution. It adds numbers of one sign only: an entry of
1e-84, of a row that is weakly linked, is as accurate as one of size 1. Conjugate gradients are
accurate only beside the largest entry, but fast where alpha is near 1: what they are sure of is
where the iteration starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.namespace import is_sparse
from kilogram.solvers.linear.cg import cg
from kilogram.solvers.solution import Solution

START_TOL = 1e-12  # of the conjugate gradients, relative: entries far below it start at 0


def normalised_graph(A: Any) -> Any:
    """D^-1/2 A D^-1/2, D = diag(A 1); a dense A is overwritten. Rows without neighbours stay 0."""
    d = np.asarray(A.sum(axis=1)).ravel()
    s = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    if is_sparse(A):
        scale = scipy.sparse.diags_array(s)
        return scipy.sparse.csr_array(scale @ A @ scale)
    A *= s[:, None]
    A *= s
    return A


def spread(S: Any, Y: np.ndarray, alpha: float, *, tol: float, max_iter: int) -> Solution:
    """F (n, c) of a symmetric S (n, n) >= 0, every entry to a relative error of about `tol`."""
    B = (1.0 - alpha) * Y
    start = cg(_SpreadingSystem(S, alpha), B, tol=START_TOL, max_iter=max_iter)
    F = np.maximum(B, start.value - _error(S, alpha, start.value, B))
    change = np.inf
    for step in range(1, max_iter + 1):
        new = alpha * (S @ F) + B
        change = float(np.max((new - F) / np.where(new > 0, new, 1.0), initial=0.0))
        F = np.maximum(F, new)
        if change <= (1.0 - alpha) * tol:
            return Solution(F, start.n_iter + step)
    message = (
        f"its limit of {max_iter} iterations was reached. The largest relative change of an "
        f"entry in the last iteration was {change:.1e}."
    )
    return Solution(F, start.n_iter + max_iter, None, False, message)


class _SpreadingSystem:
    """I - alpha S as a linear map."""

    def __init__(self, S: Any, alpha: float):
        self._S, self._alpha = S, alpha

    def __matmul__(self, V: Any) -> Any:
        return V - self._alpha * (self._S @ V)


def _error(S: Any, alpha: float, F: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A bound on the error of every entry of a column, (c,): |r| / (1 - alpha), and rounding."""
    residual = np.linalg.norm(B - F + alpha * (S @ F), axis=0)
    rounding = len(F) * np.finfo(np.float64).eps * np.linalg.norm(F, axis=0)
    return (residual + rounding) / (1.0 - alpha)
