"""Losses of robust regression: the derivative (influence) of a residual is clipped.

    h(r) = max over low <= a <= high of  a r - kappa a^2 / 2,      a = clip(r / kappa, low, high)

a is the derivative of h, the influence of the row, between `low` and `high`. Within the band h is
r^2 / (2 kappa), beyond it linear.

    Huber         low, high = -2 eps, 2 eps; kappa = sigma / 2       r^2 / sigma, then 2 eps |r|
    pinball       low, high = q - 1, q; kappa = 0                    q r for r > 0, (q - 1) r below
    absolute      the pinball with q = 1/2, twice

As kappa goes to 0 h grows to max(low r, high r), which it never exceeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import namespace


@dataclass(frozen=True)
class ClippedLoss:
    """Bounds of the influence and the width kappa of the quadratic piece."""

    low: float
    high: float
    kappa: float

    def pull(self, r: Any) -> Any:
        """a = h'(r)."""
        return namespace(r).clip(r / self.kappa, self.low, self.high)

    def value(self, r: Any) -> Any:
        """h(r)."""
        a = self.pull(r)
        return a * (r - 0.5 * self.kappa * a)
