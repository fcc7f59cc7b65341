"""The columns that permutation importance looks at."""

import numpy as np

from kilogram.kitchen.judge.permuted_columns import MAX_COLUMNS, most_correlated_columns


def test_wide_tables_start_at_columns_that_go_with_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200))
    X[:, 7] = np.nan
    assert most_correlated_columns(X, X[:, 150], 0)[0] == 150
    assert len(most_correlated_columns(X, X[:, 150], 0)) == MAX_COLUMNS


def test_text_and_correlated_columns_come_before_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200)).astype(object)
    X[:, 120] = "words"
    classes = rng.integers(0, 3, 50)
    X[:, 150] = (classes == 1).astype(float)
    assert list(most_correlated_columns(X, classes, 3)[:2]) == [120, 150]
    assert list(most_correlated_columns(X[:, :5], classes, 3)) == [0, 1, 2, 3, 4]
