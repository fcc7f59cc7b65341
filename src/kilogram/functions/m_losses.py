"""Losses of M-estimators, by the weight, the loss and the slope of a standardised residual z.

    psi = rho',  weight = psi / z,  slope = psi',  psi(z) ~ z near 0

name        psi(z)                                   rho
huber       clip(z, -c, c)                           unbounded
cauchy      z / (1 + (z/c)^2)                        unbounded
biweight    z (1 - (z/c)^2)^2 to c, then 0           bounded (Tukey)
welsch      z exp(-(z/c)^2)                          bounded
andrews     c sin(z/c) to pi c, then 0               bounded
hampel      z to 1.5 c, flat to 3.5 c, 0 from 8 c    bounded

c is chosen for an efficiency at normal errors, (E psi')^2 / E psi^2, or, of a bounded loss, for a
breakdown point, E rho / max rho. E psi' = E z psi for normal z, which needs no derivative.

References: Huber 1981; Hampel et al. 1986; Maronna, Martin and Yohai 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

Array = np.ndarray
GRID = np.linspace(0.0, 12.0, 48_001)  # half of a normal density; kinks cost 1e-8 at this width
HAMPEL = (1.5, 3.5, 8.0)
MAD = 1.482602218505602  # 1 / Phi^-1(3/4): standard deviation of a normal by its median deviation


@dataclass(frozen=True)
class MLoss:
    """One loss: functions of |z| and c; `top(c)` is max rho, None where rho is unbounded."""

    name: str
    weight: Callable[[Array, float], Array]
    rho: Callable[[Array, float], Array]
    slope: Callable[[Array, float], Array]
    top: Callable[[float], float] | None = None

    @property
    def bounded(self) -> bool:
        return self.top is not None

    def relative(self, z: Array, c: float) -> Array:
        """rho / max rho."""
        if self.top is None:
            raise ValueError(f"loss {self.name!r} is unbounded: it has no relative value.")
        return self.rho(np.abs(z), c) / self.top(c)


def _huber_rho(z: Array, c: float) -> Array:
    a = np.minimum(z, c)
    return a * (z - 0.5 * a)


def _biweight_rho(z: Array, c: float) -> Array:
    return c * c / 6.0 * (1.0 - np.maximum(1.0 - (z / c) ** 2, 0.0) ** 3)


def _biweight_slope(z: Array, c: float) -> Array:
    u = (z / c) ** 2
    return np.maximum(1.0 - u, 0.0) * (1.0 - 5.0 * u)


def _andrews_rho(z: Array, c: float) -> Array:
    return c * c * (1.0 - np.cos(np.minimum(z / c, np.pi)))


def _hampel_psi(z: Array, c: float) -> Array:
    a, b, far = (c * k for k in HAMPEL)
    return np.minimum(np.minimum(z, a), a * np.maximum(far - z, 0.0) / (far - b))


def _hampel_rho(z: Array, c: float) -> Array:
    a, b, far = (c * k for k in HAMPEL)
    t = np.clip(z, b, far) - b
    flat = a * (np.clip(z, a, b) - a)
    return 0.5 * np.minimum(z, a) ** 2 + flat + a * (t - 0.5 * t * t / (far - b))


def _hampel_slope(z: Array, c: float) -> Array:
    a, b, far = (c * k for k in HAMPEL)
    return np.where(z <= a, 1.0, 0.0) - np.where((z > b) & (z < far), a / (far - b), 0.0)


def _ratio(psi: Array, z: Array) -> Array:
    return np.where(z > 0, psi / np.maximum(z, 1e-300), 1.0)


LOSSES: dict[str, MLoss] = {
    loss.name: loss
    for loss in (
        MLoss(
            "huber",
            lambda z, c: np.minimum(1.0, c / np.maximum(z, 1e-300)),
            _huber_rho,
            lambda z, c: np.where(z <= c, 1.0, 0.0),
        ),
        MLoss(
            "cauchy",
            lambda z, c: 1.0 / (1.0 + (z / c) ** 2),
            lambda z, c: 0.5 * c * c * np.log1p((z / c) ** 2),
            lambda z, c: (1.0 - (z / c) ** 2) / (1.0 + (z / c) ** 2) ** 2,
        ),
        MLoss(
            "biweight",
            lambda z, c: np.maximum(1.0 - (z / c) ** 2, 0.0) ** 2,
            _biweight_rho,
            _biweight_slope,
            lambda c: c * c / 6.0,
        ),
        MLoss(
            "welsch",
            lambda z, c: np.exp(-((z / c) ** 2)),
            lambda z, c: -0.5 * c * c * np.expm1(-((z / c) ** 2)),
            lambda z, c: (1.0 - 2.0 * (z / c) ** 2) * np.exp(-((z / c) ** 2)),
            lambda c: 0.5 * c * c,
        ),
        MLoss(
            "andrews",
            lambda z, c: np.where(z < np.pi * c, np.sinc(z / (np.pi * c)), 0.0),
            _andrews_rho,
            lambda z, c: np.where(z < np.pi * c, np.cos(z / c), 0.0),
            lambda c: 2.0 * c * c,
        ),
        MLoss(
            "hampel",
            lambda z, c: _ratio(_hampel_psi(z, c), z),
            _hampel_rho,
            _hampel_slope,
            lambda c: float(_hampel_rho(np.array(HAMPEL[2] * c), c)),
        ),
    )
}


def _expected(values: Array) -> float:
    """The mean of an even function of a standard normal variable."""
    density = np.exp(-0.5 * GRID**2) * np.sqrt(2.0 / np.pi)
    return float(np.trapezoid(values * density, GRID))


def efficiency(name: str, c: float) -> float:
    """The asymptotic efficiency at normal errors, relative to least squares."""
    psi = GRID * LOSSES[name].weight(GRID, c)
    return _expected(GRID * psi) ** 2 / _expected(psi * psi)


@cache
def constant_of_efficiency(name: str, value: float) -> float:
    """c of this efficiency, in (0.65, 1): below, the losses have no efficiency to choose."""
    return float(brentq(lambda c: efficiency(name, c) - value, 0.05, 30.0, xtol=1e-12))


@cache
def constant_of_breakdown(name: str, value: float) -> float:
    """c of a bounded loss with E rho / max rho = value: S-estimators break down there."""
    loss = LOSSES[name]
    return float(
        brentq(lambda c: _expected(loss.relative(GRID, c)) - value, 0.02, 30.0, xtol=1e-12)
    )
