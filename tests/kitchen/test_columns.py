"""Column kinds with their reasons, and tables as numbers."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from kilogram.kitchen import KitchenError
from kilogram.kitchen.columns import find_kind, find_layout
from kilogram.kitchen.cook import BUNDLED
from kilogram.kitchen.read import read_table

N = 40
KINDS = {
    "numeric": [1.5, None] * (N // 2),
    "date": [datetime.date(2020, 1, 1 + k % 28) for k in range(N)],
    "categorical": ["a", "b", None, "a"] * (N // 4),
    "identifier": [f"row {k}" for k in range(N)],
    "text": [f"this is a long story about number {k} and others" for k in range(N)],
    "constant": ["x"] * N,
    "missing": [None] * N,
    "unsupported": [[1, 2]] * N,
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    found = find_kind("x", pa.chunked_array([pa.array(KINDS[kind])]))
    assert found.kind == kind
    assert found.reason
    assert found.used == (kind in ("numeric", "date", "categorical"))


def test_counters_are_identifiers_and_measurements_are_not():
    assert find_kind("x", pa.array(range(5, 45))).kind == "identifier"
    assert find_kind("x", pa.array([3 * k for k in range(40)])).kind == "numeric"
    assert find_kind("customer_id", pa.array([3 * k for k in range(40)])).kind == "identifier"
    assert find_kind("flag", pa.array([True, False] * 20)).kind == "categorical"
    assert find_kind("x", pa.array([1, None] * 20)).kind == "numeric"


def test_a_stray_word_among_numbers_is_named():
    words = [str(k % 10) for k in range(40)] + ["unknown"]
    assert "'unknown'" in find_kind("x", pa.array(words)).reason


def test_the_bundled_table():
    layout = find_layout(read_table(BUNDLED).data, "Body Mass (g)")
    kinds = {column.name: column.kind for column in layout.columns}
    assert kinds["Region"] == kinds["Stage"] == "constant"
    assert kinds["Individual ID"] == "identifier"
    assert kinds["Date Egg"] == "date"
    assert kinds["Sex"] == kinds["Species"] == "categorical"
    assert kinds["Culmen Length (mm)"] == "numeric"


def test_array_of_new_tables():
    table = pa.table({"n": [1.0, None, np.inf], "w": ["b", "a", None], "t": [1, 2, 3]})
    layout = find_layout(table, "t")
    assert np.array_equal(
        layout.array(table), [[1, 1], [np.nan, 0], [np.nan, np.nan]], equal_nan=True
    )
    new = pa.table({"w": ["a", "zebra"], "other": [0, 0], "n": ["3", "4"]})
    X = layout.array(new)
    assert X.tolist() == [[3, 0], [4, -1]]
    assert layout.new_levels(X) == {"w": 1}
    with pytest.raises(KitchenError, match=r"lacks the column 'n'"):
        layout.array(new.drop_columns(["n"]))
    with pytest.raises(KitchenError, match=r"'n' should hold numeric values but has 'many'"):
        layout.array(pa.table({"w": ["a"], "n": ["many"]}))


def test_whole_numbers_are_the_same_words_as_ints_and_floats():
    layout = find_layout(pa.table({"c": [1, 2, 1], "t": [1, 2, 3]}), "t", categorical=["c"])
    assert layout.array(pa.table({"c": [2.0, None]}))[:, 0].tolist()[0] == 1.0
    assert layout.columns[0].levels == ("1", "2")


def test_dictionary_columns_and_overrides():
    table = pa.table(
        {"d": pa.array(["x", "y", "x"]).dictionary_encode(), "k": ["1", "2", "3"], "t": [1, 2, 3]}
    )
    layout = find_layout(table, "t", numeric=["k"], ignore=["d"])
    assert [column.kind for column in layout.columns] == ["identifier", "numeric"]
    assert find_layout(table, "t").columns[0].levels == ("x", "y")
    with pytest.raises(KitchenError, match="no input column 'q'"):
        find_layout(table, "t", ignore=["q"])
    with pytest.raises(KitchenError, match="should hold numeric"):
        find_layout(table, "t", numeric=["d"])
