"""Rows of every container that scikit-learn takes, in that container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from kilogram.evaluation.row_indexing import take

ROWS = [2, 0, 2]
TABLE = {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_stay_frames(make):
    found = take(make(TABLE), ROWS)
    assert type(found) is type(make(TABLE))
    assert list(found["b"].to_numpy() if hasattr(found["b"], "to_numpy") else found["b"]) == list(
        "zxz"
    )


def test_the_index_of_pandas_is_kept():
    frame = pd.DataFrame(TABLE, index=[7, 8, 9])
    assert list(take(frame, ROWS).index) == [9, 7, 9]
    assert list(take(frame["a"], ROWS).index) == [9, 7, 9]


def test_arrays_of_every_number_of_dimensions():
    for shape in ((3,), (3, 2), (3, 2, 2)):
        X = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(take(X, ROWS), X[ROWS])
        np.testing.assert_array_equal(take(X, np.array([True, False, True])), X[[0, 2]])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse(kind):
    X = np.diag([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(take(kind(X), ROWS).toarray(), X[ROWS])


def test_lists_of_texts():
    assert take(["p", "q", "r"], ROWS) == ["r", "p", "r"]
