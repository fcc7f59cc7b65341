"""Tables as people have them: every dialect is read, every ruin is named."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kilogram.kitchen import KitchenError
from kilogram.kitchen.read.table import read_table


def write(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path, delimiter):
    rows = ["name,size", '"Doe, J.",1.5', "x,2"]
    text = "\n".join(row if row.startswith('"') else row.replace(",", delimiter) for row in rows)
    text = text.replace('",', f'"{delimiter}')
    data = read_table(write(tmp_path, text)).data
    assert data.to_pydict() == {"name": ["Doe, J.", "x"], "size": [1.5, 2.0]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_found(tmp_path, encoding):
    table = read_table(write(tmp_path, "größe,café\n1,ü\n2,é\n".encode(encoding)))
    assert table.data.column_names == ["größe", "café"]
    assert table.data["café"].to_pylist() == ["ü", "é"]
    assert bool(table.notes) == (encoding in ("utf-16", "latin-1"))


def test_decimal_comma_and_thousands(tmp_path):
    table = read_table(write(tmp_path, "a;b;c\n1,5;1.234,5;x\n-2,25;7;y\n"))
    assert table.data["a"].to_pylist() == [1.5, -2.25]
    assert table.data["b"].to_pylist() == [1234.5, 7.0]
    assert "decimal comma" in " ".join(table.notes)
    table = read_table(write(tmp_path, 'a,b\n"1,234",x\n"12,345,678",y\n'))
    assert table.data["a"].to_pylist() == [1234.0, 12345678.0]


def test_missing_marks_also_behind_blanks(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1, ?\nNA, x \n?,\n"))
    assert table.data.to_pydict() == {"a": [1, None, None], "b": [None, "x", None]}
    table = read_table(write(tmp_path, "a,b\n 1.5 ,x\n ?,y\n"))
    assert table.data["a"].to_pylist() == [1.5, None]


def test_quotes_with_line_breaks_and_names_left_empty(tmp_path):
    table = read_table(write(tmp_path, 'a,"b\nc",\n"x\ny",2,3\n'))
    assert table.data.to_pydict() == {"a": ["x\ny"], "b\nc": [2], "column_3": [3]}


def test_gzip_parquet_and_frames(tmp_path):
    text = b"a,b\n1,x\n2,y\n"
    want = {"a": [1, 2], "b": ["x", "y"]}
    assert read_table(write(tmp_path, gzip.compress(text), "t.csv.gz")).data.to_pydict() == want
    pq.write_table(pa.table(want), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").data.to_pydict() == want
    for frame in (pd.DataFrame(want), pl.DataFrame(want), pa.table(want)):
        assert read_table(frame).data.to_pydict() == want


def test_no_header(tmp_path):
    table = read_table(write(tmp_path, "1,2\n3,4\n"), header=False)
    assert table.data.to_pydict() == {"column_1": [1, 3], "column_2": [2, 4]}
    assert read_table(write(tmp_path, "1,2\n3,4\n")).header_looks_like_data
    assert not read_table(write(tmp_path, "a,b\n3,4\n")).header_looks_like_data


def test_a_few_ragged_rows_are_left_out_and_counted(tmp_path):
    text = "a,b\n" + "1,2\n" * 300 + "1,2,3\n"
    table = read_table(write(tmp_path, text))
    assert table.data.num_rows == 300
    assert "1 of 301 rows" in table.notes[0]
    assert "line 302" in table.notes[0]


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b"  \n \n", "is empty"),
    "header only": (b"a,b\n", "no rows"),
    "header without end": (b"a,b", "no rows"),
    "same names": (b"a,b,a\n1,2,3\n", "several columns called 'a'"),
    "same names in data": (b"1,1\n2,3\n", "--no-header"),
    "ragged": (b"a,b\n1,2\n1,2,3\n4\n", "2 of 3 rows.*line 3 has 3 where 2"),
    "binary": (bytes(range(256)) * 20, "binary file"),
    "zip": (b"PK\x03\x04" + b"x" * 50, "ZIP archive"),
    "old feather": (b"FEA1" + b"x" * 50, "Feather"),
    "torn sqlite": (b"SQLite format 3\0" + b"x" * 50, "damaged SQLite"),
    "torn arrow": (b"ARROW1\0\0" + b"x" * 50, "damaged Arrow"),
    "torn json": (b'{"a": 1}\n{"a": \n', "Line 2 of table.csv is not valid JSON"),
    "json of no objects": (b'[{"a": 1}, 2]', "Record 2 of table.csv is int"),
    "torn svmlight": (b"1 1:2 2:3\n1 x:y\n", "no valid svmlight"),
    "pickle": (b"\x80\x04\x95" + b"x" * 50, "pickle"),
    "torn gzip": (gzip.compress(b"a,b\n" * 1000)[:40], "damaged gzip"),
    "torn parquet": (b"PAR1" + b"x" * 50, "damaged Parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_ruins_are_named(tmp_path, case):
    content, message = BAD[case]
    with pytest.raises(KitchenError, match=message):
        read_table(write(tmp_path, content))


def test_missing_files_folders_and_wrong_settings(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n", "sales.csv")
    with pytest.raises(KitchenError, match=r"Did you mean 'sales\.csv'"):
        read_table(tmp_path / "sale.csv")
    with pytest.raises(KitchenError, match="no folder"):
        read_table(tmp_path / "no" / "sales.csv")
    with pytest.raises(KitchenError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(KitchenError, match="no encoding called"):
        read_table(path, encoding="utf-99")
    with pytest.raises(KitchenError, match="is not utf-8"):
        read_table(write(tmp_path, "é\n1\n".encode("latin-1")), encoding="utf-8")
    with pytest.raises(KitchenError, match="one character"):
        read_table(path, delimiter="::")
    with pytest.raises(KitchenError, match="data frame"):
        read_table(np.zeros((3, 2)))
    with pytest.raises(KitchenError, match="no columns"):
        read_table(pd.DataFrame())
