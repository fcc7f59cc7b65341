"""Is the model worse for some rows? Mean loss by subgroup, against all other rows.

The difference of a subgroup's mean loss from the others' has Welch's standard error; p values of
several subgroups are corrected together (Holm), so that among many groups one is not found worse by
looking long enough. Groups of fewer than `least` rows are pooled as "other".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from kilogram.evaluation.intervals import Interval


@dataclass(frozen=True)
class Subgroup:
    """Rows of one group: mean loss, its difference from all others, and Holm's p value."""

    name: Any
    count: int
    loss: float
    difference: Interval
    p_value: float

    @property
    def verdict(self) -> str:
        """ "worse", "better" or "like the others" at the interval's confidence, after Holm."""
        if self.p_value > 1 - self.difference.confidence:
            return "like the others"
        return "worse" if self.difference.mean > 0 else "better"


def subgroup_losses(
    losses: ArrayLike, groups: ArrayLike, *, least: int = 10, confidence: float = 0.95
) -> tuple[Subgroup, ...]:
    """Subgroups of (n,) losses by (n,) group names, the worst first.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import subgroup_losses
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["north", "south"], 100)
    >>> losses = np.where(site == "north", 1.0, 2.0) * rng.exponential(size=200)
    >>> [group.name for group in subgroup_losses(losses, site)]
    ['south', 'north']
    """
    loss, names = np.asarray(losses, dtype=float), np.asarray(groups, dtype=object)
    if loss.shape != names.shape or loss.ndim != 1:
        raise ValueError(
            f"losses and groups must have the same shape (n,), got {loss.shape} and {names.shape}."
        )
    masks = _masks(names, least)
    found = [(name, mask, *_difference(loss, mask, confidence)) for name, mask in masks.items()]
    corrected = holm([p for *_, p in found])
    groups_found = [
        Subgroup(name, int(mask.sum()), float(loss[mask].mean()), difference, p)
        for (name, mask, difference, _), p in zip(found, corrected, strict=True)
    ]
    return tuple(sorted(groups_found, key=lambda group: -group.difference.mean))


def _masks(names: np.ndarray, least: int) -> dict[Any, np.ndarray]:
    text = np.array([str(name) for name in names])
    found, rest = {}, np.zeros(len(text), dtype=bool)
    for name in np.unique(text):
        mask = text == name
        if mask.sum() < least:
            rest |= mask
        else:
            found[str(name)] = mask
    if rest.sum() >= least:
        found["other" if "other" not in found else "other (small groups)"] = rest
    return found if len(found) > 1 or (found and not all(map(np.all, found.values()))) else {}


def _difference(loss: np.ndarray, mask: np.ndarray, confidence: float) -> tuple[Interval, float]:
    here, there = loss[mask], loss[~mask]
    d = float(here.mean() - there.mean()) if len(there) else 0.0
    parts = [float(np.var(v, ddof=1) / len(v)) if len(v) > 1 else math.inf for v in (here, there)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return Interval(d, d, d, confidence), 1.0 if d == 0 else 0.0
    if not math.isfinite(error):
        return Interval(d, -math.inf, math.inf, confidence), 1.0
    freedom = sum(parts) ** 2 / sum(
        v * v / (n - 1) for v, n in zip(parts, (len(here), len(there)), strict=True)
    )
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    p = float(2 * stats.t.sf(abs(d) / error, freedom))
    return Interval(d, d - half, d + half, confidence), p


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's corrected p values: valid together, whatever their dependence.

    Examples
    --------
    >>> from kilogram.evaluation import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, steps)
    return found
