"""Eigenpairs of a symmetric matrix or operator by the cheaper of two solvers.

full      all n pairs by LAPACK's tridiagonal reduction: about 9 n^3 operations, half of them
          bound by memory, whatever k
leading   k pairs by block Lanczos: 2 n^2 b operations an iteration with blocks of b = O(k) columns
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.interruptible import DeadlinePassed
from kilogram.solvers.eigen.full import full
from kilogram.solvers.eigen.leading import leading
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.solution import Solution

# Up to this order all pairs cost less than Lanczos iterations: measured for kernel PCA, whose fit
# is 1.9 to 4.1 times slower by Lanczos at 300 (2 and 10 components), 0.8 to 2.1 times at 450.
SMALL_ORDER = 300
# Lanczos needs some 10 to 40 iterations of 2 n^2 k operations: with more than n / 10 pairs that is
# the work of the full reduction, which does not depend on the spectrum.
LARGE_FRACTION = 0.1


def prefers_full(n: int, k: int | None) -> bool:
    """Whether all pairs of order n cost less than the k leading ones; k = None asks for all."""
    return k is None or n <= SMALL_ORDER or k > LARGE_FRACTION * n


def eigenpairs(
    A: Any,
    k: int | None = None,
    *,
    tol: float = 0.0,
    max_iter: int | None = None,
    rng: Any = None,
    ref: Any = None,
    start: Any = None,
    block: int | None = None,
    floor: float = 0.0,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Values (k,), largest first, and orthonormal vectors (n, k) of a symmetric A (n, n).

    k = None asks for all. A is an array or an operator with `A @ V` and `A.dense()`; the other
    arguments are those of `leading` and have no part in the full decomposition.
    """
    n = A.shape[0]
    if k is None or n <= SMALL_ORDER:
        return full(A, k)
    if prefers_full(n, k):
        try:
            return full(A, k, deadline=deadline)
        except DeadlinePassed:  # one iteration gives pairs that can be used
            return leading(A, k, rng=rng, ref=ref, start=start, block=block, deadline=deadline)
    limit = max(20, n // 10) if max_iter is None else max_iter
    how: dict[str, Any] = {"tol": tol, "max_iter": limit, "rng": rng, "ref": ref}
    how |= {"start": start, "block": block, "floor": floor}
    found = leading(A, k, **how, callback=callback, deadline=deadline)
    if max_iter is None and not found.converged and found.n_iter >= limit:
        # a spectrum without gaps: the reduction costs less than more iterations
        try:
            return full(A, k, deadline=deadline)
        except DeadlinePassed:
            return found
    return found
