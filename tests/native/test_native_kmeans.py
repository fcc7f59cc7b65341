"""The step of k-means against plain NumPy, at awkward sizes, in both types and orders."""

import numpy as np
import pytest

from kilogram.native.kmeans import (
    Bounds,
    bounded_pass,
    cluster_pass,
    distances_to,
    nearby_order,
)

SIZES = [(1, 1, 1), (7, 3, 2), (100, 5, 9), (600, 50, 33), (301, 13, 100), (200, 64, 5)]


def plain(X, C, w):
    D = ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2)
    labels = D.argmin(axis=1)
    sums = np.zeros((len(C), X.shape[1] + 1))
    np.add.at(sums, labels, np.c_[X, np.ones(len(X))] * w[:, None])
    return labels, D, sums


def rows(n, d, k, dtype):
    rng = np.random.default_rng(n)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    return X.astype(dtype), C.astype(dtype), rng.random(n), rng.integers(0, k, n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_pass(machine, size, dtype):
    X, C, w, _ = rows(*size, dtype)
    labels, D, sums = plain(X, C, w)
    rtol = 1e-10 if dtype == np.float64 else 2e-4
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        got = cluster_pass(x, C, w, distances=True)
        np.testing.assert_array_equal(got.labels, labels)
        np.testing.assert_allclose(got.sums, sums, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(got.distances, D.min(axis=1), rtol=rtol)
        assert got.inertia == pytest.approx(w @ D.min(axis=1), rel=rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shift_keeps_accuracy_far_from_the_origin(machine, dtype):
    X, C, w, _ = rows(300, 4, 6, dtype)
    far = np.full(4, 4096.0, dtype)
    X, C = (X * 16).round() / 16, (C * 16).round() / 16  # so that the sum with `far` is exact
    labels, D, _ = plain(X, C, w)
    got = cluster_pass(X + far, C, w, far, distances=True)
    assert (got.labels == labels).mean() > 0.99  # ties of rounded numbers may fall either way
    np.testing.assert_allclose(got.distances, D.min(axis=1), rtol=1e-4)
    moved = distances_to(X + far, C, (X**2).sum(axis=1), far)
    np.testing.assert_allclose(moved.T, D, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("group", [4, 8, 12])
def test_bounded_passes_are_plain_passes(machine, size, dtype, group):
    """Lloyd's algorithm with bounds: at every step the labels and sums of a pass without."""
    X, C, w, _ = rows(*size, dtype)
    w = w.astype(dtype)
    bounds, kept, rtol = Bounds(len(X), C, group), {}, 1e-9 if dtype == np.float64 else 5e-4
    for x in (X, X, np.asfortranarray(X), X, X):
        labels, D, sums = plain(X, C, w)
        got = bounded_pass(x, C, bounds, w, **kept)
        near = D[np.arange(len(X)), got.labels]
        np.testing.assert_allclose(near, D.min(axis=1), rtol=rtol)
        assert got.inertia == pytest.approx(w @ D.min(axis=1), rel=rtol)
        if dtype == np.float64:
            np.testing.assert_array_equal(got.labels, labels)
            np.testing.assert_allclose(got.sums, sums, rtol=1e-8, atol=1e-8)
        weights = np.maximum(got.sums[:, -1:], 1e-300)
        there = got.sums[:, -1] > 1e-9
        C = np.where(there[:, None], got.sums[:, :-1] / weights, C).astype(dtype)
        kept = {"labels": got.labels, "sums": got.sums}


def test_separated_clusters_leave_distances_out():
    rng = np.random.default_rng(0)
    C = 20 * rng.standard_normal((40, 8))
    own = rng.integers(0, 40, 4000)
    X = C[own] + rng.standard_normal((4000, 8))
    bounds = Bounds(len(X), C, 4)
    first = bounded_pass(X, C, bounds)
    np.testing.assert_array_equal(first.labels, own)
    assert bounds.looked == 1.0
    again = bounded_pass(X, C + 0.01, bounds, labels=first.labels, sums=first.sums)
    np.testing.assert_array_equal(again.labels, own)
    assert bounds.looked < 0.02


def test_groups_lie_together():
    C = np.repeat(10.0 * np.arange(5)[:, None], 4, axis=0) + np.random.default_rng(0).random(
        (20, 3)
    )
    order = nearby_order(C[np.random.default_rng(1).permutation(20)], 4)
    assert sorted(order) == list(range(20))
    mixed = C[np.random.default_rng(1).permutation(20)][order]
    assert np.ptp(mixed.reshape(5, 4, 3), axis=1).max() < 1.0


def test_bounds_of_other_sizes_are_refused():
    X, C, _, _ = rows(100, 5, 9, np.float64)
    with pytest.raises(ValueError, match="do not fit"):
        bounded_pass(X[:50], C, Bounds(100, C, 4))


def test_result_does_not_depend_on_threads(monkeypatch):
    from threadpoolctl import threadpool_limits

    from kilogram.native import buffers

    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w, _ = rows(2000, 9, 21, np.float32)
    w, found = w.astype("f4"), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(cluster_pass(X, C, w))
            found.append(bounded_pass(X, C, Bounds(len(X), C, 8), w))
    np.testing.assert_array_equal(found[0].sums, found[2].sums)
    np.testing.assert_array_equal(found[1].sums, found[3].sums)
    assert found[0].inertia == found[2].inertia


def test_labels_out_of_range_are_refused():
    with pytest.raises(ValueError, match="label"):
        cluster_pass(
            np.zeros((3, 2)),
            np.zeros((2, 2)),
            labels=np.array([0, 1, 2], np.int32),
            sums=np.zeros((2, 3)),
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_follow_the_rows_that_move(machine, dtype):
    X, C, w, _ = rows(700, 11, 30, dtype)
    shift = X.mean(axis=0)
    first = cluster_pass(X, X[:30] - shift, w, shift)
    labels, _, sums = plain(X - shift, C - shift, w)
    got = cluster_pass(X, C - shift, w, shift, labels=first.labels, sums=first.sums, inertia=False)
    assert got.labels is first.labels
    assert (got.labels == labels).mean() > 0.99
    if dtype == np.float64:
        np.testing.assert_allclose(got.sums, sums, rtol=1e-9, atol=1e-9)
    assert got.inertia == 0.0
