"""`kg.estimate(model, n, d)`: what a fit will cost, before the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from kilogram.arrays.memory import human_bytes


def human_seconds(seconds: float) -> str:
    """Seconds in a readable unit."""
    seconds = max(seconds, 1e-4)  # below that no estimate means anything
    if seconds < 1:
        return f"{1000 * seconds:.{2 if seconds < 0.1 else 3}g} ms"
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


@dataclass(frozen=True)
class Estimate:
    """Time and memory of one fit: `method` is the solver, `fits` whether memory allows."""

    model: str
    n: int
    d: int
    method: str
    seconds: float
    bytes: int
    fits: bool
    reason: str = ""

    def __str__(self) -> str:
        verdict = "fits in memory" if self.fits else "does NOT fit in memory"
        text = (
            f"{self.model} on {self.n:,} x {self.d:,}: {self.method}, "
            f"about {human_seconds(self.seconds)}, {human_bytes(self.bytes)} ({verdict})."
        )
        return f"{text} {self.reason}" if self.reason else text


def estimate(
    model: BaseEstimator, n: Any, d: int | None = None, *, dtype: str = "float64"
) -> Estimate:
    """Estimate time and memory of `model.fit` on n rows and d columns.

    Rates are measured once per process on this machine, so the figures are approximate.

    Parameters
    ----------
    model : Kilogram estimator
    n, d : int
        Rows and columns of the training data; or the data in the place of n, without d.
    dtype : {"float64", "float32"}

    Returns
    -------
    Estimate
        With `method`, `seconds`, `bytes`, `fits`, and a sentence when printed.

    Examples
    --------
    >>> import kilogram as kg
    >>> cost = kg.estimate(kg.KernelRidge(kernel="rbf"), n=5_000, d=20)
    >>> cost.fits
    True
    """
    if d is None:
        if len(getattr(n, "shape", ())) != 2:
            raise TypeError(
                "kg.estimate takes the numbers of rows and columns, kg.estimate(model, 1000, 20), "
                "or data with two dimensions, kg.estimate(model, X)."
            )
        n, d = n.shape
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
