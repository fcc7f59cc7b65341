"""Newton's method for a root of a function of one number: x <- x - f(x) / f'(x)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kilogram.functions.gradients import STEP

Function = Callable[[float], Any]


@dataclass(frozen=True)
class Root:
    """The result of `newton_root`.

    Attributes
    ----------
    x : float
        The root.
    value : float
        f(x).
    n_iter : int
        Steps.
    path : tuple of float
        x0 and the point after every step.
    """

    x: float
    value: float
    n_iter: int
    path: tuple[float, ...]


def newton_root(
    f: Function,
    x0: float,
    derivative: Function | None = None,
    *,
    bracket: tuple[float, float] | None = None,
    tol: float = 1e-12,
    max_iter: int = 100,
) -> Root:
    """Find x with f(x) = 0 by Newton's steps x <- x - f(x) / f'(x).

    Near a simple root every step doubles the number of right digits; near a multiple root the
    error only shrinks by a factor. From afar the plain steps may diverge or cycle: with a
    `bracket` they cannot: steps that leave it, or do not shrink, are replaced by bisection.

    Parameters
    ----------
    f : callable
        Function of one number, returning a number.
    x0 : float
        Starting point.
    derivative : callable, default=None
        Derivative of f; None uses central differences.
    bracket : tuple of two floats, default=None
        Numbers a < b with f(a) and f(b) of different sign; x0 must be in between.
    tol : float, default=1e-12
        Stop after a step of at most tol max(1, |x|).
    max_iter : int, default=100

    Returns
    -------
    Root
        With `x`, `value`, `n_iter`, `path`.

    Raises
    ------
    ValueError
        If f is not finite on the way, the derivative vanishes and there is no bracket, or f has the
        same sign at both ends of the bracket.
    RuntimeError
        If `max_iter` steps do not suffice.

    See Also
    --------
    check_gradient : Compares a derivative with differences.

    Examples
    --------
    >>> from kilogram import newton_root
    >>> found = newton_root(lambda x: x * x - 2, 1.0, lambda x: 2 * x)
    >>> round(found.x, 12)
    1.414213562373
    >>> [round(x, 4) for x in found.path[:4]]
    [1.0, 1.5, 1.4167, 1.4142]
    """
    x, slope = float(x0), derivative or _differences(f)
    if not math.isfinite(x):
        raise ValueError(f"x0 must be finite, got {x0!r}.")
    if not tol > 0:
        raise ValueError(f"tol must be a float greater than 0, got {tol!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1, got {max_iter!r}.")
    inside = None if bracket is None else _Bracket(f, x, bracket)
    path, value = [x], _value(f, x)
    for taken in range(max_iter):
        if value == 0.0:
            return Root(x, value, taken, tuple(path))
        ahead = _newton_point(x, value, float(slope(x)))
        if inside is not None:
            ahead = inside.restrict(x, value, ahead)
        if not math.isfinite(ahead):
            raise ValueError(
                f"The derivative at x = {x:.6g} is 0 or not finite: start elsewhere, or give a "
                "bracket."
            )
        done = abs(ahead - x) <= tol * max(1.0, abs(ahead))
        x, value = ahead, _value(f, ahead)
        path.append(x)
        if done:
            return Root(x, value, taken + 1, tuple(path))
    raise RuntimeError(
        f"No root to tol={tol:g} after {max_iter} steps; the last was x = {x:.6g} with "
        f"f(x) = {value:.3g}. Start nearer, or give a bracket."
    )


def _value(f: Function, x: float) -> float:
    value = float(f(x))
    if not math.isfinite(value):
        raise ValueError(f"f is {value} at x = {x:.6g}: start elsewhere, or give a bracket.")
    return value


def _differences(f: Function) -> Function:
    def slope(x: float) -> float:
        h = STEP * max(1.0, abs(x))
        return (float(f(x + h)) - float(f(x - h))) / ((x + h) - (x - h))

    return slope


def _newton_point(x: float, value: float, slope: float) -> float:
    """The end of Newton's step; NaN where it has none."""
    return x - value / slope if slope != 0.0 and math.isfinite(slope) else math.nan


class _Bracket:
    """Two numbers between which f changes its sign."""

    def __init__(self, f: Function, x: float, ends: tuple[float, float]):
        self.a, self.b = (float(end) for end in ends)
        low, high = float(f(self.a)), float(f(self.b))
        if not self.a <= x <= self.b:
            raise ValueError(f"x0 = {x:g} must be in the bracket ({self.a:g}, {self.b:g}).")
        if not low * high <= 0:
            raise ValueError(
                f"f must have different signs at the ends of the bracket, got {low:.3g} and "
                f"{high:.3g}."
            )
        self.rising = low < 0 or high > 0
        self.last = self.b - self.a

    def restrict(self, x: float, value: float, ahead: float) -> float:
        """`ahead`, or the middle if that is outside or more than half as far as the last step."""
        if (value < 0) == self.rising:
            self.a = x
        else:
            self.b = x
        if not (self.a < ahead < self.b and abs(ahead - x) <= self.last / 2):
            ahead = self.a + (self.b - self.a) / 2
        self.last = abs(ahead - x)
        return ahead
