"""A space of parameters to search: named axes, each a range or a list.

    RealRange(low, high, log=False)     numbers between, evenly or by their logarithm
    IntegerRange(low, high, log=False)  integers
    a list or tuple                     its values; in order where they are rising numbers

Every point has a place in a cube, which is what a surrogate sees: ranges and ordered lists take one
side each, an unordered list one side per value, so that all its values are equally far apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Params = dict[str, Any]


@dataclass(frozen=True)
class RealRange:
    """Numbers from `low` to `high`, with `log` evenly by their logarithm.

    Examples
    --------
    >>> from kilogram.evaluation import RealRange
    >>> [round(RealRange(0.01, 100.0, log=True).at(place), 2) for place in (0.0, 0.5, 1.0)]
    [0.01, 1.0, 100.0]
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.log and self.low <= 0):
            what = "0 < low < high" if self.log else "low < high"
            raise ValueError(f"A range needs {what}, got {self.low!r} and {self.high!r}.")

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1."""
        place = min(max(place, 0.0), 1.0)
        if self.log:
            return float(np.exp(np.log(self.low) + place * np.log(self.high / self.low)))
        return float(self.low + place * (self.high - self.low))

    def place(self, value: Any) -> float:
        if self.log:
            return float(np.log(value / self.low) / np.log(self.high / self.low))
        return float((value - self.low) / (self.high - self.low))

    def around(self, value: Any, span: float) -> RealRange:
        """The part of the range within `span` of its length around a value."""
        middle = self.place(value)
        ends = max(middle - span / 2, 0.0), min(middle + span / 2, 1.0)
        return type(self)(self.at(ends[0]), self.at(ends[1]), self.log)


@dataclass(frozen=True)
class IntegerRange(RealRange):
    """Whole numbers from `low` to `high`, both included.

    Examples
    --------
    >>> from kilogram.evaluation import IntegerRange
    >>> [IntegerRange(1, 100, log=True).at(place) for place in (0.0, 0.5, 1.0)]
    [1, 10, 100]
    """

    def at(self, place: float) -> Any:
        return round(super().at(place))

    def around(self, value: Any, span: float) -> RealRange:
        near = RealRange(self.low, self.high, self.log).around(value, span)
        low, high = int(np.floor(near.low)), int(np.ceil(near.high))
        return IntegerRange(
            max(low, int(self.low)), min(max(high, low + 1), int(self.high)), self.log
        )


@dataclass(frozen=True)
class Categorical:
    """An axis of a search that takes one of a list of values.

    Examples
    --------
    >>> from kilogram.evaluation import Categorical
    >>> Categorical((1, 2, 4)).ordered, Categorical(("rbf", "linear")).ordered
    (True, False)
    """

    values: tuple[Any, ...]

    @property
    def ordered(self) -> bool:
        number = all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)
        return number and list(self.values) == sorted(set(self.values))


Axis = RealRange | Categorical


class SearchSpace:
    """Axes by name: `SearchSpace({"alpha": RealRange(0.1, 10, log=True), "kind": ["a", "b"]})`.

    Examples
    --------
    >>> from kilogram.evaluation import RealRange, SearchSpace
    >>> SearchSpace({"alpha": RealRange(0.1, 10, log=True), "kind": ["a", "b"]}).axes["kind"]
    Categorical(values=('a', 'b'))
    """

    def __init__(self, axes: Mapping[str, Any]):
        if not axes:
            raise ValueError("A search needs at least one parameter.")
        self.axes: dict[str, Axis] = {name: _axis(name, axis) for name, axis in axes.items()}

    def draw(self, rng: np.random.Generator) -> Params:
        """A point at random."""
        return {name: self._value(name, rng.uniform()) for name in self.axes}

    def grid(self, points: int) -> Iterator[Params]:
        """All combinations; ranges are cut at `points` even places."""
        sides = [self.values(name, points) for name in self.axes]
        for combination in itertools.product(*sides):
            yield dict(zip(self.axes, combination, strict=True))

    def values(self, name: str, points: int) -> list[Any]:
        """The values of an axis on a grid."""
        axis = self.axes[name]
        if isinstance(axis, Categorical):
            return list(axis.values)
        found = [axis.at(place) for place in np.linspace(0, 1, points)]
        return list(dict.fromkeys(found))

    def around(self, point: Params, span: float) -> SearchSpace:
        """The space with its ranges shrunk around a point; lists stay as they are."""
        return SearchSpace({
            name: axis if isinstance(axis, Categorical) else axis.around(point[name], span)
            for name, axis in self.axes.items()
        })  # fmt: skip

    def without(self, name: str) -> SearchSpace | None:
        """The space without an axis; None if nothing is left."""
        rest = {k: axis for k, axis in self.axes.items() if k != name}
        return SearchSpace(rest) if rest else None

    @property
    def size(self) -> float:
        """Number of points, infinite with a range."""
        ranges = [axis for axis in self.axes.values() if not isinstance(axis, Categorical)]
        if ranges:
            return float("inf")
        return float(np.prod([len(axis.values) for axis in self.axes.values()]))  # type: ignore[union-attr, arg-type]

    def place(self, point: Params) -> np.ndarray:
        """The place of a point in the cube."""
        found: list[float] = []
        for name, axis in self.axes.items():
            if not isinstance(axis, Categorical):
                found.append(axis.place(point[name]))
                continue
            k = next(i for i, v in enumerate(axis.values) if v is point[name] or v == point[name])
            if axis.ordered:
                found.append(k / max(len(axis.values) - 1, 1))
            else:
                found += [float(i == k) / np.sqrt(2) for i in range(len(axis.values))]
        return np.array(found)

    def _value(self, name: str, place: float) -> Any:
        axis = self.axes[name]
        if not isinstance(axis, Categorical):
            return axis.at(place)
        return axis.values[min(int(place * len(axis.values)), len(axis.values) - 1)]


def as_space(axes: Any) -> SearchSpace:
    return axes if isinstance(axes, SearchSpace) else SearchSpace(axes)


def key(point: Params) -> str:
    """Equal for equal points."""
    return repr(sorted((name, repr(value)) for name, value in point.items()))


def _axis(name: str, axis: Any) -> Axis:
    if isinstance(axis, RealRange | Categorical):
        return axis
    if isinstance(axis, str) or not isinstance(axis, Sequence | np.ndarray) or not len(axis):
        raise ValueError(
            f"{name}: must be a Real or Whole range or a list of values, got {axis!r}."
        )
    values = [v.item() if isinstance(v, np.generic) else v for v in axis]
    return Categorical(tuple(values))
