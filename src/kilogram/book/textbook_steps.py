"""Textbook generators recorded step by step, with the line of code of each state."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

from kilogram.textbook import ENTRIES, State


@dataclass(frozen=True)
class Step:
    """One yielded state and its line, counted from 0 within the shown code."""

    state: State
    line: int | None  # none for a misprinted algorithm, whose code is not shown

    @property
    def name(self) -> str:
        """The step's name without the number of the printed line."""
        head, _, rest = self.state.step.partition(" ")
        return rest if head.isdigit() and rest else self.state.step


def record(name: str, *args: Any, most: int = 400, **kwargs: Any) -> list[Step]:
    """The states of the textbook version called `name`, at most `most` of them."""
    function = ENTRIES[name].function
    states = function(*args, **kwargs)
    first = code_of(name)[1]
    steps: list[Step] = []
    for state in states:
        frame = getattr(states, "gi_frame", None)
        steps.append(Step(state, (frame.f_lineno if frame else first) - first))
        if len(steps) >= most:
            states.close()
            break
    return steps


@cache
def last_line(name: str) -> int:
    """The line of the last state: where a whole run ends."""
    lines = code_of(name)[0].splitlines()
    return max(i for i, line in enumerate(lines) if "yield" in line)


@cache
def code_of(name: str) -> tuple[str, int]:
    """The source of a textbook version and the line of its file on which it begins."""
    lines, first = inspect.getsourcelines(ENTRIES[name].function)
    return "".join(lines).rstrip(), first


def thinned(steps: list[Step], most: int = 60) -> list[Step]:
    """At most `most` steps, the first and the last among them, the others evenly spaced."""
    if len(steps) <= most:
        return steps
    chosen = sorted({round(i * (len(steps) - 1) / (most - 1)) for i in range(most)})
    return [steps[i] for i in chosen]
