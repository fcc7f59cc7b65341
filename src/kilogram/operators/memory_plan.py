"""The one place that decides how a kernel matrix is stored: whole, in blocks, or as low rank.

    stored     copies * n * m numbers; fastest while it fits
    low_rank   n * rank numbers; only when the caller asks for an approximation of that rank
    blocked    a few tiles; the matrix is computed again for every product

The decision is by memory alone, so it can be predicted and is the same on every call: stored if its
bytes are within the limit, else low rank if asked for, else blocked. Seconds are estimates from two
rates measured once per process (`kilogram.operators.cost`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kilogram.arrays.memory import ALWAYS_ALLOWED, human_bytes, memory_limit
from kilogram.kernels.row_pairs import BLOCK_ENTRIES
from kilogram.operators.cost import OperationCount

#: Columns of a product up to which reading the matrix takes longer than multiplying: a core reads
#: some 10 bytes in the time of 40 multiply-adds.
FEW_OUTPUTS = 8

Storage = Literal["stored", "blocked", "low_rank"]


@dataclass(frozen=True)
class StoragePlan:
    """How a kernel matrix will be stored: name, bytes at the peak, work, and why."""

    name: Storage
    bytes: int
    work: OperationCount
    fits: bool
    reason: str

    @property
    def stores(self) -> bool:
        return self.name == "stored"

    @property
    def seconds(self) -> float:
        """Estimated from the machine's rates, which are measured when first asked for."""
        return self.work.seconds


def plan_storage(
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
) -> StoragePlan:
    """Choose how to store k(X, Y) of n rows and `columns` rows (n when None) of length d.

    `copies` is the peak memory of the caller in kernel matrices, `rank` the size of a low-rank
    approximation it would accept, `products` how often it multiplies by `outputs` vectors, and
    `flops` the multiply-adds it spends on a stored matrix otherwise (n^3 / 6 for Cholesky).
    """
    size = _itemsize(dtype)
    m = n if columns is None else columns
    stored = int(copies * n * m * size)
    little = max_memory is None and stored <= ALWAYS_ALLOWED
    limit = ALWAYS_ALLOWED if little else memory_limit(max_memory)
    half = 0.5 if columns is None else 1.0  # one triangle of a symmetric matrix
    once, values, product = half * n * m * d, half * n * m, n * m * outputs
    if stored <= limit:
        reason = f"K of {human_bytes(stored)} fits in the {human_bytes(limit)} allowed"
        # few vectors at a time are multiplied no faster than the matrix is read
        vectors = outputs <= FEW_OUTPUTS
        work = OperationCount(once + (0 if vectors else products * product) + flops, values, size,
                              passed=products * n * m if vectors else 0.0)  # fmt: skip
        return StoragePlan("stored", stored, work, True, reason)
    too_big = f"K of {human_bytes(stored)} does not fit in the {human_bytes(limit)} allowed"
    if rank is not None:
        used = int(n * rank * size)
        reason = f"{too_big}; {rank} features of {human_bytes(used)} replace it"
        work = OperationCount(n * rank * (d + rank), n * rank, size)
        return StoragePlan("low_rank", used, work, used <= limit, reason)
    used = min(BLOCK_ENTRIES, n * m) * size + n * outputs * size
    least = "" if used <= limit else ", the smallest possible: more than the limit is used"
    reason = f"{too_big}; it is computed in blocks of {human_bytes(used)} for every product{least}"
    work = OperationCount(products * (once + product), products * values, size)
    return StoragePlan("blocked", used, work, used <= limit, reason)


def _itemsize(dtype: Any) -> int:
    return 4 if "float32" in str(dtype) else 8
