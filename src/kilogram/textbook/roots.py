"""Newton's method for a root of a function of one number (summary section 4).

    x <- x - f(x) / f'(x)        the root of the tangent at x

Near a simple root the error of the next x is the square of this one's, times a constant.
"""

from __future__ import annotations

from collections.abc import Callable

from kilogram.textbook.state import States, begin


def newton_root(
    f: Callable[[float], float], derivative: Callable[[float], float], x: float, *, steps: int = 50
) -> States:
    """Follow the tangents from x until a step no longer changes it."""
    yield (s := begin("start", x=x, f=f(x)))
    for i in range(1, steps + 1):
        if s["f"] == 0:
            break
        ahead = x - float(s["f"]) / derivative(x)
        if ahead == x:
            break
        x = ahead
        yield (s := s.then(f"step {i}", x=x, f=f(x)))
    return s
