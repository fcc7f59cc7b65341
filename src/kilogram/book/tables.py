"""Data of the scenes that do not live in a plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def correlated_columns(
    seed: int, noise: float, correlation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sixty rows of eight correlated columns, three of which matter."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((60, 1))
    X = np.sqrt(1 - correlation) * rng.standard_normal((60, 8)) + np.sqrt(correlation) * common
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    truth = np.array([2.0, -1.5, 0, 0, 1.0, 0, 0, 0])
    y = X @ truth + noise * rng.standard_normal(60)
    return X, y - y.mean(), truth


Points = Sequence[Sequence[float]] | np.ndarray


def _rows(points: Points, columns: np.ndarray) -> np.ndarray:
    """The rows of `columns` that points stand for: their third value, counted from 1; 0 is new."""
    numbers = np.asarray(points, float).reshape(-1, 3)[:, 2].astype(int)
    return np.where(numbers[:, None] > 0, columns[numbers - 1], columns.mean(axis=0))


def columns_at(
    points: Points, column: int, seed: int, noise: float, correlation: float
) -> tuple[np.ndarray, np.ndarray]:
    """The correlated columns with one of them and the target where the points (x, y, row) are."""
    table = np.asarray(points, float).reshape(-1, 3)
    X = _rows(table, correlated_columns(seed, noise, correlation)[0])
    X[:, column - 1] = table[:, 0]
    return X, table[:, 1] - table[:, 1].mean()


def views_at(points: Points, kind: str, view: str) -> tuple[np.ndarray, np.ndarray]:
    """The two views with the rows of one of them where the points (x, y, row) are."""
    X, Y, _ = two_views(kind)
    X, Y = _rows(points, X), _rows(points, Y)
    (X if view == "x" else Y)[:] = np.asarray(points, float).reshape(-1, 3)[:, :2]
    return X, Y


#: the view on a sheet in space: what each coordinate adds to the right and upwards
VIEW = np.array([[1.0, 0.0], [0.4, 0.3], [0.0, 1.0]])


def sheet_at(points: Points, kind: str) -> np.ndarray:
    """The bent sheet with its rows moved across the line of sight to the points (x, y, row)."""
    X = _rows(points, bent_sheet(kind)[0])
    X[:, [0, 2]] = np.asarray(points, float).reshape(-1, 3)[:, :2] - X[:, [1]] * VIEW[1]
    return X


def drawing(points: Points, side: int) -> np.ndarray:
    """A picture of side x side pixels, dark where there is a point of the square from -3 to 3."""
    table = np.asarray(points, float).reshape(-1, 3)
    pixels = np.zeros((side, side))
    at = np.clip(np.floor((table[:, :2] + 3) / 6 * side), 0, side - 1).astype(int)
    pixels[side - 1 - at[:, 1], at[:, 0]] = 1.0
    return pixels.ravel()


def two_views(kind: str, n: int = 160, seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two views of one hidden variable t, with noise columns beside it."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-3, 3, n)
    signal = {"line": (t, -0.8 * t), "sine": (t, np.sin(2 * t)), "parabola": (t, t**2 - 3)}[kind]
    X = np.stack([signal[0] + 0.2 * rng.standard_normal(n), 1.5 * rng.standard_normal(n)], axis=1)
    Y = np.stack([signal[1] + 0.2 * rng.standard_normal(n), 1.5 * rng.standard_normal(n)], axis=1)
    return X, Y, t


def digits() -> np.ndarray:
    """Three hundred handwritten digits of eight by eight pixels, from 0 to 1."""
    from sklearn.datasets import load_digits  # a third of a second, for one scene only

    return np.asarray(load_digits().data[:300] / 16.0)


def faces(n: int = 240) -> np.ndarray:
    """Drawn faces of sixteen by sixteen pixels, from 0 to 1, with parts that vary."""
    rng = np.random.default_rng(6)
    X = np.zeros((n, 16, 16))
    rows, columns = np.mgrid[:16, :16]
    outline = np.abs(np.hypot((rows - 8.5) / 7.2, (columns - 7.5) / 6.2) - 1) < 0.09
    for face in X:
        face[outline] = 1.0
        hair, glance, mouth = rng.integers(3, size=3)
        if hair:
            face[1 : 3 if hair == 1 else 5, 4:12] = 1.0
        if rng.random() < 0.5:
            face[5, [4, 5, 6, 9, 10, 11]] = 1.0  # brows
        for left in (4, 9):
            face[7, left : left + 3] = 0.35
            face[7, left + glance] = 1.0
        face[8 : 10 + rng.integers(2), 7] = 0.8
        if mouth == 0:
            face[12, 5:11] = 1.0
        else:
            face[12, [5, 10] if mouth == 1 else [6, 7, 8, 9]] = 1.0
            face[13, [6, 7, 8, 9] if mouth == 1 else [5, 10]] = 1.0
        face *= rng.uniform(0.8, 1.0)
        face += rng.uniform(0, 0.03, face.shape)
    return X.reshape(n, -1)


def bent_sheet(kind: str, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """A sheet rolled up or bent in three dimensions, and the position along it."""
    rng = np.random.default_rng(4)
    t = np.sort(rng.uniform(0, 1, n))
    height = rng.uniform(-1, 1, n)
    if kind == "roll":
        angle = 1.5 * np.pi * (1 + 2 * t)
        return np.stack([angle * np.cos(angle) / 5, height, angle * np.sin(angle) / 5], axis=1), t
    angle = 3 * np.pi * (t - 0.5)
    return np.stack([np.sin(angle), height, np.sign(angle) * (np.cos(angle) - 1)], axis=1), t


def positive_target(family: str, slope: float, seed: int, n: int = 120) -> tuple[np.ndarray, ...]:
    """One column and a target of mean exp(slope x + 1): counts, amounts, or amounts with zeros."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    mean = np.exp(slope * x + 1)
    if family == "poisson":
        return x, rng.poisson(mean).astype(float)
    if family == "gamma":
        return x, rng.gamma(3.0, mean / 3)
    events = rng.poisson(mean**0.5 / 0.5)  # a Poisson number of gamma amounts: Tweedie, power 1.5
    return x, rng.gamma(np.maximum(events, 1e-9), 0.5 * mean**0.5)
