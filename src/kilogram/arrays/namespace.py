"""Which library an array belongs to, and the few moves between libraries.

A page asks once, `xp = namespace(X, Y)`, and writes its formulas in `xp`: the array API standard,
spoken by NumPy, torch, CuPy and array-api-strict alike through array-api-compat. What is no array
of its own (lists, sparse matrices, data frames, memory maps, Dask collections, streams of blocks)
is worked on in NumPy blocks, so its namespace is NumPy's.
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np
import scipy.sparse

MODERATE = 1e15  # squares, 1e30, times 1e8 are still below the largest float32, 3.4e38


def namespace(*arrays: Any) -> Any:
    """The one array-API namespace of the arrays given; None and Python numbers belong to any."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:  # most calls: no list is made
        return numpy_namespace
    foreign = [a for a in arrays if not isinstance(a, np.ndarray) and is_foreign(a)]
    if not foreign:
        return numpy_namespace
    host = [a for a in arrays if isinstance(a, np.ndarray)]
    if host:
        names = sorted({type(a).__module__.split(".")[0] for a in foreign})
        raise TypeError(
            f"arrays of different libraries in one call: numpy and {', '.join(names)}. "
            "Convert them to one library first."
        )
    return array_api_compat.array_namespace(*foreign)


def is_foreign(x: Any) -> bool:
    """True for arrays of a library other than NumPy that work in memory."""
    if x is None or isinstance(x, (list, tuple, int, float, complex, str, np.generic)):
        return False
    if scipy.sparse.issparse(x) or is_dask(x):
        return False
    return bool(array_api_compat.is_array_api_obj(x))


def is_numpy(x: Any) -> bool:
    """True for a dense NumPy array (memory maps included)."""
    return isinstance(x, np.ndarray)


def is_sparse(x: Any) -> bool:
    """True for SciPy's sparse arrays and matrices."""
    return bool(scipy.sparse.issparse(x))


def is_array(x: Any) -> bool:
    """True for a dense in-process array of any library of the standard."""
    return isinstance(x, np.ndarray) or is_foreign(x)


def is_dask(x: Any) -> bool:
    """True for Dask collections; recognised by the module of its type, so dask is not imported."""
    return type(x).__module__.partition(".")[0] in ("dask", "dask_expr")


def to_numpy(x: Any) -> Any:
    """The array on the host, as NumPy; sparse matrices are there already and stay sparse."""
    if x is None or isinstance(x, np.ndarray) or is_sparse(x):
        return x
    if not is_foreign(x):
        return np.asarray(x)
    if array_api_compat.is_torch_array(x):
        return x.detach().cpu().numpy()
    if array_api_compat.is_cupy_array(x):
        return x.get()
    default = array_api_compat.array_namespace(x).__array_namespace_info__().default_device()
    return np.asarray(array_api_compat.to_device(x, default))


def is_remote(x: Any) -> bool:
    """True for an array on a device whose memory NumPy does not read."""
    if not is_foreign(x) or isinstance(x, np.ndarray):
        return False
    if array_api_compat.is_torch_array(x):
        return bool(x.device.type != "cpu")
    if array_api_compat.is_cupy_array(x):
        return True
    default = array_api_compat.array_namespace(x).__array_namespace_info__().default_device()
    return default is not None and array_api_compat.device(x) != default


def like(x: Any, ref: Any) -> Any:
    """x in the library and on the device of ref; floats also take ref's float type."""
    if type(x) is np.ndarray and type(ref) is np.ndarray and x.dtype == ref.dtype:
        return x
    xp = namespace(ref)
    dtype = getattr(ref, "dtype", None)
    if xp is numpy_namespace:
        x = to_numpy(x)
        floats = x.dtype.kind == "f" and dtype is not None and np.dtype(dtype).kind == "f"
        return x.astype(dtype, copy=False) if floats else x
    device = array_api_compat.device(ref)
    if not is_foreign(x) or namespace(x) is not xp:
        x = xp.asarray(np.ascontiguousarray(to_numpy(x)), device=device)
    else:
        x = array_api_compat.to_device(x, device)
    floats = xp.isdtype(x.dtype, "real floating") and xp.isdtype(dtype, "real floating")
    return xp.astype(x, dtype, copy=False) if floats else x


def float_dtype(X: Any, xp: Any) -> Any:
    """The float type X is worked in: float32 stays, everything else is float64."""
    return xp.float32 if getattr(X, "dtype", None) == xp.float32 else sum_dtype(X, xp)


def sum_dtype(X: Any, xp: Any) -> Any:
    """The float type sums over rows of X are kept in: float64 wherever the device has it."""
    if xp is numpy_namespace:
        return xp.float64
    device = array_api_compat.device(X)
    key = (xp.__name__, str(device))  # CuPy's devices have no hash
    if key not in _WIDEST:
        floats = xp.__array_namespace_info__().dtypes(device=device, kind="real floating")
        _WIDEST[key] = floats.get("float64", xp.float32)
    return _WIDEST[key]


def wide_enough(block: Any, *parameters: Any) -> Any:
    """The rows, in float64 if float32 cannot multiply with the parameters and stay in range."""
    if "float32" not in str(block.dtype) or all(map(_is_moderate, parameters)):
        return block
    if is_sparse(block):
        return block.astype(np.float64)
    xp = namespace(block)
    return xp.astype(block, sum_dtype(block, xp))


def as_type_of_block(found: Any, block: Any, wide: Any) -> Any:
    """What was found from wide rows, in the type of the block they were made from."""
    return found if wide is block else namespace(found).astype(found, block.dtype)


def _is_moderate(parameter: Any) -> bool:
    xp = namespace(parameter)
    return math.prod(parameter.shape) == 0 or float(xp.max(xp.abs(parameter))) < MODERATE


_WIDEST: dict[tuple[str, str], Any] = {}
