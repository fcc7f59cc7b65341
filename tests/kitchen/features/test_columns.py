"""Column kinds with their reasons, and tables as numbers."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kilogram.kitchen import KitchenError
from kilogram.kitchen.cook import BUNDLED
from kilogram.kitchen.features.column_types import find_kind, find_layout
from kilogram.kitchen.features.columns import USED, Column, values
from kilogram.kitchen.features.ordinal_scales import date_form
from kilogram.kitchen.features.overrides import ColumnOverrides, orders
from kilogram.kitchen.read.table import read_table

N = 40
KINDS = {
    "numeric": [1.5, None] * (N // 2),
    "date": [datetime.date(2020, 1, 1 + k % 28) for k in range(N)],
    "categorical": ["a", "b", None, "a"] * (N // 4),
    "identifier": [f"row {k}" for k in range(N)],
    "ordinal": ["low", "high", None, "medium"] * (N // 4),
    "time": [datetime.date(2020, 1, 1) + datetime.timedelta(3 * k) for k in range(N)],
    "image": [f"pictures/{k}.png" for k in range(N)],
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
    assert found.used == (kind in USED)


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
    with pytest.raises(KitchenError, match=r"lacks the columns 'n', 'w'\.$"):
        layout.array(new.select(["other"]))
    with pytest.raises(KitchenError, match=r"lacks the column 'n'\.$"):  # 'w' is not what is meant
        layout.array(pa.table({"w": ["a"]}))
    with pytest.raises(KitchenError, match=r"lacks the column 'n'\. Did you mean 'N '\?"):
        layout.array(pa.table({"w": ["a"], "N ": [1.0]}))
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


@pytest.mark.parametrize(
    ("name", "cells", "kind", "form"),
    [
        ("day", ["14.03.2020", None] * 20, "date", "%d.%m.%Y"),
        ("day", ["3/14/2020", "12/1/2020"] * 20, "date", "%m/%d/%Y"),
        ("day", ["14/3/2020", "1/12/2020"] * 20, "date", "%d/%m/%Y"),
        ("date", [20200314, 20201201] * 20, "date", "%Y%m%d"),
        ("weight", [20200314, 20201201] * 20, "numeric", ""),
        ("day", ["14.03.2020", "soon"] * 20, "categorical", ""),
    ],
)
def test_dates_as_people_write_them(name, cells, kind, form):
    column = find_kind(name, pa.array(cells))
    assert (column.kind, column.form) == (kind, form)
    if kind == "date":
        want = (datetime.date(2020, 3, 14) - datetime.date(1970, 1, 1)).days
        assert values(column, pa.array(cells))[0] == want


@pytest.mark.parametrize(
    "order",
    [
        ("low", "medium", "high"),
        ("S", "M", "L", "XL"),
        ("cold", "warm", "hot"),
        ("<18", "18-29", "30-64", "65+"),
        ("Fair", "Good", "Very Good", "Premium", "Ideal"),
        ("under 10k", "10k-20k", "over 20k"),
        ("two", "four", "eight"),
    ],
)
def test_scales_are_put_in_order(order):
    shuffled = [order[(7 * k + 1) % len(order)] for k in range(N)]
    column = find_kind("x", pa.array(shuffled))
    assert column.kind == "ordinal"
    assert column.levels == order
    assert " < ".join(order) in column.reason
    got = values(column, pa.array([order[0], order[-1], None, "other"]))
    assert np.array_equal(got, [1 / len(order), 1, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize("words", [["mon", "tue", "wed"], ["1", "2", "3+"], ["a", "low", "high"]])
def test_what_is_no_scale_stays_unordered(words):
    assert find_kind("x", pa.array(words * 14)).kind == "categorical"


def test_ordered_categories_of_a_frame_keep_their_order():
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a"] * 20, ["b", "a", "z"], ordered=True)})
    column = find_kind("x", read_table(frame).data.column("x"))
    assert column.kind == "ordinal"
    assert column.levels == ("b", "a", "z")


def test_groups_come_back_under_a_clear_name():
    values_ = [k // 4 for k in range(N)]
    assert find_kind("patient_id", pa.array(values_)).kind == "group"
    assert find_kind("Customer", pa.array([f"c{v}" for v in values_])).kind == "group"
    assert find_kind("colour", pa.array([f"c{v}" for v in values_])).kind == "categorical"


def test_kinds_are_detected():
    table = pa.table({"size": ["M", "S", None], "note": ["a b", "c", "d"], "when": ["1.2.2020"] * 3,
                      "who": [1, 1, 2], "year": [1999, 2001, 2000], "y": [1, 2, 3]})  # fmt: skip
    reference = ColumnOverrides(text=("note",), date=("when",), group="who", time="year",
                ordinal=orders(["size=S,M,L"]))  # fmt: skip
    layout = find_layout(table, "y", overrides=reference)
    kinds = {column.name: column.kind for column in layout.columns}
    assert kinds == {"size": "ordinal", "note": "text", "when": "date", "who": "group",
                     "year": "time"}  # fmt: skip
    X = layout.array(table)
    assert X.dtype == object
    assert X[:, 0].tolist()[:2] == [2 / 3, 1 / 3]
    assert X[:, 1].tolist() == ["a b", "c", "d"]
    assert X[:, 3].tolist() == [1999.0, 2001.0, 2000.0]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (lambda: ColumnOverrides(ordinal=orders(["s=S,M"])), "leaves out 'L'"),
        (lambda: ColumnOverrides(ordinal=orders(["s=S,M,L,S"])), "twice"),
        (lambda: ColumnOverrides(ordinal=orders(["s"])), "LOWEST"),
        (lambda: ColumnOverrides(numeric=("s",), text=("s",)), "given as both numeric and text"),
        (lambda: ColumnOverrides(date=("s",)), "should hold date values but has cells such as 'S'"),
        (lambda: ColumnOverrides(group="nobody"), "no input column 'nobody'"),
    ],
)
def test_what_cannot_be_detected(reference, message):
    with pytest.raises(KitchenError, match=message):
        find_layout(pa.table({"s": ["S", "M", "L"], "y": [1, 2, 3]}), "y", overrides=reference())


def test_dates_written_in_several_ways():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(11 * k) for k in range(30)]
    ways = ["%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y", "%d %B %Y"]
    words = pa.array([day.strftime(ways[k % 4]) for k, day in enumerate(days)])
    form = date_form(words)
    assert set(form.split("|")) == {*ways[:3], "%d %b %Y"}
    column = Column("when", "date", "", form=form)
    since = [(day - datetime.date(1970, 1, 1)).days for day in days]
    assert values(column, words).tolist() == since
    assert date_form(pa.array(["01/02/2020", "2020-02-01", "30/01/2020"])) == "%d/%m/%Y|%Y-%m-%d"
    # days and months of one look cannot be told apart
    assert date_form(pa.array(["13/02/2020", "02/13/2020"])) == ""
    assert date_form(pa.array(["May 5, 2020", "somewhen"])) == ""
    with pytest.raises(KitchenError, match="'when'"):
        values(column, pa.array(["5/6/2020"]))
