"""The states a textbook version yields: step name, arrays so far, objective where there is one.

A textbook version is a generator function. It begins with a state, adds arrays under the letters
of the page with `state.then(...)`, yields after every line, and ends with the result:

    def mean(X):
        yield (s := begin("data", X=X))
        yield (s := s.then("mean", x_bar=X.mean(axis=0)))
        return s

`run(mean(X))["x_bar"]` is the result; a live page shows the states one by one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _read_only(array: object) -> Array:
    """A view nobody can write through: a state shown once must not change afterwards."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class State:
    """One step of an algorithm: `state["W"]` is the array the page calls W."""

    step: str
    arrays: Mapping[str, Array] = field(default_factory=dict)
    objective: float | None = None

    def __getitem__(self, letter: str) -> Array:
        if letter not in self.arrays:
            raise KeyError(f"no {letter!r} at step {self.step!r}; there are {sorted(self.arrays)}")
        return self.arrays[letter]

    def then(self, step: str, objective: float | None = None, **arrays: object) -> State:
        """The next state: the arrays so far, with these added or replaced."""
        news = {letter: _read_only(array) for letter, array in arrays.items()}
        return State(step, MappingProxyType({**self.arrays, **news}), objective)


States = Generator[State, None, State]


def begin(step: str, objective: float | None = None, **arrays: object) -> State:
    """The first state of a textbook version."""
    return State("nothing yet").then(step, objective, **arrays)


def run(states: States) -> State:
    """Run a textbook version to its end; the last state holds the result."""
    last = None
    for last in states:  # noqa: B007  (only the last one is wanted)
        pass
    if last is None:
        raise ValueError("this textbook version yielded no state")
    return last
