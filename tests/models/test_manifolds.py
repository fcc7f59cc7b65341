"""LLE, Laplacian eigenmaps, Isomap and MDS: against scikit-learn, the tellings and awkward rows."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

import kilogram as kg
from kilogram.models.manifolds.graphs import DisconnectedGraphWarning
from kilogram.textbook import manifolds
from kilogram.textbook.state import run

ROLL = make_swiss_roll(500, random_state=0)[0]
NEW = make_swiss_roll(40, random_state=1)[0]
CLOUD = np.random.default_rng(0).standard_normal((45, 3))
GRAPH_MODELS = [
    kg.LocallyLinearEmbedding(n_neighbors=6),
    kg.LaplacianEigenmaps(n_neighbors=6),
    kg.Isomap(n_neighbors=6),
]
MODELS = [*GRAPH_MODELS, kg.MDS()]


def turned(got, want):
    """got with the signs of want."""
    return got * np.where((got * want).sum(axis=0) < 0, -1.0, 1.0)


def test_lle_is_scikit_learns():
    ours = kg.LocallyLinearEmbedding(n_neighbors=10).fit(ROLL)
    theirs = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit(ROLL)
    signs = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.embedding_ * signs, theirs.embedding_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(NEW) * signs, theirs.transform(NEW), atol=1e-6)
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-3)


def test_isomap_is_scikit_learns():
    ours = kg.Isomap(n_neighbors=8).fit(ROLL)
    theirs = sklearn.manifold.Isomap(n_neighbors=8).fit(ROLL)
    signs = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.embedding_ * signs, theirs.embedding_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(NEW) * signs, theirs.transform(NEW), atol=1e-6)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error())


def test_eigenmaps_are_near_scikit_learns():
    """A row is its own neighbour here; the graph is the same otherwise."""
    ours = kg.LaplacianEigenmaps(n_neighbors=12).fit_transform(ROLL)
    theirs = sklearn.manifold.SpectralEmbedding(n_neighbors=12, random_state=0).fit_transform(ROLL)
    for j in range(2):
        assert abs(np.corrcoef(ours[:, j], theirs[:, j])[0, 1]) > 0.999


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed", "hamming"])
def test_mds_as_told(metric):
    X = np.round(CLOUD) if metric == "hamming" else CLOUD
    D = {
        "cityblock": lambda: np.abs(X[:, None] - X).sum(axis=2),
        "hamming": lambda: (X[:, None] != X).sum(axis=2).astype(float),
    }.get(metric, lambda: manifolds.distances(X))()
    book = run(manifolds.mds(D, 2))
    model = kg.MDS(2, metric=metric).fit(D if metric == "precomputed" else X)
    np.testing.assert_allclose(model.eigenvalues_, book["Lambda"], rtol=1e-9)
    np.testing.assert_allclose(turned(model.embedding_, book["Z"]), book["Z"], atol=1e-8)
    again = model.transform(D if metric == "precomputed" else X)
    np.testing.assert_allclose(again, model.embedding_, atol=1e-7)


def test_mds_of_a_function_and_of_new_distances():
    def metric(X, Y):
        return np.abs(X[:, None] - Y[None]).max(axis=2)

    one = kg.MDS(2, metric=metric).fit(CLOUD)
    two = kg.MDS(2, metric="precomputed").fit(metric(CLOUD, CLOUD))
    np.testing.assert_allclose(one.embedding_, two.embedding_, atol=1e-9)
    np.testing.assert_allclose(
        one.transform(CLOUD[:7] + 0.1), two.transform(metric(CLOUD[:7] + 0.1, CLOUD)), atol=1e-9
    )


def test_mds_is_pca_for_straight_distances():
    scores = kg.PCA(2).fit_transform(CLOUD)
    np.testing.assert_allclose(turned(kg.MDS(2).fit_transform(CLOUD), scores), scores, atol=1e-9)


def test_tellings():
    points = ROLL[:60]
    book = run(manifolds.isomap(points, 7))
    fast = kg.Isomap(n_neighbors=7).fit(points)
    np.testing.assert_allclose(fast.dist_matrix_, book["G"], rtol=1e-10)
    np.testing.assert_allclose(turned(fast.embedding_, book["Z"]), book["Z"], atol=1e-7)
    K = kg.Gaussian(5.0)
    book = run(manifolds.eigenmaps(K(points)))
    fast = kg.LaplacianEigenmaps(affinity=K).fit(points)
    np.testing.assert_allclose(fast.eigenvalues_, book["mu"][1:3], atol=1e-9)
    np.testing.assert_allclose(turned(fast.embedding_, book["Z"]), book["Z"], atol=1e-6)
    np.testing.assert_allclose(fast.transform(points), fast.embedding_, atol=1e-7)


def test_eigenmaps_of_given_affinities():
    K = kg.Gaussian(5.0)(ROLL[:80])
    one = kg.LaplacianEigenmaps(affinity=kg.Gaussian(5.0)).fit(ROLL[:80])
    two = kg.LaplacianEigenmaps(affinity="precomputed").fit(K)
    np.testing.assert_allclose(two.embedding_, one.embedding_, atol=1e-7)
    np.testing.assert_allclose(two.transform(K[:9]), one.embedding_[:9], atol=1e-7)


def test_landmarks_see_nearly_the_same():
    full = kg.Isomap(n_neighbors=10).fit(ROLL)
    some = kg.Isomap(n_neighbors=10, n_landmarks=80, random_state=0).fit(ROLL)
    assert some.dist_matrix_.shape == (80, 500)
    for j in range(2):
        assert abs(np.corrcoef(full.embedding_[:, j], some.embedding_[:, j])[0, 1]) > 0.99
    every = kg.Isomap(n_neighbors=10, n_landmarks=500, random_state=0).fit(ROLL)
    np.testing.assert_allclose(
        turned(every.embedding_, full.embedding_), full.embedding_, atol=1e-6
    )


def test_too_little_memory_asks_for_landmarks():
    with pytest.raises(MemoryError, match="n_landmarks"):
        kg.Isomap(max_memory="1MiB").fit(ROLL)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_float32(model):
    Z = clone(model).fit_transform(ROLL[:100].astype(np.float32))
    want = clone(model).fit_transform(ROLL[:100])
    assert Z.dtype == np.float32
    np.testing.assert_allclose(turned(Z, want), want, atol=2e-3 * np.abs(want).max())


@pytest.mark.parametrize("model", GRAPH_MODELS, ids=lambda m: type(m).__name__)
def test_parts_are_said_and_joined(model):
    X = np.vstack([CLOUD, CLOUD + 100.0])
    with pytest.warns(DisconnectedGraphWarning, match="2 parts"):
        Z = clone(model).fit_transform(X)
    assert np.isfinite(Z).all()
    if isinstance(model, kg.Isomap):  # the joint is as long as it is in the data
        assert abs(Z[:45, 0].mean() - Z[45:, 0].mean()) == pytest.approx(173.2, rel=0.1)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_equal_rows(model):
    same = np.ones((20, 3))
    fitted = clone(model).fit(same)
    assert np.isfinite(fitted.embedding_).all()
    assert np.isfinite(fitted.transform(same[:3] + 1)).all()


@pytest.mark.parametrize("model", GRAPH_MODELS, ids=lambda m: type(m).__name__)
def test_copies_among_the_rows(model):
    X = np.vstack([ROLL[:60], ROLL[:20]])
    Z = type(model)(**{**model.get_params(), "n_neighbors": 10}).fit_transform(X)
    assert np.isfinite(Z).all()
    if isinstance(model, kg.Isomap):
        np.testing.assert_allclose(Z[:20], Z[60:], atol=1e-7)


@pytest.mark.parametrize("model", GRAPH_MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("bad", [0, -1, 45.5, 46, True])
def test_bad_neighbours(model, bad):
    with pytest.raises(ValueError, match="n_neighbors"):
        type(model)(n_neighbors=bad).fit(CLOUD)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_bad_components_and_single_rows(model):
    for bad in (0, 46, "two"):
        with pytest.raises(ValueError, match="n_components"):
            type(model)(**{**model.get_params(), "n_components": bad}).fit(CLOUD)
    if not isinstance(model, kg.MDS):
        with pytest.raises(ValueError, match="n_samples = 1"):
            type(model)(n_components=1).fit(CLOUD[:1])


def test_bad_distances():
    D = manifolds.distances(CLOUD)
    for wrong, match in ((D[:, :9], "square"), (-D, "negative"), (D + np.triu(D), "symmetric")):
        with pytest.raises(ValueError, match=match):
            kg.MDS(metric="precomputed").fit(wrong)
    with pytest.raises(ValueError, match="metric"):
        kg.MDS(metric="by eye").fit(CLOUD)


def test_bad_parameters_of_lle():
    for bad in ({"reg": -1.0}, {"tol": -1.0}, {"method": "hessian"}, {"eigen_solver": "magic"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            kg.LocallyLinearEmbedding(**bad).fit(CLOUD)
    exact = kg.LocallyLinearEmbedding(n_neighbors=6, reg=0.0).fit(CLOUD)
    assert np.isfinite(exact.embedding_).all()


@pytest.mark.parametrize("shape", [(40, 3), (9, 30)])
def test_mds_of_rows_far_from_the_origin(shape):
    X = (np.random.default_rng(0).standard_normal(shape) + 1000).astype(np.float32)
    model = kg.MDS().fit(X)
    want = kg.MDS().fit_transform(X.astype(float))
    np.testing.assert_allclose(turned(model.embedding_, want), want, atol=1e-3)
    np.testing.assert_allclose(turned(model.transform(X), want), want, atol=1e-3)


@pytest.mark.parametrize("model", GRAPH_MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_that_are_nearly_alike_are_no_copies(model, dtype):
    """Two clouds far from each other: their squares hide what is between neighbours."""
    X = CLOUD + np.where(np.arange(45) < 20, 1e3 if dtype == np.float32 else 1e6, 0.0)[:, None]
    X = scipy.sparse.csr_array(X.astype(dtype))
    with pytest.warns(DisconnectedGraphWarning):
        fitted = clone(model).fit(X)
    size = np.abs(fitted.embedding_).max()
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-3 * size)


def test_streams_are_looked_at_in_use():
    for model in MODELS:
        fitted = clone(model).fit(CLOUD)
        with pytest.raises(ValueError, match="NaN"):
            np.asarray(fitted.transform([CLOUD[:4], np.full((2, 3), np.nan)]))


def test_distances_of_a_function_must_be_a_table():
    with pytest.raises(ValueError, match="metric"):
        kg.MDS(metric=lambda X, Y: 1.0).fit(CLOUD)
    with pytest.raises(ValueError, match="45 and 45"):
        kg.MDS(metric=lambda X, Y: X).fit(CLOUD)


@pytest.mark.parametrize("bad", ["small", None, -1.0])
def test_bad_tolerance_of_eigenmaps(bad):
    with pytest.raises(ValueError, match="eigen_tol"):
        kg.LaplacianEigenmaps(eigen_tol=bad).fit(CLOUD)
