"""Least angles: the piecewise linear path of the lasso, from knot to knot.

    G_AA move = signs      the direction in which all active |correlations| fall alike
    lambda                 that common |correlation|; it falls to the next event:
        a column outside reaches lambda and enters,
        a coefficient reaches 0 and leaves (lasso only),
        lambda reaches its end

A column that depends on the active ones is passed over until one of them leaves.

References: Efron, Hastie, Johnstone and Tibshirani 2004; Osborne, Presnell and Turlach 2000.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.pursuit.active_columns import ActiveColumns

Array = np.ndarray[Any, np.dtype[Any]]

#: Steps below this part of the first lambda are ties, up to rounding (4 500 eps): two events at one
#: place.
TIE = 1e-12


@dataclass(frozen=True)
class LarsOptions:
    """Lasso or plain least angles, signs, where the path ends."""

    lasso: bool = True
    positive: bool = False
    alpha_min: float = 0.0
    max_iter: int = 500


@dataclass
class LarsPath:
    """Knots: their lambdas, the coefficients (p,) there; and the last active set."""

    alphas: list[float]
    coefs: list[Array]
    active: list[int] = field(default_factory=list)
    n_iter: int = 0


def least_angles(design: Design, options: LarsOptions, *, keep: bool = True) -> LarsPath:
    """The path down to `alpha_min`, or `max_iter` knots; only its last knot without `keep`."""
    p = len(design.q)
    c, b = design.q.copy(), np.zeros(p)
    size = np.where(design.norms > 0, c if options.positive else np.abs(c), 0.0)
    lam = first = max(float(size.max(initial=0.0)), 0.0)
    path = LarsPath([lam], [b.copy()])
    if not lam > max(options.alpha_min, _rounding(design)):
        path.alphas[0] = max(lam, 0.0)
        return path
    active, outside = ActiveColumns(design), design.norms > 0
    left: int | None = None
    event: int | None = int(np.argmax(size))
    while path.n_iter < options.max_iter and lam > max(options.alpha_min, TIE * first):
        if event is not None:
            outside[event] = False
            if not active.add(event):
                event = _tie(c, lam, outside, left, options)
                if event is not None:
                    continue
        if not active.size:
            break
        columns = np.array(active.columns)
        move = active.solve(np.sign(c[columns]))
        fall = design.q - design.correlations(move, columns, None)[0]
        step, event, leaving = _next_event(
            c, fall, lam, b[columns], move, columns, outside, left, options
        )
        b[columns] += step * move
        c -= step * fall
        lam -= step
        c[columns] = np.sign(c[columns]) * lam if lam > 0 else 0.0
        left = None
        if leaving is not None:
            b[leaving] = 0.0
            active.remove(leaving)
            outside = design.norms > 0  # those passed over may be independent now
            outside[active.columns] = False
            left = leaving
        path.n_iter += 1
        alpha = max(lam, options.alpha_min) if lam > TIE * first else options.alpha_min
        if not keep:
            path.alphas.clear()
            path.coefs.clear()
        path.alphas.append(alpha)
        path.coefs.append(b.copy())
        if event is None and leaving is None:
            break
    path.active = list(active.columns)
    return path


def _rounding(design: Design) -> float:
    largest = float(design.norms.max(initial=0.0))
    return 16.0 * float(np.finfo(float).eps) * largest * float(np.sqrt(design.yy))


def _tie(
    c: Array, lam: float, outside: Array, left: int | None, options: LarsOptions
) -> int | None:
    """Another column that is at lambda already."""
    size = np.where(outside, c if options.positive else np.abs(c), 0.0)
    if left is not None:
        size[left] = 0.0
    j = int(np.argmax(size))
    return j if size[j] >= lam * (1 - TIE) else None


def _next_event(
    c: Array, fall: Array, lam: float, b: Array, move: Array, columns: Array, outside: Array,
    left: int | None, options: LarsOptions,
) -> tuple[float, int | None, int | None]:  # fmt: skip
    """The step to the next event, the column that enters there and the one that leaves."""
    step, enters, leaves = lam - options.alpha_min, None, None
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(fall < 1, (lam - c) / (1 - fall), np.inf)
        down = np.where(fall > -1, (lam + c) / (1 + fall), np.inf)
        zero = np.where(b * move < 0, -b / move, np.inf)
    if left is not None:  # it stands at lambda and turns away from it
        near = up if c[left] > 0 else down
        near[left] = np.inf
    entry = up if options.positive else np.minimum(up, down)
    entry = np.where(outside, np.maximum(entry, 0.0), np.inf)
    if len(entry):
        j = int(np.argmin(entry))
        if entry[j] < step * (1 - TIE):
            step, enters = float(entry[j]), j
    if options.lasso and len(zero):
        k = int(np.argmin(zero))
        if zero[k] < step:
            step, enters, leaves = float(zero[k]), None, int(columns[k])
    return step, enters, leaves
