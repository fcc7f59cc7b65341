"""Histograms as densities, and four rules for the width of their bins.

    height of bin l   p_l = N_l / (N Delta)       minimises  sum_l p_l^2 Delta - 2 sum_l p_l N_l / N

Scott                  3.5 sigma / N^(1/3)                                       for normal data
Freedman-Diaconis      2 (x_[3N/4] - x_[N/4]) / N^(1/3)                          order statistics
Shimazaki-Shinomoto    min over widths of (2 m - v) / Delta^2, m and v the mean and the (biased)
                       variance of the COUNTS of the bins
held out               min over widths of sum_l (1/Delta) [(N_l/N)^2 - 2 (N_l/N)(M_l/M)], M_l the
                       counts of other points: the integrated squared error, less a constant

Bins are half open, [x_l, x_l + Delta); the last one holds its right end. Points may have weights,
which count like repetitions. References: Scott 1979; Freedman and Diaconis 1981; Shimazaki and
Shinomoto 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Tried by the two rules that search: for n rows they choose about n^(1/3), so this serves 8
# million.
MOST_BINS = 200


def counts(x: Any, start: float, width: float, bins: int, w: Any = None) -> np.ndarray:
    """Weight of the points in each of the bins; points outside are left out."""
    x = np.asarray(x, dtype=float)
    at = np.floor((x - start) / width)
    at = np.where((at == bins) & (x <= start + bins * width * (1 + 1e-12)), bins - 1, at)
    inside = (at >= 0) & (at < bins)
    weights = None if w is None else np.asarray(w, dtype=float)[inside]
    found = np.bincount(at[inside].astype(np.int64), weights=weights, minlength=bins)
    return found.astype(np.float64)


def heights(x: Any, start: float, width: float, bins: int, w: Any = None) -> np.ndarray:
    """The density N_l / (N Delta) of each bin."""
    found = counts(x, start, width, bins, w)
    return found / (found.sum() * width)


def squared_error(p: Any, found: Any, width: float) -> float:
    """sum_l p_l^2 Delta - 2 sum_l p_l N_l / N: the squared error of heights p, less a constant."""
    p, found = np.asarray(p), np.asarray(found)
    return float(np.sum(p**2) * width - 2 * p @ found / found.sum())


def _size(x: np.ndarray, w: Any) -> float:
    return float(len(x)) if w is None else float(np.sum(w))


def scott(x: Any, w: Any = None, size: float | None = None) -> float:
    """3.5 sigma / N^(1/3); `size` is N where x is a sample of more points."""
    x = np.asarray(x, dtype=float)
    N = _size(x, w)
    if np.ptp(x) == 0:
        return 0.0  # not the rounding of the mean
    mean = np.average(x, weights=w)
    sigma = float(np.sqrt(np.average((x - mean) ** 2, weights=w)))
    return 3.5 * sigma / (size or N) ** (1 / 3)


def freedman_diaconis(x: Any, w: Any = None, size: float | None = None) -> float:
    """2 IQR / N^(1/3), the quartiles by order statistics."""
    x = np.asarray(x, dtype=float)
    N = _size(x, w)
    order = np.argsort(x, kind="stable")
    if w is None:
        low, high = x[order[int(N // 4)]], x[order[int(3 * N // 4)]]
    else:
        reached = np.cumsum(np.asarray(w, dtype=float)[order])
        # the point at place k of the points written out as often as they weigh
        low, high = (
            x[order[min(int(np.searchsorted(reached, k, side="right")), len(x) - 1)]]
            for k in (N // 4, 3 * N // 4)
        )
    return float(2 * (high - low) / (size or N) ** (1 / 3))


def candidate_bins(n: int) -> np.ndarray:
    """Numbers of bins to try for n points."""
    return np.arange(2, max(min(MOST_BINS, n), 3))


def shimazaki_shinomoto(x: Any, w: Any = None, bins: Any = None) -> float:
    """The width whose counts have the smallest (2 m - v) / Delta^2, over the range of x."""
    x = np.asarray(x, dtype=float)
    low, span = float(x.min()), float(np.ptp(x))
    if span == 0:
        return 0.0
    # as many as for the points written out; weights below 1 leave no fewer of them
    tried = candidate_bins(max(len(x), round(_size(x, w)))) if bins is None else np.asarray(bins)
    scores = []
    for L in tried:
        k = counts(x, low, span / L, int(L), w)
        scores.append((2 * k.mean() - k.var()) * float(L) ** 2)  # in units of the span
    return span / float(tried[int(np.argmin(scores))])


def held_out_score(
    x: Any, other: Any, start: float, width: float, bins: int, w: Any = None, other_w: Any = None
) -> float:
    """The integrated squared error of x's histogram seen by other points, less a constant."""
    p, q = counts(x, start, width, bins, w), counts(other, start, width, bins, other_w)
    p, q = p / _size(np.asarray(x), w), q / _size(np.asarray(other), other_w)
    return float(np.sum(p**2 - 2 * p * q) / width)


def held_out(x: Any, other: Any, bins: Any = None, w: Any = None, other_w: Any = None) -> float:
    """The width of least held-out error, over the range of both."""
    x, other = np.asarray(x, dtype=float), np.asarray(other, dtype=float)
    low = float(min(x.min(), other.min()))
    span = float(max(x.max(), other.max())) - low
    if span == 0:
        return 0.0
    tried = candidate_bins(len(x)) if bins is None else np.asarray(bins)
    scores = [held_out_score(x, other, low, span / L, int(L), w, other_w) for L in tried]
    return span / float(tried[int(np.argmin(scores))])


RULES = ("freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out")


def bin_width(
    rule: str, x: Any, w: Any = None, *, size: float | None = None, rng: Any = None
) -> float:
    """The width by one of the four rules; 0 where x does not vary."""
    x = np.asarray(x, dtype=float)
    if rule == "scott":
        return scott(x, w, size)
    if rule == "freedman_diaconis":
        return freedman_diaconis(x, w, size) or scott(x, w, size)  # half of x equal: no quartiles
    if rule == "shimazaki_shinomoto":
        return shimazaki_shinomoto(x, w)
    if rule == "held_out":
        if len(x) < 4:
            return scott(x, w, size)
        first = (rng or np.random.default_rng(0)).permutation(len(x)) < len(x) // 2
        here, there = (None, None) if w is None else (np.asarray(w)[first], np.asarray(w)[~first])
        return held_out(x[first], x[~first], w=here, other_w=there)
    raise ValueError(f"the rules for the width of bins are {RULES}, got {rule!r}.")
