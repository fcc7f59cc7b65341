import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from kilogram.arrays.rows import (
    block_length,
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
from kilogram.statistics import JointMoments
from tests.arrays.containers import CONTAINERS, cut, dense, strict
from tests.optional import torch

AWKWARD = [(1, 1), (1, 4), (3, 4), (101, 3), (257, 1)]
BLOCKS = [None, 1, 16, 100, 10**6]
STREAMED = {"parquet", "blocks", "sparse blocks", "frame blocks", "function"}
LIBRARIES = {"torch": torch.asarray, "array-api-strict": strict}


def data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3.0, rng.normal(size=n), rng.random(n) + 0.5


def assert_same(found, wanted, rtol=1e-10):
    for field in ("weight", "mean", "scatter", "mean_y", "cross", "scatter_y"):
        a, b = np.asarray(getattr(found, field)), getattr(wanted, field)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=field)


@pytest.fixture(params=CONTAINERS)
def kind(request):
    return request.param


@pytest.mark.parametrize("block_rows", BLOCKS)
@pytest.mark.parametrize(("n", "d"), AWKWARD)
def test_one_block_is_many_blocks(kind, tmp_path, n, d, block_rows):
    X, y, w = data(n, d)
    move = LIBRARIES.get(kind, np.asarray)
    rows = CONTAINERS[kind](tmp_path, X)
    found = reduce_rows(JointMoments.of, rows, move(y), move(w), block_rows=block_rows)
    assert_same(found, JointMoments.of(X, y, w))


def test_map_keeps_rows_in_order(kind, tmp_path):
    X, y, _ = data(101, 3)
    y = LIBRARIES.get(kind, np.asarray)(y)
    rows = CONTAINERS[kind](tmp_path, X)
    for block_rows in (None, 7):
        twice = map_rows(lambda x: x * 2.0, rows, block_rows=block_rows)
        np.testing.assert_array_equal(
            dense(np.asarray(twice) if kind in STREAMED else twice), 2 * X
        )
        added = map_rows(lambda x, t: dense(x)[:, 0] + dense(t), rows, y, block_rows=block_rows)
        np.testing.assert_array_equal(np.asarray(added), X[:, 0] + np.asarray(y))


def test_map_gives_the_kind_it_got():
    X, _, _ = data(20, 3)
    assert isinstance(map_rows(torch.exp, torch.asarray(X), block_rows=3), torch.Tensor)
    assert scipy.sparse.issparse(map_rows(lambda x: x, scipy.sparse.csr_array(X), block_rows=3))
    lazy = map_rows(np.exp, cut(X, 7))
    assert is_streamed(lazy)
    assert column_count(lazy) == 3
    again = map_rows(lambda x: x[:, :2], lazy)  # maps chain without being gathered
    # exp may round otherwise at the end of a block: vector loops and what they leave over
    np.testing.assert_allclose(np.asarray(again), np.exp(X)[:, :2], rtol=1e-14)


def test_mapped_labels_of_growing_length():
    X = np.arange(4.0)[:, None]
    long = map_rows(lambda x: np.array(["a" * int(v + 1) for v in x[:, 0]]), X, block_rows=1)
    assert long.tolist() == ["a", "aa", "aaa", "aaaa"]


def test_counts_and_names(kind, tmp_path):
    X, _, _ = data(101, 3)
    rows = CONTAINERS[kind](tmp_path, X)
    assert row_count(rows) == 101
    assert column_count(rows) == 3
    assert is_streamed(rows) == (kind in STREAMED)
    expected = {"pandas": ["0", "1", "2"]}.get(kind, ["c0", "c1", "c2"])
    named = kind in ("pandas", "polars", "pyarrow", "parquet")
    assert column_names(rows) == (expected if named else None)


def test_take_rows_in_any_order(kind, tmp_path):
    X, _, _ = data(101, 3)
    rows = CONTAINERS[kind](tmp_path, X)
    wanted = [100, 0, 3, 3, 57]
    np.testing.assert_array_equal(dense(take_rows(rows, wanted)), X[wanted])


def test_take_rows_beyond_the_end_of_a_stream():
    with pytest.raises(IndexError, match="7 is out of bounds"):
        take_rows([np.ones((5, 2))], [0, 7])


def test_the_same_sample_from_every_container(kind, tmp_path):
    X, _, _ = data(101, 3)
    rows = CONTAINERS[kind](tmp_path, X)
    wanted = sample_rows(X, 10, np.random.default_rng(5))
    assert len(np.unique(wanted[:, 0])) == 10
    np.testing.assert_array_equal(dense(sample_rows(rows, 10, np.random.default_rng(5))), wanted)
    everything = dense(sample_rows(rows, 1000, np.random.default_rng(5)))
    np.testing.assert_array_equal(everything, X)


def test_dense_rows_in_memory_go_in_one_block_unless_asked():
    X, _, _ = data(1000, 2)
    assert [b[0].shape[0] for b in row_blocks(X)] == [1000]
    assert [b[0].shape[0] for b in row_blocks(X, block_rows=400)] == [400, 400, 200]
    assert block_length(np.ones((1, 10**7))) == 256
    assert block_length(np.ones((1, 128))) == 8 * 2**20 // 1024


def test_companions_of_every_kind():
    X, y, w = data(101, 3)
    wanted = JointMoments.of(X, y, w)
    for Y in (y.tolist(), pd.Series(y), y[:, None], pd.DataFrame({"t": y}), cut(y[:, None], 10)):
        assert_same(reduce_rows(JointMoments.of, X, Y, pd.Series(w), block_rows=9), wanted)
        assert_same(reduce_rows(JointMoments.of, cut(X, 13), Y, w), wanted)


def test_none_stays_none():
    X, _, w = data(11, 2)
    seen = [(y is None, v.shape) for _, y, v in row_blocks(X, None, w, block_rows=5)]
    assert seen == [(True, (5,)), (True, (5,)), (True, (1,))]


def test_anything_sliceable_with_a_shape():
    class Disk:
        def __init__(self, X):
            self.X, self.shape, self.dtype, self.largest = X, X.shape, X.dtype, 0

        def __getitem__(self, where):
            self.largest = max(self.largest, where.stop - where.start)
            return self.X[where]

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("the whole array was asked for")

    X, y, w = data(101, 3)
    disk = Disk(X)
    assert_same(reduce_rows(JointMoments.of, disk, y, w, block_rows=10), JointMoments.of(X, y, w))
    assert disk.largest == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((5, 2)), np.ones(4)), "X has 5 rows, but a companion .* has 4"),
        (([np.ones((5, 2)), np.ones((5, 2))], np.ones(7)), "X has at least 10 .* has 7"),
        (([np.ones((5, 2))], np.ones(9)), "X has 5 rows, but a companion .* has 9"),
        (([np.ones((5, 2)), np.ones((5, 3))], np.ones(10)), "row 5 has 3 columns.*before it 2"),
        ((iter([]), np.ones(0)), "no rows"),
        (([np.ones((0, 2))], np.ones(0)), "no rows to reduce"),
        ((np.ones((0, 2)), np.ones(0)), "no rows to reduce"),
    ],
)
def test_bad_rows_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        reduce_rows(JointMoments.of, *arguments)


def test_bad_block_rows():
    with pytest.raises(ValueError, match="block_rows must be at least 1"):
        reduce_rows(JointMoments.of, np.ones((3, 1)), np.ones(3), block_rows=0)


def test_empty_blocks_among_others_do_no_harm():
    X, y, w = data(10, 2)
    blocks = [X[:0], X[:4], X[:0], X[4:], X[:0]]
    assert_same(reduce_rows(JointMoments.of, blocks, y, w), JointMoments.of(X, y, w))
    np.testing.assert_array_equal(np.asarray(map_rows(lambda x: x, blocks)), X)


def test_what_has_no_rows_is_refused():
    with pytest.raises(TypeError, match=r"open_rows\('table\.parquet'\)"):
        reduce_rows(JointMoments.of, "table.parquet", [1.0])
    with pytest.raises(TypeError, match=r"rows come as an array.*got LazyFrame"):
        row_count(pl.LazyFrame({"a": [1.0]}))
    with pytest.raises(TypeError, match=r"rows come as an array.*got dict"):
        row_count({"a": [1.0]})


def test_a_map_must_give_a_row_for_every_row():
    with pytest.raises(ValueError, match="returned 3 rows for 9 rows"):
        map_rows(lambda x: x[:1], np.ones((9, 2)), block_rows=3)


def test_a_column_ordered_memory_map(tmp_path):
    X, y, w = data(101, 3)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    assert_same(reduce_rows(JointMoments.of, mapped, y, w, block_rows=7), JointMoments.of(X, y, w))


def test_pages_of_a_private_map_are_kept(tmp_path):
    X, y, w = data(101, 3)
    np.save(tmp_path / "c.npy", np.zeros((101, 3)))
    mapped = np.load(tmp_path / "c.npy", mmap_mode="c")
    mapped[:] = X  # lives in memory only: giving the pages back would lose it
    for _ in range(2):
        found = reduce_rows(JointMoments.of, mapped, y, w, block_rows=7)
        assert_same(found, JointMoments.of(X, y, w))
