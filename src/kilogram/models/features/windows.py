"""Image windows given as flat rows of pixels."""

from __future__ import annotations

from math import isqrt
from typing import Any

from kilogram.base.constraints import Integer


def window_shape(shape: Any, d: int) -> tuple[int, int]:
    """Height and width of windows of d pixels.

    By default a square if d is a square number, else one row of pixels.
    """
    if shape is None:
        side = isqrt(d)
        return (side, side) if side * side == d else (1, d)
    sides = tuple(shape)
    if len(sides) != 2 or not all(Integer(1).accepts(side) for side in sides):
        raise ValueError(
            f"shape must be two integers of at least 1, height and width, got {shape!r}."
        )
    h, w = int(sides[0]), int(sides[1])
    if h * w != d:
        raise ValueError(
            f"shape={(h, w)} has {h * w} pixels, but X has {d} features: give windows as flat "
            "rows of height times width values."
        )
    return h, w
