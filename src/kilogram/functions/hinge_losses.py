"""Piecewise quadratic losses of support vector machines, in the margin violation m of a row.

    classification    m = 1 - y f          sign s = y           (y = +-1)
    regression        m = |y - f| - eps    sign s = sign(y - f)

    loss(m) = 0                            m <= 0
              kappa m^2 / 2                0 < m < width        the bend
              kappa width (m - width/2)    m >= width           the slope

    squared hinge             kappa = 2, width = inf
    hinge, smoothed           kappa = 1 / width; as width -> 0 it is the hinge, max(0, m)

The smoothed hinge lies below the hinge by width / 2 at most. Its derivative in -f is s a with
a = min(kappa max(m, 0), kappa width): a point of the dual, whence the duality gap.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from kilogram.arrays.namespace import namespace


def positive(m: Any) -> Any:
    """max(0, m), exactly, by operators alone: fastest on few rows."""
    return 0.5 * (m + abs(m))


@dataclass(frozen=True)
class PiecewiseQuadraticLoss(ABC):
    """A loss of m: quadratic of curvature kappa up to `width`, then linear."""

    kappa: float = 2.0
    width: float = math.inf

    @abstractmethod
    def excess(self, y: Any, f: Any) -> Any:
        """m of every row."""

    @abstractmethod
    def sign(self, y: Any, f: Any) -> Any:
        """s of every row: the direction in which f lowers the loss."""

    @abstractmethod
    def target_on(self, y: Any, side: Any) -> Any:
        """The target of the quadratic piece on this side (+-1): its slope is kappa (target - f)."""

    @abstractmethod
    def gain(self, y: Any, f: Any, a: Any) -> Any:
        """The term of a dual value a on the side s in the dual objective: a s y - eps a."""

    def value(self, y: Any, f: Any) -> Any:
        """The loss of every row."""
        m = positive(self.excess(y, f))
        if math.isinf(self.width):
            return 0.5 * self.kappa * m * m
        bend = namespace(y, f).clip(m, None, self.width)
        return self.kappa * bend * (m - 0.5 * bend)

    def limit(self, y: Any, f: Any) -> Any:
        """The unsmoothed loss: itself, or the hinge that it approximates."""
        if math.isinf(self.width):
            return self.value(y, f)
        return positive(self.excess(y, f))

    def pull(self, y: Any, f: Any) -> Any:
        """a >= 0, the size of the derivative."""
        a = positive(self.kappa * self.excess(y, f))
        return (
            a if math.isinf(self.width) else namespace(y, f).clip(a, None, self.kappa * self.width)
        )

    def is_quadratic(self, y: Any, f: Any) -> Any:
        """Which rows are on the quadratic piece, where the loss has curvature."""
        m = self.excess(y, f)
        return (m > 0) & (m < self.width)

    def slopes(self, y: Any, f: Any) -> Any:
        """Which rows are on the linear piece."""
        return self.excess(y, f) >= self.width

    def smoothed(self, width: float) -> Self:
        """The hinge smoothed over this width."""
        return replace(self, kappa=1.0 / width, width=width)


@dataclass(frozen=True)
class Hinge(PiecewiseQuadraticLoss):
    """Classification of y = +-1."""

    def excess(self, y: Any, f: Any) -> Any:
        return 1.0 - y * f

    def sign(self, y: Any, f: Any) -> Any:
        return y

    def target_on(self, y: Any, side: Any) -> Any:
        return y

    def gain(self, y: Any, f: Any, a: Any) -> Any:
        return a


@dataclass(frozen=True)
class Tube(PiecewiseQuadraticLoss):
    """Regression with a tube of half-width epsilon."""

    epsilon: float = 0.0

    def excess(self, y: Any, f: Any) -> Any:
        return namespace(y, f).abs(y - f) - self.epsilon

    def sign(self, y: Any, f: Any) -> Any:
        return namespace(y, f).sign(y - f)

    def target_on(self, y: Any, side: Any) -> Any:
        return y - self.epsilon * side

    def gain(self, y: Any, f: Any, a: Any) -> Any:
        return a * (self.sign(y, f) * y - self.epsilon)
