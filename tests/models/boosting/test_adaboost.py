"""AdaBoost: accuracy beside scikit-learn's, any weak learner, stages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from kilogram import AdaBoostClassifier, AdaBoostRegressor


def table(n=800, classes=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6))
    f = (X[:, :3] ** 2).sum(axis=1) + X[:, 3]
    return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes)), f


@pytest.mark.parametrize("classes", [2, 3])
def test_as_accurate_as_scikit_learn(classes):
    X, y, _ = table(classes=classes)
    ours = AdaBoostClassifier(n_estimators=60).fit(X[:400], y[:400])
    theirs = ensemble.AdaBoostClassifier(n_estimators=60).fit(X[:400], y[:400])
    assert ours.score(X[400:], y[400:]) > theirs.score(X[400:], y[400:]) - 0.03
    np.testing.assert_allclose(ours.estimator_errors_[0], theirs.estimator_errors_[0], rtol=1e-9)
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    *_, last = ours.staged_predict_proba(X)
    np.testing.assert_allclose(last, ours.predict_proba(X), rtol=1e-12)
    assert 1 - ours.score(X[:400], y[:400]) <= ours.training_error_bound_[-1] + 1e-12
    assert ours.feature_importances_.sum() == pytest.approx(1)


def test_scores_of_the_same_learners_are_scikit_learns():
    X, y, _ = table(classes=3)
    params = {"estimator": DecisionTreeClassifier(max_depth=2, random_state=0), "n_estimators": 10}
    ours = AdaBoostClassifier(**params, random_state=0).fit(X, y)
    theirs = ensemble.AdaBoostClassifier(**params, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=0.2)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.05
    with pytest.raises(ValueError, match="doesn't support sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)


def test_chance_is_refused():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match="not better than chance"):
        AdaBoostClassifier().fit(X, [0, 1, 1, 0])


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regression(loss):
    X, _, y = table()
    ours = AdaBoostRegressor(loss=loss, random_state=0).fit(X[:400], y[:400])
    theirs = ensemble.AdaBoostRegressor(loss=loss, random_state=0).fit(X[:400], y[:400])
    assert ours.score(X[400:], y[400:]) > theirs.score(X[400:], y[400:]) - 0.06
    *_, last = ours.staged_predict(X)
    np.testing.assert_array_equal(last, ours.predict(X))
    lines = AdaBoostRegressor(LinearRegression(), random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(lines.predict(X), X[:, 0], atol=1e-9)


@pytest.mark.parametrize("learning_rate", [775.0, 1e300])
def test_a_huge_learning_rate_keeps_weights_finite(learning_rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=20, learning_rate=learning_rate).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert 1 - model.score(X, y) <= model.training_error_bound_[-1] <= 1
    regressor = AdaBoostRegressor(n_estimators=20, learning_rate=learning_rate, random_state=0)
    assert np.isfinite(regressor.fit(X, X[:, 0]).predict(X)).all()


def test_staged_scores_end_at_the_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = AdaBoostRegressor(n_estimators=8, random_state=0).fit(X, X[:, 0])
    assert list(model.staged_score(X, X[:, 0]))[-1] == pytest.approx(model.score(X, X[:, 0]))
