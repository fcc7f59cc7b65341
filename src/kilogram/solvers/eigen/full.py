"""All eigenpairs of a symmetric matrix by LAPACK; the driver depends on how many are wanted."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from kilogram.arrays.interruptible import run_interruptible
from kilogram.arrays.lapack import largest_eigenpairs
from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_array, is_numpy
from kilogram.native.threads import serial_blas
from kilogram.solvers.solution import Solution

TINY_ORDER = 32  # at this order 1 to 3 pairs take as long as all; at 48 less, by 1.2 to 1.6 times
# Up to this order one thread is as fast as two, and waking SciPy's costs more: 2 ms instead of 11
# for 10 pairs of order 200 right after a native loop.
SERIAL_ORDER = 400


def few_pairs(n: int) -> float:
    """Pairs up to which LAPACK's relatively robust representations beat divide and conquer.

    They transform back only the vectors asked for; the other always finds all. Measured on one
    thread: 13, 15, 14, 18 and 28 % of the pairs at the orders 64, 96, 200, 400 and 900.
    """
    return min(0.13 + n / 6000, 0.3) * n


def full(A: Any, k: int | None = None, *, deadline: float | None = None) -> Solution:
    """All pairs of A, of which the k first are returned.

    LAPACK cannot be stopped half way: at the `deadline` DeadlinePassed is raised.
    """
    A = A if is_array(A) else A.dense()
    n = A.shape[0]
    if is_numpy(A) and k is not None and n > TINY_ORDER and 0 < k <= few_pairs(n):
        with (
            serial_blas() if n <= SERIAL_ORDER else nullcontext(),
            # of many equal eigenvalues the robust representations may miss all: then all pairs
            suppress(np.linalg.LinAlgError),
        ):
            return Solution(
                run_interruptible(largest_eigenpairs, A, k, work=1.5 * n**3, deadline=deadline)
            )
    values, vectors = eigh(A, deadline=deadline)
    return Solution((values[:k], vectors[:, :k]))
