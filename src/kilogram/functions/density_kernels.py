"""Kernels that are densities: profile, normalising constant, draws.

With u = (x - y) / h, r = |u| and V_d the volume of the unit ball of d dimensions,

    gaussian      exp(-r^2 / 2)          integral  (2 pi)^(d/2)
    exponential   exp(-r)                          d! V_d
    tophat        1           r < 1                V_d
    epanechnikov  1 - r^2     r < 1                2 V_d / (d + 2)
    linear        1 - r       r < 1                V_d / (d + 1)
    cosine        cos(pi r/2) r < 1                d V_d int_0^1 r^(d-1) cos(pi r/2) dr

The last integral is taken by Gauss's rule, exact to rounding in any dimension; a recursion in d
loses its digits as d grows (and scikit-learn's ends on the wrong term for even d: in two columns
its cosine densities integrate to 0.36). The product of d one-dimensional kernels has the
product of their integrals. Directions are uniform; of r^(d-1) times a profile the radius is


    tophat  U^(1/d)      epanechnikov  r^2 ~ Beta(d/2, 2)      linear  r ~ Beta(d, 2)
    exponential  r ~ Gamma(d)     cosine  Beta(d, 2), kept with odds cos(pi r/2) / (pi (1-r)/2)
"""

from __future__ import annotations

from math import exp, lgamma, log, pi
from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace

KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")
COMPACT = ("tophat", "epanechnikov", "linear", "cosine")


def profile(kind: str, t: Any) -> Any:
    """k as a function of t = |u|^2, in the library of t."""
    xp = namespace(t)
    if kind == "gaussian":
        return xp.exp(-0.5 * t)
    if kind == "exponential":
        return xp.exp(-xp.sqrt(t))
    inside = xp.where(t < 1.0, t, xp.ones_like(t))
    value = {
        "tophat": xp.ones_like,
        "epanechnikov": lambda s: 1.0 - s,
        "linear": lambda s: 1.0 - xp.sqrt(s),
        "cosine": lambda s: xp.cos(0.5 * pi * xp.sqrt(s)),
    }[kind](inside)
    return xp.where(t < 1.0, value, xp.zeros_like(t))


def log_profile(kind: str, t: Any) -> Any:
    """log k for the two kernels that reach everywhere, which underflow far away."""
    return -0.5 * t if kind == "gaussian" else -namespace(t).sqrt(t)


def log_ball(d: int) -> float:
    """log V_d = d/2 log pi - log Gamma(d/2 + 1)."""
    return 0.5 * d * log(pi) - lgamma(0.5 * d + 1)


def log_integral(kind: str, d: int, *, product: bool = False) -> float:
    """log of the integral of k over R^d; the density divides by it and by h^d."""
    if product:
        return d * log_integral(kind, 1)
    if kind == "gaussian":
        return 0.5 * d * log(2 * pi)
    if kind == "cosine":
        return log(d) + log_ball(d) + log(_cosine_moment(d))
    factor = {
        "exponential": lgamma(d + 1),
        "tophat": 0.0,
        "epanechnikov": log(2 / (d + 2)),
        "linear": -log(d + 1),
    }[kind]
    return log_ball(d) + factor


def _cosine_moment(d: int) -> float:
    """int_0^1 r^(d-1) cos(pi r/2) dr."""
    x, weights = np.polynomial.legendre.leggauss(d // 2 + 16)
    r = 0.5 * (x + 1)
    return float(0.5 * np.sum(weights * r ** (d - 1) * np.cos(0.5 * pi * r)))


def draws(kind: str, m: int, d: int, rng: Any, *, product: bool = False) -> np.ndarray:
    """m points u drawn from the kernel, (m, d)."""
    if kind == "gaussian":
        return rng.standard_normal((m, d))
    if product:
        return draws(kind, m * d, 1, rng).reshape(m, d)
    direction = rng.standard_normal((m, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * _radii(kind, m, d, rng)[:, None]


def _radii(kind: str, m: int, d: int, rng: Any) -> np.ndarray:
    if kind == "tophat":
        return rng.random(m) ** (1.0 / d)
    if kind == "epanechnikov":
        return np.sqrt(rng.beta(0.5 * d, 2.0, m))
    if kind == "linear":
        return rng.beta(d, 2.0, m)
    if kind == "exponential":
        return rng.gamma(d, size=m)
    found = np.empty(0)
    while len(found) < m:
        r = rng.beta(d, 2.0, 2 * (m - len(found)) + 8)
        keep = rng.random(len(r)) * 0.5 * pi * (1 - r) <= np.cos(0.5 * pi * r)
        found = np.concatenate([found, r[keep]])
    return found[:m]


def scott(n: float, d: int) -> float:
    """n^(-1/(d + 4)), for columns of unit variance."""
    return n ** (-1.0 / (d + 4))


def silverman(n: float, d: int) -> float:
    """(n (d + 2) / 4)^(-1/(d + 4)), for columns of unit variance."""
    return exp(-log(n * (d + 2) / 4.0) / (d + 4))
