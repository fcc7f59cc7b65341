"""K-means behind the sieve with bounds: at every step what plain NumPy finds."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram.native import buffers
from kilogram.native.kmeans import Sieve
from kilogram.native.kmeans_held import Held, held_pass

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


def rows(n, d, k, dtype, seed=0):
    rng = np.random.default_rng(seed + n)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    return X.astype(dtype), C.astype(dtype), rng.random(n).astype(dtype)


def unit_of(X, shift):
    length = float(np.sqrt(((X.astype(float) - shift) ** 2).sum(axis=1).mean()))
    return length if length > 0 else 1.0


def assert_all_steps(X, C, w, shift, rtol, steps=12, jump=None):
    """Lloyd's algorithm with bounds, every step held against all distances.

    At the step `jump` the centres go somewhere else, which bounds must notice.
    """
    held, kept = Held(Sieve(X, shift, unit_of(X, shift)), len(C)), {}
    moved = (X - shift.astype(X.dtype)).astype(float)
    u = np.ones(len(X)) if w is None else w.astype(float)
    for step in range(steps):
        D = ((moved[:, None] - C[None].astype(float)) ** 2).sum(axis=2)
        got = held_pass(held, C, w, inertia=step % 5 == 0, **kept)
        near = D[np.arange(len(X)), got.labels]
        np.testing.assert_allclose(near, D.min(axis=1), rtol=rtol, atol=rtol * 1e-3)
        sums = np.zeros((len(C), X.shape[1] + 1))
        np.add.at(sums, got.labels, np.c_[moved, np.ones(len(X))] * u[:, None])
        size = np.abs(moved).max() * u.sum() + 1
        np.testing.assert_allclose(got.sums, sums, rtol=0, atol=max(rtol, 1e-12) * size)
        if step % 5 == 0:
            assert got.inertia == pytest.approx(u @ near, rel=rtol, abs=1e-12 * size)
        there = got.sums[:, -1] > 1e-9
        means = got.sums[:, :-1] / np.where(there, got.sums[:, -1], 1.0)[:, None]
        C = np.where(there[:, None], means, C).astype(X.dtype)
        C = C[::-1].copy() * X.dtype.type(1.3) if step == jump else C
        kept = {"labels": got.labels, "sums": got.sums}
        assert_bounds(held, moved, C, got.labels)
    return held, got


def assert_bounds(held, moved, C, labels):
    """Whatever the centres did up to the last pass, bounds of then are bounds."""
    C = held.sieve.C.astype(float)
    D = np.sqrt(((moved[:, None] - C[None]) ** 2).sum(axis=2)) / held.sieve.unit
    own = D[np.arange(len(D)), labels].copy()
    assert (own <= held.sieve.about[:, 3]).all()
    D[np.arange(len(D)), labels] = np.inf
    blocks = np.full((len(D), 4 * len(held.drift)), np.inf)
    blocks[:, : len(C)] = D[:, held.order]
    nearest = blocks.reshape(len(D), -1, 4).min(axis=2)
    with np.errstate(invalid="ignore"):
        assert (held.lower - held.drift <= nearest).all()
    assert (held.least <= nearest.min(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_held_passes_are_plain_passes(machine, size, dtype):
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
    rng = np.random.default_rng(0)
    C = (3 * rng.standard_normal((10, 50))).astype(dtype)
    own = rng.integers(0, 10, 3000)
    X = (C[own] + rng.standard_normal((3000, 50))).astype(dtype)
    none = np.zeros(50)
    held = Held(Sieve(X, none, unit_of(X, none)), 10)
    got = held_pass(held, C)
    np.testing.assert_array_equal(got.labels, own)
    assert held.sieve.opened == 1.0
    kept = {"labels": got.labels, "sums": got.sums}
    again = held_pass(held, C * dtype(1.001), inertia=False, **kept)
    np.testing.assert_array_equal(again.labels, own)
    assert held.sieve.opened == 0.0
    assert held.sieve.looked == 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rows_and_centres_of_very_different_lengths(machine, dtype, scale):
    X, C, w = rows(400, 24, 40, dtype, seed=3)
    X[:, :3] *= 30
    X[::50] *= 1000
    C[::7] *= 300
    C[1] = 0
    X, C = X * dtype(scale), C * dtype(scale)
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
    held = Held(Sieve(X, none, unit_of(X, none)), 36)
    D = ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2)
    got = held_pass(held, C)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))
    again = held_pass(held, C, labels=got.labels, sums=got.sums)
    np.testing.assert_array_equal(again.labels, D.argmin(axis=1))


def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w = rows(3000, 20, 31, np.float32)
    none, found = np.zeros(20), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            held, kept = Held(Sieve(X, none, unit_of(X, none)), 31), {}
            for step in range(3):
                got = held_pass(held, C + np.float32(0.05 * step), w, **kept)
                kept = {"labels": got.labels, "sums": got.sums}
            found.append(got)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].inertia == found[1].inertia


def test_another_start_begins_without_bounds():
    X, C, w = rows(200, 9, 7, np.float64)
    held = Held(Sieve(X, np.zeros(9), unit_of(X, np.zeros(9))), 7)
    held_pass(held, C, w)
    held.forget()
    held.sieve.forget()
    got = held_pass(held, -C, w)
    D = ((X[:, None] + C[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))


def test_bounds_of_other_rows_are_refused():
    X, C, _ = rows(100, 5, 9, np.float64)
    held = Held(Sieve(X, np.zeros(5), 1.0), 9)
    held.least = held.least[:50]
    with pytest.raises(ValueError, match="do not fit"):
        held_pass(held, C)
