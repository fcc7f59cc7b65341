"""Losses of gradient boosting, as functions of a raw prediction f in the scale of the link.

    squared_error   (y - f)^2 / 2                       prediction f
    absolute_error  |y - f|                             f
    quantile        max(q (y - f), (q - 1) (y - f))     f
    huber           r^2 / 2 for |r| <= delta, else delta |r| - delta^2 / 2, with r = y - f
    poisson         exp(f) - y f                        exp(f)
    gamma           f + y exp(-f)                       exp(f)
    log_loss        log(1 + exp(f)) - y f               1 / (1 + exp(-f))
    ... of classes  log sum_k exp(f_k) - f_y            softmax(f)

Terms that depend on y alone are left out. Raw predictions have shape (classes, n), one row except
for several classes. First and second derivatives are native (`native/src/boosting/gradients.cpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from kilogram.functions.weighted_medians import TIE

TINY = np.finfo(np.float64).tiny
#: Of |y - median|: where the Huber loss of boosting turns linear (Friedman 2001, M-TreeBoost).
HUBER_QUANTILE = 0.9


def weighted_quantile(values: np.ndarray, w: np.ndarray | None, q: float) -> float:
    """The smallest value with a fraction q of the weight up to it; midway to the next if exact."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(np.ones(len(values)) if w is None else w[order])
    target, slack = q * reached[-1], TIE * reached[-1]
    lower = int(np.argmax(reached >= target - slack))
    upper = lower if reached[lower] > target + slack else min(lower + 1, len(values) - 1)
    return float((values[order[lower]] + values[order[upper]]) / 2)


@dataclass(frozen=True)
class BoostingLoss:
    """One of the losses above; `parameter` is q of the quantile, delta of Huber's loss."""

    name: str
    parameter: float = 0.0
    n_outputs: int = 1

    @property
    def quantile(self) -> float | None:
        """The quantile of the residuals that is the value of a leaf; None for Newton's step."""
        if self.name == "absolute_error":
            return 0.5
        return self.parameter if self.name == "quantile" else None

    def baseline(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """The constant raw prediction of least loss, (n_outputs,)."""
        level = 0.5 if self.name == "huber" else self.quantile  # for Huber's loss nearly the least
        if level is not None:
            return np.array([weighted_quantile(y, w, level)])
        if self.name == "multinomial_log_loss":
            counts = np.bincount(y.astype(np.int64), w, self.n_outputs)
            logs = np.log(np.maximum(counts / counts.sum(), np.finfo(np.float64).eps))
            return logs - logs.mean()
        mean = float(np.average(y, weights=w))
        if self.name == "squared_error":
            return np.array([mean])
        if self.name == "binary_log_loss":
            eps = float(np.finfo(np.float64).eps)
            p = min(max(mean, eps), 1 - eps)
            return np.array([np.log(p / (1 - p))])
        return np.array([np.log(max(mean, TINY))])

    def value(self, y: np.ndarray, raw: np.ndarray, w: np.ndarray | None) -> float:
        """The weighted mean of the loss."""
        return float(np.average(self._of_rows(y, raw), weights=w))

    def _of_rows(self, y: np.ndarray, raw: np.ndarray) -> Any:
        f = raw[0]
        if self.name == "multinomial_log_loss":
            return logsumexp(raw, axis=0) - raw[y.astype(np.int64), np.arange(len(y))]
        if self.name == "binary_log_loss":
            return np.logaddexp(0.0, f) - y * f
        if self.name == "poisson":
            return np.exp(f) - y * f
        if self.name == "gamma":
            return f + y * np.exp(-f)
        r = y - f
        if self.name == "squared_error":
            return r * r / 2
        if self.name == "absolute_error":
            return np.abs(r)
        if self.name == "quantile":
            return np.maximum(self.parameter * r, (self.parameter - 1) * r)
        inside = np.minimum(np.abs(r), self.parameter)
        return inside * (np.abs(r) - inside / 2)

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """The mean, quantile or class probabilities of raw predictions (n, n_outputs)."""
        if self.name == "multinomial_log_loss":
            return np.asarray(softmax(raw, axis=1))
        if self.name == "binary_log_loss":
            p = expit(raw[:, 0])
            return np.stack([1 - p, p], axis=1)
        return np.exp(raw[:, 0]) if self.name in ("poisson", "gamma") else raw[:, 0]
