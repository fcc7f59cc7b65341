"""SMACOF: scaling by majorising a complicated function.

Objective    min_Z  sigma(Z) = sum_{i<j} (delta_ij - |z_i - z_j|)^2                       raw stress

|z_i - z_j| is convex in Z, so -delta_ij |z_i - z_j| lies below its tangent at the present Y, and
sigma below a quadratic that touches it there. The minimum of the quadratic is Guttman's transform

    z_i = 1/n sum_j [y_j + delta_ij (y_i - y_j) / |y_i - y_j|]        (y centred: the y_j sum to 0)

by which the stress never rises. Non-metric scaling knows only the order of the dissimilarities:
delta is then replaced by disparities f(delta), f the non-decreasing function nearest to the present
distances (isotonic regression), scaled to mean square 1. A dissimilarity of 0 counts as missing.

References: Kruskal 1964; de Leeuw 1977; Borg and Groenen, Modern Multidimensional Scaling, 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.isotonic import IsotonicRegression

from kilogram.solvers.solution import Solution

BLOCK_ENTRIES = 2**20  # distances computed at once; 8 MiB stay in the cache of a core
TINY = 1e-5  # what stands for a distance of 0 in a quotient; any positive number lowers the stress


@dataclass(frozen=True, eq=False)
class Configuration:
    """Coordinates (n, k), their raw stress, the sum of their squared distances over pairs.

    `disparities` are thresholds (x, y) of the monotone function of a non-metric scaling, or None.
    """

    Z: np.ndarray
    stress: float
    squares: float
    disparities: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def normalized_stress(self) -> float:
        """Kruskal's Stress-1: sqrt(stress / sum of squared distances)."""
        return float(np.sqrt(self.stress / self.squares)) if self.squares > 0 else 0.0


def smacof(
    D: np.ndarray,
    Z: np.ndarray,
    *,
    metric: bool = True,
    max_iter: int = 300,
    eps: float = 1e-6,
    tick: Callable[[int, float], bool] | None = None,
) -> Solution:
    """From the start Z (n, k), the Configuration of dissimilarities D (n, n).

    Ends when the stress falls by no more than `eps` times the sum of squared distances of pairs.
    `tick(iteration, stress)` may answer True to stop.
    """
    order = None if metric or not np.triu(D, 1).any() else _Order(D)
    target, shape = (D, None) if order is None else order.scaled()
    moved = guttman(target, Z, Z)
    now, step, why = None, 0, f"its limit of {max_iter} iterations was reached."
    for step in range(1, max_iter + 1):
        Z = moved
        # one pass over the distances of Z: its stress, and where the next iteration moves it
        moved, stress, squares = _transform_and_stress(target, Z)
        before, now = now, Configuration(Z, stress, squares, shape)
        if before is not None and before.stress - now.stress <= eps * now.squares:
            why = ""
            break
        if tick is not None and tick(step, now.stress):
            why = "it was asked to stop (time was up, or a callback ended it)."
            break
        if order is not None:
            target, shape = order.disparities(Z)
            moved = guttman(target, Z, Z)
    message = f"{why} The normalized stress is {now.normalized_stress:.3g}." if why and now else ""
    return Solution(now, step, now.stress if now else None, not why, message)


def guttman(delta: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Guttman's transform of points Y (m, k) among fixed ones Z (n, k), delta (m, n)."""
    n, out = len(Z), np.empty_like(Y)
    own, middle = Y is Z, Z.mean(axis=0)
    for a, b in _blocks(len(Y), n):
        apart = cdist(Y[a:b], Z)
        apart[apart == 0] = TINY
        np.divide(delta[a:b], apart, out=apart)
        out[a:b] = (apart.sum(axis=1, keepdims=True) * Y[a:b] - apart @ Z) / n
        if not own:  # among themselves the points stay centred
            out[a:b] += middle
    return out


def place_points(
    delta: np.ndarray, Z: np.ndarray, *, max_iter: int = 300, tol: float = 1e-9
) -> np.ndarray:
    """Points (m, k) that minimise sum_j (delta_ij - |y_i - z_j|)^2 with Z (n, k) fixed.

    Each starts at the point it is least dissimilar to.
    """
    Y = Z[delta.argmin(axis=1)].copy()
    size = float(np.abs(Z - Z.mean(axis=0)).max(initial=0.0)) or 1.0
    for _ in range(max_iter):
        before, Y = Y, guttman(delta, Y, Z)
        if np.abs(Y - before).max(initial=0.0) <= tol * size:
            break
    return Y


class _Order:
    """The order of dissimilarities of all pairs i < j; zeros are missing."""

    def __init__(self, D: np.ndarray):
        self.n = len(D)
        self.i, self.j = np.triu_indices(self.n, 1)
        delta = D[self.i, self.j]
        known = delta != 0
        self.i, self.j, self.delta = self.i[known], self.j[known], delta[known]

    def scaled(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The dissimilarities themselves as first disparities."""
        ends = np.array([0.0, self.delta.max(initial=0.0)])
        return self._matrix(self.delta, (ends, ends))

    def disparities(self, Z: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The monotone function of delta nearest to the distances of Z: matrix and thresholds."""
        apart = np.concatenate(
            [np.empty(0)]
            + [
                np.linalg.norm(Z[self.i[a:b]] - Z[self.j[a:b]], axis=1)
                for a, b in _blocks(len(self.i), Z.shape[1])
            ]
        )
        fit = IsotonicRegression(out_of_bounds="clip")
        values = fit.fit_transform(self.delta, apart)
        return self._matrix(values, (fit.X_thresholds_, fit.y_thresholds_))

    def _matrix(
        self, values: np.ndarray, thresholds: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        squares = float(values @ values)
        unit = np.sqrt(self.n * (self.n - 1) / 2 / squares) if squares > 0 else 1.0
        out = np.zeros((self.n, self.n))
        out[self.i, self.j] = out[self.j, self.i] = unit * values
        return out, (thresholds[0], unit * thresholds[1])


def _transform_and_stress(delta: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Guttman's transform of Z, and sums over its pairs of (delta - d)^2 and of d^2."""
    stress, squares, n, out = 0.0, 0.0, len(Z), np.empty_like(Z)
    for a, b in _blocks(n, n):
        apart = cdist(Z[a:b], Z)
        squares += float(np.vdot(apart, apart))
        gap = delta[a:b] - apart
        stress += float(np.vdot(gap, gap))
        apart[apart == 0] = TINY
        np.divide(delta[a:b], apart, out=apart)
        out[a:b] = (apart.sum(axis=1, keepdims=True) * Z[a:b] - apart @ Z) / n
    return out, stress / 2, squares / 2


def _blocks(m: int, n: int) -> list[tuple[int, int]]:
    step = max(1, BLOCK_ENTRIES // max(1, n))
    return [(a, min(a + step, m)) for a in range(0, m, step)]


def random_start(n: int, k: int, rng: Any) -> np.ndarray:
    """Uniform coordinates (n, k) in [0, 1)."""
    return np.asarray(rng.random((n, k)))
