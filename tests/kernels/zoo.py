"""Kernels to test, each with its formula for two rows, in plain NumPy."""

from __future__ import annotations

import math

import numpy as np

from kilogram.kernels import (
    AdditiveChi2,
    AllSubsets,
    Chi2,
    Cosine,
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)


def _r(x, y):
    return float(np.sqrt(np.sum((x - y) ** 2)))


def _chi2(x, y):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)


def _matern(nu, scale):
    def k(x, y):
        r = math.sqrt(2 * nu) * _r(x, y) / scale
        poly = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[nu]
        return poly * math.exp(-r)

    return k


def _manhattan(x, y):
    return float(np.abs(x - y).sum())


FORMULAS = {
    "linear": (Linear(), lambda x, y: x @ y),
    "polynomial": (Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * x @ y + 2.0) ** 3),
    "polynomial_default": (Polynomial(2), lambda x, y: (x @ y / len(x) + 1) ** 2),
    "homogeneous": (Polynomial(2, gamma=1.0, coef0=0.0), lambda x, y: (x @ y) ** 2),
    "all_subsets": (AllSubsets(), lambda x, y: np.prod(1 + x * y)),
    "gaussian_sigma": (Gaussian(1.3), lambda x, y: math.exp(-(_r(x, y) ** 2) / (2 * 1.3**2))),
    "gaussian_gamma": (Gaussian(gamma=0.7), lambda x, y: math.exp(-0.7 * _r(x, y) ** 2)),
    "gaussian_default": (Gaussian(), lambda x, y: math.exp(-(_r(x, y) ** 2) / len(x))),
    "laplacian": (Laplacian(gamma=0.4), lambda x, y: math.exp(-0.4 * _manhattan(x, y))),
    "laplacian_sigma": (Laplacian(2.0), lambda x, y: math.exp(-_manhattan(x, y) / 2.0)),
    "matern12": (Matern(0.5, 1.7), _matern(0.5, 1.7)),
    "matern32": (Matern(1.5, 1.7), _matern(1.5, 1.7)),
    "matern52": (Matern(2.5, 0.8), _matern(2.5, 0.8)),
    "rational_quadratic": (
        RationalQuadratic(1.5, alpha=0.6),
        lambda x, y: (1 + _r(x, y) ** 2 / (2 * 0.6 * 1.5**2)) ** -0.6,
    ),
    "chi2": (Chi2(gamma=0.5), lambda x, y: math.exp(-0.5 * _chi2(x, y))),
    "cosine": (Cosine(), lambda x, y: x @ y / math.sqrt((x @ x) * (y @ y))),
    "callable": (FromCallable(lambda x, y: float(x[0] * y[0])), lambda x, y: x[0] * y[0]),
    "sum": (
        Gaussian(1.0) + Linear(),
        lambda x, y: math.exp(-(_r(x, y) ** 2) / 2) + x @ y,
    ),
    "product": (
        Gaussian(1.0) * Polynomial(2, gamma=1.0),
        lambda x, y: math.exp(-(_r(x, y) ** 2) / 2) * (x @ y + 1) ** 2,
    ),
    "scaled": (2.5 * Matern(0.5), lambda x, y: 2.5 * math.exp(-_r(x, y))),
    "on_columns": (
        OnColumns(Gaussian(1.0), [0, 2]) * OnColumns(Linear(), [-1]),
        lambda x, y: math.exp(-((x[0] - y[0]) ** 2 + (x[2] - y[2]) ** 2) / 2) * x[-1] * y[-1],
    ),
}

# useful functions of two rows that are no kernels in the strict sense
INDEFINITE = {
    "sigmoid": (Sigmoid(gamma=0.3, coef0=0.5), lambda x, y: math.tanh(0.3 * x @ y + 0.5)),
    "additive_chi2": (AdditiveChi2(), lambda x, y: -_chi2(x, y)),
}

ALL = FORMULAS | INDEFINITE
NEEDS_NONNEGATIVE = {"chi2", "additive_chi2"}


def rows(name: str, n: int, d: int = 4, seed: int = 0) -> np.ndarray:
    """Random rows in the kernel's domain."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return np.abs(X) if name in NEEDS_NONNEGATIVE else X


def naive(formula, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The Gram matrix by two loops."""
    return np.asarray([[formula(x, y) for y in Y] for x in X])
