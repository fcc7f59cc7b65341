"""Random subsets of rows: without repetition, each with the same probability."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest

from kilogram.models.robust.subsets import MOST_COMPARISONS, draw_subsets


@pytest.mark.parametrize(("n", "k"), [(9, 4), (200, 30), (200, 60), (200, 199), (10_000, 3)])
def test_no_row_is_repeated(n, k):
    found = draw_subsets(n, k, 150, np.random.default_rng(0))
    assert found.shape == (min(150, comb(n, k)), k)
    assert 0 <= found.min() <= found.max() < n
    assert all(len(set(row)) == k for row in found.tolist())


@pytest.mark.parametrize(("n", "k"), [(5, 2), (60, 58)])  # below and above the limit
def test_every_subset_is_equally_likely(n, k):
    assert (k * k > MOST_COMPARISONS * n) == (n == 60)
    rng, possible = np.random.default_rng(0), comb(n, k)
    draws, per_call = 200 * possible, possible - 1  # of all possible ones none is drawn
    found = np.concatenate([draw_subsets(n, k, per_call, rng) for _ in range(draws // per_call)])
    counts = Counter(map(tuple, np.sort(found, axis=1).tolist()))
    expected = len(found) / possible
    chi2 = sum((counts[s] - expected) ** 2 / expected for s in combinations(range(n), k))
    assert abs(chi2 - (possible - 1)) < 5 * np.sqrt(2 * (possible - 1))


def test_all_subsets_if_there_are_few():
    found = draw_subsets(6, 3, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(found, list(combinations(range(6), 3)))
