"""Losses of a linear predictor z, row by row: value, derivatives and the dual.

    squared_error    (y - z)^2 / 2
    huber            r^2 / 2 up to |r| = eps, then eps |r| - eps^2 / 2            r = y - z
    poisson          exp(z) - y z                                                 y >= 0
    gamma            z + y exp(-z)                                                y > 0
    logistic         log(1 + exp(-y z))                                           y = +-1
    squared_hinge    max(0, 1 - y z)^2                                            y = +-1

`dual(y, t)` is min_z loss(y, z) + t z: minus the conjugate of the loss at -t. At t = -dloss/dz the
minimum is at z. It is finite for every t between 0 and such a derivative. `dual(y, 0)` is the loss
of a perfect prediction.

Where huber and squared_hinge have no curvature, SLIGHT of the largest is used: Newton's step stays
defined, and almost the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, xlogy

from kilogram.functions.deviances import DevianceTerms

Array = np.ndarray[Any, np.dtype[Any]]

SLIGHT = 1e-3  # any small fraction: it changes the path of Newton's method, not its end


class PredictorLoss(Protocol):
    """The interface of a loss for the solvers."""

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        """Of every row: the loss, its derivative in z, and its curvature, which is positive."""

    def value(self, y: Array, z: Array) -> Array:
        """The loss of every row."""

    def dual(self, y: Array, t: Array) -> Array:
        """min_z loss + t z."""

    def predictor(self, mean: float) -> float:
        """A z for rows whose mean target is `mean`, to start from."""


@dataclass(frozen=True)
class SquaredError:
    """The normal model."""

    def value(self, y: Array, z: Array) -> Array:
        return np.asarray(0.5 * (z - y) ** 2)

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        r = z - y
        return DevianceTerms(0.5 * r**2, r, np.ones_like(z))

    def dual(self, y: Array, t: Array) -> Array:
        return t * y - 0.5 * t**2

    def predictor(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Huber:
    """Squared up to epsilon, linear beyond: outliers pull with a bounded force."""

    epsilon: float = 1.35

    def value(self, y: Array, z: Array) -> Array:
        size = np.abs(z - y)
        bend = np.minimum(size, self.epsilon)
        return np.asarray(bend * (size - 0.5 * bend))

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        r = z - y
        pull = np.clip(r, -self.epsilon, self.epsilon)
        curvature = np.where(pull == r, 1.0, SLIGHT)
        return DevianceTerms(pull * (r - 0.5 * pull), pull, curvature)

    def dual(self, y: Array, t: Array) -> Array:
        return t * y - 0.5 * t**2

    def predictor(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Poisson:
    """Counts with the log link."""

    def value(self, y: Array, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z) - y * z)

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        with np.errstate(over="ignore"):
            mu = np.exp(z)
        return DevianceTerms(mu - y * z, mu - y, mu)

    def dual(self, y: Array, t: Array) -> Array:
        mu = np.maximum(y - t, 0.0)
        return np.asarray(mu - xlogy(mu, mu))

    def predictor(self, mean: float) -> float:
        return float(np.log(mean))


@dataclass(frozen=True)
class Gamma:
    """Positive amounts with the log link: errors in proportion to the mean."""

    def value(self, y: Array, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(z + y * np.exp(-z))

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        with np.errstate(over="ignore"):
            ratio = y * np.exp(-z)
        return DevianceTerms(z + ratio, 1.0 - ratio, np.maximum(ratio, SLIGHT))

    def dual(self, y: Array, t: Array) -> Array:
        ratio = np.maximum(1.0 + t, 0.0)
        return np.asarray(ratio + xlogy(ratio, y) - xlogy(ratio, ratio))

    def predictor(self, mean: float) -> float:
        return float(np.log(mean))


@dataclass(frozen=True)
class Logistic:
    """Log-odds of two classes, y = +-1."""

    def value(self, y: Array, z: Array) -> Array:
        return np.logaddexp(0.0, -y * z)

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        m = y * z
        wrong = expit(-m)
        return DevianceTerms(
            np.maximum(-m, 0.0) + np.log1p(np.exp(-np.abs(m))), -y * wrong, wrong * (1.0 - wrong)
        )

    def dual(self, y: Array, t: Array) -> Array:
        a = np.clip(y * t, 0.0, 1.0)
        return np.asarray(-xlogy(a, a) - xlogy(1 - a, 1 - a))

    def predictor(self, mean: float) -> float:
        return float(np.log((1 + mean) / (1 - mean))) if abs(mean) < 1 else float(np.sign(mean))


@dataclass(frozen=True)
class SquaredHinge:
    """Margins of at least 1 cost nothing; y = +-1."""

    def value(self, y: Array, z: Array) -> Array:
        return np.asarray(np.maximum(1.0 - y * z, 0.0) ** 2)

    def terms(self, y: Array, z: Array) -> DevianceTerms:
        m = np.maximum(1.0 - y * z, 0.0)
        return DevianceTerms(m**2, -2.0 * y * m, np.where(m > 0, 2.0, 2.0 * SLIGHT))

    def dual(self, y: Array, t: Array) -> Array:
        a = np.maximum(y * t, 0.0)
        return a - 0.25 * a**2

    def predictor(self, mean: float) -> float:
        return mean
