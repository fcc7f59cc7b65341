"""The step of k-means against plain NumPy, at awkward sizes, in both types and orders."""

import numpy as np
import pytest

from kilogram.native.kmeans import cluster_pass, distances_to

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
@pytest.mark.parametrize("known", [False, True], ids=["all", "left-out"])
def test_pass(machine, size, dtype, known):
    X, C, w, old = rows(*size, dtype)
    labels, D, sums = plain(X, C, w)
    rtol = 1e-10 if dtype == np.float64 else 2e-4
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        before = old.astype(np.int32) if known else None
        got = cluster_pass(x, C, w, labels=before, distances=True)
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


def test_threads_and_separated_clusters_leave_distances_out():
    rng = np.random.default_rng(0)
    C = 20 * rng.standard_normal((40, 8))
    own = rng.integers(0, 40, 4000)
    X = C[own] + rng.standard_normal((4000, 8))
    got = cluster_pass(X, C, labels=own.astype(np.int32))
    np.testing.assert_array_equal(got.labels, own)
    assert got.looked < 0.2
    assert cluster_pass(X, C).looked == 1.0


def test_result_does_not_depend_on_threads(monkeypatch):
    from threadpoolctl import threadpool_limits

    from kilogram.native import buffers

    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w, old = rows(2000, 9, 21, np.float32)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(cluster_pass(X, C, w))
            found.append(cluster_pass(X, C, w, labels=old.astype(np.int32)))
    np.testing.assert_array_equal(found[0].sums, found[2].sums)
    np.testing.assert_array_equal(found[1].sums, found[3].sums)
    assert found[0].inertia == found[2].inertia


def test_labels_out_of_range_are_refused():
    with pytest.raises(ValueError, match="label"):
        cluster_pass(np.zeros((3, 2)), np.zeros((2, 2)), labels=np.array([0, 1, 2], np.int32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("prune", [False, True])
def test_sums_follow_the_rows_that_move(machine, dtype, prune):
    X, C, w, _ = rows(700, 11, 30, dtype)
    shift = X.mean(axis=0)
    first = cluster_pass(X, X[:30] - shift, w, shift)
    labels, _, sums = plain(X - shift, C - shift, w)
    got = cluster_pass(
        X, C - shift, w, shift, labels=first.labels, sums=first.sums, prune=prune, inertia=False
    )
    assert got.labels is first.labels
    assert (got.labels == labels).mean() > 0.99
    if dtype == np.float64:
        np.testing.assert_allclose(got.sums, sums, rtol=1e-9, atol=1e-9)
    assert got.inertia == 0.0
