"""Probabilities from decision values, calibrated on rows the machines had not seen.

One machine        p(first | f) = 1 / (1 + exp(-a f)), with a slope a for f > 0 and one for f < 0:
                   p passes 1/2 exactly where the decision does, so the two never contradict.
Pairs of classes   p_ij of every pair, coupled to p by  min sum_{i<j} (p_ji p_i - p_ij p_j)^2,
                   sum p = 1 (Wu, Lin and Weng 2004)
One against rest   p_i of every machine, divided by their sum

The slopes maximise the likelihood of held-out decision values of five folds, with Platt's targets
(n + 1) / (n + 2) in place of 1, so that separable classes do not ask for an infinite slope.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.model_selection import StratifiedKFold

from kilogram.arrays.rows import take_rows
from kilogram.models.classification.svm_fit import Active, fit_duels
from kilogram.models.classification.svm_kernel import Setting
from kilogram.models.classification.svm_machines import duels

Array = np.ndarray
FOLDS = 5


class Calibration(NamedTuple):
    """Slopes for negative and positive values, (machines,) each."""

    below: Array
    above: Array

    def pairwise(self, values: Array) -> Array:
        """p(first) of every machine, (n, machines)."""
        z = np.where(values < 0, self.below, self.above) * values
        return 1.0 / (1.0 + np.exp(-np.clip(z, -500.0, 500.0)))


def slope(values: Array, wins: Array, weights: Array, scale: float) -> float:
    """The slope of largest likelihood on one side of 0."""
    if values.shape[0] == 0:
        return 1.0 / scale
    won, lost = weights @ wins, weights @ (1.0 - wins)
    target = np.where(wins > 0, (won + 1.0) / (won + 2.0), 1.0 / (lost + 2.0))

    def loss(log_slope: float) -> float:
        z = np.exp(log_slope) * values
        return float(weights @ (np.logaddexp(0.0, z) - target * z))

    middle = -np.log(scale)
    found = minimize_scalar(loss, bounds=(middle - 8.0, middle + 8.0), method="bounded")
    return float(np.exp(found.x))


def calibrate(values: Array, active: Active, multi_class: str) -> Calibration:
    """Slopes of all machines from held-out values (n, machines)."""
    below, above = [], []
    for position, duel in enumerate(duels(int(active.codes.max()) + 1, multi_class)):
        at = duel.rows(active.codes)
        v, wins = values[at, position], (duel.signs(active.codes[at]) > 0).astype(float)
        weights = (
            active.C[at] / active.C[at].mean() if np.isfinite(active.C).all() else wins * 0 + 1
        )
        scale = float(np.sqrt(np.mean(v * v))) or 1.0
        low, high = v < 0, v > 0
        below.append(slope(v[low], wins[low], weights[low], scale))
        above.append(slope(v[high], wins[high], weights[high], scale))
    return Calibration(np.array(below), np.array(above))


def cross_fitted(model: Any, active: Active, setting: Setting) -> Calibration:
    """Calibrate on the decision values of folds, each by machines fitted on the others."""
    smallest = int(np.bincount(active.codes).min())
    if smallest < 2:
        raise ValueError(
            "probability=True needs at least two rows of every class, to hold one out; the "
            "smallest class has one."
        )
    folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=model.random_state)
    values = np.zeros(
        (active.codes.shape[0], len(duels(int(active.codes.max()) + 1, model.multi_class)))
    )
    for train, test in folds.split(np.zeros(active.codes.shape[0]), active.codes):
        part = subset(active, train, setting)
        fitted = fit_duels(setting, part, model)
        K = setting.kernel
        new, old = take_rows(active.X, test), take_rows(active.X, train)
        if K.__class__.__name__ == "Precomputed":
            columns = active.where[train] if active.X.shape[1] == active.n else train
            values[test] = np.asarray(new[:, columns] @ fitted.coef) + fitted.bias
        else:
            values[test] = np.asarray(K.matmul(new, old, fitted.coef)) + fitted.bias
    return calibrate(values, active, model.multi_class)


def subset(active: Active, rows: Array, setting: Setting) -> Active:
    """Some of the rows; of a precomputed kernel the columns too."""
    X = take_rows(active.X, rows)
    if setting.kernel.__class__.__name__ == "Precomputed":
        columns = active.where[rows] if active.X.shape[1] == active.n else rows
        X = X[:, columns]
    return Active(X, active.codes[rows], active.C[rows], np.arange(rows.shape[0]), rows.shape[0])


def coupled(p: Array, k: int) -> Array:
    """Class probabilities (n, k) from those of the pairs, (n, k (k - 1) / 2)."""
    n = p.shape[0]
    p = np.clip(p, 1e-7, 1.0 - 1e-7)
    Q = np.zeros((n, k + 1, k + 1))
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        first, second = p[:, machine], 1.0 - p[:, machine]
        Q[:, i, i] += second**2
        Q[:, j, j] += first**2
        Q[:, i, j] = Q[:, j, i] = -first * second
    Q[:, :k, k] = Q[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    out = np.clip(np.linalg.solve(Q, right)[:, :k, 0], 0.0, None)
    return out / out.sum(axis=1, keepdims=True)


def class_probabilities(p: Array, k: int, multi_class: str) -> Array:
    """(n, k) from the probabilities of the machines."""
    if k == 2:
        return np.concatenate([1.0 - p, p], axis=1)
    if multi_class == "ovr":
        p = np.clip(p, 1e-12, None)
        return p / p.sum(axis=1, keepdims=True)
    return coupled(p, k)
