import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kilogram.arrays.row_files import open_rows
from kilogram.arrays.rows import column_names, is_streamed, map_rows, reduce_rows, row_count
from kilogram.statistics import Counts, JointMoments, Moments

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.normal(size=(103, 3)), columns=["a", "b", "c"])
TABLE["y"], TABLE["town"] = rng.normal(size=103), ["north", "south", "west"] * 34 + ["north"]
X, y = TABLE[["a", "b", "c"]].to_numpy(), TABLE["y"].to_numpy()


@pytest.fixture
def folder(tmp_path):
    TABLE[:40].to_parquet(tmp_path / "p1.parquet", row_group_size=7)
    TABLE[40:].to_parquet(tmp_path / "p2.parquet", row_group_size=50)
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        lambda f: f,
        lambda f: str(f / "p*.parquet"),
        lambda f: [f / "p1.parquet", str(f / "p2.parquet")],
    ],
    ids=["folder", "pattern", "list"],
)
@pytest.mark.parametrize("block_rows", [None, 1, 11, 1000])
def test_parquet_equals_the_table(folder, path, block_rows):
    data = open_rows(path(folder), block_rows=block_rows)
    rows, target = data.drop("y", "town"), data.column("y")
    assert row_count(rows) == 103
    assert column_names(rows) == ["a", "b", "c"]
    assert is_streamed(rows)
    found, wanted = reduce_rows(JointMoments.of, rows, target), JointMoments.of(X, y)
    np.testing.assert_allclose(found.scatter, wanted.scatter, rtol=1e-10)
    np.testing.assert_allclose(found.cross, wanted.cross, rtol=1e-10)


def test_columns_in_the_order_asked_for(folder):
    data = open_rows(folder, columns=["c", "a"])
    np.testing.assert_array_equal(np.asarray(data), X[:, [2, 0]])
    np.testing.assert_array_equal(np.asarray(open_rows(folder).select(["b"])), X[:, [1]])
    lazy = map_rows(lambda x: x[:, 0], data)
    np.testing.assert_array_equal(np.asarray(lazy), X[:, 2])
    assert repr(data) == "ParquetRows(2 files, 2 columns: c, a)"


def test_labels_of_a_text_column(folder):
    counts = reduce_rows(Counts.of, open_rows(folder).column("town"))
    assert counts.classes.tolist() == ["north", "south", "west"]
    np.testing.assert_array_equal(counts.counts, [35, 34, 34])


def test_missing_values_become_nan(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, None, 3])}), tmp_path / "m.parquet")
    np.testing.assert_array_equal(np.asarray(open_rows(tmp_path)), [[1], [np.nan], [3]])


def test_npy_files_are_mapped(tmp_path):
    np.save(tmp_path / "x0.npy", X[:50])
    np.save(tmp_path / "x1.npy", X[50:])
    assert isinstance(open_rows(tmp_path / "x0.npy"), np.memmap)
    for rows in (
        open_rows(str(tmp_path / "x?.npy")),
        open_rows([tmp_path / "x0.npy", tmp_path / "x1.npy"], block_rows=9),
    ):
        np.testing.assert_allclose(reduce_rows(Moments.of, rows).scatter, Moments.of(X).scatter)
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="3 dimensions"):
        open_rows(tmp_path / "cube.npy")
    with pytest.raises(ValueError, match="no names"):
        open_rows(tmp_path / "x0.npy", columns=["a"])


def test_bad_paths_and_files(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.parquet"):
        open_rows(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        open_rows(str(tmp_path / "z*.parquet"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"holds no \.parquet files"):
        open_rows(tmp_path / "empty")
    with pytest.raises(ValueError, match="list of paths is empty"):
        open_rows([])
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match=r"cannot map .*bad\.npy"):
        open_rows(tmp_path / "bad.npy")
    whole = (folder / "p1.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cannot read .*cut\.parquet as Parquet"):
        open_rows(tmp_path / "cut.parquet")


def test_missing_columns_are_named_with_those_there(folder, tmp_path):
    with pytest.raises(ValueError, match=r"no column 'z' in .*it has: a, b, c, y, town"):
        open_rows(folder, columns=["a", "z"])
    with pytest.raises(ValueError, match="no column 'q'"):
        open_rows(folder).column("q")
    with pytest.raises(ValueError, match="no columns chosen"):
        open_rows(folder).drop("a", "b", "c", "y", "town")
    TABLE[["a"]].to_parquet(folder / "p3.parquet")
    with pytest.raises(ValueError, match=r"no column 'b', 'c', 'y', 'town' in .*p3\.parquet"):
        open_rows(folder)


def test_a_text_column_is_refused_before_reading(folder):
    with pytest.raises(TypeError, match="non-numeric columns: 'town'"):
        reduce_rows(Moments.of, open_rows(folder))


MEASURE = """
import json, sys
import numpy as np
from kilogram.arrays.rows import reduce_rows
from kilogram.arrays.row_files import open_rows
from kilogram.statistics import Moments

def peak():
    status = open("/proc/self/status").read().split("VmHWM:")[1]
    return int(status.split()[0]) * 1024

reduce_rows(Moments.of, open_rows(sys.argv[1]))  # what the libraries need is not the data's
before = peak()
total = reduce_rows(Moments.of, open_rows(sys.argv[2]))
print(json.dumps([peak() - before, total.weight, float(total.mean[0])]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_a_file_larger_than_the_limit(tmp_path, suffix):
    n, d, limit = 500_000, 40, 64 * 2**20  # 160 MB of rows within 64 MiB
    small, large = tmp_path / f"small.{suffix}", tmp_path / f"large.{suffix}"
    for path, rows in ((small, 60_000), (large, n)):
        column = np.arange(float(rows))
        if suffix == "npy":
            mapped = np.lib.format.open_memmap(path, "w+", np.float64, (rows, d))
            mapped[:] = column[:, None]
            mapped.flush()
        else:  # one row group: nothing but the reader keeps it from being read whole
            table = pa.table({f"c{j}": column for j in range(d)})
            options = {"use_dictionary": False, "compression": "NONE"}
            pq.write_table(table, path, row_group_size=rows, **options)
    assert large.stat().st_size > 2 * limit
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    used, weight, mean = json.loads(done.stdout)
    assert (weight, mean) == (n, pytest.approx((n - 1) / 2))
    assert used < limit


def test_a_file_changed_during_a_fit_is_noticed(folder):
    data = open_rows(folder / "p1.parquet", block_rows=10)
    run = iter(data.drop("y", "town"))
    next(run)
    TABLE[:50].to_parquet(folder / "p1.parquet", row_group_size=7)
    with pytest.raises(ValueError, match=r"p1.parquet was changed after it was opened"):
        list(run)
    with pytest.raises(ValueError, match=r"p1.parquet was changed"):  # and by the next run
        list(data.column("y"))
    (folder / "p1.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"p1.parquet was removed"):
        list(data.column("y"))


def test_columns_replaced_under_the_same_size_and_time_are_named(folder):
    file = folder / "p1.parquet"
    data = open_rows(file)
    before = file.stat()
    TABLE[:40].rename(columns={"a": "z"}).to_parquet(file, row_group_size=7)
    assert file.stat().st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValueError, match=r"no column 'a' in .*p1.parquet; it has: z, b, c"):
        list(data.drop("town"))


def test_damaged_pages_name_the_file(folder):
    file = folder / "p2.parquet"
    content = bytearray(file.read_bytes())
    content[200:900] = bytes(700)
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*p2.parquet"):
        list(open_rows(file).drop("town"))
