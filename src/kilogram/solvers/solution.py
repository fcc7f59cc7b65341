"""What every solver returns: the answer, and how it was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Solution:
    """The `value` found after `n_iter` steps, its objective, and whether the tolerance was met.

    `message` is one sentence for the user: what stopped the work, or what had to be done instead.
    `road` names the method where a solver chose among several.
    """

    value: Any
    n_iter: int = 0
    objective: float | None = None
    converged: bool = True
    message: str = ""
    road: str = ""
