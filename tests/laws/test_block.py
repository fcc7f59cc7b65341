"""Law: one block = many blocks = partial_fit over them = Dask; answers come as the rows came."""

import itertools

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import kilogram as kg
from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under

N = 83  # not a multiple of any block


def assert_close(name, got, want, X):
    assert_same(want, answer(got, X), answer(want, X), max(laws(name).rtol, 1e-7))


@under("block")
def test_dask(name):
    X, y = data(N, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    X_, y_ = da.from_array(X, chunks=(19, 3)), da.from_array(y, chunks=23)
    got = clone(model).fit(X_, y_)
    assert_close(name, got, want, X)
    lazy = answer(got, X_)
    assert isinstance(lazy, da.Array)
    assert_same(want, lazy.compute(), answer(want, X), 1e-7)


@under("block")
def test_memory_map_and_parquet(name, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = data(N, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    np.save(tmp_path / "X.npy", X)
    assert_close(name, clone(model).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), want, X)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=17)
    rows = kg.open_rows(tmp_path / "rows.parquet", block_rows=13)
    got = clone(model).fit(rows.drop("y"), rows.column("y"))
    assert list(got.feature_names_in_) == [f"x{j}" for j in range(X.shape[1])]
    del got.feature_names_in_  # so that plain arrays are taken without a warning
    assert_close(name, got, want, X)


@under("block")
def test_blocks_of_any_iterable(name):
    X, y = data(N, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    cuts = [0, 1, 30, 31, N]
    blocks = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    assert_close(name, clone(model).fit(blocks), want, X)


@under("partial_fit")
@pytest.mark.parametrize("size", [83, 40, 7])
def test_partial_fit(name, size):
    X, y = data(N, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    got = clone(model)
    for a in range(0, N, size):
        classes = {"classes": np.unique(y)} if is_classifier(model) else {}
        got.partial_fit(X[a : a + size], y[a : a + size], **classes)
    assert_close(name, got, want, X)
