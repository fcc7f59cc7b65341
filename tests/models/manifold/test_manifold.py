"""LLE, Laplacian eigenmaps, Isomap, ClassicalMDS: scikit-learn, the textbook, awkward rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

import kilogram as kg
from kilogram.base.graphs import DisconnectedGraphWarning
from kilogram.base.warnings import ConvergenceWarning
from kilogram.models.manifold import classical_mds, isomap
from kilogram.models.manifold.local_charts import barycentric
from kilogram.solvers.neighbors.nearest import nearest
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
MODELS = [*GRAPH_MODELS, kg.ClassicalMDS()]


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
def test_classical_mds_is_the_textbooks(metric):
    X = np.round(CLOUD) if metric == "hamming" else CLOUD
    D = {
        "cityblock": lambda: np.abs(X[:, None] - X).sum(axis=2),
        "hamming": lambda: (X[:, None] != X).mean(axis=2),
    }.get(metric, lambda: manifolds.distances(X))()
    book = run(manifolds.mds(D, 2))
    model = kg.ClassicalMDS(2, metric=metric).fit(D if metric == "precomputed" else X)
    np.testing.assert_allclose(model.eigenvalues_, book["Lambda"], rtol=1e-9)
    np.testing.assert_allclose(turned(model.embedding_, book["Z"]), book["Z"], atol=1e-8)
    again = model.transform(D if metric == "precomputed" else X)
    np.testing.assert_allclose(again, model.embedding_, atol=1e-7)


def test_classical_mds_of_a_function_and_of_new_distances():
    def metric(x, y):
        return np.abs(x - y).max()

    def table(X, Y):
        return np.abs(X[:, None] - Y[None]).max(axis=2)

    one = kg.ClassicalMDS(2, metric=metric).fit(CLOUD)
    two = kg.ClassicalMDS(2, metric="precomputed").fit(table(CLOUD, CLOUD))
    np.testing.assert_allclose(one.embedding_, two.embedding_, atol=1e-9)
    np.testing.assert_allclose(
        one.transform(CLOUD[:7] + 0.1), two.transform(table(CLOUD[:7] + 0.1, CLOUD)), atol=1e-9
    )


METRICS = [
    ("euclidean", None),
    ("cityblock", None),
    ("hamming", None),
    ("chebyshev", None),
    ("minkowski", {"p": 3}),
]


@pytest.mark.parametrize(("metric", "metric_params"), METRICS)
def test_classical_mds_is_scikit_learns(metric, metric_params):
    if not hasattr(sklearn.manifold, "ClassicalMDS"):
        pytest.skip("scikit-learn has no ClassicalMDS")
    X = np.round(CLOUD)
    ours = kg.ClassicalMDS(metric=metric, metric_params=metric_params).fit(X)
    theirs = sklearn.manifold.ClassicalMDS(metric=metric, metric_params=metric_params).fit(X)
    want = theirs.embedding_
    np.testing.assert_allclose(turned(ours.embedding_, want), want, atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.dissimilarity_matrix_, theirs.dissimilarity_matrix_, atol=1e-6)


@pytest.mark.parametrize("model", [kg.ClassicalMDS, kg.MDS])
def test_bad_metric_params_are_named(model):
    for metric, params in (("cityblock", {"p": 3}), ("minkowski", {"q": 3})):
        with pytest.raises(ValueError, match="metric_params"):
            model(metric=metric, metric_params=params).fit(CLOUD)
    with pytest.raises(ValueError, match="metric_params must be a dict or None"):
        model(metric="minkowski", metric_params=3).fit(CLOUD)
    with pytest.raises(ValueError, match="metric"):
        model(metric=lambda x, y: np.nan).fit(CLOUD)


def test_mds_is_pca_for_straight_distances():
    scores = kg.PCA(2).fit_transform(CLOUD)
    np.testing.assert_allclose(
        turned(kg.ClassicalMDS(2).fit_transform(CLOUD), scores), scores, atol=1e-9
    )


def test_textbook_versions():
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
def test_parts_are_reported_and_joined(model):
    X = np.vstack([CLOUD, CLOUD + 100.0])
    with pytest.warns(DisconnectedGraphWarning, match="2 connected components"):
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
    if not isinstance(model, kg.ClassicalMDS):
        with pytest.raises(ValueError, match="n_samples = 1"):
            type(model)(n_components=1).fit(CLOUD[:1])


def test_bad_distances():
    D = manifolds.distances(CLOUD)
    for wrong, match in ((D[:, :9], "square"), (-D, "negative"), (D + np.triu(D), "symmetric")):
        with pytest.raises(ValueError, match=match):
            kg.ClassicalMDS(metric="precomputed").fit(wrong)
    with pytest.raises(ValueError, match="metric"):
        kg.ClassicalMDS(metric="by eye").fit(CLOUD)


def test_bad_parameters_of_lle():
    for bad in ({"reg": -1.0}, {"tol": -1.0}, {"method": "hessian"}, {"eigen_solver": "magic"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            kg.LocallyLinearEmbedding(**bad).fit(CLOUD)


@pytest.mark.parametrize("rows", ["cloud", "copies", "line"])
def test_lle_without_regularisation(rows):
    """Weights of sum 1 that fit best, none of them NaN, whatever the rank of the neighbours."""
    X = {
        "cloud": CLOUD,
        "copies": np.vstack([CLOUD[:10]] * 5),
        "line": np.outer(np.arange(30.0), [1.0, 2.0]),
    }[rows]
    at = nearest(X, 6).indices
    W = barycentric(X, X, at, 0.0)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    for x, near, w in zip(X, X[at], W, strict=True):
        Z = near - x
        # least squares of sum_j w_j z_j = 0 with sum 1: w = e_1 + N v, N spanning sums of 0
        N = np.vstack([-np.ones((1, 5)), np.eye(5)])
        v = np.linalg.lstsq(Z.T @ N, -Z[0], rcond=None)[0]
        best = np.eye(6)[0] + N @ v
        assert np.linalg.norm(w @ Z) <= np.linalg.norm(best @ Z) + 1e-7 * np.abs(Z).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        model = kg.LocallyLinearEmbedding(n_neighbors=6, reg=0.0).fit(X)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("shape", [(40, 3), (9, 30)])
def test_mds_of_rows_far_from_the_origin(shape):
    X = (np.random.default_rng(0).standard_normal(shape) + 1000).astype(np.float32)
    model = kg.ClassicalMDS().fit(X)
    want = kg.ClassicalMDS().fit_transform(X.astype(float))
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


@pytest.mark.parametrize("bad", ["small", None, -1.0])
def test_bad_tolerance_of_eigenmaps(bad):
    with pytest.raises(ValueError, match="eigen_tol"):
        kg.LaplacianEigenmaps(eigen_tol=bad).fit(CLOUD)


@pytest.mark.parametrize(
    "model",
    [kg.Isomap(n_neighbors=6, max_time=1e-9), kg.ClassicalMDS(metric="cityblock", max_time=1e-9)],
    ids=lambda m: type(m).__name__,
)
def test_rows_reached_in_time_place_the_others(model, monkeypatch):
    monkeypatch.setattr(isomap, "PATH_ENTRIES", 1)  # the clock is looked at after every row
    monkeypatch.setattr(classical_mds, "BLOCK_ENTRIES", 1)
    X = ROLL * np.array([3.0, 1.0, 0.2])  # two dimensions that stand out
    with pytest.warns(ConvergenceWarning, match="time was up after"):
        fitted = clone(model).fit(X)
    free = clone(model).set_params(max_time=None).fit(X)
    assert fitted.embedding_.shape == (500, 2)
    some, every = (manifolds.distances(m.embedding_[:100]).ravel() for m in (fitted, free))
    assert np.corrcoef(some, every)[0, 1] > 0.7  # a few landmarks see nearly the same
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-6)


def test_affinities_beyond_the_range_of_floats_are_refused():
    X = np.random.default_rng(0).random((29, 5))
    with pytest.raises(ValueError, match="affinities overflow"):
        kg.LaplacianEigenmaps(affinity="poly", gamma=1e300).fit(X)


@pytest.mark.parametrize("name", ["Isomap", "LocallyLinearEmbedding"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_search_for_neighbours_is_scikit_learns(name, form):
    ours = getattr(kg, name)().fit(form(ROLL))
    theirs = getattr(sklearn.manifold, name)().fit(ROLL)
    for got, wanted in zip(ours.nbrs_.kneighbors(NEW), theirs.nbrs_.kneighbors(NEW), strict=True):
        np.testing.assert_allclose(got, wanted)


def test_the_scaling_of_isomap_as_kernel_pca():
    ours, theirs = (package.Isomap(n_neighbors=10).fit(ROLL) for package in (kg, sklearn.manifold))
    found = ours.kernel_pca_
    np.testing.assert_allclose(found.eigenvalues_, theirs.kernel_pca_.eigenvalues_, rtol=1e-8)
    places = found.transform(-0.5 * ours.dist_matrix_**2)
    np.testing.assert_allclose(turned(places, ours.embedding_), ours.embedding_, atol=1e-6)
    few = kg.Isomap(n_neighbors=10, n_landmarks=50, random_state=0).fit(ROLL)
    np.testing.assert_allclose(few.kernel_pca_.eigenvalues_, few.eigenvalues_, rtol=1e-8)
