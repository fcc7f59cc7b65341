"""Probabilities from decision values, calibrated on held-out rows.

One machine        p(first | f) = 1 / (1 + exp(-a f)), with a slope a for f > 0 and one for f < 0:
                   p passes 1/2 exactly where the decision does, so the two never contradict.
One-vs-one         p_ij of every pair, coupled to p by  min sum_{i<j} (p_ji p_i - p_ij p_j)^2,
                   sum p = 1 (Wu, Lin and Weng 2004)
One-vs-rest        p_i of every machine, divided by their sum

The slopes maximise the likelihood of held-out decision values of five folds, with Platt's targets
(n + 1) / (n + 2) in place of 1, so that separable classes keep a finite slope.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.model_selection import StratifiedKFold

from kilogram.arrays.rows import take_rows
from kilogram.kernels import Precomputed
from kilogram.models.svm.kernel_machine import SMOSettings
from kilogram.models.svm.multiclass import binary_problems
from kilogram.models.svm.svc_solver import PenalisedRows, fit_binary_problems

Array = np.ndarray
FOLDS = 5  # LIBSVM's number for the decision values that sigmoids are fitted to


class Calibration(NamedTuple):
    """Slopes for negative and positive values, (machines,) each."""

    below: Array
    above: Array

    def pairwise(self, values: Array) -> Array:
        """p(first) of every machine, (n, machines)."""
        z = np.where(values < 0, self.below, self.above) * values
        return 1.0 / (1.0 + np.exp(-np.clip(z, -500.0, 500.0)))


def slope(values: Array, positive: Array, weights: Array, scale: float) -> float:
    """The slope of largest likelihood on one side of 0."""
    if values.shape[0] == 0:
        return 1.0 / scale
    n_positive, n_negative = weights @ positive, weights @ (1.0 - positive)
    target = np.where(
        positive > 0, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0)
    )

    def loss(log_slope: float) -> float:
        z = np.exp(log_slope) * values
        return float(weights @ (np.logaddexp(0.0, z) - target * z))

    middle = -np.log(scale)
    found = minimize_scalar(loss, bounds=(middle - 8.0, middle + 8.0), method="bounded")
    return float(np.exp(found.x))


def calibrate(values: Array, rows: PenalisedRows, multi_class: str) -> Calibration:
    """Slopes of all machines from held-out values (n, machines)."""
    below, above = [], []
    for position, problem in enumerate(binary_problems(int(rows.codes.max()) + 1, multi_class)):
        at = problem.rows(rows.codes)
        v, positive = values[at, position], (problem.signs(rows.codes[at]) > 0).astype(float)
        finite = np.isfinite(rows.C).all()
        weights = rows.C[at] / rows.C[at].mean() if finite else np.ones(len(at))
        scale = float(np.sqrt(np.mean(v * v))) or 1.0
        low, high = v < 0, v > 0
        below.append(slope(v[low], positive[low], weights[low], scale))
        above.append(slope(v[high], positive[high], weights[high], scale))
    return Calibration(np.array(below), np.array(above))


def cross_validated_calibration(
    rows: PenalisedRows,
    settings: SMOSettings,
    multi_class: str,
    seed: int,
    *,
    at_once: bool = True,
) -> Calibration:
    """Calibrate on the decision values of folds, each by machines fitted on the others."""
    smallest = int(np.bincount(rows.codes).min())
    if smallest < 2:
        raise ValueError(
            "probability=True needs at least two rows of every class, to hold one out; the "
            "smallest class has one."
        )
    folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=seed)
    n, K = rows.codes.shape[0], settings.kernel
    values = np.zeros((n, len(binary_problems(int(rows.codes.max()) + 1, multi_class))))
    for train, test in folds.split(np.zeros(n), rows.codes):
        part = subset(rows, train, precomputed=isinstance(K, Precomputed))
        fitted = fit_binary_problems(settings, part, multi_class, at_once=at_once)[0]
        new, old = take_rows(rows.X, test), take_rows(rows.X, train)
        if isinstance(K, Precomputed):
            columns = rows.where[train] if rows.X.shape[1] == rows.n else train
            values[test] = np.asarray(new[:, columns] @ fitted.coef) + fitted.bias
        else:
            values[test] = np.asarray(K.matmul(new, old, fitted.coef)) + fitted.bias
    return calibrate(values, rows, multi_class)


def subset(rows: PenalisedRows, at: Array, *, precomputed: bool) -> PenalisedRows:
    """Some of the rows; of a precomputed kernel the columns too."""
    X = take_rows(rows.X, at)
    if precomputed:
        X = X[:, rows.where[at] if rows.X.shape[1] == rows.n else at]
    return PenalisedRows(X, rows.codes[at], rows.C[at], np.arange(at.shape[0]), at.shape[0])


def couple_probabilities(p: Array, k: int) -> Array:
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
    return couple_probabilities(p, k)
