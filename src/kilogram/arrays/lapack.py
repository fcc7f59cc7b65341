"""LAPACK routines called without Python's lock, through the addresses that SciPy publishes.

`scipy.linalg` holds the lock during a call, so that no other thread runs and no signal is handled.
ctypes releases it. The routines are those of `scipy.linalg.cython_lapack`, a public interface.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack


@cache
def _routine(name: str) -> Any:
    """The LAPACK routine as a function of pointers."""
    capsule = cython_lapack.__pyx_capi__[name]
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetName.argtypes = [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = python.PyCapsule_GetName(capsule)
    count = len(re.findall(rb"\*", signature))
    address = python.PyCapsule_GetPointer(capsule, signature)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


def largest_eigenpairs(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (k,), largest first, and vectors (n, k) of a symmetric float matrix by ?syevr.

    Relatively robust representations: the tridiagonal reduction of all of A, then only the vectors
    that are asked for. Only the lower triangle of A is read; A stays as it is.
    """
    n, dtype = A.shape[0], A.dtype
    name = "ssyevr" if dtype == np.float32 else "dsyevr"
    a = np.array(A.T, order="F")  # destroyed by the routine
    values, vectors = np.empty(n, dtype), np.empty((n, k), dtype, order="F")
    support = np.empty(2 * max(1, k), np.int32)
    found, info = ctypes.c_int(), ctypes.c_int()
    bound, tolerance = np.zeros(1, dtype), np.zeros(1, dtype)

    def call(work: np.ndarray, lwork: int, iwork: np.ndarray, liwork: int) -> None:
        numbers = [ctypes.c_int(value) for value in (n, n - k + 1, n, lwork, liwork)]
        order, first, last, length, ilength = (ctypes.byref(value) for value in numbers)
        _routine(name)(
            b"V", b"I", b"U", order, a.ctypes.data, order, bound.ctypes.data, bound.ctypes.data,
            first, last, tolerance.ctypes.data, ctypes.byref(found), values.ctypes.data,
            vectors.ctypes.data, order, support.ctypes.data, work.ctypes.data, length,
            iwork.ctypes.data, ilength, ctypes.byref(info),
        )  # fmt: skip

    work, iwork = np.empty(1, dtype), np.empty(1, np.int32)
    call(work, -1, iwork, -1)  # asks for the sizes of the work space
    lwork, liwork = int(work[0]), int(iwork[0])
    call(np.empty(lwork, dtype), lwork, np.empty(liwork, np.int32), liwork)
    if info.value or found.value != k:
        raise np.linalg.LinAlgError(f"{name} found {found.value} of {k} eigenpairs of order {n}.")
    return values[:k][::-1], vectors[:, ::-1]
