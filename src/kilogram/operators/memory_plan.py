"""The one place that decides how a kernel matrix is held: stored, in blocks, or as low rank.

    stored     copies * n * m numbers; fastest while it fits
    low_rank   n * rank numbers; only when the caller asks for an approximation of that rank
    blocked    a few tiles; the matrix is computed again for every product

The decision is by memory alone, so it can be foretold and is the same on every call: stored if its
bytes are within the limit, else low rank if asked for, else blocked. Seconds are estimates from two
rates measured once per process: multiply-adds of a matrix product, and exponentials.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from kilogram.arrays.memory import available_memory, parse_memory
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.pairs import BLOCK_ENTRIES

FREE_SHARE = 0.6  # of the free memory may be taken unasked: the rest is the user's other work
ALWAYS = 32 * 2**20  # bytes taken without asking: to ask the system costs as much as such a K
RoadName = Literal["stored", "blocked", "low_rank"]


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second: multiply-adds in matrix products, kernel values."""

    multiply_adds: float
    values: float


@dataclass(frozen=True)
class Work:
    """Multiply-adds and kernel values of a computation, and the bytes of one number."""

    multiply_adds: float
    values: float
    size: int

    @property
    def seconds(self) -> float:
        speed = rates(self.size)
        return self.multiply_adds / speed.multiply_adds + self.values / speed.values


@dataclass(frozen=True)
class Road:
    """How a kernel matrix will be held: name, bytes at the peak, work, and why."""

    name: RoadName
    bytes: int
    work: Work
    fits: bool
    reason: str

    @property
    def stores(self) -> bool:
        return self.name == "stored"

    @property
    def seconds(self) -> float:
        """Estimated from the machine's rates, which are measured when first asked for."""
        return self.work.seconds


def memory_limit(max_memory: int | str | None = None) -> int:
    """Bytes that may be used: what was said, or a share of what is free."""
    said = parse_memory(max_memory)
    return int(FREE_SHARE * available_memory()) if said is None else int(said)


def choose_road(
    n: int,
    d: int,
    dtype: Any = "float64",
    *,
    max_memory: int | str | None = None,
    columns: int | None = None,
    copies: float = 1.0,
    rank: int | None = None,
    products: int = 1,
    outputs: int = 1,
    flops: float = 0.0,
) -> Road:
    """Choose how to hold k(X, Y) of n rows and `columns` rows (n when None) of length d.

    `copies` is the peak memory of the caller in kernel matrices, `rank` the size of a low-rank
    approximation it would accept, `products` how often it multiplies by `outputs` vectors, and
    `flops` the multiply-adds it spends on a stored matrix otherwise (n^3 / 6 for Cholesky).
    """
    size = _itemsize(dtype)
    m = n if columns is None else columns
    stored = int(copies * n * m * size)
    little = max_memory is None and stored <= ALWAYS
    limit = ALWAYS if little else memory_limit(max_memory)
    half = 0.5 if columns is None else 1.0  # one triangle of a symmetric matrix
    once, values, product = half * n * m * d, half * n * m, n * m * outputs
    if stored <= limit:
        reason = f"K of {human_bytes(stored)} fits in the {human_bytes(limit)} allowed"
        work = Work(once + products * product + flops, values, size)
        return Road("stored", stored, work, True, reason)
    too_big = f"K of {human_bytes(stored)} does not fit in the {human_bytes(limit)} allowed"
    if rank is not None:
        held = int(n * rank * size)
        reason = f"{too_big}; {rank} features of {human_bytes(held)} stand in for it"
        work = Work(n * rank * (d + rank), n * rank, size)
        return Road("low_rank", held, work, held <= limit, reason)
    held = min(BLOCK_ENTRIES, n * m) * size + n * outputs * size
    least = "" if held <= limit else ", the smallest there are: more than was allowed is taken"
    reason = f"{too_big}; it is computed in blocks of {human_bytes(held)} for every product{least}"
    work = Work(products * (once + product), products * values, size)
    return Road("blocked", held, work, held <= limit, reason)


@lru_cache(maxsize=4)
def rates(size: int = 8) -> Rates:
    """The machine's rates for float64 (8 bytes) or float32 (4), measured in a few milliseconds."""
    dtype = np.float32 if size == 4 else np.float64
    A: Any = np.random.default_rng(0).standard_normal((512, 512)).astype(dtype)
    thin, kernel = np.ascontiguousarray(A[:, :4]), Gaussian(1.0)
    product = _best_of(lambda: A @ A)
    values = _best_of(lambda: kernel(thin, A[::-1, :4]))
    return Rates(512.0**3 / product, 512.0**2 / values)


def _best_of(work: Any, times: int = 4) -> float:
    """The shortest of a few runs, in seconds; the first one warms up threads and caches."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return max(min(found), 1e-9)


def _itemsize(dtype: Any) -> int:
    return 4 if "float32" in str(dtype) else 8


def human_bytes(count: float) -> str:
    """A number of bytes for people: '1.5 GiB'."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
