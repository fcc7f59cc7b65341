import re
import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import kilogram
from kilogram.arrays.rows import (
    column_count,
    column_names,
    is_streamed,
    map_rows,
    reduce_rows,
    row_blocks,
    row_count,
    sample_rows,
    take_rows,
)
from kilogram.statistics import Counts, JointMoments, Moments, Triangle

rng = np.random.default_rng(0)
N, NAMES = 203, ["a", "b", "c", "d", "e"]
X, y, w = rng.normal(size=(N, 5)) + 2.0, rng.normal(size=N), rng.random(N)
TABLE = pd.DataFrame(X, columns=NAMES).assign(y=y, w=w)
FRAME = dd.from_pandas(TABLE, npartitions=7)
WANTED = JointMoments.of(X, y, w)


def unknown(a):
    """The dask.array without its row counts, as after a filter or from a frame."""
    return a[da.from_array(np.ones(a.shape[0], bool), chunks=a.chunks[0])]


ROWS = {
    "array": da.from_array(X, chunks=(50, 5)),
    "column chunks": da.from_array(X, chunks=(31, 2)),
    "one chunk": da.from_array(X, chunks=X.shape),
    "chunks of one row": da.from_array(X, chunks=(1, 5)),
    "unknown chunks": unknown(da.from_array(X, chunks=(50, 5))),
    "unknown column chunks": unknown(da.from_array(X, chunks=(50, 2))),
    "frame": FRAME[NAMES],
    "array of frame": FRAME[NAMES].to_dask_array(),
    "sparse": da.from_array(X, chunks=(50, 5)).map_blocks(scipy.sparse.csr_array),
}
COMPANIONS = {
    "numpy": (y, w),
    "lists": (y.tolist(), w.tolist()),
    "dask": (da.from_array(y, chunks=17), da.from_array(w, chunks=100)),
    "two columns": (da.from_array(y[:, None], chunks=(20, 1)), pd.Series(w)),
    "series": (FRAME["y"], FRAME["w"]),
    "unknown": (unknown(da.from_array(y, chunks=50)), unknown(da.from_array(w, chunks=17))),
}


def assert_whole(found, wanted=WANTED, rtol=1e-10):
    for field in ("weight", "mean", "scatter", "mean_y", "cross", "scatter_y"):
        a, b = getattr(found, field), getattr(wanted, field)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=field)


@pytest.fixture(params=ROWS)
def rows(request):
    return ROWS[request.param]


@pytest.mark.parametrize("companions", COMPANIONS.values(), ids=COMPANIONS)
def test_the_sum_over_chunks_is_the_sum(rows, companions):
    assert_whole(reduce_rows(JointMoments.of, rows, *companions))


@pytest.mark.parametrize("block_rows", [1, 20, 1000])
def test_chunks_may_be_cut_smaller(block_rows):
    assert_whole(reduce_rows(JointMoments.of, ROWS["array"], y, w, block_rows=block_rows))


def test_dask_companions_of_rows_that_are_here():
    assert_whole(reduce_rows(JointMoments.of, X, *COMPANIONS["dask"]))
    assert_whole(reduce_rows(JointMoments.of, X, *COMPANIONS["series"], block_rows=9))


def test_other_statistics(rows):
    R = reduce_rows(Triangle.of, rows, w).R
    np.testing.assert_allclose(R, Triangle.of(X, w).R, rtol=1e-8)
    labels = np.array(["x", "yy", "zzz"])[rng.integers(0, 3, N)]
    for target in (da.from_array(labels, chunks=30), dd.from_pandas(pd.Series(labels), 4)):
        counts = reduce_rows(Counts.of, target)
        np.testing.assert_array_equal(counts.classes.astype(str), ["x", "yy", "zzz"])
        np.testing.assert_array_equal(counts.counts, Counts.of(labels).counts)


def test_map_is_lazy_and_knows_its_shape(rows):
    def f(x, t):
        x = x.toarray() if scipy.sparse.issparse(x) else x
        return (x[:, :2] * np.asarray(t)[:, None]).astype(np.float32)

    for target in (y, COMPANIONS["dask"][0]):
        out = map_rows(f, rows, target)
        assert isinstance(out, da.Array)
        assert (out.shape[1], out.dtype) == (2, np.float32)
        np.testing.assert_array_equal(out.compute(), f(X, y))
    flat = map_rows(lambda x: np.asarray(x.sum(axis=1)).ravel(), rows, block_rows=13)
    assert flat.ndim == 1
    np.testing.assert_allclose(flat.compute(), X.sum(axis=1))


def test_mapping_computes_nothing():
    def refuse(block):
        raise AssertionError("computed")

    lazy = da.from_array(X, chunks=(50, 5)).map_blocks(refuse, meta=np.empty((0, 0)))
    assert map_rows(lambda x: x[:, 0], lazy).shape == (N,)
    assert row_count(lazy) == N


def test_a_map_feeds_a_reduction(rows):
    def square(x):
        return (x.toarray() if scipy.sparse.issparse(x) else x) ** 2

    found = reduce_rows(Moments.of, map_rows(square, rows))
    np.testing.assert_allclose(found.scatter, Moments.of(X**2).scatter, rtol=1e-9)


def test_counts_names_rows_and_samples(rows):
    assert row_count(rows) == N
    assert column_count(rows) == 5
    assert column_names(rows) == (NAMES if rows is ROWS["frame"] else None)
    assert is_streamed(rows)
    wanted = [202, 0, 3, 3, 50]
    taken = take_rows(rows, wanted)
    drawn = sample_rows(rows, 10, np.random.default_rng(5))
    taken, drawn = (a.toarray() if scipy.sparse.issparse(a) else a for a in (taken, drawn))
    np.testing.assert_array_equal(taken, X[wanted])
    np.testing.assert_array_equal(drawn, sample_rows(X, 10, np.random.default_rng(5)))
    assert [len(t) for _, t in row_blocks(ROWS["array"], y, block_rows=40)] == [40, 10] * 4 + [3]


def test_no_rows_taken():
    assert take_rows(ROWS["array"], np.empty(0, int)).shape == (0, 5)
    with pytest.raises(IndexError, match="900 is out of bounds"):
        take_rows(ROWS["array"], [3, 900])


def test_empty_partitions():
    some = FRAME[FRAME["y"] > 1.5]
    here = TABLE[TABLE["y"] > 1.5]
    found = reduce_rows(JointMoments.of, some[NAMES], some["y"], some["w"])
    assert_whole(found, JointMoments.of(*(here[c].to_numpy() for c in (NAMES, "y", "w"))))

    def no_empty(x):
        assert len(x)
        return x

    np.testing.assert_array_equal(map_rows(no_empty, some[NAMES]).compute(), here[NAMES])
    none = FRAME[FRAME["y"] > 99]
    with pytest.raises(ValueError, match="no rows to reduce"):
        reduce_rows(Moments.of, none[NAMES])


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"X has 203 rows, but a companion .* has 202"):
        reduce_rows(JointMoments.of, ROWS["array"], y[:-1])
    with pytest.raises(ValueError, match="chunks of X and its companions have"):
        reduce_rows(JointMoments.of, ROWS["frame"], FRAME[FRAME["y"] > 0]["y"])
    with pytest.raises(TypeError, match=r"non-numeric columns: 'town'"):
        reduce_rows(Moments.of, dd.from_pandas(pd.DataFrame({"town": ["x"]}), npartitions=1))
    with pytest.raises(TypeError, match=r"dask\.array or a dask\.dataframe"):
        reduce_rows(Moments.of, dask.delayed(X))


def test_a_source_shared_by_rows_and_target_is_loaded_once():
    loads = []

    def load(block):
        loads.append(len(block))
        return block

    both = da.from_array(np.column_stack([X, y]), chunks=(50, 6))
    both = both.map_blocks(load, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        reduce_rows(JointMoments.of, both[:, :5], both[:, 5])
    assert sorted(loads) == [3, 50, 50, 50, 50]


def test_float32_chunks_stay_float32_on_the_way():
    single = da.from_array(X.astype(np.float32), chunks=(50, 5))
    assert map_rows(lambda x: x, single).dtype == np.float32
    np.testing.assert_allclose(reduce_rows(Moments.of, single).mean, X.mean(axis=0), rtol=1e-6)


def test_only_one_file_imports_dask():
    package = Path(kilogram.__file__).parent
    pattern = re.compile(r"^\s*(import|from)\s+(dask|distributed)\b", re.MULTILINE)
    naming = [p.name for p in package.rglob("*.py") if pattern.search(p.read_text())]
    assert naming == ["dask_rows.py"]


def test_dask_is_not_imported_for_other_rows():
    code = (
        "import sys, numpy as np; from kilogram.arrays.rows import reduce_rows, map_rows;"
        "from kilogram.statistics import Moments; reduce_rows(Moments.of, np.ones((3, 2)));"
        "map_rows(np.exp, [np.ones((3, 2))]);"
        "sys.exit(any(m.partition('.')[0] in ('dask', 'distributed') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
