"""Queries on a device are searched there, and the answers are those of the host."""

import array_api_strict
import numpy as np
import pytest

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.solvers.neighbors.nearest import EuclideanIndex

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((80, 5)), RNG.standard_normal((17, 5))
Y = X[:, 0] + X[:, 1] ** 2
DEVICE = array_api_strict.Device("device1")


def put(A):
    return array_api_strict.asarray(A, device=DEVICE)


@pytest.fixture
def no_host_search(monkeypatch):
    def refused(self, k, new=None):
        raise AssertionError("searched on the host")

    return lambda: monkeypatch.setattr(EuclideanIndex, "nearest", refused)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("at_home", [True, False], ids=["fitted on host", "fitted on device"])
def test_kneighbors(no_host_search, at_home, dtype):
    rows, new = X.astype(dtype), NEW.astype(dtype)
    model = kg.NearestNeighbors(n_neighbors=4).fit(rows if at_home else put(rows))
    distances, places = model.kneighbors(new)
    no_host_search()
    for _ in range(2):
        found, near = model.kneighbors(put(new))
        assert found.device == near.device == DEVICE
        assert to_numpy(found).dtype == dtype
        np.testing.assert_array_equal(to_numpy(near), places)
        np.testing.assert_allclose(to_numpy(found), distances, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (kg.KNeighborsClassifier(3), "predict_proba"),
        (kg.KNeighborsClassifier(3, weights="distance"), "predict"),
        (kg.KNeighborsRegressor(3, weights="distance"), "predict"),
        (kg.LocalOutlierFactor(5, novelty=True), "score_samples"),
        (kg.KNeighborsOutlierDetector(5, novelty=True), "decision_function"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_predictions(no_host_search, model, method):
    y = np.round(Y) if isinstance(model, kg.KNeighborsClassifier) else Y
    model.fit(X, y)
    expected = getattr(model, method)(NEW)
    no_host_search()
    found = getattr(model, method)(put(NEW))
    assert found.device == DEVICE
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "scale"),
    [({"metric": "cosine"}, 1.0), ({"p": 1}, 1.0), ({"algorithm": "kd_tree"}, 1.0), ({}, 1e200)],
)
def test_what_is_searched_on_the_host(settings, scale):
    """Other metrics, trees, and rows whose squares overflow."""
    model = kg.NearestNeighbors(n_neighbors=4, **settings).fit(scale * X)
    distances, places = model.kneighbors(scale * NEW)
    found, near = model.kneighbors(put(scale * NEW))
    assert found.device == DEVICE
    np.testing.assert_array_equal(to_numpy(near), places)
    np.testing.assert_allclose(to_numpy(found), distances, rtol=1e-12)


def test_radius_neighbours_of_rows_on_a_device():
    model = kg.NearestNeighbors(radius=1.5).fit(X)
    for one, two in zip(model.radius_neighbors(NEW)[1], model.radius_neighbors(put(NEW))[1],
                        strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, two)
