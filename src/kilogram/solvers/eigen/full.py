"""All eigenpairs of a symmetric matrix by LAPACK; the driver depends on how many are wanted."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.linalg

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_array, is_numpy
from kilogram.native.threads import serial_blas
from kilogram.solvers.solution import Solution

# Up to this share of the pairs, LAPACK's relatively robust representations, which transform back
# only the vectors asked for, beat divide and conquer, which always finds all.
FEW_SHARE = 0.3
# Below this order the work is less than SciPy's preparations for it.
TINY_ORDER = 96
# Up to this order one thread is as fast as two, and waking SciPy's costs more: 2 ms instead of 11
# for 10 pairs of order 200 right after a native loop.
SERIAL_ORDER = 400


def full(A: Any, k: int | None = None) -> Solution:
    """All pairs of A, of which the k first are returned."""
    A = A if is_array(A) else A.dense()
    n = A.shape[0]
    if is_numpy(A) and k is not None and n > TINY_ORDER and 0 < k <= FEW_SHARE * n:
        with serial_blas() if n <= SERIAL_ORDER else nullcontext():
            values, vectors = scipy.linalg.eigh(
                A, subset_by_index=(n - k, n - 1), driver="evr", check_finite=False
            )
        return Solution((values[::-1], vectors[:, ::-1]))
    if is_numpy(A) and n <= TINY_ORDER:
        values, vectors = np.linalg.eigh(A)
        return Solution((values[::-1][:k], vectors[:, ::-1][:, :k]))
    values, vectors = eigh(A)
    return Solution((values[:k], vectors[:, :k]))
