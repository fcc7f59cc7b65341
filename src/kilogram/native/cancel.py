"""How one thread ends a compiled loop of another: a flag that the loop reads."""

from __future__ import annotations

import numpy as np


class Cancelled(Exception):
    """Another thread has cancelled the call."""


class CancelFlag:
    """Shared by the threads of one task: once set, their loops stop within milliseconds."""

    def __init__(self) -> None:
        self.value = np.zeros(1, np.int32)

    def set(self) -> None:
        self.value[0] = 1
