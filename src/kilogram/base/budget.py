"""Limits of time and memory for a fit.

A solver does not see the limits. It gets one function, `tick(iteration, objective) -> bool`, and
stops when that returns True; the limits and the user's callbacks are behind that function.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from numbers import Real

from kilogram.arrays.memory import memory_limit, parse_memory


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
