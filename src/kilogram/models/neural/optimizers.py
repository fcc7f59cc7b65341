"""Steps of stochastic gradient descent on one vector of parameters: momentum, Nesterov, Adam.

    SGD     v <- mu v - eta g,   theta <- theta + v          (Nesterov: theta + mu v - eta g)
    Adam    m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2
            theta <- theta - eta sqrt(1 - b2^t) / (1 - b1^t)  m / (sqrt(v) + eps)

References: Polyak 1964; Nesterov 1983; Kingma and Ba 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, namespace

SMALLEST_RATE = 1e-6  # of the adaptive schedule: scikit-learn's bound


@dataclass
class Sgd:
    """Gradient steps with momentum; `schedule` is "constant", "invscaling" or "adaptive"."""

    velocity: Any
    learning_rate_init: float
    schedule: str
    momentum: float
    nesterov: bool
    power_t: float
    learning_rate: float = 0.0

    def __post_init__(self) -> None:
        self.learning_rate = self.learning_rate or self.learning_rate_init

    def step(self, theta: Any, grad: Any) -> None:
        """One step, written into theta; `grad` is used up."""
        grad *= -self.learning_rate
        self.velocity *= self.momentum
        self.velocity += grad
        theta += grad + self.momentum * self.velocity if self.nesterov else self.velocity

    def end_epoch(self, seen: int) -> None:
        """The rate after `seen` rows."""
        if self.schedule == "invscaling":
            self.learning_rate = self.learning_rate_init / (seen + 1) ** self.power_t

    def slow_down(self) -> bool:
        """Lower the rate of the adaptive schedule; False if there is nothing left to lower."""
        if self.schedule != "adaptive" or self.learning_rate <= SMALLEST_RATE:
            return False
        self.learning_rate /= 5.0
        return True

    def copy(self) -> Sgd:
        return replace(self, velocity=_copy(self.velocity))


@dataclass
class Adam:
    """Steps divided by the root of the mean squared gradient of each parameter."""

    first: Any
    second: Any
    learning_rate_init: float
    beta_1: float
    beta_2: float
    epsilon: float
    t: int = 0

    def step(self, theta: Any, grad: Any) -> None:
        """One step, written into theta; `grad` is used up."""
        self.t += 1
        rate = (
            self.learning_rate_init * math.sqrt(1 - self.beta_2**self.t) / (1 - self.beta_1**self.t)
        )
        self.first *= self.beta_1
        self.first += (1 - self.beta_1) * grad
        grad *= grad
        grad *= 1 - self.beta_2
        self.second *= self.beta_2
        self.second += grad
        root = (
            np.sqrt(self.second, out=grad) if is_numpy(grad) else namespace(grad).sqrt(self.second)
        )
        root += self.epsilon
        theta -= rate * self.first / root

    def end_epoch(self, seen: int) -> None:
        """The rate follows the number of steps alone."""

    def slow_down(self) -> bool:
        """No rate to lower."""
        return False

    def copy(self) -> Adam:
        return replace(self, first=_copy(self.first), second=_copy(self.second))


Optimizer = Sgd | Adam


def _copy(a: Any) -> Any:
    return namespace(a).asarray(a, copy=True)
