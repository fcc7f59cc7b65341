"""Isomap with neighbours in other metrics, within a radius, and from given distances."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap as Reference
from sklearn.metrics import pairwise_distances

import kilogram as kg

X = make_swiss_roll(250, random_state=0)[0]
NEW = X[::40] + 0.01


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": 8, "p": 1},
        {"n_neighbors": 8, "p": 3},
        {"n_neighbors": 8, "metric": "chebyshev", "eigen_solver": "dense"},
        {"n_neighbors": None, "radius": 6.0},
        {"n_neighbors": None, "radius": 9.0, "metric": "cityblock"},
    ],
    ids=str,
)
def test_agrees_with_scikit_learn(parameters):
    ours, reference = (M(**parameters).fit(X) for M in (kg.Isomap, Reference))
    signs = np.sign((ours.embedding_ * reference.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.embedding_ * signs, reference.embedding_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(NEW) * signs, reference.transform(NEW), atol=1e-6)
    np.testing.assert_allclose(ours.dist_matrix_, reference.dist_matrix_, atol=1e-9)


def test_given_distances_are_those_of_the_metric():
    near = {"n_neighbors": 8}
    rows = kg.Isomap(**near, p=1).fit(X)
    given = kg.Isomap(**near, metric="precomputed")
    given.fit(pairwise_distances(X, metric="cityblock"))
    np.testing.assert_allclose(given.embedding_, rows.embedding_, atol=1e-8)
    distances = pairwise_distances(NEW, X, metric="cityblock")
    np.testing.assert_allclose(given.transform(distances), rows.transform(NEW), atol=1e-8)


@pytest.mark.parametrize("parameters", [{"p": 1}, {"metric": "precomputed"}], ids=str)
def test_parts_are_connected_in_the_metric(parameters):
    two = np.vstack([X[:60], X[:60] + 500.0])
    rows = pairwise_distances(two) if "metric" in parameters else two
    with pytest.warns(UserWarning, match="2 connected components"):
        model = kg.Isomap(n_neighbors=8, **parameters).fit(rows)
    assert np.isfinite(model.dist_matrix_).all()


def test_a_radius_that_reaches_nothing_is_an_error():
    model = kg.Isomap(n_neighbors=None, radius=6.0).fit(X)
    with pytest.raises(ValueError, match="1 rows have no training row within radius"):
        model.transform(np.vstack([NEW[:1], X[:1] + 1e3]))
    with pytest.raises(ValueError, match="one of them to None"):
        kg.Isomap(n_neighbors=5, radius=6.0).fit(X)


@pytest.mark.parametrize("params", [{"unknown": 1}, {"w": [1.0, 2.0]}, {"p": "a"}])
def test_parameters_that_do_not_suit_the_metric_are_refused(params):
    """Those of the Minkowski distance with p = 2 were ignored."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="metric_params"):
        kg.Isomap(metric_params=params).fit(X)


def test_weights_of_the_minkowski_distance():
    X = np.random.default_rng(0).standard_normal((30, 3))
    w = np.array([4.0, 1.0, 0.25])
    weighted = kg.Isomap(metric_params={"w": w}).fit_transform(X)
    np.testing.assert_allclose(
        np.abs(weighted), np.abs(kg.Isomap().fit_transform(X * np.sqrt(w))), atol=1e-8
    )


@pytest.mark.parametrize("name", ["Isomap", "MDS", "ClassicalMDS"])
def test_an_array_is_no_metric(name):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises((ValueError, TypeError), match="metric"):
        getattr(kg, name)(metric=np.array([1.0, 2.0])).fit(X)
