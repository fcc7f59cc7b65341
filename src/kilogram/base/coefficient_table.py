"""A table of coefficients: estimates, standard errors, t, p and confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import scipy.stats


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Coefficients and their errors; arrays (p,), or (p, t) for t targets."""

    names: tuple[str, ...]
    estimate: np.ndarray
    error: np.ndarray
    t: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kind: str
    level: float
    #: n - rank.
    degrees: float
    #: Standard deviation of the residuals, one per target.
    sigma: np.ndarray
    #: (p, p) or (t, p, p).
    covariance: np.ndarray = field(repr=False)

    def __repr__(self) -> str:
        head = f"{'':<16}{'estimate':>12}{'error':>12}{'t':>9}{'p':>9}"
        head += f"{f'{self.level:.0%} low':>13}{'high':>12}"
        lines = [f"coefficients, {self.kind} errors, {self.degrees:g} degrees of freedom", head]
        for target, row in self._rows():
            if target is not None and row[0] == self.names[0]:
                lines.append(f"target {target}")
            name, a, b, t, p, low, high = row
            lines.append(
                f"{name[:15]:<16}{a:>12.5g}{b:>12.4g}{t:>9.3g}{p:>9.3g}{low:>13.5g}{high:>12.5g}"
            )
        return "\n".join(lines)

    def of_one_target(self) -> Self:
        """The table of a single target, without the axis of targets."""
        parts = ("estimate", "error", "t", "p", "low", "high")
        flat = {name: getattr(self, name)[:, 0] for name in parts}
        return replace(self, **flat, sigma=self.sigma[0], covariance=self.covariance[0])

    def to_frame(self) -> Any:
        """A pandas or polars data frame, whichever is installed; one row per coefficient."""
        keys = ("name", "estimate", "error", "t", "p", "low", "high")
        rows = list(self._rows())
        columns = {key: [row[j] for _, row in rows] for j, key in enumerate(keys)}
        if self.estimate.ndim == 2:
            columns = {"target": [target for target, _ in rows], **columns}
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(columns)
        raise ImportError("to_frame needs pandas or polars; the table's attributes need neither.")

    def _rows(self) -> Iterator[tuple[int | None, tuple[Any, ...]]]:
        parts = (self.estimate, self.error, self.t, self.p, self.low, self.high)
        flat = self.estimate.ndim == 1
        for j in range(1 if flat else self.estimate.shape[1]):
            for i, name in enumerate(self.names):
                numbers = (float(a[i] if flat else a[i, j]) for a in parts)
                yield (None if flat else j), (name, *numbers)


def table_of(
    names: tuple[str, ...],
    estimate: np.ndarray,
    covariance: np.ndarray,
    sigma: np.ndarray,
    kind: str,
    level: float,
    degrees: float,
) -> CoefficientTable:
    """The table of estimates (p, t) with covariances (t, p, p), by Student's t."""
    error = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate / error
    p = 2.0 * scipy.stats.t.sf(np.abs(t), degrees)
    reach = scipy.stats.t.ppf(0.5 + level / 2, degrees) * error
    low, high = estimate - reach, estimate + reach
    return CoefficientTable(
        names, estimate, error, t, p, low, high, kind, level, degrees, sigma, covariance
    )
