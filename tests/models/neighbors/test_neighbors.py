"""Nearest neighbours: search, votes, outliers and reduction, against scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neighbors as peers
from scipy.spatial.distance import cdist
from sklearn.base import clone as sk_clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6))
Q = RNG.normal(size=(50, 6))
LABELS = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
TARGET = X @ np.arange(6.0) + 0.1 * RNG.normal(size=300)

METRICS = [
    ("euclidean", {}),
    ("manhattan", {}),
    ("chebyshev", {}),
    ("minkowski", {"p": 3}),
    ("cosine", {}),
    ("correlation", {}),
    ("mahalanobis", {"metric_params": {"VI": np.linalg.inv(np.cov(X.T))}}),
    (lambda a, b: float(np.abs(a - b).max()), {}),
]


@pytest.mark.parametrize(("metric", "settings"), METRICS)
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree"])
def test_neighbours_equal_scikit_learns(metric, settings, algorithm):
    rows = X[:80] if callable(metric) else X
    ours = kg.NearestNeighbors(metric=metric, algorithm=algorithm, **settings).fit(rows)
    theirs = peers.NearestNeighbors(metric=metric, algorithm="brute", **settings).fit(rows)
    for queries in (Q, None):
        d, i = ours.kneighbors(queries, 7)
        expected, places = theirs.kneighbors(queries, 7)
        np.testing.assert_allclose(d, expected, atol=1e-12)
        np.testing.assert_array_equal(i, places)
    radius = float(np.median(expected))
    near = ours.radius_neighbors(Q, radius, sort_results=True)[1]
    wanted = theirs.radius_neighbors(Q, radius, sort_results=True)[1]
    assert all(np.array_equal(a, b) for a, b in zip(near, wanted, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (17, 1), (1000, 2), (64, 129)])
def test_awkward_sizes_against_all_distances(shape, dtype):
    rows = np.random.default_rng(1).normal(size=shape).astype(dtype)
    k = min(5, shape[0])
    d, i = kg.NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(rows)
    D = cdist(rows.astype(float), rows.astype(float))
    np.testing.assert_allclose(
        d, np.sort(D, axis=1)[:, :k], atol=1e-3 if dtype == np.float32 else 1e-7
    )
    np.testing.assert_array_equal(i[:, 0], np.arange(shape[0]))


def test_gower_mixes_numbers_and_categories():
    table = np.array([[0.0, 1.0], [10.0, 1.0], [5.0, 2.0]])
    model = kg.NearestNeighbors(metric="gower", metric_params={"categorical": [1]}, n_neighbors=3)
    d, i = model.fit(table).kneighbors([[0.0, 2.0]])
    np.testing.assert_allclose(d[0], [(0.5 + 0) / 2, (0 + 1) / 2, (1 + 1) / 2])
    assert i[0].tolist() == [2, 0, 1]


def test_cosine_of_rows_of_zeros_is_one():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    for container in (np.asarray, sp.csr_array):
        d, i = (
            kg.NearestNeighbors(metric="cosine", n_neighbors=3)
            .fit(container(rows))
            .kneighbors(container(np.array([[2.0, 0.0]])))
        )
        np.testing.assert_allclose(d, [[0.0, 1.0, 1.0]], atol=1e-15)
        assert i[0].tolist() == [1, 0, 2]


def test_precomputed_distances():
    D = cdist(X, X)
    model = kg.KNeighborsClassifier(metric="precomputed").fit(D, LABELS)
    plain = kg.KNeighborsClassifier().fit(X, LABELS)
    np.testing.assert_array_equal(model.predict(cdist(Q, X)), plain.predict(Q))
    with pytest.raises(ValueError, match="square"):
        kg.NearestNeighbors(metric="precomputed").fit(D[:, :10])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-(d**2))])
def test_votes_and_means_equal_scikit_learns(weights):
    ours = kg.KNeighborsClassifier(7, weights=weights).fit(X, LABELS)
    theirs = peers.KNeighborsClassifier(7, weights=weights).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    a = kg.KNeighborsRegressor(7, weights=weights).fit(X, TARGET).predict(Q)
    b = peers.KNeighborsRegressor(7, weights=weights).fit(X, TARGET).predict(Q)
    np.testing.assert_allclose(a, b)
    if not callable(weights):  # scikit-learn hands a callable arrays of objects
        a = kg.RadiusNeighborsRegressor(3.0, weights=weights).fit(X, TARGET).predict(Q)
        b = peers.RadiusNeighborsRegressor(3.0, weights=weights).fit(X, TARGET).predict(Q)
        np.testing.assert_allclose(a, b)


def test_exact_matches_vote_alone_under_distance_weights():
    rows, labels = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    p = kg.KNeighborsClassifier(3, weights="distance").fit(rows, labels).predict_proba([[0.0]])
    np.testing.assert_allclose(p, [[0.5, 0.5]])


def test_several_outputs():
    Y = np.column_stack([LABELS, LABELS == 0])
    ours = kg.KNeighborsClassifier(3).fit(X, Y)
    theirs = peers.KNeighborsClassifier(3).fit(X, Y)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    assert [p.shape for p in ours.predict_proba(Q)] == [(50, 3), (50, 2)]
    both = kg.KNeighborsRegressor(3).fit(X, np.column_stack([TARGET, -TARGET])).predict(Q)
    np.testing.assert_allclose(both[:, 0], -both[:, 1])


def test_leave_one_out_of_all_k_equals_refitting():
    rows, labels = X[:60], LABELS[:60]
    scores = kg.KNeighborsClassifier().fit(rows, labels).leave_one_out_scores(5)
    for k in range(1, 6):
        right = 0
        for i in range(60):
            rest = np.arange(60) != i
            model = kg.KNeighborsClassifier(k).fit(rows[rest], labels[rest])
            # classes keep their order unless one is lost with the row left out
            right += model.predict(rows[i : i + 1])[0] == labels[i]
        assert scores[k - 1] == pytest.approx(right / 60)


def test_radius_without_neighbours():
    rows, labels = np.array([[0.0], [1.0]]), np.array(["a", "b"])
    far = [[100.0]]
    with pytest.raises(ValueError, match="No neighbors found"):
        kg.RadiusNeighborsClassifier(0.5).fit(rows, labels).predict(far)
    model = kg.RadiusNeighborsClassifier(0.5, outlier_label="b").fit(rows, labels)
    assert model.predict(far).tolist() == ["b"]
    with pytest.warns(UserWarning, match="no training row within"):
        assert np.isnan(kg.RadiusNeighborsRegressor(0.5).fit(rows, [0.0, 1.0]).predict(far)).all()


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_local_outlier_factor_equals_scikit_learns(contamination):
    rows = np.vstack([X, np.full((1, 6), 9.0)])
    ours = kg.LocalOutlierFactor(contamination=contamination)
    theirs = peers.LocalOutlierFactor(contamination=contamination)
    np.testing.assert_array_equal(ours.fit_predict(rows), theirs.fit_predict(rows))
    np.testing.assert_allclose(
        ours.negative_outlier_factor_, theirs.negative_outlier_factor_, rtol=1e-9
    )
    assert ours.fit_predict(rows)[-1] == -1
    a = kg.LocalOutlierFactor(novelty=True).fit(rows).score_samples(Q)
    b = peers.LocalOutlierFactor(novelty=True).fit(rows).score_samples(Q)
    np.testing.assert_allclose(a, b, rtol=1e-9)
    assert not hasattr(kg.LocalOutlierFactor(), "predict")
    assert not hasattr(kg.LocalOutlierFactor(novelty=True), "fit_predict")


def test_condensed_rows_classify_all_rows_right():
    kept = kg.condensed_neighbors(X, LABELS, random_state=0)
    assert len(kept) < len(X)
    assert kg.KNeighborsClassifier(1).fit(X[kept], LABELS[kept]).score(X, LABELS) == 1.0


def test_edited_rows_agree_with_their_neighbours():
    labels = LABELS.copy()
    flipped = RNG.choice(300, 15, replace=False)
    labels[flipped] = (labels[flipped] + 1) % 3
    kept = kg.edited_neighbors(X, labels, n_neighbors=5)
    i = kg.NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
    votes = np.array([np.bincount(labels[row], minlength=3) for row in i])
    expected = np.flatnonzero(votes[np.arange(300), labels] >= votes.max(axis=1))
    np.testing.assert_array_equal(kept, expected)
    assert len(np.intersect1d(kept, flipped)) < len(flipped) / 2


def test_graphs_are_the_neighbours():
    model = kg.NearestNeighbors(n_neighbors=4, radius=1.5).fit(X)
    A = model.kneighbors_graph(Q, mode="distance")
    d, i = model.kneighbors(Q)
    np.testing.assert_allclose(np.take_along_axis(A.toarray(), i, axis=1), d)
    assert model.kneighbors_graph().sum() == 4 * 300
    B = model.radius_neighbors_graph(Q)
    assert B.nnz == int((cdist(Q, X) <= 1.5).sum())


def test_a_pickled_model_predicts_the_same():
    model = kg.KNeighborsClassifier(metric="cosine").fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(Q), again.predict(Q))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0."),
        ({"weights": "far"}, "weights must be"),
        ({"metric": "no such"}, "metric must be"),
        ({"p": -1}, "p must be a float greater than 0 or None, got -1."),
    ],
)
def test_parameters_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        kg.KNeighborsClassifier(**settings).fit(X, LABELS)


def test_more_neighbours_than_rows_and_unfitted_models():
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        kg.KNeighborsClassifier(9).fit(X[:5], LABELS[:5]).predict(Q)
    with pytest.raises(NotFittedError):
        kg.NearestNeighbors().kneighbors(Q)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
def test_leave_one_out_of_a_regression_equals_refitting(weights):
    rows, y = np.vstack([X[:38], X[:2]]), np.column_stack([TARGET[:40], LABELS[:40]])
    y[38:] = y[:2]  # which of two equal rows comes first is left to rounding
    scores = kg.KNeighborsRegressor(weights=weights).fit(rows, y).leave_one_out_scores(4)
    for k in range(1, 5):
        means = [
            peers.KNeighborsRegressor(k, weights=weights, algorithm="brute")
            .fit(rows[np.arange(40) != i], y[np.arange(40) != i])
            .predict(rows[i : i + 1])[0]
            for i in range(40)
        ]
        assert scores[k - 1] == pytest.approx(r2_score(y, means))


def test_voronoi_editing_keeps_the_boundary():
    rows, labels = X[:150, :2], (X[:150, 0] + 0.3 * X[:150, 1] > 0).astype(int)
    kept = kg.edited_neighbors(rows, labels, method="voronoi")
    assert len(kept) < 100
    few = kg.KNeighborsClassifier(1).fit(rows[kept], labels[kept])
    np.testing.assert_array_equal(
        few.predict(Q[:, :2]), kg.KNeighborsClassifier(1).fit(rows, labels).predict(Q[:, :2])
    )
    line = np.arange(6.0)[:, None]
    assert kg.edited_neighbors(line, [0, 0, 0, 1, 1, 1], method="voronoi").tolist() == [2, 3]
    assert kg.edited_neighbors(line, np.zeros(6), method="voronoi").tolist() == [0]
    with pytest.raises(ValueError, match="equal rows have different classes"):
        kg.edited_neighbors(np.zeros((4, 2)), [0, 1, 0, 1], method="voronoi")


def test_prototypes_are_the_centres_of_the_classes():
    rows, labels = kg.make_two_moons(400, random_state=0)
    P, of = kg.class_prototypes(rows, labels, n_prototypes=1)
    np.testing.assert_allclose(P, [rows[labels == c].mean(axis=0) for c in (0, 1)])
    P, of = kg.class_prototypes(rows, labels, n_prototypes=10, random_state=0)
    assert of.tolist() == [0] * 10 + [1] * 10
    for c in (0, 1):  # a fixed point of k-means: every centre is the mean of its rows
        own, centres = rows[labels == c], P[of == c]
        nearest = cdist(own, centres).argmin(axis=1)
        means = [own[nearest == j].mean(axis=0) for j in range(10)]
        np.testing.assert_allclose(centres, means, atol=0.02)
    distinct, _ = kg.class_prototypes([[0.0], [0.0], [1.0]], [0, 0, 0])
    np.testing.assert_array_equal(distinct, [[0.0], [1.0]])


@pytest.mark.parametrize("method", ["largest", "mean", "median"])
def test_outliers_by_the_distance_of_neighbours(method):
    rows = np.vstack([X, np.full((1, 6), 9.0)])
    model = kg.KNeighborsOutlierDetector(method=method, contamination=0.01).fit(rows)
    D = np.sort(cdist(rows, rows), axis=1)[:, 1:6]
    expected = D[:, -1] if method == "largest" else getattr(np, method)(D, axis=1)
    np.testing.assert_allclose(-model.negative_outlier_factor_, expected)
    assert model.fit_predict(rows)[-1] == -1
    new = kg.KNeighborsOutlierDetector(method=method, novelty=True).fit(X)
    assert new.predict(rows[-1:])[0] == -1
    D = np.sort(cdist(Q, X), axis=1)[:, :5]
    expected = D[:, -1] if method == "largest" else getattr(np, method)(D, axis=1)
    np.testing.assert_allclose(new.score_samples(Q), -expected)
    np.testing.assert_allclose(new.decision_function(Q), -expected - new.offset_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashed_neighbours(metric, dtype):
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(30, 40))
    rows = (centres[rng.integers(0, 30, 800)] + 0.3 * rng.normal(size=(800, 40))).astype(dtype)
    model = kg.LSHNeighbors(metric=metric, n_bits=100, n_candidates=0.1, random_state=0)
    model.fit(rows[100:])
    assert model.codes_.shape == (700, 2)
    assert model.n_candidates_ == 70
    assert model.recall(rows[:100]) > 0.95
    distances, places = model.kneighbors(rows[:100])
    gaps = cdist(rows[:100].astype(float), rows[100:].astype(float), metric)
    np.testing.assert_allclose(distances, np.take_along_axis(gaps, places, axis=1), atol=1e-6)
    assert (np.diff(distances, axis=1) >= 0).all()
    # all rows as candidates: exact
    exact = kg.LSHNeighbors(metric=metric, n_candidates=700, random_state=0).fit(rows[100:])
    assert exact.recall(rows[:100]) == exact.recall() == 1.0
    assert exact.kneighbors_graph(n_neighbors=2).nnz == 2 * 700
    assert exact.kneighbors(n_neighbors=2)[1][:, 0].tolist() != list(range(700))


def test_more_hashed_neighbours_than_rows():
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        kg.LSHNeighbors(n_neighbors=9).fit(X[:5]).kneighbors(Q)
    with pytest.raises(NotFittedError):
        kg.LSHNeighbors().kneighbors(Q)


@pytest.mark.parametrize("rows", [1, 3, 50])
@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_few_queries_find_what_many_find(rows, scale):
    model = kg.NearestNeighbors().fit(scale * X)
    d, i = model.kneighbors(scale * Q)
    few, places = model.kneighbors(scale * Q[:rows])
    np.testing.assert_allclose(few, d[:rows], rtol=1e-12)
    np.testing.assert_array_equal(places, i[:rows])


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_queries_of_other_libraries(name):
    xp = pytest.importorskip(name)
    model = kg.NearestNeighbors(n_neighbors=3).fit(xp.asarray(X))
    distances, indices = model.kneighbors(xp.asarray(Q))
    assert type(distances) is type(indices) is type(xp.asarray(Q))
    expected, places = kg.NearestNeighbors(n_neighbors=3).fit(X).kneighbors(Q)
    np.testing.assert_allclose(np.asarray(distances), expected)
    np.testing.assert_array_equal(np.asarray(indices), places)
    graph = model.kneighbors_graph(xp.asarray(Q), mode="distance")
    np.testing.assert_allclose(graph.sum(), expected.sum())
    assert type(model.kneighbors()[0]) is np.ndarray


def test_queries_of_dask():
    da = pytest.importorskip("dask.array")
    model = kg.KNeighborsRegressor(4).fit(X, TARGET)
    queries = da.from_array(Q, chunks=(20, 6))
    predicted = model.predict(queries)
    assert predicted.numblocks == (3,)
    np.testing.assert_allclose(predicted.compute(), model.predict(Q))
    np.testing.assert_array_equal(model.kneighbors(queries)[1], model.kneighbors(Q)[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "correlation", "hamming"])
def test_sparse_rows_are_dense_rows(metric):
    rows, queries = np.where(X > 0.3, np.round(X, 1), 0.0), np.where(Q > 0.3, np.round(Q, 1), 0.0)
    rows[:, 0] += 0.5  # no row of zeros, whose cosine is a convention
    queries[:, 0] += 0.5
    dense = kg.NearestNeighbors(metric=metric).fit(rows).kneighbors(queries)[0]
    sparse = kg.NearestNeighbors(metric=metric).fit(sp.csr_array(rows))
    np.testing.assert_allclose(sparse.kneighbors(sp.csr_array(queries))[0], dense, atol=1e-7)


def test_a_column_of_missing_values_is_refused_or_ignored():
    rows = X.copy()
    rows[:, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        kg.KNeighborsClassifier().fit(rows, LABELS)
    rest = np.delete(X, 2, axis=1)
    found = kg.NearestNeighbors(metric="gower").fit(rows).kneighbors(rows)[0]
    expected = kg.NearestNeighbors(metric="gower").fit(rest).kneighbors(rest)[0]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, bool, np.int64])
def test_half_precision_and_whole_numbers(dtype):
    rows = np.random.default_rng(5).integers(0, 2 if dtype is bool else 100, (80, 4)).astype(dtype)
    labels = rows[:, 0].astype(float) > rows[:, 0].astype(float).mean()
    for model in (kg.KNeighborsClassifier(1), kg.MLPClassifier((3,), max_iter=20, solver="lbfgs")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations
            wide = sk_clone(model).set_params(**_seed(model)).fit(rows.astype(float), labels)
            narrow = sk_clone(model).set_params(**_seed(model)).fit(rows, labels)
        np.testing.assert_array_equal(narrow.predict(rows), wide.predict(rows.astype(float)))


def _seed(model):
    return {"random_state": 0} if "random_state" in model.get_params() else {}


def test_constant_columns_single_rows_of_a_class_and_labels_that_are_new():
    rows, labels = np.column_stack([X[:, 0], np.ones(300)]), np.where(np.arange(300) < 1, "a", "b")
    for model in (kg.KNeighborsClassifier(1), kg.KNeighborsClassifier(1, metric="mahalanobis")):
        assert model.fit(rows, labels).predict(rows[:1]).tolist() == ["a"]
        assert model.predict_proba(rows[:1]).tolist() == [[1.0, 0.0]]
    # accuracy on a class that training did not have: never right, no error
    assert model.score(rows[:2], ["c", "b"]) == 0.5
    with pytest.raises(ValueError, match="one class only"):
        kg.MLPClassifier().fit(rows, ["a"] * 300)
    with pytest.raises(ValueError, match="has classes not in"):
        kg.MLPClassifier().partial_fit(rows, labels, classes=["b", "c"])
    with pytest.raises(ValueError, match="weight"):
        kg.MLPClassifier().fit(rows, labels, sample_weight=np.zeros(300))


def test_distances_whose_inverse_overflows_are_exact_matches():
    rows = np.array([[0.0], [5e-320], [1.0]])
    model = kg.KNeighborsRegressor(3, weights="distance").fit(rows, [1.0, 2.0, 9.0])
    assert model.predict([[0.0]]).tolist() == [1.5]


def test_weights_of_zero_in_a_vote():
    model = kg.KNeighborsClassifier(3, weights=lambda d: np.zeros_like(d)).fit(X, LABELS)
    with pytest.raises(ValueError, match="weights of the neighbours"):
        model.predict(Q)
    with pytest.raises(ValueError, match="weights of the neighbours"):
        kg.KNeighborsRegressor(3, weights=lambda d: np.zeros_like(d)).fit(X, TARGET).predict(Q)
    with pytest.raises(ValueError, match="of the shape"):
        kg.KNeighborsRegressor(3, weights=lambda d: d[:1]).fit(X, TARGET).predict(Q)
    with pytest.raises(ValueError, match="not negative"):
        kg.KNeighborsRegressor(3, weights=lambda d: -d).fit(X, TARGET).predict(Q)


def test_powers_that_overflow_are_refused_without_a_warning():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kg.KNeighborsClassifier(p=6e-5).fit(X, X[:, 0] > 0)
        with pytest.raises(ValueError, match="overflow"):
            model.predict(X)


def test_rows_without_entries_are_equal():
    """Bray-Curtis divides by the sum of two rows, which is 0 here: their distance is 0."""
    zeros, y = np.zeros((5, 2)), np.arange(5.0)
    model = kg.RadiusNeighborsRegressor(radius=0.5, metric="braycurtis").fit(zeros, y)
    np.testing.assert_array_equal(model.predict(zeros[:1]), [2.0])


@pytest.mark.parametrize(
    "reduce", [kg.condensed_neighbors, kg.edited_neighbors, kg.class_prototypes]
)
def test_fewer_rows_of_bad_input_are_refused(reduce):
    rows, labels = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    for bad in (np.nan, np.inf):
        broken = rows.copy()
        broken[2, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            reduce(broken, labels)
    with pytest.raises(ValueError, match="label type"):
        reduce(rows, rows[:, 0] + 0.5)
    with pytest.raises(ValueError, match="must be"):
        reduce(rows, labels[:5])
