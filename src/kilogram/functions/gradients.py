"""Gradient check: a gradient written by hand against central differences of its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

STEP = float(np.finfo(np.float64).eps) ** (1 / 3)  # balances truncation and rounding


@dataclass(frozen=True, eq=False)
class GradientCheck:
    """The result of `check_gradient`.

    Attributes
    ----------
    error : float
        Largest |analytic - numeric|, divided by the largest entry of either (at least 1).
    analytic, numeric : ndarray of the shape of x
    worst : tuple of int
        Where they differ most.
    """

    error: float
    analytic: np.ndarray
    numeric: np.ndarray
    worst: tuple[int, ...]

    def __str__(self) -> str:
        a, b = self.analytic[self.worst], self.numeric[self.worst]
        place = ", ".join(map(str, self.worst))
        return f"relative error {self.error:.1e}; at [{place}] {a:.6g} against {b:.6g}"


def check_gradient(
    f: Callable[[np.ndarray], Any], gradient: Callable[[np.ndarray], Any], x: Any
) -> GradientCheck:
    """Compare a gradient with central differences (f(x + h e_j) - f(x - h e_j)) / 2h.

    A right gradient agrees to about 1e-8 where f has no kink near x; a wrong sign or factor gives
    an error near 1. Two evaluations of f for each entry of x.

    Parameters
    ----------
    f : callable
        Function of an array, returning a number.
    gradient : callable
        Function of x, returning an array of the shape of x.
    x : array-like
        Array of any shape.

    Returns
    -------
    GradientCheck
        With `error`, `analytic`, `numeric` and `worst`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import check_gradient
    >>> check_gradient(lambda x: np.sum(x**3), lambda x: 3 * x**2, [1.0, -2.0]).error < 1e-8
    True
    >>> check_gradient(lambda x: np.sum(x**3), lambda x: 2 * x**2, [1.0, -2.0]).error > 0.1
    True
    """
    x = np.array(x, dtype=np.float64)
    if x.size == 0 or not np.isfinite(x).all():
        raise ValueError("x must have at least one entry, all of them finite.")
    analytic = np.asarray(gradient(x.copy()), dtype=np.float64)
    if analytic.shape != x.shape:
        raise ValueError(f"gradient(x) has the shape {analytic.shape}, x has {x.shape}.")
    numeric = np.empty_like(x)
    for place in np.ndindex(x.shape):
        h = STEP * max(abs(float(x[place])), 1.0)
        ahead, behind = x.copy(), x.copy()
        ahead[place] += h
        behind[place] -= h
        numeric[place] = (float(f(ahead)) - float(f(behind))) / (ahead[place] - behind[place])
    off = np.abs(analytic - numeric)
    off = np.where(np.isfinite(off), off, np.inf)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), off.shape))
    scale = max(1.0, float(np.abs(numeric).max()), float(np.abs(analytic).max()))
    return GradientCheck(float(off[worst] / scale), analytic, numeric, worst)
