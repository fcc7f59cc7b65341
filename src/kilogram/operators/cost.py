"""How long products and kernel values take on this machine, for estimates before the work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kilogram.kernels.gaussian import Gaussian


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second: multiply-adds in matrix products, kernel values."""

    multiply_adds: float
    values: float


@dataclass(frozen=True)
class OperationCount:
    """Multiply-adds and kernel values of a computation, and the bytes of one number.

    `passed` are the numbers of a stored matrix that products with vectors read from memory.
    """

    multiply_adds: float
    values: float
    size: int
    passed: float = 0.0

    @property
    def seconds(self) -> float:
        speed = rates(self.size)
        seconds = self.multiply_adds / speed.multiply_adds + self.values / speed.values
        return seconds + self.passed * self.size / bandwidth() if self.passed else seconds


@lru_cache(maxsize=4)
def rates(size: int = 8) -> Rates:
    """The machine's rates for float64 (8 bytes) or float32 (4), measured in a few milliseconds."""
    dtype = np.float32 if size == 4 else np.float64
    A: Any = np.random.default_rng(0).standard_normal((512, 512)).astype(dtype)
    thin, kernel = np.ascontiguousarray(A[:, :4]), Gaussian(1.0)
    product = _best_of(lambda: A @ A)
    values = _best_of(lambda: kernel(thin, A[::-1, :4]))
    return Rates(512.0**3 / product, 512.0**2 / values)


@lru_cache(maxsize=1)
def bandwidth() -> float:
    """Bytes that a product of a matrix with a vector reads in a second, beyond the caches."""
    A, v = np.ones((4096, 4096), dtype=np.float32), np.ones(4096, dtype=np.float32)
    return A.nbytes / _best_of(lambda: A @ v)


def _best_of(work: Any, times: int = 4) -> float:
    """The shortest of a few runs, in seconds; the first one warms up threads and caches."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return max(min(found), 1e-9)
