"""`kg.estimate(model, n, d)`: what a fit will cost, before the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.base.budget import Budget
from kilogram.operators.memory_plan import ALWAYS, human_bytes, memory_limit


def human_seconds(seconds: float) -> str:
    """Seconds as one says them."""
    seconds = max(seconds, 1e-4)  # below that no estimate means anything
    if seconds < 1:
        return f"{1000 * seconds:.{2 if seconds < 0.1 else 3}g} ms"
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


@dataclass(frozen=True)
class Estimate:
    """Time and memory of one fit: `road` is how it is solved, `fits` whether memory allows."""

    model: str
    n: int
    d: int
    road: str
    seconds: float
    bytes: int
    fits: bool
    reason: str = ""

    def __str__(self) -> str:
        verdict = "fits in memory" if self.fits else "does NOT fit in memory"
        text = (
            f"{self.model} on {self.n:,} x {self.d:,}: {self.road}, "
            f"about {human_seconds(self.seconds)}, {human_bytes(self.bytes)} ({verdict})."
        )
        return f"{text} {self.reason}" if self.reason else text


def estimate(model: Any, n: int, d: int, *, dtype: str = "float64") -> Estimate:
    """Estimate time and memory of `model.fit` on n rows and d columns.

    Rates are measured once per process on this machine, so the figures orient rather than promise.

    Parameters
    ----------
    model : Kilogram estimator
    n, d : int
        Rows and columns of the training data.
    dtype : {"float64", "float32"}

    Returns
    -------
    Estimate
        With `road`, `seconds`, `bytes`, `fits`, and a sentence when printed.

    Examples
    --------
    >>> import kilogram as kg
    >>> cost = kg.estimate(kg.KernelRidge(kernel="rbf"), n=5_000, d=20)
    >>> cost.fits
    True
    """
    if n < 1 or d < 1:
        raise ValueError(f"n and d must be positive, got n={n}, d={d}.")
    cost = getattr(model, "_estimate", None)
    if cost is None or isinstance(model, type):
        named = f"{model.__name__} is a class and" if cost is not None else type(model).__name__
        raise TypeError(
            f"{named} cannot estimate its cost; kg.estimate takes a Kilogram model, such as "
            "kg.Ridge()."
        )
    found: Estimate = cost(int(n), int(d), dtype)
    return found


def within(model: Any, n: int, d: int, road: str, seconds: float, size: float) -> Estimate:
    """The Estimate of a model that has no choice of roads: `size` bytes against its budget."""
    limit = Budget(None, getattr(model, "max_memory", None)).bytes
    return Estimate(type(model).__name__, n, d, road, seconds, int(size), size <= limit)


def ensure_room(
    model: Any, needed: float, what: str, advice: str = "fewer columns (PCA makes some of many)"
) -> None:
    """MemoryError before the work, if `what` the model must hold takes more than it may."""
    said = getattr(model, "max_memory", None)
    if said is None and needed <= ALWAYS:
        return
    limit = memory_limit(said)
    if needed > limit:
        raise MemoryError(
            f"{type(model).__name__}: {what} take {human_bytes(int(needed))}, and "
            f"{human_bytes(limit)} may be used. Take {advice}, or "
            f"{'a machine with more memory' if said is None else 'a larger max_memory'}."
        )
