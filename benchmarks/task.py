"""A task: data, the contestants, how good an answer is, and the floor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.machine import Rates


@dataclass(frozen=True)
class Task:
    """`run[name](data)` is what is timed; `quality(result, data)` is not."""

    name: str
    title: str
    make: Callable[[], Any]
    run: Mapping[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], Mapping[str, float]]
    floor: Callable[[Rates], float]
    #: What the floor counts, for the reader.
    counted: str = ""
    #: Contestants that are ours; the others are peers.
    ours: tuple[str, ...] = ("kilogram",)
    #: Large tasks run once; small ones until the figure is steady.
    repeats: int = 3
    #: Contestants that need a package that may not be there: name -> module.
    needs: Mapping[str, str] = field(default_factory=dict)
    #: Left out unless asked for by name (minutes long).
    long: bool = False


def jobs() -> int:
    """Threads of this run, for the libraries that do not take them from the environment."""
    return int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1
