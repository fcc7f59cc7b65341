"""Lengths, angles and correlation of vectors.

norm       (sum_i |v_i|^p)^(1/p)                       p >= 1
cosine     <v, w> / (|v| |w|)                          0 if one of them is zero
angle      arccos of the cosine, in radians
pearson    the cosine of the centred vectors           0 if one of them is constant
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import namespace


def norm(v: Any, p: float = 2.0) -> Any:
    """The p-norm of a vector."""
    if p < 1:
        raise ValueError(f"below p = 1 the triangle inequality fails; got p = {p}")
    xp = namespace(v)
    largest = xp.max(xp.abs(v))
    if float(largest) == 0.0:
        return largest
    return largest * xp.sum((xp.abs(v) / largest) ** p) ** (1.0 / p)  # no overflow on the way


def cosine(v: Any, w: Any) -> Any:
    """The cosine of the angle between two vectors, within [-1, 1] whatever the rounding."""
    xp = namespace(v, w)
    lengths = norm(v) * norm(w)
    if float(lengths) == 0.0:
        return lengths
    return xp.clip(xp.sum(v * w) / lengths, -1.0, 1.0)


def angle(v: Any, w: Any) -> Any:
    """The angle between two vectors, in radians."""
    return namespace(v, w).acos(cosine(v, w))


def pearson(v: Any, w: Any) -> Any:
    """The correlation of two vectors."""
    xp = namespace(v, w)
    return cosine(v - xp.mean(v), w - xp.mean(w))
