"""The smallest entries of every row of a matrix, in the library and on the device it is in."""

from __future__ import annotations

from typing import Any

import array_api_compat

from kilogram.arrays.namespace import namespace


def smallest(D: Any, k: int) -> tuple[Any, Any]:
    """The k smallest entries of each row and their columns, (n, k), in no order.

    Which of equal entries are taken is left to the library.
    """
    xp = namespace(D)
    if array_api_compat.is_torch_array(D):
        found = xp.topk(D, k, dim=1, largest=False, sorted=False)
        return found.values, found.indices
    ordered = hasattr(xp, "argpartition") and k < D.shape[1]
    places = xp.argpartition(D, k - 1, axis=1) if ordered else xp.argsort(D, axis=1)
    places = places[:, :k]
    return xp.take_along_axis(D, places, axis=1), places


def first_smallest(D: Any, k: int) -> Any:
    """The columns (n, k), in order, of the k smallest entries of rows; of equal ones the first."""
    xp = namespace(D)
    values, _ = smallest(D, k)
    last = xp.max(values, axis=1, keepdims=True)
    less, equal = last > D, last == D
    left = k - xp.sum(xp.astype(less, xp.int64), axis=1, keepdims=True)
    order = xp.cumulative_sum(xp.astype(equal, xp.int64), axis=1)
    return xp.reshape(xp.nonzero(less | (equal & (order <= left)))[1], (D.shape[0], k))
