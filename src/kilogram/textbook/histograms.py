"""Histograms and the widths of their bins (lecture_notes L07), as corrected.

p_l = N_l / (N Delta)                                   bins [x_l, x_l + Delta)
Scott 3.5 sigma / N^(1/3);  Freedman-Diaconis 2 IQR / N^(1/3)
Shimazaki-Shinomoto   (2 m - v) / Delta^2, mean and variance of the counts, not of the heights
cross-validation      sum_l (1/Delta) [(N_l/N)^2 - 2 (N_l/N)(M_l/M)]
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def histogram(x: Array, start: float, width: float, bins: int) -> States:
    """Counts N and heights p of equal bins; the last holds its right end."""
    edges = start + width * np.arange(bins + 1)
    N = np.histogram(x, edges)[0].astype(float)
    yield (s := begin("1 counts", edges=edges, N=N))
    yield (s := s.then("2 heights", p=N / (len(x) * width)))
    return s


def width_rules(x: Array, x_held: Array, bins: Array) -> States:
    """All four widths; the two searches go over the numbers of bins on the range of both sets."""
    N, ordered = len(x), np.sort(x)
    scott = 3.5 * x.std() / N ** (1 / 3)
    yield (s := begin("1 Scott", scott=scott))
    iqr = ordered[3 * N // 4] - ordered[N // 4]
    yield (s := s.then("2 Freedman-Diaconis", freedman=2 * iqr / N ** (1 / 3)))
    low, high = min(x.min(), x_held.min()), max(x.max(), x_held.max())
    widths = (high - low) / np.asarray(bins)
    counts = [np.histogram(x, L, (low, high))[0] for L in bins]
    cost = [(2 * k.mean() - k.var()) / w**2 for k, w in zip(counts, widths, strict=True)]
    yield (s := s.then("3 Shimazaki-Shinomoto", cost=cost, shimazaki=widths[np.argmin(cost)]))
    held = [np.histogram(x_held, L, (low, high))[0] / len(x_held) for L in bins]
    score = [
        np.sum((k / N) ** 2 - 2 * k / N * m) / w
        for k, m, w in zip(counts, held, widths, strict=True)
    ]
    yield (s := s.then("4 held out", score=score, held_out=widths[np.argmin(score)]))
    return s
