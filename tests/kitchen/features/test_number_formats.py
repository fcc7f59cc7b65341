"""Numbers written as text, as real tables have them."""

import numpy as np
import pyarrow as pa
import pytest

import kilogram as kg
from kilogram.kitchen.features.column_types import find_kind, find_layout
from kilogram.kitchen.features.columns import values
from kilogram.kitchen.features.number_formats import NumberFormat, number_format


@pytest.mark.parametrize(
    ("cell", "form", "number"),
    [
        ("$1,234.50", ".$", 1234.5),
        ("1,234.50", ".", 1234.5),
        ("1.234,50 €", ",€", 1234.5),
        ("1 234,5", ",", 1234.5),
        ("1'234.5 CHF", ".chf", 1234.5),
        ("12.3%", ".%", 12.3),
        ("12 kg", ".kg", 12.0),
        ("12kg", ".kg", 12.0),
        ("5 stars", ".stars", 5.0),
        ("(1,234)", ".", -1234.0),
        ("-$5", ".$", -5.0),
        ("−3.5", ".", -3.5),
        ("1e-3", ".", 1e-3),
        ("7 g", ".kg", np.nan),  # another unit
        ("12..5", ".", np.nan),
        ("n/k", ".", np.nan),
        ("", ".", np.nan),
        ("1,23,4", ".", np.nan),
        ("1.2.3", ".", np.nan),
        ("12:30", ".", np.nan),
        ("12A", ".", np.nan),
        ("3rd", ".", np.nan),
        ("(5", ".", np.nan),
    ],
)
def test_cells(cell, form, number):
    read = NumberFormat.from_text(form).read(pa.array([cell, None]))
    assert np.array_equal(read, [number, np.nan], equal_nan=True)


def column(write, n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(2000.0, 700.0, n), 2)
    return x, pa.array([write(value) for value in x])


@pytest.mark.parametrize(
    "write",
    [
        lambda v: f"${v:,.2f}",
        lambda v: f"{v:,.2f}",
        lambda v: f"{v:.2f}%",
        lambda v: f"{v:.2f} kg",
        lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
        lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}",
    ],
)
def test_columns_are_numeric(write):
    x, cells = column(write)
    found = find_kind("a", cells)
    assert found.kind == "numeric"
    assert np.array_equal(values(found, cells), x)
    assert np.array_equal(values(found, pa.array(x)), x)  # clean numbers at prediction time


def test_unreadable_cells_are_missing_and_listed():
    _x, cells = column(lambda v: f"{v:.2f}")
    words = cells.to_pylist()
    words[3] = "12..5"
    words[10:30] = ["n/k"] * 20
    found = find_kind("a", pa.array(words))
    assert (found.kind, found.missing) == ("numeric", 21)
    read = values(found, pa.array(words))
    assert np.isnan(read[[3, *range(10, 30)]]).all()
    assert np.isfinite(read).sum() == 179
    assert number_format(pa.array(words)).unreadable(pa.array(words)) == {"n/k": 20, "12..5": 1}


@pytest.mark.parametrize(
    "words",
    [
        ["12A", "12B", "13A", "13C"] * 30,
        [f"AB{k}" for k in range(100)],
        [f"{k} {'kg' if k % 2 else 'lb'}" for k in range(100)],  # two units: not one scale
        ["1", "2", "3", "other"] * 30,
        [f"192.168.{k}.1" for k in range(100)],
        [f"{k} {name} street" for k, name in enumerate("abcdefghij" * 10)],
    ],
)
def test_words_stay_words(words):
    assert find_kind("a", pa.array(words)).kind != "numeric"


def test_numeric_override_coerces():
    table = pa.table({"a": ["1", "2 kg", "x", "y"] * 10, "t": list(range(40))})
    found = find_layout(table, "t", numeric=["a"]).columns[0]
    assert (found.kind, found.missing) == ("numeric", 20)


def test_dirty_columns_predict(tmp_path):
    """The columns that carry the signal are used, and the audit lists what it could not read."""
    x, cells = column(lambda v: f"${v:,.2f}", n=120)
    words = cells.to_pylist()
    words[7] = "?."
    y = [f"{value / 10:.2f} EUR" for value in x]
    path = tmp_path / "dirty.csv"
    rows = "\n".join(f'"{a}",{b}' for a, b in zip(words, y, strict=True))
    path.write_text(f"a,y\n{rows}\n")
    audit = kg.audit(path, target="y")
    (finding,) = audit.of("KG-A18")
    assert finding.columns == ("a",)
    assert "'?.'" in finding.evidence
    assert any("numbers written as text" in note for note in audit.notes)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"{k}.745" for k in range(30)], "numeric"),  # of a data frame; a file has read numbers
        (["$1.50", "12..5", "n/k", *(f"${k}.25" for k in range(17))], "numeric"),
        ([f"{k}.5" for k in range(26)] + [" "] * 8, "numeric"),
        ([f"{k:05d}" for k in range(30)], "identifier"),
    ],
)
def test_short_columns_of_numbers_written_as_text(cells, kind):
    """Few rows, blank cells and plain decimals: none of them hides that they are numbers."""
    found = find_kind("x", pa.array(cells))
    assert found.kind == kind
    assert found.reason
