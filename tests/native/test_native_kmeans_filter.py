"""K-means behind a quantised of bytes: at every step what plain NumPy finds."""

import numpy as np
import pytest

from kilogram.native.kmeans import (
    CentreGroups,
    QuantisedRows,
    cluster_pass,
    filtered_pass,
    grouped,
    nearby_order,
)
from tests.native.plain_lloyd import apart, assert_steps, rows, uneven, unit_of

SIZES = [
    (1, 1, 1),
    (7, 3, 2),
    (100, 5, 9),
    (600, 50, 33),
    (301, 13, 100),
    (90, 64, 5),
    (70, 131, 9),
    (450, 40, 210),  # more centres than the scores of are held at once
]


def assert_all_steps(X, C, w, shift, rtol, steps=5, groups=False):
    """The quantised, and the last pass through it."""
    quantised = QuantisedRows(X, shift, unit_of(X, shift))
    means = C[:: max(1, len(C) // 7)]

    def one_pass(C, w, *, labels=None, **kept):
        nonlocal means
        places = CentreGroups(nearby_order(C, 8))
        if groups and labels is not None:
            places, means = grouped(C, means)
        return filtered_pass(quantised, C, places, w, labels=labels, **kept)

    return quantised, assert_steps(one_pass, X, C, w, shift, steps=steps, rtol=rtol, measured=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_filtered_passes_are_plain_passes(machine, size, dtype):
    X, C, w = rows(*size, dtype)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    none = np.zeros(X.shape[1])
    assert_all_steps(X, C, w, none, rtol)
    assert_all_steps(X, C, w, none, rtol, groups=True)
    assert_all_steps(np.asfortranarray(X), C, None, none, rtol, steps=3)
    assert_all_steps(
        np.repeat(X, 2, axis=0)[::2], C, w, X.mean(axis=0).astype(float), rtol, steps=3
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_distances_are_measured_where_clusters_are_apart(machine, dtype):
    X, C, own = apart(dtype, 40)
    none = np.zeros(50)
    quantised = QuantisedRows(X, none, unit_of(X, none))
    got = filtered_pass(quantised, C, CentreGroups(nearby_order(C, 8)))
    np.testing.assert_array_equal(got.labels, own)
    assert quantised.looked < 0.1
    kept = {"labels": got.labels, "sums": got.sums}
    again = filtered_pass(
        quantised, C * dtype(1.001), CentreGroups(nearby_order(C, 8)), inertia=False, **kept
    )
    np.testing.assert_array_equal(again.labels, own)
    assert quantised.looked < 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_from_the_origin(machine, dtype):
    X, C, w = rows(500, 20, 30, dtype)
    X = X + dtype(1e6)
    shift = X.mean(axis=0, dtype=float).astype(dtype).astype(float)
    assert_all_steps(X, C, w, shift, 1e-9 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_rows_and_centres_of_very_different_lengths(machine, dtype, scale):
    X, C, w = uneven(dtype, 400, 24, 40, scale)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    assert_all_steps(X, C, w, np.zeros(24), rtol)
    assert_all_steps(X, C, w, np.zeros(24), rtol, groups=True)
    many = np.concatenate([C, -C, C[:, ::-1], 1.5 * C, C / 3, -2 * C[:, ::-1]])
    assert_all_steps(X, many, w, np.zeros(24), rtol, steps=3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_groups_of_centres_that_lie_far_are_left_out(machine, dtype):
    rng = np.random.default_rng(0)
    blobs = 4 * rng.standard_normal((20, 30))
    C = (np.repeat(blobs, 10, axis=0) + 0.3 * rng.standard_normal((200, 30))).astype(dtype)
    X = (C[rng.integers(0, 200, 4000)] + 0.3 * rng.standard_normal((4000, 30))).astype(dtype)
    quantised = assert_all_steps(
        X, C, None, np.zeros(30), 1e-12 if dtype == np.float64 else 1e-5, groups=True
    )
    assert quantised[0].opened < 0.3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_and_equal_centres_take_the_first(machine, dtype):
    X, C, _ = rows(60, 17, 12, dtype)
    X, C = np.repeat(X, 3, axis=0), np.concatenate([C, C, np.zeros_like(C)])
    none = np.zeros(17)
    quantised = QuantisedRows(X, none, unit_of(X, none))
    got = filtered_pass(quantised, C, CentreGroups(np.arange(36, dtype=np.int32)[::-1].copy()))
    D = ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(got.labels, D.argmin(axis=1))
    same = np.zeros((50, 17), dtype)
    got = filtered_pass(QuantisedRows(same, none, 1.0), C, CentreGroups(nearby_order(C, 8)))
    assert (got.labels == 24).all()


def test_result_does_not_depend_on_threads(monkeypatch):
    from threadpoolctl import threadpool_limits

    from kilogram.native import buffers

    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, C, w = rows(3000, 20, 31, np.float32)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(assert_all_steps(X, C, w, np.zeros(20), 1e-5, steps=3)[1])
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].inertia == found[1].inertia


def test_another_start_is_as_the_first():
    X, C, w = rows(800, 20, 30, np.float64)
    none = np.zeros(20)
    quantised = assert_all_steps(X, C, w, none, 1e-12)[0]
    quantised.reset()
    plain = cluster_pass(X, C + 0.5, w)
    got = filtered_pass(quantised, C + 0.5, CentreGroups(nearby_order(C, 8)), w)
    np.testing.assert_array_equal(got.labels, plain.labels)
    assert got.inertia == pytest.approx(plain.inertia)


def test_codes_of_other_rows_are_refused():
    X, C, _ = rows(100, 20, 9, np.float64)
    quantised = QuantisedRows(X, np.zeros(20), 1.0)
    quantised.about = quantised.about[:50]
    with pytest.raises(ValueError, match="codes"):
        filtered_pass(quantised, C, CentreGroups(nearby_order(C, 8)))
    twice = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7], np.int32)
    with pytest.raises(ValueError, match="order"):
        filtered_pass(QuantisedRows(X, np.zeros(20), 1.0), C, CentreGroups(twice))
    groups = CentreGroups(
        np.r_[np.arange(9), [-1] * 3].astype(np.int32), np.array([0, 5, 12], np.int32)
    )
    with pytest.raises(ValueError, match="starts"):
        filtered_pass(QuantisedRows(X, np.zeros(20), 1.0), C, groups)
    with pytest.raises(ValueError, match="order"):
        filtered_pass(
            QuantisedRows(X, np.zeros(20), 1.0), C, CentreGroups(np.arange(8, dtype=np.int32))
        )
