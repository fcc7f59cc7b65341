"""KMeans and KernelKMeans: scikit-learn's answers, starts, weights, repairs, bad input."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_digits, make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

import kilogram as kg
from kilogram.base import ConvergenceWarning

X, Y = make_blobs(400, 6, centers=5, cluster_std=2.0, random_state=0)
STARTS = ["k-means++", "k-means||", "random", "farthest"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 5, 30, 400])
def test_equals_scikit_learn_from_the_same_start(k, dtype):
    x = X.astype(dtype)
    ours = kg.KMeans(k, init=x[:k], tol=0).fit(x)
    peer = Peer(k, init=x[:k], n_init=1, tol=0).fit(x)
    np.testing.assert_array_equal(ours.labels_, peer.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=1e-4, atol=1e-5)
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-4, abs=1e-2)
    np.testing.assert_allclose(ours.transform(x), peer.transform(x), rtol=1e-3, atol=2e-2)
    np.testing.assert_array_equal(ours.predict(x), peer.predict(x))
    assert ours.cluster_centers_.dtype == dtype
    assert ours.score(x) == pytest.approx(peer.score(x), rel=1e-4, abs=1e-2)


def test_weighted_equals_scikit_learn():
    w = np.random.default_rng(0).random(len(X))
    ours = kg.KMeans(7, init=X[:7], tol=0).fit(X, sample_weight=w)
    peer = Peer(7, init=X[:7], n_init=1, tol=0).fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=1e-9)
    assert ours.inertia_ == pytest.approx(peer.inertia_)
    np.testing.assert_allclose(ours.counts_, np.bincount(ours.labels_, w))


@pytest.mark.parametrize("init", STARTS)
def test_every_start_finds_separate_blobs(init):
    rows, labels = make_blobs(600, 3, centers=4, cluster_std=0.3, random_state=1)
    model = kg.KMeans(4, init=init, n_init=30, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    again = kg.KMeans(4, init=init, n_init=30, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_digits_are_no_worse_than_scikit_learn():
    rows = load_digits().data
    ours = [kg.KMeans(10, random_state=s).fit(rows).inertia_ for s in range(5)]
    peer = [Peer(10, random_state=s).fit(rows).inertia_ for s in range(5)]
    assert np.median(ours) <= 1.01 * np.median(peer)


def test_objective_never_rises():
    falls = []
    for steps in range(1, 8):
        with pytest.warns(ConvergenceWarning, match="usable"):
            falls.append(kg.KMeans(20, init=X[:20], max_iter=steps, tol=0).fit(X).inertia_)
    assert (np.diff(falls) <= 1e-9 * falls[0]).all()


def test_many_clusters_leave_distances_out_and_agree():
    rng = np.random.default_rng(0)
    rows = 8 * rng.standard_normal((300, 4))[rng.integers(0, 300, 3000)]
    rows = rows + rng.standard_normal(rows.shape)
    ours = kg.KMeans(300, init=rows[:300], tol=0).fit(rows)
    peer = Peer(300, init=rows[:300], n_init=1, tol=0).fit(rows)
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-9)


def test_empty_clusters_are_filled():
    start = np.vstack([X[:3], np.full((2, 6), 1e3)])
    model = kg.KMeans(5, init=start).fit(X)
    assert len(np.unique(model.labels_)) == 5
    assert model.inertia_ < kg.KMeans(3, init=X[:3]).fit(X).inertia_
    streamed = kg.KMeans(5, init=start).fit(da.from_array(X, chunks=(130, 6)))
    np.testing.assert_allclose(streamed.cluster_centers_, model.cluster_centers_, rtol=1e-9)
    twin = kg.KernelKMeans(5, kernel=kg.Linear(), init=np.zeros(len(X), int)).fit(X)
    assert len(np.unique(twin.labels_)) == 5


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_dask_and_blocks_choose_their_own_start(init):
    rows, labels = make_blobs(900, 3, centers=4, cluster_std=0.3, random_state=1)
    for container in (da.from_array(rows, chunks=(200, 3)), [rows[:400], rows[400:]]):
        model = kg.KMeans(4, init=init, n_init=40, random_state=0).fit(container)
        assert adjusted_rand_score(labels, model.labels_) == 1.0


@pytest.mark.parametrize("form", ["sparse", "torch"])
def test_starts_on_other_arrays(form):
    rows, labels = make_blobs(300, 3, centers=3, cluster_std=0.3, random_state=2)
    rows = sp.csr_array(rows) if form == "sparse" else pytest.importorskip("torch").asarray(rows)
    for init in STARTS:
        model = kg.KMeans(3, init=init, n_init=5, random_state=0).fit(rows)
        assert adjusted_rand_score(labels, np.asarray(model.labels_)) == 1.0


def test_partial_fit_is_the_running_mean_of_what_came_near():
    rows, labels = make_blobs(500, 2, centers=3, cluster_std=0.2, random_state=3)
    start = np.array([rows[labels == c][0] for c in range(3)])
    model = kg.KMeans(3, init=start)
    for a in range(0, 500, 50):
        model.partial_fit(rows[a : a + 50])
    means = np.array([rows[labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9)
    np.testing.assert_allclose(model.counts_, np.bincount(labels))


def test_mini_batches_come_near_the_full_fit():
    rows = load_digits().data
    full = kg.KMeans(10, n_init=3, random_state=0).fit(rows).inertia_
    batches = kg.KMeans(10, algorithm="minibatch", batch_size=256, random_state=0, tol=1e-3)
    assert batches.fit(rows).inertia_ < 1.1 * full


def test_spherical_clusters_by_the_cosine():
    rng = np.random.default_rng(0)
    ways = np.array([[1.0, 0.1], [-0.2, 1.0]])
    own = rng.integers(0, 2, 200)
    rows = ways[own] * rng.uniform(0.1, 50, (200, 1)) + 0.01 * rng.standard_normal((200, 2))
    model = kg.KMeans(2, spherical=True, n_init=5, random_state=0).fit(rows)
    assert adjusted_rand_score(own, model.labels_) == 1.0
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(rows * 3), model.labels_)
    sparse = kg.KMeans(2, spherical=True, n_init=5, random_state=0).fit(sp.csr_array(rows))
    assert sparse.inertia_ == pytest.approx(model.inertia_)


@pytest.mark.parametrize("model", [kg.KMeans, kg.KernelKMeans])
def test_bad_parameters(model):
    for params, match in [
        ({"n_clusters": 401}, "n_clusters=401"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1}, "tol"),
        ({"init": "somehow"}, "init"),
    ]:
        with pytest.raises(ValueError, match=match):
            model(**params).fit(X)
    with pytest.raises(ValueError, match="initial centers"):
        kg.KMeans(3, init=X[:2]).fit(X)
    with pytest.raises(ValueError, match="initial centers"):
        kg.KMeans(2, init=np.full((2, 6), np.nan)).fit(X)
    with pytest.raises(ValueError, match="algorithm"):
        kg.KMeans(algorithm="best").fit(X)
    with pytest.raises(ValueError, match="approximation"):
        kg.KernelKMeans(approximation="best").fit(X)


@pytest.mark.parametrize("init", STARTS)
def test_all_rows_equal(init):
    rows = np.ones((20, 3))
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = kg.KMeans(3, init=init, random_state=0).fit(rows)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.cluster_centers_, np.ones((3, 3)))
    assert kg.KMeans(1).fit(rows).inertia_ == 0


# the twin


@pytest.mark.parametrize("weighted", [False, True])
def test_twin_from_the_same_labels(weighted):
    first = np.arange(len(X)) % 6
    w = np.random.default_rng(0).random(len(X)) if weighted else None
    start = np.array(
        [np.average(X[first == c], axis=0, weights=None if w is None else w[first == c])
         for c in range(6)]
    )  # fmt: skip
    one = kg.KMeans(6, init=start, tol=0).fit(X, sample_weight=w)
    two = kg.KernelKMeans(6, kernel=kg.Linear(), init=first).fit(X, sample_weight=w)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.inertia_ == pytest.approx(two.inertia_)
    np.testing.assert_allclose(one.transform(X[:9]), two.transform(X[:9]), rtol=1e-6)


def test_kernel_parts_rings_where_straight_borders_cannot():
    rows, labels = make_circles(300, noise=0.05, factor=0.2, random_state=0)
    model = kg.KernelKMeans(2, kernel=kg.Gaussian(0.5), n_init=10, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    straight = kg.KMeans(2, n_init=10, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, straight.labels_) < 0.1
    new, truth = make_circles(100, noise=0.05, factor=0.2, random_state=1)
    assert adjusted_rand_score(truth, model.predict(new)) == 1.0
    for approximation in ("nystroem", "fourier"):
        near = kg.KernelKMeans(
            2,
            kernel=kg.Gaussian(0.5),
            n_init=10,
            approximation=approximation,
            n_features=200,
            random_state=0,
        ).fit(rows)
        assert adjusted_rand_score(truth, near.predict(new)) > 0.9


def test_stored_blocked_and_given_kernel_matrices_agree():
    kernel = kg.Gaussian(3.0)
    stored = kg.KernelKMeans(4, kernel=kernel, init="farthest").fit(X)
    blocked = kg.KernelKMeans(4, kernel=kernel, init="farthest", max_memory="100KiB").fit(X)
    given = kg.KernelKMeans(4, kernel="precomputed", init="farthest").fit(kernel(X))
    for other in (blocked, given):
        np.testing.assert_array_equal(stored.labels_, other.labels_)
        assert stored.inertia_ == pytest.approx(other.inertia_)
    np.testing.assert_array_equal(given.predict(kernel(X[:9], X)), stored.predict(X[:9]))
    with pytest.raises(ValueError, match="predict"):
        given.transform(kernel(X[:9], X))


def test_kernel_inertia_is_the_trace_form():
    kernel = kg.Gaussian(2.0)
    model = kg.KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
    K, Z = kernel(X), np.eye(4)[model.labels_]
    cost = np.trace(K) - np.sum(np.diag(Z.T @ K @ Z) / Z.sum(axis=0))
    assert model.inertia_ == pytest.approx(cost)


def test_kernel_twin_refuses_streams_and_takes_them_with_an_approximation():
    rows = da.from_array(X, chunks=(100, 6))
    with pytest.raises(ValueError, match="approximation"):
        kg.KernelKMeans(3).fit(rows)
    model = kg.KernelKMeans(
        3, kernel=kg.Gaussian(4.0), approximation="nystroem", n_features=40, random_state=0
    )
    assert len(model.fit(rows).labels_) == len(X)


def test_estimates_are_there():
    assert kg.estimate(kg.KMeans(100), n=10_000, d=20).fits
    assert not kg.estimate(kg.KernelKMeans(3, max_memory="1MiB"), n=10_000, d=20).fits


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_start_has_bounds_of_its_own(dtype):
    """Bounds and labels of one start mean nothing to the next, which used to fail on them."""
    X = np.random.default_rng(5).normal(size=(400, 2)).astype(dtype)
    model = kg.KMeans(40, n_init=6, tol=0, random_state=0).fit(X)
    away = ((X[:, None].astype(float) - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.inertia_, away.min(axis=1).sum(), rtol=1e-4)
    np.testing.assert_array_equal(model.labels_, away.argmin(axis=1))
    alone = [kg.KMeans(40, n_init=1, tol=0, random_state=seed).fit(X).inertia_ for seed in range(3)]
    assert model.inertia_ <= np.mean(alone)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_filter_ends_where_all_distances_do(monkeypatch, dtype):
    """Whole fits with the filter: weights, rows twice, clusters that begin empty, more starts."""
    from kilogram.native.kmeans import has_fast_byte_products
    from kilogram.solvers.lloyd import passes

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 24))[rng.integers(0, 30, 600)] + rng.standard_normal((600, 24))
    X = np.concatenate([X, X[:100]]).astype(dtype) + dtype(50)
    w = rng.random(700).astype(dtype)
    start = X[rng.choice(700, 40, replace=False)].copy()
    start[:2] = 1e3  # far from all rows
    taken = []
    monkeypatch.setattr(
        passes.LloydPasses, "_filtered", _counted(passes.LloydPasses._filtered, taken)
    )
    found = []
    for least in (0.0, np.inf):
        monkeypatch.setattr(passes, "FILTER_WORK", least)
        monkeypatch.setattr(passes, "filter_pays", lambda *_: True)
        for params in ({"init": start, "n_init": 1}, {"init": "random", "n_init": 3}):
            model = kg.KMeans(40, random_state=0, max_iter=30, tol=0.0, **params)
            found.append(model.fit(X, sample_weight=w))
        assert bool(taken) == has_fast_byte_products()
    for fast, plain in zip(found[:2], found[2:], strict=True):
        assert (fast.labels_ == plain.labels_).mean() > (0.999 if dtype == np.float64 else 0.9)
        rtol = 1e-10 if dtype == np.float64 else 1e-2
        np.testing.assert_allclose(fast.inertia_, plain.inertia_, rtol=rtol)


def _counted(method, taken):
    def counted(self, *args):
        taken.append(1)
        return method(self, *args)

    return counted


def test_single_precision_far_from_the_origin_has_the_centres_of_double():
    rng = np.random.default_rng(0)
    means = 60.0 * rng.standard_normal((4, 3))
    X = (np.repeat(means, 100, axis=0) + rng.standard_normal((400, 3)) + 1e6).astype(np.float32)
    single, double = (kg.KMeans(4, init=X[::100]).fit(rows) for rows in (X, X.astype(float)))
    np.testing.assert_array_equal(single.labels_, double.labels_)
    np.testing.assert_allclose(single.cluster_centers_, double.cluster_centers_, atol=0.04)
    np.testing.assert_allclose(single.inertia_, double.inertia_, rtol=1e-6)


def test_a_callable_init_gets_a_random_state():
    """As scikit-learn passes one: k-means++ of scikit-learn itself can be given."""
    seen = []

    def init(X, n_clusters, random_state):
        seen.append(random_state)
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    model = kg.KMeans(3, init=init, n_init=2, random_state=0).fit(X)
    again = kg.KMeans(3, init=init, n_init=2, random_state=0).fit(X)
    assert all(isinstance(state, np.random.RandomState) for state in seen)
    np.testing.assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random", "farthest"])
def test_spherical_clusters_do_not_depend_on_the_memory_order(init, dtype):
    rows = np.random.default_rng(3).standard_normal((300, 37)).astype(dtype)
    found = [
        kg.KMeans(4, init=init, n_init=1, spherical=True, random_state=0).fit(A)
        for A in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2])
    ]
    for model in found[1:]:
        np.testing.assert_array_equal(model.labels_, found[0].labels_)
        np.testing.assert_allclose(
            model.cluster_centers_, found[0].cluster_centers_, rtol=0, atol=1e-5
        )


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = kg.KMeans(3, random_state=0).fit(X)
    centres, labels = model.cluster_centers_.copy(), model.labels_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(np.arange(len(X))[:, None] == 3, np.nan, X))
    np.testing.assert_array_equal(model.cluster_centers_, centres)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(X), labels)
