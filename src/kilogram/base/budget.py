"""A budget of time and memory: given by the user, kept by the solvers.

A solver never sees the budget. It is handed one function, `tick(step, objective) -> bool`, and
stops when the answer is True; the budget and the user's callbacks stand behind that function.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from numbers import Real

from kilogram.arrays.memory import parse_memory
from kilogram.operators.memory_plan import memory_limit


@dataclass(frozen=True)
class Budget:
    """`max_time` in seconds (None: no limit), `max_memory` as bytes or text such as "4GiB"."""

    max_time: float | None = None
    max_memory: int | str | None = None
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        limit = self.max_time
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, Real) or not limit > 0
        ):
            raise ValueError(
                f"max_time must be a positive number of seconds or None, got {limit!r}."
            )
        parse_memory(self.max_memory)

    @property
    def bytes(self) -> int:
        """Bytes the fit may use."""
        return memory_limit(self.max_memory)

    @property
    def left(self) -> float:
        """Seconds left."""
        if self.max_time is None:
            return math.inf
        return float(self.max_time) - (time.perf_counter() - self.started)

    @property
    def deadline(self) -> float | None:
        """The moment (time.perf_counter) at which the work must stop."""
        return None if self.max_time is None else self.started + float(self.max_time)

    @property
    def expired(self) -> bool:
        return self.left <= 0
