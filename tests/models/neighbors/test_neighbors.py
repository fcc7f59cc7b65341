"""Nearest neighbours: search, votes, outliers and reduction, against scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neighbors as peers
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

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
    ours = kg.NearestNeighbors(metric=metric, algorithm=algorithm, **settings).fit(X)
    theirs = peers.NearestNeighbors(metric=metric, algorithm="brute", **settings).fit(X)
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


def test_a_pickled_model_answers_alike():
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
