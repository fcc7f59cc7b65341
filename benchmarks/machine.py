"""What this machine can do at best: the floor that a method's flops and bytes are divided by."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from threadpoolctl import threadpool_limits

Clock = Callable[[], float]


@dataclass(frozen=True)
class Rates:
    """Best rates seen: flops per second of gemm, bytes per second read, exponentials per second."""

    gemm64: float
    gemm32: float
    read: float
    exp: float

    def floor(
        self, *, flops: float = 0, bytes: float = 0, exps: float = 0, dtype: str = "f8"
    ) -> float:
        """Seconds that no program can beat: the slowest of its three resources."""
        gemm = self.gemm64 if dtype == "f8" else self.gemm32
        return max(flops / gemm, bytes / self.read) + exps / self.exp

    def as_dict(self) -> dict[str, float]:
        """Rates in 1e9 a second, for the file of results."""
        return {name: round(rate / 1e9, 2) for name, rate in asdict(self).items()}

    def __str__(self) -> str:
        return (
            f"gemm {self.gemm64 / 1e9:.0f} / {self.gemm32 / 1e9:.0f} GFLOP/s (float64 / float32), "
            f"read {self.read / 1e9:.0f} GB/s, exp {self.exp / 1e9:.2f} G/s."
        )


def _best(work: Callable[[], object], clock: Clock, repeats: int = 4) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def _read_rate(threads: int, clock: Clock) -> float:
    """Bytes per second of summing an array far larger than the caches, one part a thread."""
    parts = np.array_split(np.ones(100_000_000), threads)
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(np.sum, parts)), clock)
    return sum(part.nbytes for part in parts) / seconds


def measure(threads: int = 2, clock: Clock = time.perf_counter) -> Rates:
    """A second or two of gemm, summation and vector exp (the last by Kilogram's own loop)."""
    with threadpool_limits(threads):
        return _measured(threads, clock)


def _measured(threads: int, clock: Clock) -> Rates:
    from kilogram import native

    rng = np.random.default_rng(0)
    rates = {}
    for dtype in ("f8", "f4"):
        A = rng.standard_normal((3000, 3000)).astype(dtype)
        out = np.empty_like(A)
        rates[dtype] = 2 * 3000**3 / _best(lambda A=A, out=out: np.dot(A, A, out=out), clock)
    read = _read_rate(threads, clock)
    X = rng.standard_normal((4000, 1))
    exp = 4000 * 4000 / 2 / _best(lambda: native.kernel_block("gaussian", X, X, (1.0,)), clock)
    return Rates(rates["f8"], rates["f4"], read, exp)


def describe() -> str:
    """Processor, cores and versions, for the head of the table."""
    import scipy
    import sklearn

    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = name or "unknown processor"
    return (
        f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )
