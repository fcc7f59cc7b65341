"""The laws (invariants) an estimator declares on its class, tested by `tests/laws`.

Each field is either True (the law applies and is tested) or a sentence saying why it does not.
A page that adds an estimator to the registry gets every law by declaring this value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Holds = bool | str


@dataclass(frozen=True)
class Twin:
    """The kernel version: with `Linear()` it equals the linear method with these parameters."""

    name: str
    kernel_params: Mapping[str, Any] = field(default_factory=dict)
    linear_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Laws:
    """Which laws hold; a string is the written reason why one does not apply."""

    twin: Twin | str = "has no kernel version"
    shift: Holds = True
    weight: Holds = True
    permutation: Holds = True
    block: Holds = True
    partial_fit: Holds = "fits in one call"
    backend: Holds = True
    sparse: Holds = True
    threads: Holds = True
    cpu: Holds = True
    objective: Holds = "states no objective value"
    budget: Holds = "solved directly: nothing to stop early"
    textbook: Holds = True
    #: Parameters that make a small, deterministic instance for the tests.
    example: Mapping[str, Any] = field(default_factory=dict)
    #: Parameters that select an iterative solver, for the law of limits.
    budget_example: Mapping[str, Any] = field(default_factory=dict)
    #: Relative tolerance between two exact solvers in float64.
    rtol: float = 1e-7
