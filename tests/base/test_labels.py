"""Classes and positions of labels: by table or by sorting, the same."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kilogram as kg
from kilogram.base.labels import all_classes, codes_of

LABELS = [
    np.array([2, 0, 1, 1, 0]),
    np.array([7, -3, 7, 12]),
    np.array([5, 5, 9], dtype=np.uint8),
    np.array([-100, 7, 100], dtype=np.int8),  # further apart than their type can say
    np.array([0, 10**9, 3]),
    np.array([2**63 - 1, 2**63 - 3], dtype=np.int64),
    np.array([-(2**63), 5], dtype=np.int64),
    np.array(["b", "a", "b"]),
    np.array([1.5, -2.0, 1.5]),
    np.array([True, False]),
    np.arange(70_000) % 3 * 4 + 1,  # so many that native code looks them up
    np.arange(70_000) % 3 - 1,  # or finds that it cannot
]


@pytest.mark.parametrize("y", LABELS, ids=lambda y: f"{y.dtype}-{y[0]}")
def test_positions(y):
    classes = all_classes(y)
    np.testing.assert_array_equal(classes, np.unique(y))
    assert classes.dtype == y.dtype
    codes = codes_of(y, classes)
    np.testing.assert_array_equal(codes, np.searchsorted(np.unique(y), y))
    assert codes.dtype == np.int64
    more = np.unique(np.concatenate([classes, classes[:1]]))
    np.testing.assert_array_equal(more[codes_of(y, more)], y)


def gaps_and_mixtures():
    yield np.array([None, "a"] * 10, dtype=object), "contains None"
    yield np.array([np.nan, "a"] * 10, dtype=object), "contains NaN"
    yield pd.Series(["a", pd.NA] * 10, dtype="string"), "contains NA"
    yield pd.Series(pd.Categorical(["a", None] * 10)), "contains NaN"
    yield pl.Series("y", ["a", None] * 10), "contains None"
    yield np.array([1, "a"] * 10, dtype=object), "types str and int"


@pytest.mark.parametrize(("y", "match"), list(gaps_and_mixtures()))
def test_labels_that_are_missing_or_of_several_types(y, match):
    """They ended in "Unknown label type", or in a word of pandas on the truth of NA."""
    with pytest.raises(ValueError, match=match):
        kg.GaussianNB().fit(np.arange(40.0).reshape(20, 2), y)


@pytest.mark.parametrize("values", [[0, 1], [True, False], [0.0, 2.0], [np.int64(3), 5]])
def test_numbers_that_came_as_objects_are_labels(values):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.array(values * 10, dtype=object)
    got = kg.GaussianNB().fit(X, y)
    want = kg.GaussianNB().fit(X, np.array(values * 10))
    assert got.classes_.dtype == want.classes_.dtype
    np.testing.assert_array_equal(got.predict(X), want.predict(X))
