"""Trees and forests beside scikit-learn's, pruning, out-of-bag predictions, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble, tree
from sklearn.datasets import load_digits, load_iris

import kilogram as kg


def smooth(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("params", [{}, {"max_depth": 4}, {"min_samples_leaf": 7},
                                    {"min_samples_split": 0.1}, {"min_impurity_decrease": 0.01},
                                    {"ccp_alpha": 0.003}])  # fmt: skip
def test_a_regression_tree_agrees_with_scikit_learn(params):
    X, y = smooth(300, 4)
    ours = kg.DecisionTreeRegressor(**params).fit(X, y)
    peer = tree.DecisionTreeRegressor(random_state=0, **params).fit(X, y)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-10)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=0.05)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_a_decision_tree_agrees_with_scikit_learn(criterion, weight):
    X, y = load_iris(return_X_y=True)
    params = {"criterion": criterion, "max_depth": 3, "class_weight": weight}
    ours = kg.DecisionTreeClassifier(**params).fit(X, y)
    peer = tree.DecisionTreeClassifier(random_state=0, **params).fit(X, y)
    same = np.isclose(ours.predict_proba(X), peer.predict_proba(X)).all(axis=1)
    assert same.mean() > 0.97  # of equal cuts the peer draws one


def test_forests_predict_as_well_as_the_peer():
    X, y = load_digits(return_X_y=True)
    ours = kg.RandomForestClassifier(60, random_state=0, oob_score=True).fit(X[::2], y[::2])
    peer = ensemble.RandomForestClassifier(60, random_state=0).fit(X[::2], y[::2])
    assert ours.score(X[1::2], y[1::2]) > peer.score(X[1::2], y[1::2]) - 0.015
    assert ours.oob_score_ == pytest.approx(ours.score(X[1::2], y[1::2]), abs=0.03)
    X, y = smooth(600, 5)
    new, target = smooth(1000, 5, seed=1)
    ours = kg.RandomForestRegressor(60, random_state=0, oob_score=True).fit(X, y)
    peer = ensemble.RandomForestRegressor(60, random_state=0).fit(X, y)
    assert ours.oob_score_ == pytest.approx(ours.score(new, target), abs=0.06)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=0.05)


def test_regression_forests_predict_as_well_as_the_peer():
    """In the mean of several samples: on one of 600 rows two forests differ by 0.03."""
    gains = []
    for seed in (0, 10, 20, 30):
        (X, y), (new, target) = smooth(600, 5, seed=seed), smooth(1000, 5, seed=seed + 1)
        ours = kg.RandomForestRegressor(60, random_state=0).fit(X, y)
        peer = ensemble.RandomForestRegressor(60, random_state=0).fit(X, y)
        gains.append(ours.score(new, target) - peer.score(new, target))
    assert np.mean(gains) > -0.02


def test_out_of_bag_predictions_come_from_trees_that_did_not_draw_the_row():
    X, y = smooth(50, 3)
    forest = kg.RandomForestRegressor(40, random_state=0, oob_score=True).fit(X, y)
    from kilogram.models.trees.forest import bootstrap_counts

    away = np.stack([bootstrap_counts(int(s), 50, 50) == 0 for s in forest._seeds])
    each = np.stack([forest.trees_.one(t).mean(X)[:, 0] for t in range(40)])
    want = (away * each).sum(axis=0) / away.sum(axis=0)
    np.testing.assert_allclose(forest.oob_prediction_, want)
    with pytest.warns(match="OOB scores"):
        few = kg.RandomForestRegressor(2, random_state=0, oob_score=True).fit(X, y)
    assert np.isnan(few.oob_prediction_).any()
    assert np.isfinite(few.oob_score_)


def test_forests_do_not_depend_on_threads_and_sparse_rows_are_rows():
    X, y = smooth(200, 6)
    X = np.where(X < 0.3, 0.0, X)
    one = kg.RandomForestRegressor(10, random_state=3, n_jobs=1).fit(X, y)
    two = kg.RandomForestRegressor(10, random_state=3, n_jobs=2).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(one.predict(X), two.predict(sp.csr_array(X)))


def test_increasing_functions_of_a_column_change_nothing():
    X, y = smooth(200, 3)
    one = kg.DecisionTreeRegressor().fit(X, y)
    two = kg.DecisionTreeRegressor().fit(np.exp(3 * X), y)
    np.testing.assert_array_equal(one.predict(X), two.predict(np.exp(3 * X)))


def test_targets_far_from_zero_keep_their_digits():
    X, y = smooth(200, 3)
    near = kg.DecisionTreeRegressor(min_samples_leaf=5).fit(X, y).predict(X)
    far = kg.DecisionTreeRegressor(min_samples_leaf=5).fit(X, y + 1e8).predict(X)
    np.testing.assert_allclose(far - 1e8, near, atol=1e-6)


@pytest.mark.parametrize("size", [1e-250, 1e-120, 1e250])
def test_targets_whose_squares_leave_the_range_of_floats(size):
    X, y = smooth(100, 3)
    want = kg.DecisionTreeRegressor(max_depth=3).fit(X, y).predict(X)
    got = kg.DecisionTreeRegressor(max_depth=3).fit(X, y * size).predict(X)
    np.testing.assert_allclose(got / size, want, rtol=1e-9)


def test_xor_needs_a_split_that_gains_nothing():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert kg.DecisionTreeClassifier().fit(X, [0, 1, 1, 0]).score(X, [0, 1, 1, 0]) == 1.0


def test_one_class_and_one_value():
    X = np.arange(6.0)[:, None]
    model = kg.DecisionTreeClassifier().fit(X, ["a"] * 6)
    assert model.predict(X).tolist() == ["a"] * 6
    assert model.get_n_leaves() == 1
    same = kg.RandomForestRegressor(3, random_state=0).fit(np.ones((6, 2)), np.arange(6.0))
    assert np.ptp(same.predict(np.ones((6, 2)))) == 0


def test_pruned_trees_use_all_rows():
    X, y = smooth(300, 3)
    y = y + np.random.default_rng(0).standard_normal(300)
    model = kg.DecisionTreeRegressor(prune="held_out", random_state=0).fit(X, y)
    leaf = model.apply(X)
    for one in np.unique(leaf):
        assert model.predict(X)[leaf == one][0] == pytest.approx(y[leaf == one].mean())
    assert model.trees_.weight[0] == 300


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"criterion": "gini"}, "criterion"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.7}, "min_weight"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": "half"}, "max_features"),
        ({"ccp_alpha": -1.0}, "ccp_alpha"),
        ({"prune": "hard"}, "prune"),
    ],
)
def test_bad_parameters_of_trees(params, match):
    with pytest.raises(ValueError, match=match):
        kg.DecisionTreeRegressor(**params).fit(*smooth(20, 3))


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"bootstrap": False, "oob_score": True}, "bootstrap"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_of_forests(params, match):
    with pytest.raises(ValueError, match=match):
        kg.RandomForestRegressor(**params).fit(*smooth(20, 3))
