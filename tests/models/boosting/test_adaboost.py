"""AdaBoost: accuracy beside scikit-learn's, any weak learner, stages."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import kilogram as kg
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


def sparse_table(n=300, d=40, classes=3):
    """Rows with negative, absent and positive entries, some of them stored zeros."""
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((n, d)) < 0.2, np.round(rng.normal(size=(n, d)), 1), 0.0)
    f = dense[:, 0] - dense[:, 1] + dense[:, 2] * dense[:, 3]
    y = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    return dense, y % classes, f


@pytest.mark.parametrize("criterion", ["gini", "error"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_stumps_of_sparse_rows_are_those_of_dense_rows(criterion, form):
    X, y, _ = sparse_table()
    rows = form(X)
    rows.data[:5] = 0.0  # stored zeros
    X = rows.toarray()
    dense = AdaBoostClassifier(n_estimators=30, criterion=criterion).fit(X, y)
    sparse = AdaBoostClassifier(n_estimators=30, criterion=criterion).fit(rows, y)
    for one, other in zip(dense.estimators_, sparse.estimators_, strict=True):
        assert one.stump.column == other.stump.column
        assert one.stump.threshold == other.stump.threshold
    np.testing.assert_allclose(sparse.decision_function(rows), dense.decision_function(X))
    np.testing.assert_array_equal(sparse.predict(rows), dense.predict(X))


class RemembersType(kg.LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        self.type_ = type(X)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("form", "expected"), [(sp.csc_matrix, sp.csc_matrix), (sp.coo_array, sp.csr_array),
                       (sp.csr_matrix, sp.csr_matrix), (sp.lil_matrix, sp.csr_matrix)],
)  # fmt: skip
def test_weak_learners_get_sparse_rows_of_the_same_kind(form, expected):
    """`*` of a matrix and of an array differ, and learners of others may use it."""
    X, y, _ = sparse_table(classes=2)
    model = AdaBoostClassifier(RemembersType(), n_estimators=2).fit(form(X), y)
    assert {one.type_ for one in model.estimators_} == {expected}


def test_regression_trees_of_sparse_rows_are_those_of_dense_rows():
    X, _, y = sparse_table()
    dense = AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y)
    sparse = AdaBoostRegressor(n_estimators=20, random_state=0).fit(sp.csr_array(X), y)
    for one, other in zip(dense.estimators_, sparse.estimators_, strict=True):
        np.testing.assert_array_equal(one.trees.links, other.trees.links)
        np.testing.assert_allclose(one.trees.threshold, other.trees.threshold)
        np.testing.assert_allclose(one.trees.value, other.trees.value)
        np.testing.assert_allclose(one.trees.impurity, other.trees.impurity, atol=1e-12)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X))


def test_sparse_rows_that_no_memory_holds_when_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 50_000), density=2e-4, rng=rng, format="csr")
    y = (X[:, :2000].sum(axis=1) > 0.5).astype(int)

    def refused(*args, **kwargs):
        raise AssertionError("sparse rows were made dense")

    monkeypatch.setattr("kilogram.models.boosting.adaboost_classifier.dense_rows", refused)
    monkeypatch.setattr("kilogram.models.boosting.adaboost_regressor.dense_rows", refused)
    monkeypatch.setattr("kilogram.models.boosting.validated_rows.dense_rows", refused)
    stumps = AdaBoostClassifier(n_estimators=5).fit(X, y)
    assert stumps.score(X, y) >= max(y.mean(), 1 - y.mean())
    trees = AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)
    assert np.isfinite(trees.predict(X)).all()
    learner = AdaBoostClassifier(MultinomialNB(), n_estimators=3).fit(X, y)
    assert learner.score(X, y) >= stumps.score(X, y)


def test_learners_that_take_no_sparse_rows_see_dense_ones():
    X, y, _ = sparse_table()
    model = AdaBoostClassifier(GaussianNB(), n_estimators=3)
    want = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(sp.csr_array(X), y).predict(sp.csr_array(X)), want)


def test_a_threshold_between_neighbouring_float32_values():
    low = np.float32(1) + np.float32(2**-23)
    X = np.array([low, np.nextafter(low, np.float32(2))], np.float32)[:, None]
    model = AdaBoostClassifier(n_estimators=1).fit(X, [0, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 1])


@pytest.mark.parametrize("learner", [None, kg.DecisionTreeRegressor(max_depth=3)])
def test_importances_of_regression(learner):
    X = np.random.default_rng(0).standard_normal((200, 4))
    model = AdaBoostRegressor(learner, n_estimators=5, random_state=0).fit(X, X[:, 1] + X[:, 2] / 2)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1)
    assert np.argsort(found)[::-1][:2].tolist() == [1, 2]
