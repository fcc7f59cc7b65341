"""KMeans by each algorithm of its passes: a fit ends where the plain pass leads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import kilogram as kg
from kilogram.native.kmeans import has_fast_byte_products
from kilogram.solvers.lloyd import passes
from kilogram.solvers.lloyd.cluster_sums import ClusterSums
from kilogram.solvers.lloyd.initialization import farthest_rows
from kilogram.solvers.lloyd.lloyd import moved_centres

# time for all of it: so every step is taken alone, as on large data
SLOWLY = {"max_time": 1e4, "max_iter": 30, "tol": 0.0}


def wide_rows(dtype, k=20, d=260, n=500):
    rng = np.random.default_rng(0)
    X = 0.4 * rng.standard_normal((k, d))[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    X = np.concatenate([X, X[:50]]).astype(dtype) + dtype(50)
    return X, rng.random(len(X)).astype(dtype)


def fits(X, w, k, monkeypatch, algorithm):
    taken = []
    named = {"small_k": "small_k_pass", "filter_bounds": "filtered_bounds_pass"}
    named = named.get(algorithm, "cluster_pass")
    native = getattr(passes, named)
    monkeypatch.setattr(passes, named, lambda *a, **b: taken.append(1) or native(*a, **b))
    start = X[:k].copy()
    start[1] = 1e3  # far from all rows: a cluster that begins empty
    found = [
        kg.KMeans(k, init=start, **SLOWLY).fit(X, sample_weight=w),
        kg.KMeans(k, init="random", n_init=3, random_state=0, **SLOWLY).fit(X, sample_weight=w),
    ]
    assert taken
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", ["small_k", "filter_bounds"])
def test_wide_rows_end_where_all_distances_lead(monkeypatch, algorithm, dtype):
    if algorithm == "filter_bounds" and not has_fast_byte_products():
        pytest.skip("this machine has no fast products of bytes")
    k = 12 if algorithm == "small_k" else 30
    X, w = wide_rows(dtype)
    with monkeypatch.context() as patch:
        patch.setattr(passes, "SMALL_K_WORK", 0.0)
        patch.setattr(passes, "FILTER_WORK", 0.0)
        patch.setattr(passes, "filter_pays", lambda *_: True)
        fast = fits(X, w, k, patch, algorithm)
    plain = fits(X, w, k, monkeypatch, "plain")
    rtol = 1e-10 if dtype == np.float64 else 1e-3
    for one, other in zip(fast, plain, strict=True):
        assert (one.labels_ == other.labels_).mean() > (0.999 if dtype == np.float64 else 0.9)
        np.testing.assert_allclose(one.inertia_, other.inertia_, rtol=rtol)


@pytest.mark.skipif(
    not has_fast_byte_products(), reason="this machine has no fast products of bytes"
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_groups_of_centres_end_where_all_distances_lead(monkeypatch, layout, dtype):
    X, w = wide_rows(dtype, k=30, d=24, n=900)
    X, k = np.asarray(X, order=layout), 40
    made = []
    grouped = passes.grouped
    with monkeypatch.context() as patch:
        patch.setattr(passes, "FILTER_WORK", 0.0)
        patch.setattr(passes, "GROUPED_K", 8)
        patch.setattr(passes, "filter_pays", lambda *_: True)
        patch.setattr(passes, "grouped", lambda *a, **b: made.append(1) or grouped(*a, **b))
        fast = kg.KMeans(k, init="random", n_init=3, random_state=0, **SLOWLY)
        fast.fit(X, sample_weight=w)
    assert made
    plain = kg.KMeans(k, init="random", n_init=3, random_state=0, **SLOWLY)
    plain.fit(X, sample_weight=w)
    np.testing.assert_array_equal(fast.labels_, fast.predict(X))
    assert (fast.labels_ == plain.labels_).mean() > (0.999 if dtype == np.float64 else 0.9)
    np.testing.assert_allclose(
        fast.inertia_, plain.inertia_, rtol=1e-10 if dtype == np.float64 else 1e-2
    )


def test_inertia_of_tight_clusters():
    """Of clusters a billion times as far apart as they are wide: no digits are cancelled."""
    rng = np.random.default_rng(0)
    X = 1e9 * rng.standard_normal((3, 2))[np.arange(300) % 3] + rng.standard_normal((300, 2))
    model = kg.KMeans(3, init=X[:3], **SLOWLY).fit(X)
    centres = np.array([X[c::3].mean(axis=0) for c in range(3)])
    away = ((X - centres[np.arange(300) % 3]) ** 2).sum()
    np.testing.assert_allclose(model.inertia_, away, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", ["plain", "small_k"])
def test_weights_that_left_a_cluster_leave_nothing(monkeypatch, algorithm, dtype):
    """0.1 + 0.2 - 0.1 - 0.2 is not zero, and the cluster is empty for all that."""
    monkeypatch.setattr(passes, "SMALL_K_WORK", 0.0 if algorithm == "small_k" else np.inf)
    X, w = wide_rows(dtype)
    one = passes.LloydPasses(
        X, w, X.mean(axis=0).astype(float), float((X.astype(float) ** 2).sum())
    )
    C = X[:12].astype(float)
    assert one(C).weights[3] > 0
    C[3] += 1e3
    gone = one(C)
    assert gone.weights[3] == 0.0
    assert not gone.sums[3].any()


@pytest.mark.filterwarnings("ignore:KMeans stopped")
def test_weighted_clusters_that_lose_their_rows_take_others():
    """With steps in one call or one by one: as plain NumPy with the same rule."""
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 33))
        X += 3 * rng.standard_normal((16, 33))[rng.integers(0, 16, 300)]
        w, start = rng.random(300) + 0.01, X[rng.choice(300, 16, replace=False)].copy()
        start[0] = 3 * X.max(axis=0)
        params = {"init": start, "n_init": 1, "tol": 0.0, "max_iter": 6}
        fitted = kg.KMeans(16, **params).fit(X, sample_weight=w)
        slow = kg.KMeans(16, **params, max_time=1e4).fit(X, sample_weight=w)
        found.append(plain_inertia(X, w, start, 6))
        assert fitted.inertia_ == pytest.approx(found[-1], rel=1e-9)
        assert slow.inertia_ == pytest.approx(found[-1], rel=1e-9)
    assert len(set(found)) == 30


def plain_inertia(X, w, C, steps):
    """Of Lloyd's algorithm where sums are made anew, and empty clusters take the farthest row."""
    origin = np.average(X, axis=0, weights=w)
    for _ in range(steps):
        C = moved_centres(
            ClusterSums.of(X, w, C, origin), C, origin, partial(farthest, X, w, origin)
        )
    return ClusterSums.of(X, w, C, origin).inertia


def farthest(X, w, origin, C, m):
    return farthest_rows(X, w, C=C, origin=origin, m=m)


@pytest.mark.parametrize("model", [kg.KMeans(3), kg.GaussianMixture(2, covariance_type="diag")])
def test_rows_whose_squared_lengths_overflow_are_refused(model):
    """Of every column alone the squares are numbers."""
    X = 5e17 * np.random.default_rng(0).standard_normal((50, 3000))
    with pytest.raises(ValueError, match="squares overflow float32"):
        model.fit(X.astype(np.float32))
