"""Representations of results that fit on a line: numbers to four digits, long arrays by shape."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

#: Arrays and sequences of more entries than this are shown by their size: six fit a cell of a
#: table.
SHOWN = 6


class ShortRepr:
    """A mixin for results (`@dataclass(repr=False)`) whose arrays would fill the screen.

    `shown` names what is printed; empty, it is all fields.
    """

    shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = self.shown or tuple(field.name for field in fields(self))  # type: ignore[arg-type]
        parts = (f"{name}={short(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({', '.join(parts)})"


def short(value: Any) -> str:
    """One value of a result as text."""
    if isinstance(value, np.ndarray) and value.size > SHOWN:
        return f"<array {' x '.join(map(str, value.shape))}>"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ")
    if isinstance(value, tuple) and len(value) > SHOWN // 2:
        return f"<{len(value)} {type(value[0]).__name__}>"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
