"""Every container gives the same table; what is too large is sampled, what explodes is refused."""

import datetime
import gzip
import json
import sqlite3
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

from kilogram.kitchen import KitchenError
from kilogram.kitchen.read.table import read_table, table_blocks

WANT = {"a": [1, 2, None], "b": ["x", "é", None], "c": [0.5, None, -2.0]}
TABLE = pa.table(WANT)
ROWS = [dict(zip(WANT, row, strict=True)) for row in zip(*WANT.values(), strict=True)]


def write(kind, path):
    if kind == "arrow":
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, TABLE.schema) as file:
            file.write(TABLE)
    elif kind == "arrow stream":
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, TABLE.schema) as file:
            file.write(TABLE)
    elif kind == "feather":
        pa.feather.write_feather(TABLE, path)
    elif kind == "parquet":
        pq.write_table(TABLE, path)
    elif kind in ("json lines", "json lines.gz"):
        text = "\n".join(json.dumps(row) for row in ROWS).encode()
        path.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    elif kind == "json array":
        path.write_text(json.dumps(ROWS))
    elif kind == "sqlite":
        sqlite(path, "t")
    elif kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as base:
            base.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)")
            base.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(r.values()) for r in ROWS])
    elif kind == "excel":
        pytest.importorskip("openpyxl")
        pd.DataFrame(WANT).to_excel(path, index=False)


def sqlite(path, *tables):
    base = sqlite3.connect(path)
    for table in tables:
        name = table.replace('"', '""')
        base.execute(f'CREATE TABLE "{name}" (a INTEGER, b TEXT, c REAL)')
        base.executemany(
            f'INSERT INTO "{name}" VALUES (?, ?, ?)', [tuple(r.values()) for r in ROWS]
        )
    base.commit()
    base.close()


KINDS = ["arrow", "arrow stream", "feather", "parquet", "json lines", "json lines.gz",
         "json array", "sqlite", "duckdb", "excel"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_gives_the_same_table_whatever_its_name(tmp_path, kind):
    path = tmp_path / ("table.xlsx" if kind == "excel" else "table")
    write(kind, path)
    table = read_table(path)
    assert table.data.to_pydict() == WANT
    assert table.rows == 3
    assert not table.sampled
    blocks = [block.data for block in table_blocks(path, block_rows=2)]
    assert pa.concat_tables(blocks, promote_options="permissive").to_pydict() == WANT


def test_tables_of_a_database_and_sheets_of_a_workbook_are_named(tmp_path):
    base = tmp_path / "shop.db"
    sqlite(base, "orders", 'odd "name"')
    with pytest.raises(KitchenError, match=r"2 tables: 'odd .*--sheet"):
        read_table(base)
    with pytest.raises(KitchenError, match="Did you mean 'orders'"):
        read_table(base, sheet="order")
    assert read_table(base, sheet='odd "name"').data.to_pydict() == WANT
    pytest.importorskip("openpyxl")
    book = tmp_path / "book.xlsx"
    with pd.ExcelWriter(book) as writer:
        for name in ("jan", "feb"):
            pd.DataFrame(WANT).to_excel(writer, sheet_name=name, index=False)
    with pytest.raises(KitchenError, match="2 sheets: 'jan', 'feb'"):
        read_table(book)
    assert read_table(book, sheet="feb").data.to_pydict() == WANT


def test_excel_dates_gaps_and_mixed_columns(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    day = datetime.datetime(2020, 5, 17)
    for row in [[None] * 3, ["when", "mixed", None], [day, 1, 2], [None] * 3, [day, "two", None]]:
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    data = read_table(tmp_path / "b.xlsx").data
    assert data.to_pydict() == {"when": [day, day], "mixed": ["1", "two"]}
    assert read_table(tmp_path / "b.xlsx", header=False).data.num_rows == 3


@pytest.mark.parametrize(("module", "name"), [("openpyxl", "excel"), ("duckdb", "duckdb")])
def test_a_missing_reader_is_a_sentence(tmp_path, monkeypatch, module, name):
    pytest.importorskip(module)
    path = tmp_path / "table.xlsx"
    write(name, path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(KitchenError, match=rf"pip install kilogram\[{name}\]"):
        read_table(path)


def test_sparse_rows(tmp_path):
    X = np.array([[0, 2.5, 0], [1, 0, 0], [0, 0, -3]])
    dump_svmlight_file(X, [1, -1, 1], str(tmp_path / "t.svm"), zero_based=False)
    data = read_table(tmp_path / "t.svm").data
    assert data.column_names == ["target", "f1", "f2", "f3"]
    assert data["f2"].to_pylist() == [2.5, 0, 0]
    assert data["target"].to_pylist() == [1, -1, 1]
    (tmp_path / "wide.svm").write_text("1 99999999:1\n")
    with pytest.raises(KitchenError, match="too many values"):
        read_table(tmp_path / "wide.svm", max_memory="100MB")


def test_records_that_nest_and_change_their_type(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "in": {"x": 1}}\n{"a": "two", "in": {"x": 3}}\n')
    assert read_table(tmp_path / "t.jsonl").data.to_pydict() == {"a": ["1", "two"], "in.x": [1, 3]}


def long_csv(path, rows=40_000):
    k = np.arange(rows)
    frame = pd.DataFrame({"k": k, "half": k / 2, "word": np.where(k < 39_000, "", "late")})
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_long_table_is_sampled_evenly_within_its_memory(tmp_path, kind):
    path = long_csv(tmp_path / "long.csv")
    if kind == "csv.gz":
        path = tmp_path / "long.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "long.csv").read_bytes()))
    elif kind == "parquet":
        path = tmp_path / "long.parquet"
        pd.read_csv(tmp_path / "long.csv").to_parquet(path, row_group_size=5000)
    elif kind == "jsonl":
        path = tmp_path / "long.jsonl"
        pd.read_csv(tmp_path / "long.csv").to_json(path, orient="records", lines=True)
    limit = 2 << 20
    table = read_table(path, max_memory=limit)
    assert table.sampled
    assert table.rows == 40_000
    assert 1000 < table.data.num_rows < 40_000
    assert table.data.nbytes <= limit / 8
    assert "random sample" in table.notes[-1]
    k = table.data["k"].to_numpy()
    assert np.all(np.diff(k) > 0)
    assert table.data["half"].to_numpy() == pytest.approx(k / 2)
    error = 40_000 / np.sqrt(12 * len(k))
    assert abs(k.mean() - 20_000) < 4 * error
    assert table.data["word"].null_count > 0.9 * len(k)
    other = read_table(path, max_memory=limit, seed=1).data["k"].to_numpy()
    assert not np.array_equal(other, k)
    assert sum(block.data.num_rows for block in table_blocks(path, max_memory=limit)) == 40_000


def test_bombs_are_refused_before_they_unpack(tmp_path):
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 4_000_000))
    with pytest.raises(KitchenError, match="decompression bomb"):
        read_table(bomb, max_memory="8MB")
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<x/>")
        archive.writestr("xl/big", b"0" * 30_000_000)
    pytest.importorskip("openpyxl")
    with pytest.raises(KitchenError, match="unpacks to"):
        read_table(tmp_path / "bomb.xlsx", max_memory="8MB")


def test_blanks_between_columns_and_wide_letters(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("x   y\n 1.5  2\n3    -4\n")
    assert read_table(path).data.to_pydict() == {"x": [1.5, 3.0], "y": [2, -4]}
    path.write_bytes("x,y\n1,ab\n".encode("utf-16-le"))
    assert read_table(path).data.to_pydict() == {"x": [1], "y": ["ab"]}
    path.write_bytes("x,y\n1,ab\n".encode("utf-32"))
    assert read_table(path).data.to_pydict() == {"x": [1], "y": ["ab"]}


def test_ten_thousand_columns_one_row_and_one_column(tmp_path):
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{k}" for k in range(10_000))
    path.write_text(f"{names}\n" + f"{','.join(['1'] * 10_000)}\n" * 3)
    assert read_table(path).data.shape == (3, 10_000)
    path.write_text("a,b\n1,2\n")
    assert read_table(path).data.shape == (1, 2)
    path.write_text("a\n1\n2\n")
    assert read_table(path).data.shape == (2, 1)


def test_a_memory_limit_that_means_nothing(tmp_path):
    with pytest.raises(KitchenError, match="max_memory"):
        read_table(long_csv(tmp_path / "t.csv", 10), max_memory="lots")


def test_a_heading_above_the_names_is_left_out_and_reported(tmp_path):
    """In a sheet and in a text table; a first column without a name is no heading."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [["Measured", None, "Result"], ["x", "colour", "y"], [0.5, "red", 1], [1.5, "blue", 2]]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "two.xlsx")
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    (tmp_path / "two.csv").write_text(text)
    for name in ("two.xlsx", "two.csv"):
        table = read_table(tmp_path / name)
        assert table.data.column_names == ["x", "colour", "y"]
        assert table.data.column("y").to_pylist() == [1, 2]
        assert "(Measured Result)" in table.notes[0]
    (tmp_path / "index.csv").write_text(",a,b\n0,red,1\n1,blue,2\n")
    assert read_table(tmp_path / "index.csv").data.column_names == ["column_1", "a", "b"]
    plain = read_table(tmp_path / "two.csv", header=False)
    assert plain.data.num_rows == 4


@pytest.mark.parametrize("where", ["", " WHERE x < 0"])
def test_an_endless_view_ends_at_the_time_limit(where, tmp_path):
    """With rows for ever, or computing for ever before the first one."""
    path = tmp_path / "endless.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
                           f"SELECT x + 1 FROM n) SELECT x FROM n{where}")  # fmt: skip
    with pytest.raises(KitchenError, match=r"endless\.db was not read within the time limit"):
        read_table(path, max_time=0.2)


def test_damaged_pages_of_parquet_name_the_file(tmp_path):
    path = tmp_path / "damaged.parquet"
    table = pa.table({"a": [f"text {k}" for k in range(5000)]})
    pq.write_table(table, path, compression="gzip", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[200:3000] = bytes(2800)
    path.write_bytes(content)
    with pytest.raises(KitchenError, match=r"damaged\.parquet is a damaged Parquet file"):
        read_table(path)
