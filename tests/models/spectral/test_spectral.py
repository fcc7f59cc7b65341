"""Spectral clustering: the same clusters as the plain way, other affinities, awkward input."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.base.graphs import DisconnectedGraphWarning
from kilogram.textbook import spectral
from kilogram.textbook.state import run

MOONS, SIDE = make_moons(400, noise=0.05, random_state=0)


@pytest.mark.parametrize("relaxation", ["ncut", "trace"])
def test_textbook(relaxation):
    X, _ = make_blobs(90, centers=3, n_features=4, random_state=1)
    kernel = kg.Gaussian(3.0)
    textbook = spectral.normalised_cut if relaxation == "ncut" else spectral.spectral_clustering
    book = run(textbook(kernel(X), 3))
    fast = kg.SpectralClustering(3, affinity=kernel, relaxation=relaxation, random_state=0).fit(X)
    np.testing.assert_allclose(fast.eigenvalues_, book["Lambda"], rtol=1e-9)
    H = book["F"] if relaxation == "ncut" else book["H_hat"]
    np.testing.assert_allclose(np.abs(fast.embedding_), np.abs(H), atol=1e-6)
    assert adjusted_rand_score(fast.labels_, book["c"]) == 1.0


@pytest.mark.parametrize("assign", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_moons_as_scikit_learn(assign, affinity):
    params = {"affinity": affinity, "gamma": 40.0, "assign_labels": assign, "random_state": 0}
    ours = kg.SpectralClustering(2, **params).fit(MOONS)
    theirs = Peer(2, **params).fit(MOONS)
    assert adjusted_rand_score(SIDE, ours.labels_) == 1.0
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0


def test_digits_as_good_as_scikit_learn():
    X, y = load_digits(return_X_y=True)
    params = {"affinity": "nearest_neighbors", "random_state": 0}
    ours = adjusted_rand_score(y, kg.SpectralClustering(10, **params).fit_predict(X))
    theirs = adjusted_rand_score(y, Peer(10, **params).fit_predict(X))
    assert ours > theirs - 0.02
    assert ours > 0.6


@pytest.mark.parametrize(
    ("affinity", "relaxation"),
    [("nearest_neighbors", "ncut"), ("rbf", "ncut"), ("rbf", "trace")],
)
def test_new_rows(affinity, relaxation):
    if relaxation == "trace":  # which needs clusters of one density
        (X, y), gamma = make_blobs(400, centers=2, random_state=3), 0.1
    else:
        (X, y), gamma = (MOONS, SIDE), 40.0
    order = np.random.default_rng(0).permutation(400)
    train, test = order[:300], order[300:]
    model = kg.SpectralClustering(
        2, affinity=affinity, gamma=gamma, relaxation=relaxation, random_state=0
    ).fit(X[train])
    np.testing.assert_array_equal(model.predict(X[train]), model.labels_)
    both = np.r_[model.labels_, model.predict(X[test])]
    assert adjusted_rand_score(np.r_[y[train], y[test]], both) > 0.97


def test_rows_far_from_all_others_follow_the_nearest():
    model = kg.SpectralClustering(2, gamma=40.0, random_state=0).fit(MOONS)
    far = np.array([[-500.0, 0.5], [500.0, -0.5]])
    nearest = [np.argmin(((MOONS - x) ** 2).sum(axis=1)) for x in far]
    np.testing.assert_array_equal(model.predict(far), model.labels_[nearest])


def test_precomputed_affinities_and_graphs():
    kernel = kg.Gaussian(gamma=40.0)
    want = kg.SpectralClustering(2, affinity=kernel, random_state=0).fit(MOONS)
    K = kernel(MOONS)
    for put in (np.asarray, sp.csr_array):
        given = kg.SpectralClustering(2, affinity="precomputed", random_state=0).fit(put(K))
        assert adjusted_rand_score(given.labels_, want.labels_) == 1.0
        np.testing.assert_array_equal(given.predict(put(K[:50])), given.labels_[:50])
    G = kneighbors_graph(MOONS, 10, mode="distance")
    model = kg.SpectralClustering(2, affinity="precomputed_nearest_neighbors", random_state=0)
    assert adjusted_rand_score(SIDE, model.fit(G).labels_) == 1.0
    assert adjusted_rand_score(model.predict(G), model.labels_) == 1.0
    with pytest.raises(ValueError, match="square"):
        kg.SpectralClustering(2, affinity="precomputed").fit(K[:, :50])


def test_any_kernel_and_functions():
    X, y = make_circles(120, factor=0.3, noise=0.03, random_state=0)
    for affinity in (
        kg.Matern(length_scale=0.2),
        lambda a, b: float(np.exp(-20 * np.sum((a - b) ** 2))),
    ):
        model = kg.SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.affinity_matrix_.shape == (120, 120)


def test_weights_need_a_kernel():
    with pytest.raises(ValueError, match="sample_weight"):
        kg.SpectralClustering(2, affinity="nearest_neighbors").fit(
            MOONS, sample_weight=np.ones(400)
        )


def test_more_parts_than_clusters_are_joined():
    X = np.vstack([MOONS[:50] + 10 * i for i in range(4)])
    with pytest.warns(DisconnectedGraphWarning, match="4 connected components"):
        model = kg.SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    parts = model.labels_.reshape(4, 50)
    assert (parts == parts[:, :1]).all()  # no part is cut: the joints are the weakest places
    assert len(np.unique(parts)) == 2


def test_parts_that_are_the_clusters_say_nothing():
    X = np.vstack([MOONS[:50], MOONS[:50] + 10.0])
    model = kg.SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 50), model.labels_) == 1.0
    np.testing.assert_allclose(model.eigenvalues_, 1.0)


def test_awkward_numbers_of_rows_and_clusters():
    assert (kg.SpectralClustering(1).fit(MOONS[:30]).labels_ == 0).all()
    assert len(np.unique(kg.SpectralClustering(5, gamma=100.0).fit(MOONS[:5]).labels_)) == 5
    assert kg.SpectralClustering(1).fit(MOONS[:1]).labels_.tolist() == [0]
    with pytest.raises(ValueError, match="n_clusters"):
        kg.SpectralClustering(6).fit(MOONS[:5])
    with pytest.raises(ValueError, match="n_neighbors=10 is too many"):
        kg.SpectralClustering(2, affinity="nearest_neighbors").fit(MOONS[:9])
    same = np.ones((30, 2))
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model = kg.SpectralClustering(3, random_state=0).fit(same)
    assert (model.labels_ == model.labels_[0]).all()
    assert np.isfinite(model.transform(same + 1)).all()
    graph = kg.SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(same)
    assert np.isfinite(graph.embedding_).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"n_clusters": 0},
        {"n_init": 0},
        {"n_components": 0},
        {"eigen_solver": "magic"},
        {"assign_labels": "by hand"},
        {"relaxation": "none"},
        {"eigen_tol": -1.0},
        {"n_neighbors": 0, "affinity": "nearest_neighbors"},
    ],
)
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        kg.SpectralClustering(**bad).fit(MOONS)


def test_negative_affinities_are_refused():
    with pytest.raises(ValueError, match="negative"):
        kg.SpectralClustering(2, affinity="linear").fit(MOONS - MOONS.mean(axis=0) * 2)


def test_float32_and_blocks_of_the_kernel():
    want = kg.SpectralClustering(2, gamma=40.0, random_state=0).fit(MOONS)
    blocked = kg.SpectralClustering(2, gamma=40.0, random_state=0, max_memory="200KiB").fit(MOONS)
    np.testing.assert_allclose(np.abs(blocked.embedding_), np.abs(want.embedding_), atol=1e-6)
    small = kg.SpectralClustering(2, gamma=40.0, random_state=0).fit(MOONS.astype(np.float32))
    assert small.embedding_.dtype == np.float32
    assert adjusted_rand_score(small.labels_, want.labels_) == 1.0


@pytest.mark.filterwarnings("ignore:.*connected components")
def test_a_row_may_be_its_only_neighbour():
    """Its graph has no edges to begin with; that ended in a division by 0."""
    rows = np.random.default_rng(0).standard_normal((20, 2))
    model = kg.SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=1, random_state=0)
    assert set(model.fit(rows).labels_) == {0, 1}


@pytest.mark.parametrize("assign", ["cluster_qr", "discretize", "threshold"])
def test_a_rounding_names_one_cluster_for_each_eigenvector(assign):
    """They gave n_components clusters, whatever n_clusters was."""
    rows, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=1)
    want = kg.SpectralClustering(3, assign_labels=assign, gamma=0.1).fit(rows)
    for m in (2, 5):
        model = kg.SpectralClustering(3, n_components=m, assign_labels=assign, gamma=0.1).fit(rows)
        # which cluster is the first depends on rounding: rows of length 1 tie for the first pivot
        assert adjusted_rand_score(model.labels_, want.labels_) == 1.0
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        assert model.embedding_.shape == (90, max(m, 3))


def test_takes_all_parameters_of_scikit_learn():
    names = set(inspect.signature(Peer).parameters)
    assert names <= set(inspect.signature(kg.SpectralClustering).parameters)


@pytest.mark.parametrize("tol", ["small", None, -1.0])
def test_tolerances_of_eigenvectors_are_numbers(tol):
    with pytest.raises(ValueError, match="eigen_tol must be"):
        kg.SpectralClustering(2, eigen_tol=tol).fit(np.eye(4))
