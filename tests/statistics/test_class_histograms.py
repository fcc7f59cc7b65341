"""Histograms of classes over common bins: counts, densities that integrate to 1, rules."""

import numpy as np
import pytest

from kilogram.functions.histograms import bin_width
from kilogram.statistics.class_histograms import choose_bins
from kilogram.statistics.ranges import Ranges

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 2)) * [1.0, 5.0]
CODES = RNG.integers(0, 2, 300)
X[CODES == 1, 0] *= 0.2


def bins_of(rule, **options):
    ranges = Ranges.of(X)
    return choose_bins(rule, options.get("most", 64), ranges, (X, CODES, None), np.arange(2), RNG)


def test_counts_are_those_of_numpy():
    bins = bins_of(7)
    counts = bins.of(X, CODES, n_classes=2)
    for j in range(2):
        edges = bins.starts[j] + bins.widths[j] * np.arange(8)
        edges[-1] = X[:, j].max()
        for c in range(2):
            want = np.histogram(X[c == CODES, j], edges)[0]
            np.testing.assert_array_equal(counts.tables[j][c, 1:-1], want)
            assert counts.tables[j][c, [0, -1]].sum() == 0  # nothing lies beyond the range


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_densities_integrate_to_one(alpha):
    bins = bins_of("scott")
    logs = bins.log_densities(bins.of(X, CODES, n_classes=2), alpha)
    for table, width in zip(logs, bins.widths, strict=True):
        np.testing.assert_allclose(np.exp(table).sum(axis=1) * width, 1.0)


def test_the_narrowest_class_sets_the_width():
    widths = [bin_width("freedman_diaconis", X[c == CODES, 0]) for c in range(2)]
    want = np.ceil(np.ptp(X[:, 0]) / min(widths))
    assert bins_of("freedman_diaconis").numbers[0] == want
    assert bins_of("freedman_diaconis", most=5).numbers.max() == 5
