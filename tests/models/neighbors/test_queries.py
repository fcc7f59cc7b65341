"""Metrics by blocks, graphs of distances, training rows as queries, labels of outliers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn import neighbors
from sklearn.metrics import DistanceMetric

from kilogram import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from kilogram.models.neighbors import base


def test_the_power_of_minkowski_may_be_infinite():
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((80, 5)), rng.standard_normal((7, 5))
    ours = NearestNeighbors(n_neighbors=4, p=np.inf).fit(X).kneighbors(Q)
    peer = neighbors.NearestNeighbors(n_neighbors=4, p=np.inf).fit(X).kneighbors(Q)
    np.testing.assert_array_equal(ours[1], peer[1])
    np.testing.assert_allclose(ours[0], peer[0], rtol=1e-12)


@pytest.mark.parametrize("metric", ["nan_euclidean", "haversine", "weighted", "object"])
def test_metrics_by_blocks_agree_with_scikit_learn(metric):
    rng = np.random.default_rng(1)
    X, Q = rng.uniform(-1.5, 1.5, (60, 2)), rng.uniform(-1.5, 1.5, (9, 2))
    params = {"metric": metric}
    if metric == "nan_euclidean":
        X, Q = np.hstack([X, rng.standard_normal((60, 2))]), np.hstack([Q, Q])
        X[rng.random(X.shape) < 0.2] = np.nan
        X[0], Q[0] = 1.0, np.nan
        Q[0, 0] = 0.3
    if metric == "weighted":
        params = {"metric": "minkowski", "p": 3, "metric_params": {"w": np.array([0.2, 2.0])}}
    if metric == "object":
        params = {"metric": DistanceMetric.get_metric("canberra")}
    ours = NearestNeighbors(n_neighbors=5, algorithm="brute", **params).fit(X)
    peer = neighbors.NearestNeighbors(n_neighbors=5, algorithm="brute", **params).fit(X)
    for found, expected in zip(ours.kneighbors(Q), peer.kneighbors(Q), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    model = KNeighborsClassifier(3, **params).fit(X, np.arange(60) % 3)
    if metric == "object":  # scikit-learn's classifier takes the name only
        params = {"metric": "canberra"}
    other = neighbors.KNeighborsClassifier(3, **params).fit(X, np.arange(60) % 3)
    np.testing.assert_array_equal(model.predict(Q), other.predict(Q))


def test_weights_of_columns_must_fit():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="2 weights"):
        NearestNeighbors(metric_params={"w": np.array([1.0, -1.0])}, p=3).fit(X)


@pytest.mark.parametrize("mode", ["kneighbors", "radius"])
def test_a_sparse_graph_of_distances_may_be_given(mode):
    rng = np.random.default_rng(2)
    X, Q, y = rng.standard_normal((50, 3)), rng.standard_normal((6, 3)), np.arange(50) % 3
    if mode == "kneighbors":
        graph = neighbors.KNeighborsTransformer(n_neighbors=9, mode="distance").fit(X)
        plain, given = (KNeighborsClassifier(4, metric=m) for m in ("euclidean", "precomputed"))
    else:
        graph = neighbors.RadiusNeighborsTransformer(radius=3.0, mode="distance").fit(X)
        plain, given = (
            RadiusNeighborsClassifier(2.0, metric=m, outlier_label=0)
            for m in ("euclidean", "precomputed")
        )
    given.fit(graph.transform(X), y)
    plain.fit(X, y)
    np.testing.assert_allclose(
        given.predict_proba(graph.transform(Q)), plain.predict_proba(Q), rtol=1e-12
    )
    np.testing.assert_allclose(given.predict_proba(None), plain.predict_proba(None), rtol=1e-12)


def test_a_graph_with_too_few_neighbours_is_refused():
    graph = scipy.sparse.csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 0.0]]))
    model = NearestNeighbors(metric="precomputed").fit(graph)
    with pytest.raises(ValueError, match="some samples have only 1"):
        model.kneighbors(graph, n_neighbors=2)


@pytest.mark.parametrize("outputs", [1, 2])
def test_no_queries_are_the_training_rows_without_themselves(outputs):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = rng.integers(0, 3, (40, outputs)) if outputs > 1 else rng.integers(0, 3, 40)
    for model in (
        KNeighborsClassifier(4), KNeighborsRegressor(4, weights="distance"),
        RadiusNeighborsClassifier(1.5, outlier_label=0), RadiusNeighborsRegressor(3.0),
    ):  # fmt: skip
        others = [
            model.fit(np.delete(X, i, 0), np.delete(y, i, 0)).predict(X[i : i + 1])[0]
            for i in range(40)
        ]
        model.fit(X, y)
        np.testing.assert_allclose(model.predict(None), others, rtol=1e-9)
        if outputs == 1:
            assert model.score(None, y) <= 1.0


def test_outliers_may_have_a_label_that_is_no_class():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, 1, 2])
    model = RadiusNeighborsClassifier(0.5, outlier_label=-1).fit(X, y)
    with pytest.warns(UserWarning, match="not in training classes"):
        assert model.predict([[0.1], [9.0]]).tolist() == [1, -1]
    with pytest.warns(UserWarning, match="not in training classes"):
        assert model.predict_proba([[9.0]]).tolist() == [[0.0, 0.0]]
    with pytest.raises(TypeError, match="kind"):
        RadiusNeighborsClassifier(0.5, outlier_label="none").fit(X, y)
    assert model.outlier_label_ == [-1]
    assert RadiusNeighborsClassifier(0.5).fit(X, y).outlier_label_ is None
    several = RadiusNeighborsClassifier(0.5, outlier_label=[-1, 7])
    with pytest.warns(UserWarning, match="not in training classes"):
        found = several.fit(X, np.stack([y, y], axis=1)).predict([[9.0], [2.0]])
    assert found.tolist() == [[-1, 7], [2, 2]]


def test_copies_make_local_outlier_factors_warn():
    X = np.concatenate([np.full((30, 1), 0.1), [[1.0], [2.0]]])
    with pytest.warns(UserWarning, match="Duplicate values"):
        LocalOutlierFactor(5).fit(X)


def test_sparse_training_rows_as_queries_are_near_themselves():
    rows = scipy.sparse.csr_array(np.eye(4))
    model = NearestNeighbors(radius=0.5).fit(rows)
    assert [i.tolist() for i in model.radius_neighbors(rows)[1]] == [[0], [1], [2], [3]]
    assert [i.tolist() for i in model.radius_neighbors(None)[1]] == [[], [], [], []]


def test_predictions_within_a_radius_by_blocks_of_queries(monkeypatch):
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(200, 2)), rng.normal(size=200)
    labels = (targets > 0).astype(int)
    models = [
        RadiusNeighborsRegressor(0.8, weights="distance").fit(rows, targets),
        RadiusNeighborsClassifier(0.8, outlier_label=0).fit(rows, labels),
    ]
    for model in models:
        for queries in (rng.normal(size=(90, 2)) / 2, None):
            monkeypatch.setattr(base, "FOUND_AT_ONCE", 2**24)
            whole = model.predict(queries)
            monkeypatch.setattr(base, "FOUND_AT_ONCE", 1000)
            np.testing.assert_allclose(model.predict(queries), whole)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_given_distances_below_0_are_refused(form):
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    model = NearestNeighbors(n_neighbors=2, metric="precomputed")
    model.fit(form(D)).kneighbors(form(D[:2]))
    with pytest.raises(ValueError, match="must be at least 0, got -4"):
        model.fit(form(-D))
    with pytest.raises(ValueError, match="must be at least 0, got -4"):
        model.fit(form(D)).kneighbors(form(-D[:2]))
