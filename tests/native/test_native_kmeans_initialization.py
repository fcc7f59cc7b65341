"""Greedy k-means++ and whole runs of Lloyd in one call, against the loops in Python."""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram.native import buffers
from kilogram.native.kmeans import cluster_pass
from kilogram.native.kmeans_initialization import greedy_rows, lloyd_iterations
from kilogram.solvers.lloyd import initialization as starts
from kilogram.solvers.lloyd.lloyd import lloyd
from kilogram.solvers.lloyd.passes import LloydPasses

SIZES = [
    (1, 1, 1, 2),
    (2, 1, 2, 1),
    (65, 2, 7, 3),
    (300, 3, 40, 5),
    (129, 70, 12, 4),
    (640, 2, 9, 4),
]


def draws(n, k, trials, seed=0):
    rng = np.random.default_rng(seed)
    return int(rng.integers(n)), rng.random((k - 1, trials))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_same_draws_choose_the_same_rows(machine, size, weighted, dtype):
    n, d, k, trials = size
    rng = np.random.default_rng(n + d)
    X = (rng.standard_normal((n, d)) + 3).astype(dtype)
    w = rng.random(n) * (rng.random(n) < 0.7) + (np.arange(n) == n - 1) if weighted else None
    first, uniforms = draws(n, k, trials)
    plain = starts.chosen_rows(X, first, uniforms, w, X.mean(axis=0).astype(float))
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(greedy_rows(x, first, uniforms, w), plain)


def test_no_time_is_enough_for_the_first_row():
    X = np.random.default_rng(0).standard_normal((200, 2))
    first, uniforms = draws(200, 15, 4)
    np.testing.assert_array_equal(greedy_rows(X, first, uniforms, seconds=0.0), [first])
    late = time.perf_counter()
    assert len(starts.chosen_rows(X, first, uniforms, None, X.mean(axis=0), late)) == 1
    C = starts.greedy(X, None, 15, X.mean(axis=0), np.random.default_rng(1), late)
    assert C.shape == (15, 2)
    assert (C[:, None] == X).all(axis=2).any(axis=1).all()  # rows


def test_rows_of_no_weight_are_never_chosen():
    X = np.random.default_rng(0).standard_normal((200, 2))
    w = np.zeros(200)
    w[::9] = 1.0
    first, uniforms = draws(200, 15, 4)
    chosen = greedy_rows(X, 9 * (first // 9), uniforms, w)
    assert (w[chosen] > 0).all()
    assert len(np.unique(chosen)) == 15


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ends_where_all_rows_lie_on_chosen_ones(machine, dtype):
    X = np.repeat(np.arange(6.0).reshape(3, 2), 50, axis=0).astype(dtype) + dtype(1000)
    first, uniforms = draws(150, 9, 4)
    chosen = greedy_rows(X, first, uniforms)
    assert len(chosen) == 3
    assert len(np.unique(X[chosen], axis=0)) == 3
    C = starts.greedy(X, None, 9, X.mean(axis=0).astype(float), np.random.default_rng(0))
    assert C.shape == (9, 2)
    assert len(np.unique(C, axis=0)) == 3


def test_draws_at_the_edges_stay_inside():
    X = np.random.default_rng(0).standard_normal((100, 3))
    for value in (0.0, np.nextafter(1.0, 0.0)):
        chosen = greedy_rows(X, 99, np.full((4, 2), value))
        assert len(np.unique(chosen)) == 5


def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    rng = np.random.default_rng(0)
    few, wide = rng.standard_normal((3000, 5)), rng.standard_normal((3000, 900)).astype(np.float32)
    first, uniforms = draws(3000, 20, 4)
    for X in (few, wide):  # packed once, and packed anew for every centre
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(greedy_rows(X, first, uniforms))
        np.testing.assert_array_equal(*found)
    origin = wide.mean(axis=0).astype(float)
    np.testing.assert_array_equal(found[0], starts.chosen_rows(wide, first, uniforms, None, origin))


def test_what_does_not_fit_is_refused():
    X = np.zeros((5, 2))
    with pytest.raises(ValueError, match="do not fit"):
        greedy_rows(X, 5, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="do not fit"):
        greedy_rows(X, 0, np.zeros((2, 0)))
    with pytest.raises(ValueError, match="w has shape"):
        greedy_rows(X, 0, np.zeros((2, 3)), np.ones(4))


def run_of(X, w, C, tol, merged):
    passes = LloydPasses(X, w, X.mean(axis=0).astype(X.dtype).astype(float), 1.0)

    def farthest(C, m):
        return starts.farthest_rows(X, w, C, passes.origin, m)

    found = lloyd(
        passes,
        C,
        passes.origin,
        farthest,
        max_iter=40,
        tol=tol,
        project=None,
        tick=lambda *_: False,
        iterate=passes.iterate if merged else None,
    )
    return found, passes.labels


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [(50, 1, 3), (301, 2, 9), (500, 13, 20), (400, 2, 40)])
def test_leaps_are_single_steps(machine, size, weighted, dtype):
    n, d, k = size
    rng = np.random.default_rng(n)
    X = (rng.standard_normal((n, d)) + 50).astype(dtype)
    w = rng.random(n).astype(dtype) if weighted else None
    C = X[:k].astype(float)
    C[1] = 1e3  # far from all rows: the step that fills it is not taken in one call
    for tol in (0.0, 1e-2):
        one, labels = run_of(X, w, C, tol, merged=False)
        many, merged_labels = run_of(X, w, C, tol, merged=True)
        assert one.n_iter == many.n_iter
        assert one.converged == many.converged
        np.testing.assert_array_equal(labels, merged_labels)
        np.testing.assert_allclose(one.value, many.value, rtol=1e-12)
        assert one.objective == pytest.approx(many.objective, rel=1e-9)


def test_extrapolation_stops_before_an_empty_cluster():
    X = np.random.default_rng(0).standard_normal((60, 2))
    C = np.vstack([X[:2], [[1e3, 1e3]]])
    start, labels, sums = C.copy(), np.empty(60, np.int32), np.empty((3, 3))
    steps, rests = lloyd_iterations(
        X, None, np.zeros(2), C, labels, sums, follow=False, most=9, tol=0.0
    )
    assert (steps, rests) == (0, False)
    np.testing.assert_array_equal(C, start)
    np.testing.assert_array_equal(labels, cluster_pass(X, C).labels)
