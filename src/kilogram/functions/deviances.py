"""Deviances of the Tweedie family: mean mu, variance phi mu^power, mu a function of the predictor.

    power 0   normal          half deviance  (y - mu)^2 / 2
    power 1   Poisson                        mu - y log mu                       + const(y)
    power 2   gamma                          log mu + y / mu                     + const(y)
    else      1 < power < 2 has mass at 0    mu^(2-p) / (2-p) - y mu^(1-p) / (1-p)  + const(y)

    link      log: mu = exp(z);  identity: mu = z
    dloss/dz  (mu - y) mu' / mu^p              Fisher information  mu'^2 / mu^p

With the log link and 1 <= power <= 2 the loss is convex in z and its second derivative is used;
elsewhere the Fisher information, which is never negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

Array = np.ndarray[Any, np.dtype[Any]]


class DevianceTerms(NamedTuple):
    """Of every row: the loss, its derivative in the predictor z, and its curvature."""

    loss: Array
    gradient: Array
    curvature: Array


@dataclass(frozen=True)
class Tweedie:
    """A power of the variance and a link, "log" or "identity"."""

    power: float
    link: str = "log"

    def mean(self, z: Any) -> Any:
        """mu of the predictor."""
        return np.exp(z) if self.link == "log" else z

    def predictor(self, mu: float) -> float:
        """z of a mean."""
        return float(np.log(mu)) if self.link == "log" else mu

    def accepts(self, y: Array) -> bool:
        """Whether all targets are possible: any at power <= 0, y >= 0 below 2, else y > 0."""
        if self.power <= 0:
            return True
        return bool((y >= 0).all() if self.power < 2 else (y > 0).all())

    def terms(self, y: Array, z: Array, *, fisher: bool = False) -> DevianceTerms:
        """Loss without its constants, gradient and curvature; infinite where mu is impossible."""
        p, mu = self.power, self.mean(z)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = mu if self.link == "log" else np.ones_like(mu)
            pull = (mu - y) * slope * mu**-p
            curvature = slope**2 * mu**-p
            if self.link == "log" and 1 <= p <= 2 and not fisher:
                curvature = (2 - p) * mu ** (2 - p) - (1 - p) * y * mu ** (1 - p)
            loss = self._loss(y, mu, z)
        if self.link == "identity" and p != 0:
            loss = np.where(mu > 0, loss, np.inf)
        return DevianceTerms(loss, pull, curvature)

    def _loss(self, y: Array, mu: Array, z: Array) -> Array:
        p, log = self.power, z if self.link == "log" else np.log(mu)
        if p == 0:
            return np.asarray(0.5 * (mu - y) ** 2)
        if p == 1:
            return np.asarray(mu - y * log)
        if p == 2:
            return np.asarray(log + y / mu)
        return np.asarray(mu ** (2 - p) / (2 - p) - y * mu ** (1 - p) / (1 - p))

    def deviance(self, y: Array, mu: Array) -> Array:
        """The unit deviance of every row, 0 where mu = y."""
        p = self.power
        if p == 0:
            return np.asarray((y - mu) ** 2)
        if p == 1:
            return np.asarray(2 * (xlogy(y, y / mu) - y + mu))
        if p == 2:
            return np.asarray(2 * (np.log(mu / y) + y / mu - 1))
        own = np.maximum(y, 0.0) ** (2 - p) / ((1 - p) * (2 - p))
        return np.asarray(2 * (own - y * mu ** (1 - p) / (1 - p) + mu ** (2 - p) / (2 - p)))
