"""Stumps on sorted columns: against a loop over all thresholds, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.native.boosting import SortedColumns


def rows(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((60, 5)) < 0.4, rng.integers(-3, 4, (60, 5)) / 2, 0.0)
    X[:, 4] = 1.5  # no cut
    return X, rng.integers(0, 3, 60).astype(np.int32), rng.normal(size=60), rng.random(60)


def cuts(X, w):
    for k in range(X.shape[1]):
        values = np.unique(X[w > 0, k])
        for threshold in (values[:-1] + values[1:]) / 2:
            yield k, threshold, X[:, k] <= threshold


def best(X, w, score):
    found = (-np.inf, -1, 0.0)
    for k, threshold, low in cuts(X, w):
        value = score(low)
        if value > found[0] + 1e-12:
            found = (value, k, threshold)
    return found[1:]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_against_all_thresholds(seed, form):
    X, label, y, w = rows(seed)
    columns = SortedColumns(form(X))

    def purity(low):
        sides = [np.bincount(label[s], w[s], 3) for s in (low, ~low)]
        return sum(side @ side / side.sum() for side in sides)

    def right(low):
        return sum(np.bincount(label[s], w[s], 3).max() for s in (low, ~low))

    for gini, score in ((True, purity), (False, right)):
        stump = columns.best_stump(label, w, 3, gini)
        k, threshold = best(X, w, score)
        assert (stump.column, stump.threshold) == (k, threshold)
        low = X[:, k] <= threshold
        assert stump.left == np.bincount(label[low], w[low], 3).argmax()
        assert stump.right == np.bincount(label[~low], w[~low], 3).argmax()
        np.testing.assert_array_equal(columns.low_rows(k, threshold), low)

    w = np.where(np.random.default_rng(seed).random(60) < 0.3, 0.0, w)
    y = y - np.average(y, weights=w)
    found = columns.best_squares_cut(y, w)
    assert found == best(
        X, w, lambda low: sum((w[s] @ y[s]) ** 2 / w[s].sum() for s in (low, ~low))
    )


def test_no_cut():
    X, label, y, w = rows(0)
    for form in (np.asarray, sp.csr_array):
        same = SortedColumns(form(X[:, 4:]))
        assert same.best_stump(label, w, 3, True).column == -1
        assert same.best_squares_cut(y, w)[0] == -1
        assert SortedColumns(form(X)).best_squares_cut(np.zeros(60), w)[0] == -1
