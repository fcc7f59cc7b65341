"""KMedoids: against the book and all choices, distances, samples, weights, bad input."""

from __future__ import annotations

import itertools

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.base.warnings import MemoryFallbackWarning
from kilogram.textbook import k_means
from kilogram.textbook.state import run

X, Y = make_blobs(300, 4, centers=4, cluster_std=1.5, random_state=0)


def test_the_best_of_all_choices_on_a_few_rows():
    rows = np.random.default_rng(0).standard_normal((14, 2))
    D = cdist(rows, rows)
    best = min(D[:, m].min(axis=1).sum() for m in itertools.combinations(range(14), 3))
    model = kg.KMedoids(3, n_init=10, random_state=0).fit(rows)
    assert model.inertia_ == pytest.approx(best)
    assert model.inertia_ == pytest.approx(D[:, model.medoid_indices_].min(axis=1).sum())


def test_alternate_is_the_book():
    D = cdist(X, X)
    book = run(k_means.k_medoids(D, [0, 1, 2, 3, 4]))
    fast = kg.KMedoids(5, method="alternate", init=[0, 1, 2, 3, 4]).fit(X)
    np.testing.assert_array_equal(fast.medoid_indices_, book["medoids"])
    np.testing.assert_array_equal(fast.labels_, book["c"])


@pytest.mark.parametrize("seed", range(4))
def test_swaps_end_no_higher_than_the_book(seed):
    rows = np.random.default_rng(seed).standard_normal((150, 2))
    found = {
        method: kg.KMedoids(8, method=method, init=list(range(8))).fit(rows).inertia_
        for method in ("alternate", "pam", "fasterpam")
    }
    assert max(found["pam"], found["fasterpam"]) <= found["alternate"] + 1e-9


@pytest.mark.parametrize("init", ["build", "k-medoids++", "random"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_separate_blobs(init, dtype):
    rows, y = make_blobs(300, 3, centers=5, cluster_std=0.4, random_state=1)
    model = kg.KMedoids(5, init=init, random_state=0).fit(rows.astype(dtype))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.cluster_centers_.dtype == model.transform(rows.astype(dtype)).dtype == dtype
    np.testing.assert_array_equal(model.cluster_centers_, rows.astype(dtype)[model.medoid_indices_])
    np.testing.assert_array_equal(model.predict(rows.astype(dtype)), model.labels_)


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "sqeuclidean"])
def test_metrics_by_name_by_function_and_given(metric):
    from scipy.spatial import distance

    rows = X[:60]
    D = cdist(rows, rows, metric)
    D = (D + D.T) / 2
    named = kg.KMedoids(4, metric=metric, init="build").fit(rows)
    called = kg.KMedoids(4, metric=getattr(distance, metric), init="build").fit(rows)
    given = kg.KMedoids(4, metric="precomputed", init="build").fit(D)
    for model in (called, given):
        np.testing.assert_array_equal(model.medoid_indices_, named.medoid_indices_)
        assert model.inertia_ == pytest.approx(named.inertia_)
    assert given.cluster_centers_ is None
    np.testing.assert_array_equal(given.predict(D[:20]), named.predict(rows[:20]))


def test_the_distance_of_a_kernel():
    kernel = kg.Gaussian(sigma=2.0)
    D = np.sqrt(np.maximum(2 - 2 * kernel(X), 0))
    ours = kg.KMedoids(4, metric=kernel, init="build").fit(X)
    given = kg.KMedoids(4, metric="precomputed", init="build").fit(D)
    np.testing.assert_array_equal(ours.labels_, given.labels_)


def test_an_outlier_drags_no_medoid():
    rows = np.r_[np.arange(5.0), 100 + np.arange(5.0), 1e6][:, None]
    medoids = kg.KMedoids(3, init="build").fit(rows).cluster_centers_.ravel()
    assert sorted(medoids) == [2.0, 102.0, 1e6]
    assert 1e6 not in kg.KMedoids(1).fit(rows).cluster_centers_


def test_weights():
    w = np.random.default_rng(1).integers(0, 4, len(X))
    ours = kg.KMedoids(4, init="build", method="pam").fit(X, sample_weight=w)
    many = kg.KMedoids(4, init="build", method="pam").fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(ours.cluster_centers_, many.cluster_centers_)
    assert ours.inertia_ == pytest.approx(many.inertia_, rel=1e-12)
    assert (w[ours.medoid_indices_] > 0).all()
    with pytest.raises(ValueError, match="weight above 0"):
        kg.KMedoids(4).fit(X, sample_weight=np.r_[np.ones(3), np.zeros(len(X) - 3)])


def test_samples_say_so_and_come_near():
    rows, y = make_blobs(2500, 2, centers=5, cluster_std=0.2, random_state=5)
    with pytest.warns(MemoryFallbackWarning, match="CLARA"):
        model = kg.KMedoids(5, max_memory="4MB", random_state=0).fit(rows)
    exact = kg.KMedoids(5, random_state=0).fit(rows)
    assert (model.strategy_, exact.strategy_) == ("sampled", "exact")
    assert exact.inertia_ <= model.inertia_ < 1.05 * exact.inertia_
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert model.objective(rows) == pytest.approx(model.inertia_)
    w = np.random.default_rng(0).random(len(rows))
    lazy = kg.KMedoids(5, sample_size=300, random_state=0).fit(
        da.from_array(rows, chunks=(700, 2)), sample_weight=w
    )
    assert lazy.objective(rows, sample_weight=w) == pytest.approx(lazy.inertia_)
    assert adjusted_rand_score(y, lazy.labels_) > 0.99


def test_equal_rows_one_row_one_cluster():
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model = kg.KMedoids(3, random_state=0).fit(np.ones((10, 2)))
    assert model.inertia_ == 0
    one = kg.KMedoids(1).fit([[3.0, 4.0]])
    assert (one.inertia_, one.labels_.tolist()) == (0.0, [0])
    D = cdist(X, X)
    assert kg.KMedoids(1).fit(X).medoid_indices_[0] == D.sum(axis=0).argmin()
    assert kg.KMedoids(len(X), init="build").fit(X).inertia_ == 0


@pytest.mark.parametrize(
    ("params", "rows", "message"),
    [
        ({"n_clusters": 400}, X, "n_samples=300"),
        ({"n_clusters": 0}, X, "n_clusters"),
        ({"method": "best"}, X, "method must be one of"),
        ({"init": "heuristic"}, X, "init must be one of"),
        ({"n_clusters": 2, "init": [0, 0]}, X, "different row indices"),
        ({"n_clusters": 2, "init": [0, 300]}, X, "different row indices"),
        ({"metric": "no such"}, X, "(?i)metric"),
        ({"metric": "precomputed"}, X, "square"),
        ({"metric": "precomputed"}, np.triu(np.ones((9, 9))), "symmetric"),
        ({"metric": "precomputed"}, -np.ones((9, 9)), "negative"),
        ({"sample_size": 3}, X, "sample_size"),
        ({"sample_size": 100, "n_draws": 0}, X, "n_draws"),
        ({}, np.vstack([X, [[1.7e308] * 4, [-1.7e308] * 4]]), "(?i)distances|overflow"),
    ],
)
def test_bad_input(params, rows, message):
    with pytest.raises(ValueError, match=message):
        kg.KMedoids(**params).fit(rows)


def test_stopping_early_says_so():
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.KMedoids(8, method="pam", init="random", max_iter=1, random_state=0).fit(X)
    assert np.isfinite(model.inertia_)


@pytest.mark.parametrize("far", [2.0**700, 2.0**-700, 2.0**-1000])
def test_medoids_do_not_depend_on_the_unit(far):
    """Squares of 1e200 and 1e-200 are out of range, the distances are not."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    want, got = (kg.KMedoids(3, init="build").fit(rows) for rows in (X, X * far))
    np.testing.assert_array_equal(got.medoid_indices_, want.medoid_indices_)
    np.testing.assert_array_equal(got.predict(X * far), want.labels_)
    # a medoid is sqrt(eps) away from itself, or 0, as the squares happen to round
    np.testing.assert_allclose(
        got.transform(X * far) / far, want.transform(X), rtol=1e-7, atol=1e-7
    )
    assert got.inertia_ / far == pytest.approx(want.inertia_)


def test_parameters_of_a_metric_are_a_dict():
    with pytest.raises(TypeError, match="metric_params must be a dict"):
        kg.KMedoids(2, metric="minkowski", metric_params=3).fit(np.arange(8.0).reshape(4, 2))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_scale_by_all_rows(metric):
    """Blocks of rows have no variance of their own: these names were refused."""
    D = cdist(X, X, metric)
    named = kg.KMedoids(4, metric=metric, init="build").fit(X)
    given = kg.KMedoids(4, metric="precomputed", init="build").fit((D + D.T) / 2)
    np.testing.assert_array_equal(named.medoid_indices_, given.medoid_indices_)
    np.testing.assert_array_equal(named.predict(X), named.labels_)
    tree = kg.AgglomerativeClustering(4, metric=metric, linkage="average").fit(X)
    np.testing.assert_allclose(tree.distances_, linkage(X, "average", metric)[:, 2])
    got = kg.silhouette_score(X, named.labels_, metric=metric)
    assert got == pytest.approx(silhouette_score(X, named.labels_, metric=metric))
    with pytest.raises(ValueError, match="singular"):
        kg.KMedoids(2, metric="mahalanobis").fit(np.column_stack([X, X[:, 0]]))


def test_parameters_of_a_metric_are_used_or_refused():
    w = np.array([1.0, 0.0, 0.0, 0.0])
    model = kg.KMedoids(3, metric="sqeuclidean", metric_params={"w": w}, init="build").fit(X)
    alone = kg.KMedoids(3, metric="sqeuclidean", init="build").fit(X[:, :1])
    assert model.inertia_ == pytest.approx(alone.inertia_)
    for metric, rows in ((kg.Gaussian(sigma=1.0), X), ("precomputed", cdist(X, X))):
        with pytest.raises(ValueError, match="no use for the parameters"):
            kg.KMedoids(3, metric=metric, metric_params={"p": 1}).fit(rows)


def test_given_distances_may_be_sparse_and_sampled():
    D = cdist(X, X)
    want = kg.KMedoids(3, metric="precomputed", init="build").fit(D)
    got = kg.KMedoids(3, metric="precomputed", init="build").fit(sp.csr_array(D))
    np.testing.assert_array_equal(got.medoid_indices_, want.medoid_indices_)
    np.testing.assert_array_equal(got.predict(sp.csr_array(D[:9])), want.labels_[:9])
    some = kg.KMedoids(3, metric="precomputed", sample_size=100, random_state=0).fit(D)
    assert some.strategy_ == "sampled"
    assert some.inertia_ == pytest.approx(D[:, some.medoid_indices_].min(axis=1).sum())


@pytest.mark.parametrize(
    "model",
    [
        kg.KMedoids(3, metric="precomputed"),
        kg.AgglomerativeClustering(3, metric="precomputed", linkage="average"),
    ],
)
def test_similarities_are_no_distances(model):
    with pytest.raises(ValueError, match="zero diagonal"):
        model.fit(kg.Gaussian(sigma=1.0)(X))
