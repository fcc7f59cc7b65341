import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kilogram.arrays.frames import column_names, is_frame, is_series, series_to_array, to_array

MIXED = {"a": [1, 2, 3], "b": [1.5, None, 2.5], "c": [True, False, True]}
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda d: pd.DataFrame(d).convert_dtypes(),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_mixed_numbers_become_floats(make):
    frame = make(MIXED)
    assert is_frame(frame)
    assert not is_series(frame)
    assert column_names(frame) == ["a", "b", "c"]
    found = to_array(frame)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, [[1, 1.5, 1], [2, np.nan, 0], [3, 2.5, 1]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_single_precision_stays(make):
    frame = make({"a": np.ones(2, np.float32), "b": np.zeros(2, np.float32)})
    assert to_array(frame).dtype == np.float32
    assert to_array(make({"a": np.ones(2, np.float32), "b": np.zeros(2)})).dtype == np.float64


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_that_are_no_numbers_are_named(make):
    with pytest.raises(TypeError, match=r"non-numeric columns: 'town' \(String\)\. Encode"):
        to_array(make({"price": [1.0, 2.0], "town": ["x", "y"]}))
    many = {f"t{i}": ["x"] for i in range(15)}
    with pytest.raises(TypeError, match="and 5 more"):
        to_array(make(many))


def test_whole_frames_of_one_type_and_odd_names():
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(to_array(pd.DataFrame(X)), X)
    np.testing.assert_array_equal(to_array(pd.DataFrame(X, columns=[7, "x"]).astype(int)), X)
    assert column_names(pd.DataFrame(X)) == ["0", "1"]
    missing = pl.DataFrame({"a": [1.0, None]})
    np.testing.assert_array_equal(to_array(missing), [[1], [np.nan]])
    exact = pl.DataFrame({"a": [decimal.Decimal("1.5"), None]})
    np.testing.assert_array_equal(to_array(exact), [[1.5], [np.nan]])


@pytest.mark.parametrize(
    ("series", "wanted"),
    [
        (pd.Series([1, 2, 3]), np.array([1, 2, 3])),
        (pd.Series([1, None], dtype="Int64"), np.array([1.0, np.nan])),
        (pl.Series([1, 2, None]), np.array([1.0, 2.0, np.nan])),
        (pl.Series([True, False]), np.array([True, False])),
        (pa.array(["a", "b"]), np.array(["a", "b"], dtype=object)),
        (pa.chunked_array([[1.0], [2.0]]), np.array([1.0, 2.0])),
        (pd.Series(["a", "b"], dtype="category"), np.array(["a", "b"], dtype=object)),
    ],
)
def test_a_series_keeps_its_type(series, wanted):
    assert is_series(series)
    assert not is_frame(series)
    found = series_to_array(series)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("x", [np.ones(3), [1, 2], "text", None, 3, pd.Index([1]), {"a": 1}])
def test_what_is_no_frame(x):
    assert not is_frame(x)
