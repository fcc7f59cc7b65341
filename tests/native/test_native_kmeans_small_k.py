"""K-means with a bound for every centre: at every step what plain NumPy finds."""

from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram.native import buffers
from kilogram.native.kmeans_small_k import SmallKBounds, small_k_pass
from tests.native.plain_lloyd import apart, assert_steps, rows, uneven

SIZES = [
    (1, 1, 1),
    (7, 3, 2),
    (100, 5, 9),
    (601, 50, 6),
    (301, 13, 16),
    (490, 131, 7),
    (1501, 20, 12),
]


def assert_all_steps(X, C, w, shift, rtol, steps=12, jump=None):
    """Bounds must notice when centres go somewhere else."""
    few = SmallKBounds(X, shift, len(C))

    def after(D, moved, labels):
        far = (moved**2).sum(axis=1) + (few.C.astype(float) ** 2).sum(axis=1).max()
        assert_bounds(few, D, labels, rtol * np.sqrt(far))

    settings = {"rtol": rtol, "fraction": 1.0, "reference": 1e-5, "jump": jump, "after": after}
    assert_steps(partial(small_k_pass, few), X, C, w, shift, steps=steps, **settings)


def assert_bounds(few, D, labels, slack):
    D, every = np.sqrt(D), np.arange(len(D))
    assert (D[every, labels] <= few.upper + slack).all()
    D[every, labels] = np.inf
    assert (few.lower[:, : D.shape[1]] - few.drift <= D + slack[:, None]).all()
    assert (few.least <= D.min(axis=1) + slack).all()


def assert_bytes(few, X):
    """What is left of the rows is no more than their bytes say."""
    codes = few.codes.reshape(len(X), -1)[:, : X.shape[1]].astype(float)
    left = np.sqrt(((X - few.steps[:, None].astype(float) * codes) ** 2).sum(axis=1))
    assert (left <= few.left).all()
    assert (few.left <= np.abs(X).max(axis=1) / 127 * np.sqrt(X.shape[1])).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_passes_are_plain_passes(machine, size, dtype):
    X, C, w = rows(*size, dtype)
    rtol = 1e-13 if dtype == np.float64 else 1e-6
    none = np.zeros(X.shape[1])
    assert_all_steps(X, C, w, none, rtol)
    assert_all_steps(np.asfortranarray(X), C, None, none, rtol, steps=6, jump=3)
    assert_all_steps(
        np.repeat(X, 2, axis=0)[::2], C, w, X.mean(axis=0).astype(float), rtol, steps=3
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_settled_rows_are_not_read(machine, dtype):
    X, C, own = apart(dtype, 10)
    few = SmallKBounds(X, None, 10)
    got = small_k_pass(few, C)
    np.testing.assert_array_equal(got.labels, own)
    assert few.looked == 1.0
    assert_bytes(few, X)
    kept = {"labels": got.labels, "sums": got.sums}
    again = small_k_pass(few, C * dtype(1.001), inertia=False, **kept)
    np.testing.assert_array_equal(again.labels, own)
    assert few.looked == 0.0
    unmoved = small_k_pass(few, C * dtype(1.001), inertia=True, **kept)
    assert few.looked == 0.0
    away = ((X - 1.001 * C[own].astype(float)) ** 2).sum()
    assert unmoved.inertia == pytest.approx(away, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_stay_are_recognised_by_their_bytes(machine, dtype):
    rng = np.random.default_rng(1)
    C = rng.standard_normal((10, 300)).astype(dtype)
    own = rng.integers(0, 10, 2000)
    X = (C[own] + 0.7 * rng.standard_normal((2000, 300))).astype(dtype)
    few = SmallKBounds(X, None, 10)
    got = small_k_pass(few, C)
    kept = {"labels": got.labels, "sums": got.sums}
    far = C + (3 * rng.standard_normal(C.shape)).astype(dtype)  # so that no bound holds
    back = small_k_pass(few, far, inertia=False, **kept)
    D = ((X[:, None].astype(float) - far[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(back.labels, D.argmin(axis=1))
    small_k_pass(few, far + dtype(2), inertia=False, labels=back.labels, sums=back.sums)
    assert few.looked < 0.5
    assert_bytes(few, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rows_and_centres_of_very_different_lengths(machine, dtype, scale):
    X, C, w = uneven(dtype, 400, 24, 15, scale)
    assert_all_steps(X, C, w, np.zeros(24), 1e-13 if dtype == np.float64 else 1e-6, jump=4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_centres_take_the_first(machine, dtype):
    X, C, _ = rows(60, 17, 5, dtype)
    X, C = np.round(4 * X), np.round(4 * C)  # whole numbers: no rounding
    C = np.concatenate([C, C, np.zeros_like(C)])
    few = SmallKBounds(X, None, 15)
    D = ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2)
    got = small_k_pass(few, C)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))
    again = small_k_pass(few, C, labels=got.labels, sums=got.sums)
    np.testing.assert_array_equal(again.labels, D.argmin(axis=1))


def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w = rows(3000, 20, 11, np.float32)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            few, kept = SmallKBounds(X, None, 11), {}
            for step in range(3):
                got = small_k_pass(few, C + np.float32(0.05 * step), w, **kept)
                kept = {"labels": got.labels, "sums": got.sums}
            found.append(got)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].inertia == found[1].inertia


def test_another_start_begins_without_bounds():
    X, C, w = rows(200, 9, 7, np.float64)
    few = SmallKBounds(X, None, 7)
    small_k_pass(few, C, w)
    got = small_k_pass(few, -C, w)  # no labels: a start of its own
    D = ((X[:, None] + C[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))


@pytest.mark.parametrize("name", ["least", "codes", "left"])
def test_bounds_of_other_rows_are_refused(name):
    X, C, _ = rows(100, 5, 9, np.float64)
    few = SmallKBounds(X, None, 9)
    setattr(few, name, getattr(few, name)[:50])
    with pytest.raises(ValueError, match="do not fit"):
        small_k_pass(few, C)
