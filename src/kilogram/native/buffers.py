"""What the native functions accept, and how they are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kilogram.native.threads import SMALL_WORK, n_threads, serial_blas

Array = np.ndarray[Any, np.dtype[Any]]


def matrix(name: str, A: Array, like: Array | None = None) -> Array:
    """A itself if native code can read it, else a TypeError or ValueError with the reason."""
    if not isinstance(A, np.ndarray) or A.dtype not in (np.float32, np.float64):
        kind = A.dtype if isinstance(A, np.ndarray) else type(A).__name__
        raise TypeError(f"{name} must be a NumPy array of float32 or float64, not {kind}")
    if A.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, not {A.ndim}")
    if like is not None and A.dtype != like.dtype:
        raise TypeError(f"{name} is {A.dtype} where the other argument is {like.dtype}")
    itemsize = A.itemsize
    if A.strides[0] % itemsize or A.strides[1] % itemsize or not A.flags.aligned:
        return np.ascontiguousarray(A)
    return A


def vector(v: Array | None, n: int, dtype: np.dtype[Any], name: str) -> Array | None:
    """v as a contiguous vector of n entries of dtype, or None."""
    if v is None:
        return None
    v = np.ascontiguousarray(v, dtype=dtype)
    if v.shape != (n,):
        raise ValueError(f"{name} has shape {v.shape}; ({n},) is needed")
    return v


def columns(V: Array, n: int, dtype: np.dtype[Any], name: str) -> Array:
    """V, (n,) or (n, t), as a contiguous (n, t) array of dtype."""
    V = np.ascontiguousarray(V, dtype=dtype)
    if V.ndim not in (1, 2) or V.shape[0] != n:
        raise ValueError(f"{name} has shape {V.shape}; ({n},) or ({n}, t) is needed")
    return V[:, None] if V.ndim == 1 else V


def output(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """`out` if it has this shape and type and is C-contiguous, a new array if it is None."""
    if out is None:
        return np.empty(shape, dtype=dtype)
    if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(f"out must be a C-contiguous array of shape {shape} and type {dtype}")
    return out


def run(function: Callable[..., Any], work: float, *args: Any) -> Any:
    """Call a native function with a team fit for `work` multiplications, BLAS on one thread."""
    if work < SMALL_WORK:
        return function(*args, 1)
    with serial_blas():
        return function(*args, n_threads())
