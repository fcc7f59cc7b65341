"""What every solver returns: the answer, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Solution:
    """The `value` found after `n_iter` steps, its objective, and whether the tolerance was met.

    `message` is one sentence for the user: what stopped the work, or what had to be done instead.
    `method` names the method where a solver chose among several.
    """

    value: Any
    n_iter: int = 0
    objective: float | None = None
    converged: bool = True
    message: str = ""
    method: str = ""


def best_of(found: Solution, taken: int, wanted: int) -> Solution:
    """The best of several starts; that time left some out is reported like a stop within one."""
    if taken >= wanted or not found.converged:
        return found
    message = f"the time was up after {taken} of {wanted} starts."
    return replace(found, converged=False, message=message)
