"""The data sets of the scenes: small, seeded, inside the square from -3 to 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Drawn = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class Preset:
    """A named data set: (n, 2) coordinates and classes."""

    title: str
    make: Callable[[np.random.Generator], Drawn]

    def draw(self) -> Drawn:
        xy, labels = self.make(np.random.default_rng(7))
        return np.clip(xy, -2.97, 2.97), labels


def _groups(rng: np.random.Generator, groups: list[tuple[float, float, float, int]]) -> Drawn:
    """Round groups: centre, spread, size."""
    parts = [rng.normal((x, y), s, (n, 2)) for x, y, s, n in groups]
    labels = np.repeat(np.arange(len(groups)), [n for *_, n in groups])
    return np.concatenate(parts), labels


def _blobs(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-1.6, -1.2, 0.5, 35), (1.5, -1.3, 0.5, 35), (0.1, 1.5, 0.5, 35)])


def _two(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-1.2, -0.6, 0.6, 40), (1.1, 0.8, 0.6, 40)])


def _small(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-1.2, -0.6, 0.6, 14), (1.1, 0.8, 0.6, 14)])


def _wrong_labels(rng: np.random.Generator) -> Drawn:
    """Two groups, two points of each with the label of the other."""
    xy, labels = _two(rng)
    wrong = [3, 11, 47, 62]
    labels[wrong] = 1 - labels[wrong]
    return xy, labels


def _overlap(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-0.7, -0.4, 0.9, 50), (0.8, 0.5, 0.9, 50)])


def _unequal(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-0.9, 0.0, 1.05, 110), (1.9, 0.2, 0.22, 18), (1.9, 1.4, 0.2, 18)])


def _long(rng: np.random.Generator) -> Drawn:
    base, labels = _groups(rng, [(0, 0, 1, 50), (0, 0, 1, 50)])
    xy = base * [1.1, 0.16] + np.where(labels[:, None] == 0, [0, 0.8], [0, -0.8])
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    return xy @ turn.T, labels


def _moons(rng: np.random.Generator) -> Drawn:
    t = np.linspace(0, np.pi, 45)
    upper = np.stack([np.cos(t) - 0.5, np.sin(t) - 0.15], axis=1)
    lower = np.stack([0.5 - np.cos(t), 0.25 - np.sin(t)], axis=1)
    xy = 1.7 * np.concatenate([upper, lower]) + rng.normal(0, 0.16, (90, 2))
    return xy, np.repeat([0, 1], 45)


def _circles(rng: np.random.Generator) -> Drawn:
    t = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    ring = np.stack([np.cos(t), np.sin(t)], axis=1)
    xy = np.concatenate([0.85 * ring[::1], 2.2 * ring]) + rng.normal(0, 0.14, (100, 2))
    return xy, np.repeat([0, 1], 50)


def _xor(rng: np.random.Generator) -> Drawn:
    xy, quarter = _groups(
        rng,
        [
            (-1.2, -1.2, 0.45, 25),
            (1.2, 1.2, 0.45, 25),
            (-1.2, 1.2, 0.45, 25),
            (1.2, -1.2, 0.45, 25),
        ],
    )
    return xy, quarter // 2


def _three_classes(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-1.5, -0.9, 0.7, 35), (1.4, -1.0, 0.7, 35), (0.1, 1.3, 0.7, 35)])


def _outlier_class(rng: np.random.Generator) -> Drawn:
    xy, labels = _groups(rng, [(-1.0, -0.4, 0.4, 30), (0.6, 0.4, 0.4, 30)])
    return np.concatenate([xy, [[2.7, -2.6], [2.8, -2.4]]]), np.append(labels, [1, 1])


def _off_centre(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(1.0, 1.0, 0.3, 30), (2.2, 2.2, 0.3, 30)])


def _unequal_two(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(-0.8, -0.3, 0.8, 80), (1.2, 0.6, 0.7, 16)])


def _rare_class(rng: np.random.Generator) -> Drawn:
    """A rare class in the middle of a common one that fills the square."""
    wide = rng.uniform(-2.9, 2.9, (400, 2))
    wide = wide[(wide**2).sum(axis=1) > 1.2][:190]
    return np.concatenate([wide, rng.normal(0, 0.42, (45, 2))]), np.repeat([0, 1], [len(wide), 45])


def _one_group(rng: np.random.Generator) -> Drawn:
    return _groups(rng, [(0.0, 0.0, 1.0, 100)])


def _ellipse(rng: np.random.Generator) -> Drawn:
    xy = rng.normal(size=(90, 2)) * [1.35, 0.4]
    turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    return xy @ turn.T + [0.3, -0.2], np.zeros(90, dtype=int)


def _shifted(rng: np.random.Generator) -> Drawn:
    xy = rng.normal(size=(70, 2)) * [0.8, 0.22]
    turn = np.array([[np.cos(-0.7), -np.sin(-0.7)], [np.sin(-0.7), np.cos(-0.7)]])
    return xy @ turn.T + [1.3, 1.3], np.zeros(70, dtype=int)


def _curve(
    f: Callable[[NDArray[np.float64]], NDArray[np.float64]], noise: float, n: int = 30
) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        x = np.sort(rng.uniform(-2.8, 2.8, n))
        return np.stack([x, f(x) + rng.normal(0, noise, n)], axis=1), np.zeros(n, dtype=int)

    return draw


def _gap(rng: np.random.Generator) -> Drawn:
    x = np.sort(np.concatenate([rng.uniform(-2.8, -0.9, 9), rng.uniform(1.2, 2.6, 6)]))
    return np.stack([x, np.sin(1.6 * x) + rng.normal(0, 0.1, 15)], axis=1), np.zeros(15, dtype=int)


def _with_outliers(rng: np.random.Generator) -> Drawn:
    xy, labels = _curve(lambda x: 0.6 * x - 0.2, 0.2, 28)(rng)
    xy[-4:, 1] = [-2.4, -2.7, -2.5, -2.8]
    return xy, labels


def _step(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(x < -1, -1.2, np.where(x < 1, 1.0, -0.3))


def _drawn_by_the_scene(rng: np.random.Generator) -> Drawn:
    return np.zeros((0, 2)), np.zeros(0, dtype=int)


PRESETS: dict[str, Preset] = {
    "sample": Preset("the sample", _drawn_by_the_scene),
    "blobs": Preset("three groups", _blobs),
    "two": Preset("two groups", _two),
    "small": Preset("two small groups", _small),
    "wrong_labels": Preset("two groups, wrong labels", _wrong_labels),
    "overlap": Preset("overlapping groups", _overlap),
    "three": Preset("three classes", _three_classes),
    "unequal": Preset("unequal groups", _unequal),
    "long": Preset("long groups", _long),
    "moons": Preset("two moons", _moons),
    "circles": Preset("two circles", _circles),
    "xor": Preset("exclusive or", _xor),
    "aside": Preset("two groups beside the origin", _off_centre),
    "unequal_two": Preset("a large and a small class", _unequal_two),
    "inside": Preset("a rare class inside another", _rare_class),
    "outlier_class": Preset("two groups, far points", _outlier_class),
    "one": Preset("one group", _one_group),
    "ellipse": Preset("an ellipse", _ellipse),
    "shifted": Preset("an ellipse off the origin", _shifted),
    "sine": Preset("a sine", _curve(lambda x: 1.3 * np.sin(1.6 * x), 0.25)),
    "line": Preset("a line", _curve(lambda x: 0.6 * x - 0.2, 0.35, 25)),
    "high": Preset("a line far from zero", _curve(lambda x: 0.25 * x + 2.0, 0.2, 25)),
    "parabola": Preset("a parabola", _curve(lambda x: 0.45 * x**2 - 1.6, 0.25, 25)),
    "few": Preset("ten points of a sine", _curve(lambda x: 1.3 * np.sin(1.6 * x), 0.2, 10)),
    "steps": Preset("steps", _curve(_step, 0.15, 45)),
    "gap": Preset("a sine with a gap", _gap),
    "outliers": Preset("a line with outliers", _with_outliers),
}

# What a scene of its kind offers, unless its subject needs others.
CLOUDS = ("blobs", "unequal", "long", "circles", "moons", "one")
TWO_CLASSES = ("overlap", "two", "moons", "circles", "xor", "outlier_class")
CURVES = ("sine", "line", "parabola", "few", "steps", "gap", "outliers")
