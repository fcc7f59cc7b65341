"""cook as scikit-learn estimators, and results in Python."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from kilogram.kitchen import CookClassifier, CookRegressor
from tests.kitchen.conftest import classes, curved

QUICK = {"folds": 2, "repeats": 1, "search": "path", "recipes": ["linear", "kernel"]}


def test_a_regressor():
    frame = curved(120).dropna(subset="y")
    X = frame.drop(columns="y")
    model = clone(CookRegressor(**QUICK)).fit(X, frame.y)
    assert model.score(X, frame.y) > 0.7
    low, high = model.predict_interval(X)
    assert np.mean((low <= frame.y) & (frame.y <= high)) > 0.8
    array = np.random.default_rng(0).normal(size=(60, 2))
    assert CookRegressor(**QUICK).fit(array, array[:, 0] ** 2 + array[:, 1]).n_features_in_ == 2


@pytest.mark.parametrize("labels", [[3, 7, 9], ["p", "q", "r"]])
def test_a_classifier(labels):
    frame = classes(90)
    y = np.array(labels)[pd.factorize(frame.kind, sort=True)[0]]
    X = frame[["a", "b"]].to_numpy()
    model = CookClassifier(**QUICK).fit(X, y)
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, y) > 0.9
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1)
    assert P.shape == (90, 3)


def test_results_in_python(two_classes):
    rows = two_classes.compare()
    assert [row["recipe"] for row in rows] == [one.name for one in two_classes.judged]
    assert sum(row["chosen"] for row in rows) == 1
    found = two_classes.predict_table(classes(10).drop(columns="kind")).to_pandas()
    assert {"predicted kind", "P(true)", "P(false)"} <= set(found)
