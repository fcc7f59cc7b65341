"""Classes and positions of labels: by table or by sorting, the same."""

import numpy as np
import pytest

from kilogram.base.labels import all_classes, codes_of

LABELS = [
    np.array([2, 0, 1, 1, 0]),
    np.array([7, -3, 7, 12]),
    np.array([5, 5, 9], dtype=np.uint8),
    np.array([0, 10**9, 3]),
    np.array([2**63 - 1, 2**63 - 3], dtype=np.int64),
    np.array([-(2**63), 5], dtype=np.int64),
    np.array(["b", "a", "b"]),
    np.array([1.5, -2.0, 1.5]),
    np.array([True, False]),
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
