"""Signs of eigenvectors: an eigenvector is known up to its sign, and one rule chooses it."""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import is_numpy, namespace


def row_signs(V: Any) -> Any:
    """1 or -1 for each row of V, (k, 1): the sign of its entry of largest size."""
    xp = namespace(V)
    if V.shape[0] == 0:
        return V[:, :1]
    at = xp.argmax(xp.abs(V), axis=1)
    if is_numpy(V):  # indexing costs a tenth of `take_along_axis`
        return xp.copysign(xp.ones_like(V[:, :1]), V[xp.arange(V.shape[0]), at][:, None])
    largest = xp.take_along_axis(V, at[:, None], axis=1)
    return xp.where(largest < 0, -xp.ones_like(largest), xp.ones_like(largest))


def signed(V: Any) -> Any:
    """Vectors in rows, each with the sign that makes its largest entry positive."""
    return V * row_signs(V)
