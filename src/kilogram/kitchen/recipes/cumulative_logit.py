"""Regression of ordered classes by cumulative logits (proportional odds).

    P(y <= k | x) = sigmoid(t_k - <x, w>),      t_0 < t_1 < ... < t_{K-2}

    minimise   -1/n sum_i log P(y_i | x_i) + alpha / 2 |w|^2

One direction w for all classes: a row moves along it from the lowest class to the highest.
Thresholds are t_0 and the logarithms of the steps between them, so that they stay in order; the
minimum is found by L-BFGS on standardised features.

Reference: P. McCullagh, Regression models for ordinal data, J. R. Stat. Soc. B 42, 1980.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kilogram.kitchen.measures import TINY

MAX_ITER = 500  # of L-BFGS; twenty to a hundred are the rule
SMALLEST_STEP = 1e-8  # between two thresholds: a probability of 1e-8 / 4 at most, none of the rows


class CumulativeLogit(ClassifierMixin, BaseEstimator):
    """Ordered classes by cumulative logits; the order is that of the labels.

    Parameters
    ----------
    alpha : float, default=1e-3
        Penalty of the squared coefficients, for the mean loss.

    Attributes
    ----------
    coef_ : (d,) direction from the lowest class to the highest
    thresholds_ : (classes - 1,) increasing
    """

    def __init__(self, alpha: float = 1e-3):
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError("A classifier needs at least two classes, got one class.")
        below = np.cumsum(counts)[:-1] / len(y)
        start = np.log(below / (1 - below))
        steps = np.log(np.maximum(np.diff(start), SMALLEST_STEP))
        first = np.concatenate([np.zeros(X.shape[1]), start[:1], steps])
        found = minimize(objective, first, args=(X, codes, float(self.alpha)), jac=True,
                         method="L-BFGS-B", options={"maxiter": MAX_ITER})  # fmt: skip
        self.coef_, self.thresholds_ = split(found.x, X.shape[1])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) probabilities."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        below = expit(self.thresholds_[None, :] - np.asarray(X @ self.coef_)[:, None])
        ends = np.zeros((len(below), 1))
        return np.diff(np.hstack([ends, below, ends + 1]), axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, classes) logarithms of the probabilities; of two classes their difference (n,)."""
        F = np.log(np.maximum(self.predict_proba(X), TINY))
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def split(parameters: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and increasing thresholds."""
    steps = np.exp(parameters[features + 1 :])
    thresholds = parameters[features] + np.concatenate([[0.0], np.cumsum(steps)])
    return parameters[:features], thresholds


def objective(
    parameters: np.ndarray, X: Any, codes: np.ndarray, alpha: float
) -> tuple[float, np.ndarray]:
    """The penalised mean loss and its gradient.

    With u the threshold above a class and v the one below, P = s(u) - s(v) is
    s(u) s(-v) (1 - exp(v - u)), and its logarithm has the slopes

        d/du  s(-u) + 1 / (exp(u - v) - 1),     d/dv  -s(v) - 1 / (exp(u - v) - 1).
    """
    n, d = X.shape
    w, t = split(parameters, d)
    ends = np.concatenate([[-np.inf], t, [np.inf]])
    eta = np.asarray(X @ w)
    u, v = ends[codes + 1] - eta, ends[codes] - eta
    gap = ends[codes + 1] - ends[codes]
    with np.errstate(over="ignore", divide="ignore"):
        inner = 1 / np.expm1(gap)  # 0 for the two outer classes
        logs = log_expit(u) + log_expit(-v) + np.log(-np.expm1(-gap))
    up, down = expit(-u) + inner, -expit(v) - inner
    up[np.isinf(u)], down[np.isinf(v)] = 0.0, 0.0
    value = -float(np.mean(logs)) + 0.5 * alpha * float(w @ w)
    slope_w = np.asarray(X.T @ (up + down)) / n + alpha * w
    slope_t = np.zeros(len(t) + 2)
    np.add.at(slope_t, codes + 1, up)
    np.add.at(slope_t, codes, down)
    slope_t = -slope_t[1:-1] / n
    later = np.cumsum(slope_t[::-1])[::-1]  # a step moves all thresholds after it
    return value, np.concatenate([slope_w, later[:1], later[1:] * np.diff(t)])
