"""K-means with candidate filter and bounds: at every iteration what plain NumPy finds."""

from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram.native import buffers
from kilogram.native.kmeans import QuantisedRows
from kilogram.native.kmeans_filter_bounds import FilterBounds, filtered_bounds_pass
from tests.native.plain_lloyd import apart, assert_steps, rows, uneven, unit_of

SIZES = [
    (1, 1, 1),
    (7, 3, 2),
    (100, 5, 9),
    (600, 50, 33),
    (301, 13, 100),
    (90, 64, 5),
    (70, 131, 9),
    (1500, 20, 12),
]


def assert_all_steps(X, C, w, shift, rtol, steps=12, jump=None):
    """Bounds must notice when centres go somewhere else."""
    bounds = FilterBounds(QuantisedRows(X, shift, unit_of(X, shift)), len(C))

    def after(_, moved, labels):
        assert_bounds(bounds, moved, labels)

    one_pass = partial(filtered_bounds_pass, bounds)
    assert_steps(one_pass, X, C, w, shift, steps=steps, rtol=rtol, jump=jump, after=after)


def assert_bounds(bounds, moved, labels):
    """Whatever the centres did up to the last pass, bounds of then are bounds."""
    C = bounds.rows.C.astype(float)
    D = np.sqrt(((moved[:, None] - C[None]) ** 2).sum(axis=2)) / bounds.rows.unit
    own = D[np.arange(len(D)), labels].copy()
    assert (own <= bounds.rows.about[:, 3]).all()
    D[np.arange(len(D)), labels] = np.inf
    blocks = np.full((len(D), 4 * len(bounds.drift)), np.inf)
    blocks[:, : len(C)] = D[:, bounds.order]
    nearest = blocks.reshape(len(D), -1, 4).min(axis=2)
    with np.errstate(invalid="ignore"):
        assert (bounds.lower - bounds.drift <= nearest).all()
    assert (bounds.least <= nearest.min(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_filtered_bounds_passes_are_plain_passes(machine, size, dtype):
    X, C, w = rows(*size, dtype)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    none = np.zeros(X.shape[1])
    assert_all_steps(X, C, w, none, rtol)
    assert_all_steps(np.asfortranarray(X), C, None, none, rtol, steps=6, jump=3)
    assert_all_steps(
        np.repeat(X, 2, axis=0)[::2], C, w, X.mean(axis=0).astype(float), rtol, steps=3
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_settled_rows_are_not_looked_at(machine, dtype):
    X, C, own = apart(dtype, 10)
    none = np.zeros(50)
    bounds = FilterBounds(QuantisedRows(X, none, unit_of(X, none)), 10)
    got = filtered_bounds_pass(bounds, C)
    np.testing.assert_array_equal(got.labels, own)
    assert bounds.rows.opened == 1.0
    kept = {"labels": got.labels, "sums": got.sums}
    again = filtered_bounds_pass(bounds, C * dtype(1.001), inertia=False, **kept)
    np.testing.assert_array_equal(again.labels, own)
    assert bounds.rows.opened == 0.0
    assert bounds.rows.looked == 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rows_and_centres_of_very_different_lengths(machine, dtype, scale):
    X, C, w = uneven(dtype, 400, 24, 40, scale)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    assert_all_steps(X, C, w, np.zeros(24), rtol, jump=4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_from_the_origin(machine, dtype):
    X, C, w = rows(500, 20, 30, dtype)
    X = X + dtype(1e6)
    shift = X.mean(axis=0, dtype=float).astype(dtype).astype(float)
    assert_all_steps(X, C, w, shift, 1e-9 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_centres_take_the_first(machine, dtype):
    X, C, _ = rows(60, 17, 12, dtype)
    X, C = np.repeat(X, 3, axis=0), np.concatenate([C, C, np.zeros_like(C)])
    none = np.zeros(17)
    bounds = FilterBounds(QuantisedRows(X, none, unit_of(X, none)), 36)
    D = ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2)
    got = filtered_bounds_pass(bounds, C)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))
    again = filtered_bounds_pass(bounds, C, labels=got.labels, sums=got.sums)
    np.testing.assert_array_equal(again.labels, D.argmin(axis=1))


def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w = rows(3000, 20, 31, np.float32)
    none, found = np.zeros(20), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            bounds, kept = FilterBounds(QuantisedRows(X, none, unit_of(X, none)), 31), {}
            for step in range(3):
                got = filtered_bounds_pass(bounds, C + np.float32(0.05 * step), w, **kept)
                kept = {"labels": got.labels, "sums": got.sums}
            found.append(got)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].inertia == found[1].inertia


def test_another_start_begins_without_bounds():
    X, C, w = rows(200, 9, 7, np.float64)
    bounds = FilterBounds(QuantisedRows(X, np.zeros(9), unit_of(X, np.zeros(9))), 7)
    filtered_bounds_pass(bounds, C, w)
    bounds.reset()
    bounds.rows.reset()
    got = filtered_bounds_pass(bounds, -C, w)
    D = ((X[:, None] + C[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))


def test_bounds_of_other_rows_are_refused():
    X, C, _ = rows(100, 5, 9, np.float64)
    bounds = FilterBounds(QuantisedRows(X, np.zeros(5), 1.0), 9)
    bounds.least = bounds.least[:50]
    with pytest.raises(ValueError, match="do not fit"):
        filtered_bounds_pass(bounds, C)
