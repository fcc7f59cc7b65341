"""AgglomerativeClustering: scikit-learn's and SciPy's trees, cuts, weights, answers, bad input."""

from __future__ import annotations

import tracemalloc

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import AgglomerativeClustering as Peer
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

import kilogram as kg
from kilogram.solvers.linkage.memory import surely_left
from kilogram.textbook import hierarchical

matplotlib.use("Agg")
X, Y = make_blobs(150, 5, centers=4, cluster_std=2.0, random_state=0)
LINKAGES = ["ward", "complete", "average", "single", "centroid", "medoid"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LINKAGES[:4])
@pytest.mark.parametrize("k", [1, 2, 7, 150])
def test_equals_scikit_learn(name, k, dtype):
    x = X.astype(dtype)
    ours = kg.AgglomerativeClustering(k, linkage=name).fit(x)
    peer = Peer(k, linkage=name, compute_distances=True).fit(x)
    assert adjusted_rand_score(ours.labels_, peer.labels_) == 1.0
    np.testing.assert_allclose(ours.distances_, peer.distances_, rtol=1e-3 if k else 0, atol=1e-4)
    assert (np.diff(np.bincount(ours.labels_)) <= 0).all()  # the largest first
    assert (ours.n_leaves_, ours.n_clusters_) == (150, k)


@pytest.mark.parametrize("name", ["ward", "complete", "average", "single", "centroid"])
@pytest.mark.parametrize("d", [1, 3, 80])
def test_the_tree_is_scipys(name, d):
    rows = np.random.default_rng(d).standard_normal((90, d))
    model = kg.AgglomerativeClustering(3, linkage=name).fit(rows)
    Z = linkage(rows, name)
    np.testing.assert_allclose(model.linkage_matrix_[:, 2:], Z[:, 2:], rtol=1e-6)
    np.testing.assert_array_equal(model.children_, np.sort(Z[:, :2]))
    want = cophenet(Z, pdist(rows))[0]
    assert model.cophenetic_correlation(rows) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("name", ["single", "complete", "average", "medoid", "mean"])
def test_the_book_merges_the_same(name):
    rows = X[:40]
    D = cdist(rows, rows)
    ours = kg.AgglomerativeClustering(5, linkage="centroid" if name == "mean" else name).fit(rows)
    book = hierarchical.cut(D, name, 5, rows)
    assert adjusted_rand_score(ours.labels_, book) == 1.0
    heights = list(hierarchical.agglomerate(D, name, rows))[-1]["heights"]
    np.testing.assert_allclose(ours.distances_, heights, rtol=1e-9)


@pytest.mark.parametrize("name", LINKAGES)
def test_weights_are_repetitions(name):
    rows = make_blobs(90, 3, centers=4, cluster_std=0.5, random_state=2)[0]
    w = np.random.default_rng(0).integers(0, 4, 90)
    ours = kg.AgglomerativeClustering(4, linkage=name).fit(rows, sample_weight=w)
    many = kg.AgglomerativeClustering(4, linkage=name).fit(np.repeat(rows, w, axis=0))
    np.testing.assert_allclose(ours.transform(rows), many.transform(rows), atol=1e-6)
    np.testing.assert_allclose(ours.distances_, many.distances_[-len(ours.distances_) :], atol=1e-7)
    seen = np.repeat(ours.labels_, w)
    assert adjusted_rand_score(seen, many.labels_) == 1.0
    assert ours.n_leaves_ == (w > 0).sum()


@pytest.mark.parametrize("name", LINKAGES)
def test_new_rows_go_where_the_linkage_is_least(name):
    rows, y = make_blobs(200, 3, centers=3, cluster_std=0.3, random_state=1)
    model = kg.AgglomerativeClustering(3, linkage=name).fit(rows[:150])
    assert adjusted_rand_score(y[150:], model.predict(rows[150:])) == 1.0
    D = cdist(rows[150:], rows[:150])
    own = [D[:, model.labels_ == c] for c in range(3)]
    if name in ("single", "complete", "average"):
        f = {"single": np.min, "complete": np.max, "average": np.mean}[name]
        want = np.stack([f(d, axis=1) for d in own], axis=1)
        np.testing.assert_allclose(model.transform(rows[150:]), want, rtol=1e-9)


@pytest.mark.parametrize("metric", ["cityblock", "cosine"])
@pytest.mark.parametrize("name", ["complete", "average", "single", "medoid"])
def test_metrics_by_name_and_given(metric, name):
    D = cdist(X, X, metric)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    named = kg.AgglomerativeClustering(4, linkage=name, metric=metric).fit(X)
    given = kg.AgglomerativeClustering(4, linkage=name, metric="precomputed").fit(D)
    assert adjusted_rand_score(named.labels_, given.labels_) == 1.0
    np.testing.assert_allclose(given.transform(D[:9]), named.transform(X[:9]), atol=1e-6)
    if name != "medoid":
        peer = Peer(4, linkage=name, metric=metric).fit(X)
        assert adjusted_rand_score(named.labels_, peer.labels_) == 1.0


def test_thresholds_and_gaps():
    corners = [[0.0, 0.0], [6.0, 0.0], [3.0, 5.2]]  # all as far apart
    rows, y = make_blobs(120, 2, centers=corners, cluster_std=0.3, random_state=4)
    for name in LINKAGES:
        model = kg.AgglomerativeClustering("gap", linkage=name).fit(rows)
        assert adjusted_rand_score(y, model.labels_) == 1.0, name
    for height in (0.5, 2.0, 1e9):
        ours = kg.AgglomerativeClustering(None, distance_threshold=height).fit(rows)
        peer = Peer(None, distance_threshold=height).fit(rows)
        assert ours.n_clusters_ == peer.n_clusters_
        assert adjusted_rand_score(ours.labels_, peer.labels_) == 1.0


@pytest.mark.parametrize("name", LINKAGES[:4])
def test_only_neighbours_merge(name):
    graph = kneighbors_graph(X, 30)
    ours = kg.AgglomerativeClustering(4, linkage=name, connectivity=graph).fit(X)
    peer = Peer(4, linkage=name, connectivity=graph).fit(X)
    assert adjusted_rand_score(ours.labels_, peer.labels_) == 1.0
    with pytest.raises(ValueError, match="connectivity needs"):
        kg.AgglomerativeClustering(4, linkage="medoid", connectivity=graph).fit(X)


def test_sparse_rows():
    rows = np.random.default_rng(0).standard_normal((60, 12))
    rows[rows < 0] = 0
    for name in LINKAGES:
        dense = kg.AgglomerativeClustering(3, linkage=name).fit(rows)
        thin = kg.AgglomerativeClustering(3, linkage=name).fit(sp.csr_array(rows))
        np.testing.assert_allclose(thin.distances_, dense.distances_, atol=1e-6)


def test_sparse_distances():
    D = cdist(X[:30], X[:30])
    for name in ("average", "medoid"):
        dense = kg.AgglomerativeClustering(3, linkage=name, metric="precomputed").fit(D)
        thin = kg.AgglomerativeClustering(3, linkage=name, metric="precomputed")
        thin.fit(sp.csr_array(D))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_array_equal(thin.predict(sp.csr_array(D)), dense.predict(D))


def test_a_lattice_of_ties_is_merged():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    for name in LINKAGES:
        model = kg.AgglomerativeClustering(4, linkage=name).fit(grid)
        assert model.linkage_matrix_[-1, 3] == 81
        assert len(np.unique(model.labels_)) == 4


def test_equal_rows_merge_at_no_distance():
    for name in LINKAGES:
        model = kg.AgglomerativeClustering(2, linkage=name).fit(np.full((9, 2), 3.7))
        assert model.distances_.max() == 0
        assert len(model.labels_) == 9
    assert kg.AgglomerativeClustering("gap").fit(np.ones((5, 1))).n_clusters_ == 1


@pytest.mark.parametrize(
    ("params", "rows", "message"),
    [
        ({"n_clusters": 200}, X, "n_samples=150"),
        ({"n_clusters": 0}, X, "n_clusters"),
        ({"n_clusters": 2.5}, X, "n_clusters"),
        ({"linkage": "nearest"}, X, "linkage must be one of"),
        ({"metric": "cityblock"}, X, "needs metric='euclidean'"),
        ({"linkage": "centroid", "metric": "precomputed"}, X, "needs metric='euclidean'"),
        ({"distance_threshold": 1.0}, X, "Exactly one"),
        ({"n_clusters": None}, X, "Exactly one"),
        ({}, X[:1], "minimum of 2"),
        ({"linkage": "centroid"}, X * 1e200, "(?i)distances"),
        ({"linkage": "ward"}, X * 1e200, "squares overflow"),
        ({"linkage": "average", "metric": "precomputed"}, X, "square"),
    ],
)
def test_bad_input(params, rows, message):
    with pytest.raises(ValueError, match=message):
        kg.AgglomerativeClustering(**params).fit(rows)


def test_a_matrix_that_does_not_fit_is_refused():
    with pytest.raises(MemoryError, match="'single' and 'ward'"):
        kg.AgglomerativeClustering(2, linkage="average", max_memory="10kB").fit(X)
    wide = np.random.default_rng(0).standard_normal((60, 100))
    small = kg.AgglomerativeClustering(3, max_memory="10kB").fit(wide)
    assert adjusted_rand_score(small.labels_, kg.AgglomerativeClustering(3).fit(wide).labels_) == 1


@pytest.mark.parametrize("name", ["average", "complete"])
def test_the_limit_counts_the_clusters_that_are_left(name):
    """600 rows: 2.9 MB of distances in float64, 1.4 MB of what the first mergers leave."""
    rows = np.random.default_rng(0).standard_normal((600, 3))
    chain = np.cumsum(np.linspace(1.0, 2.0, 600))[:, None]  # every row's nearest is the one before
    limited = kg.AgglomerativeClustering(5, linkage=name, max_memory="2MB")
    plain = kg.AgglomerativeClustering(5, linkage=name)
    np.testing.assert_array_equal(limited.fit(rows).children_, plain.fit(rows).children_)
    np.testing.assert_allclose(limited.distances_, plain.distances_, rtol=1e-12)
    with pytest.raises(MemoryError, match="clusters that the first mergers leave"):
        kg.AgglomerativeClustering(5, linkage=name, max_memory="1MB").fit(rows)
    for dtype in (np.float64, np.float32):  # distances are float64 in both
        with pytest.raises(MemoryError, match="all 600 rows"):
            limited.fit(chain.astype(dtype))


def test_rows_that_are_sure_to_merge_are_counted():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 4))
    D = cdist(rows, rows)
    np.fill_diagonal(D, np.inf)
    near = D.argmin(axis=1)
    mutual = np.count_nonzero(near[near] == np.arange(300)) // 2
    assert surely_left(rows) == 300 - mutual
    assert surely_left(rng.standard_normal((300, 60))) == 300  # so wide that no round pays
    assert surely_left(np.repeat(rows[:6], 50, axis=0)) == 300  # copies: any of them is nearest
    lattice = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    assert surely_left(lattice - lattice.mean(axis=0)) == 400


def test_estimates_are_of_the_solver_that_is_taken():
    def cost(n=5000, d=3, dtype="float64", **params):
        return kg.estimate(kg.AgglomerativeClustering(**params), n, d, dtype=dtype)

    square = 5000**2
    for name in ("complete", "average"):
        for dtype in ("float32", "float64"):
            found = cost(linkage=name, dtype=dtype)
            assert 8 * square < found.bytes < 8.2 * square
            assert "clusters or fewer are left" in str(found)
        assert cost(linkage=name, d=70, dtype="float32").bytes < 4.5 * square
    assert cost(linkage="medoid", dtype="float32").bytes > 8 * square
    assert cost(linkage="single", metric="cityblock").bytes > 8 * square
    assert cost(linkage="average", n=500).reason == ""
    assert not cost(linkage="average", max_memory="100MB").fits
    ward = cost(linkage="ward", d=70, max_memory="100MB")
    assert ward.fits
    assert ward.bytes < square


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_medoids_of_clusters_take_no_further_matrix(metric):
    rows = np.random.default_rng(0).standard_normal((1200, 2)).astype(np.float32)
    given = cdist(rows, rows).astype(np.float32) if metric == "precomputed" else rows
    model = kg.AgglomerativeClustering(2, linkage="medoid", metric=metric)
    model.fit(given[:50, :50])  # what the first call imports is not counted
    peaks = []
    for _ in range(3):  # other threads of the process are counted too: the least of three
        tracemalloc.start()
        try:
            model.fit(given)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < 3 * 4 * 1200**2


def test_the_picture():
    model = kg.AgglomerativeClustering(4).fit(X)
    ax = kg.dendrogram(model, max_leaves=20)
    brackets = ax.collections[0].get_segments()
    assert len(brackets) == 19
    np.testing.assert_allclose(sorted(b[:, 1].max() for b in brackets), model.distances_[-19:])
    counted = [t.get_text() for t in ax.get_xticklabels()]
    total = sum(int(t.strip("()")) if t.startswith("(") else 1 for t in counted)
    assert total == 150
    chain = kg.AgglomerativeClustering(2, linkage="single").fit(np.arange(3000.0)[:, None] ** 1.1)
    assert len(kg.dendrogram(chain, max_leaves=3000).collections[0].get_segments()) == 2999
    with pytest.raises(ValueError, match="names"):
        kg.dendrogram(model, names=["a"])
    with pytest.raises(ValueError, match="max_leaves"):
        kg.dendrogram(model, max_leaves=1)


@pytest.mark.parametrize("name", ["average", "complete"])
def test_distances_near_the_end_of_floats_keep_their_tree(name):
    plain = kg.AgglomerativeClustering(3, linkage=name).fit(X)
    huge = kg.AgglomerativeClustering(3, linkage=name).fit(X * 2.0**660)
    assert (plain.labels_ == huge.labels_).all()
    assert np.allclose(plain.distances_ * 2.0**660, huge.distances_)


@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_many_rows_merge_before_their_distances_are_stored(linkage):
    """Above 32 MiB of distances the first mergers are found from the rows."""
    from scipy.cluster import hierarchy

    rows = np.random.default_rng(0).standard_normal((2100, 4))
    model = kg.AgglomerativeClustering(7, linkage=linkage).fit(rows)
    Z = hierarchy.linkage(rows, linkage)
    np.testing.assert_allclose(model.distances_, Z[:, 2], rtol=1e-12)
    np.testing.assert_array_equal(np.sort(model.children_), np.sort(Z[:, :2]))


@pytest.mark.parametrize("height", [-1.0, np.nan, "high"])
def test_thresholds_are_numbers(height):
    with pytest.raises(ValueError, match="distance_threshold must be"):
        kg.AgglomerativeClustering(None, distance_threshold=height).fit(np.arange(8.0)[:, None])


def test_only_neighbours_merge_in_the_space_of_a_kernel():
    rows = np.random.default_rng(0).standard_normal((30, 2))
    kernel = kg.Gaussian(sigma=1.0)
    D = np.sqrt(np.maximum(2 - 2 * kernel(rows), 0))
    np.fill_diagonal(D, 0)
    links = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) < 4
    params = {"linkage": "average", "connectivity": lambda table: links[: len(table)]}
    ours = kg.AgglomerativeClustering(3, metric=kernel, **params).fit(rows)
    given = kg.AgglomerativeClustering(3, metric="precomputed", **params).fit(D)
    np.testing.assert_array_equal(ours.labels_, given.labels_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LINKAGES)
def test_the_unit_of_the_weights_is_free(name, dtype):
    """Products of small weights were 0, of large ones infinite: other trees, or a wrong error."""
    rows, w = X.astype(dtype), np.random.default_rng(0).random(150) + 0.1
    want = kg.AgglomerativeClustering(4, linkage=name).fit(rows, sample_weight=w)
    for unit in (2.0**-100, 2.0**100):
        got = kg.AgglomerativeClustering(4, linkage=name).fit(rows, sample_weight=unit * w)
        np.testing.assert_array_equal(got.labels_, want.labels_)
        taller = unit**0.5 if name == "ward" else 1.0
        np.testing.assert_allclose(got.distances_, taller * want.distances_, rtol=1e-5)


def test_pictures_are_of_trees():
    for model in (kg.KMeans(2).fit(X), Peer(2).fit(X)):
        with pytest.raises(TypeError, match="kilogram's AgglomerativeClustering"):
            kg.dendrogram(model)
    with pytest.raises(ValueError, match="max_leaves"):
        kg.dendrogram(kg.AgglomerativeClustering(2).fit(X), max_leaves=2.5)
