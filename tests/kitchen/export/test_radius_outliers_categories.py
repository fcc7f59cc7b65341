"""Graphs of radius neighbours, outlier scores, cascades, and trees that split by categories."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import kilogram as kg
from kilogram.kitchen import KitchenError
from kilogram.kitchen.export import export_estimator
from kilogram.kitchen.export.onnx_model import run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)) + 5.0
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=120)
THREE = np.array(["p", "q", "r"])[np.digitize(Y, np.quantile(Y, [0.3, 0.6]))]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_rows_within_a_radius(metric, weights):
    new = np.concatenate([X + 0.05, X[:5], np.full((2, 3), 90.0)])
    near = {"radius": 1.0, "weights": weights, "metric": metric}
    model = kg.RadiusNeighborsRegressor(**near).fit(X, np.column_stack([Y, -Y]))
    graph = export_estimator(model, new[:-2], dtype=np.float64)
    found = run(graph, {"X": new})["prediction"]
    with pytest.warns(UserWarning, match="no training row"):
        expected = model.predict(new)
    assert np.isnan(expected[-2:]).all()
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_within_a_radius(weights):
    new = np.concatenate([X + 0.05, X[:5], np.full((2, 3), 90.0)])
    near = {"radius": 1.0, "weights": weights}
    model = kg.RadiusNeighborsClassifier(**near, outlier_label="q").fit(X, THREE)
    found = run(export_estimator(model, new, dtype=np.float64), {"X": new})
    assert found["probabilities"] == pytest.approx(model.predict_proba(new), abs=1e-9)
    assert found["prediction"].tolist() == model.predict(new).tolist()
    assert found["prediction"][-1] == "q"
    for label in (None, "z"):
        model = kg.RadiusNeighborsClassifier(**near, outlier_label=label).fit(X, THREE)
        with pytest.raises(KitchenError, match="one of the classes"):
            export_estimator(model, X)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("method", ["density", "largest", "mean", "median"])
def test_outliers_of_new_rows(method, metric):
    common = {"n_neighbors": 6, "metric": metric, "novelty": True, "contamination": 0.1}
    if method == "density":
        model = kg.LocalOutlierFactor(**common)
    else:
        model = kg.KNeighborsOutlierDetector(**common, method=method)
    new = np.concatenate([X + 0.3, X[:3], X[:3] + 8.0])
    model.fit(X)
    found = run(export_estimator(model, new, dtype=np.float64), {"X": new})
    assert found["scores"][:, 0] == pytest.approx(model.decision_function(new), abs=1e-6)
    assert found["prediction"].tolist() == model.predict(new).tolist()
    assert set(found["prediction"]) == {-1, 1}
    with pytest.raises(KitchenError, match="novelty=False"):
        export_estimator(model.set_params(novelty=False).fit(X), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cascades(dtype):
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, (1500, 3)).astype(dtype)
    inside = np.where((rows**2).sum(axis=1) < 0.4, "face", "away")
    model = kg.CascadeClassifier(min_tpr=0.98, max_stumps=8, max_stages=4, random_state=0)
    model.fit(rows, inside)
    assert len(model.stages_) > 2
    found = run(export_estimator(model, rows, dtype=dtype), {"X": rows})
    assert found["prediction"].tolist() == model.predict(rows).tolist()
    margin = found["scores"][:, 1] - found["scores"][:, 0]
    assert margin == pytest.approx(model.decision_function(rows), abs=1e-5)
    assert "probabilities" not in found


def categories(n, seed):
    """A column of 120 category numbers with gaps, one of 3, and one of real numbers."""
    rng = np.random.default_rng(seed)
    C = np.column_stack([rng.integers(0, 120, n) * 7, rng.integers(-1, 2, n), rng.normal(size=n)])
    C[rng.random(n) < 0.1, 0] = C[rng.random(n) < 0.1, 2] = np.nan
    return C


SETS = {"categorical_features": [0, 1]}
NUMBERS = {
    "tree": kg.DecisionTreeRegressor(**SETS, min_samples_leaf=3),
    "forest": kg.RandomForestRegressor(8, **SETS, random_state=0),
    "boosting": kg.HistGradientBoostingRegressor(**SETS, max_iter=15),
    "shape functions": kg.AdditiveBoostingRegressor(
        **SETS, max_iter=30, n_bags=2, interactions=[(0, 2)]
    ),
}
CLASSES = {
    "tree": kg.DecisionTreeClassifier(**SETS, min_samples_leaf=3),
    "forest": kg.RandomForestClassifier(8, **SETS, random_state=0),
    "boosting": kg.HistGradientBoostingClassifier(**SETS, max_iter=15),
    "shape functions": kg.AdditiveBoostingClassifier(**SETS, max_iter=30, n_bags=2),
}
C = categories(900, 0)
EFFECT = np.sin(np.nan_to_num(C[:, 0])) + C[:, 1] * np.nan_to_num(C[:, 2]) + np.isnan(C[:, 0])
NEW = categories(400, 1)
NEW[:9, 0] = [-1.0, 5.0, 3.5, 1e9, 840.0, -7.0, 0.5, np.nan, 6.999]  # never seen


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_by_sets_of_categories(name):
    model = NUMBERS[name].fit(C, EFFECT)
    found = run(export_estimator(model, NEW, dtype=np.float64), {"X": NEW})
    assert found["prediction"][:, 0] == pytest.approx(model.predict(NEW), abs=1e-6)


@pytest.mark.parametrize("limits", [[0.0], [-0.5, 0.5]], ids=["two", "three"])
@pytest.mark.parametrize("name", CLASSES)
def test_classes_by_sets_of_categories(name, limits):
    model = CLASSES[name].fit(C, np.digitize(EFFECT, limits))
    found = run(export_estimator(model, NEW, dtype=np.float64), {"X": NEW})
    assert found["prediction"].tolist() == model.predict(NEW).tolist()
    assert found["probabilities"] == pytest.approx(model.predict_proba(NEW), abs=1e-6)


def test_a_tree_of_categories_without_a_split():
    model = kg.DecisionTreeRegressor(categorical_features=[0]).fit(C, np.ones(900))
    found = run(export_estimator(model, NEW), {"X": NEW.astype(np.float32)})["prediction"]
    assert found.tolist() == [[1.0]] * 400


def test_categories_that_are_words_are_refused():
    frame = pd.DataFrame({"word": pd.Categorical(["a", "b"] * 60), "size": Y})
    model = kg.HistGradientBoostingRegressor(max_iter=3).fit(frame, Y)
    with pytest.raises(KitchenError, match="categories that are words"):
        export_estimator(model, np.column_stack([np.zeros(120), Y]))
