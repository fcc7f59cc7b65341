"""Trees: plain arrays predict as scikit-learn does, and nothing compiled is in files."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score

from kilogram.evaluation.grouped_fits import fit_rows
from kilogram.evaluation.search import Search
from kilogram.kitchen.recipes import tree_search
from kilogram.kitchen.recipes.forests import ForestClassifier, ForestRegressor
from kilogram.kitchen.recipes.tree_predictions import predict_trees
from kilogram.kitchen.recipes.tree_search import TreeSearchClassifier, TreeSearchRegressor
from kilogram.models.trees.tree_arrays import tree_outputs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
X[::7, 1] = np.nan
Y = np.where(X[:, 0] > 0.3, 3.0, -1.0) + 0.2 * RNG.normal(size=160)


@pytest.mark.parametrize("kind", ["forest", "boosting"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_arrays_predict_as_the_trees_do(kind, classes, monkeypatch):
    monkeypatch.setattr(tree_search, "SHORT", 0)
    monkeypatch.setattr(
        tree_search,
        "BOOSTING",
        {"max_leaf_nodes": [7, 31], "learning_rate": [0.2]},
    )
    monkeypatch.setattr(tree_search, "START", {"max_leaf_nodes": 31, "learning_rate": 0.2})
    y = Y if not classes else np.digitize(Y, [0.0, 3.0][: classes - 1])
    model = (TreeSearchClassifier if classes else TreeSearchRegressor)(kind).fit(X, y)
    again = pickle.loads(pickle.dumps(model))  # the state that a model file holds
    assert again.model_ is None
    new = np.random.default_rng(2).normal(size=(300, 4))
    new[::5, 2] = np.nan
    assert again.predict(new) == pytest.approx(model.predict(new), abs=1e-9)
    if classes:
        margin = model.decision_function(new)
        assert again.decision_function(new) == pytest.approx(margin, abs=1e-9)
        assert margin.shape == ((300,) if classes == 2 else (300, 3))
    assert model.score(X, y) > 0.6
    assert model.tried_ >= 2
    for side in ("left", "right"):
        again.arrays_[side] = again.arrays_[side] + 10**6
    with pytest.raises(IndexError):
        again.predict(new)


def test_the_winner_grows_on_to_the_whole_forest():
    """The first trees choose the leaf; the forest is then one of all trees."""
    found = TreeSearchRegressor().fit(X, Y)
    leaf = found.best_params_["min_samples_leaf"]
    whole = ForestRegressor(tree_search.TREES, max_features=0.5,
                            min_samples_leaf=leaf, oob_score=True,
                            random_state=0).fit(X, Y)  # fmt: skip
    assert np.array_equal(found.predict(X), whole.predict(X))
    assert found.best_score_ == pytest.approx(whole.oob_score_)


def test_margins_are_parts_of_a_standard_error():
    """Where R2 is near 1 a margin in R2 itself would keep any settings whatever others bring."""
    usual, better = {"learning_rate": 0.05, "max_iter": 10}, {"learning_rate": 0.1, "max_iter": 100}
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (150, 1))
    y = 10 * np.sign(x[:, 0]) + x[:, 0] + 0.01 * rng.normal(size=150)
    model = TreeSearchRegressor("boosting")._boosted().set_params(min_samples_leaf=5)
    space = {name: [usual[name], better[name]] for name in usual}
    margin = partial(tree_search.tuning_margin, rows=150, scoring="r2")
    found = Search(model, space, method="grid", cv=3, start=(usual,), margin=margin).fit(x, y)
    assert found.best_params_ == better
    assert margin(0.99) == pytest.approx(0.1 * 0.01 / np.sqrt(150))
    for scoring, score, error in [("accuracy", 0.75, 0.5), ("log_loss", -0.4, 0.4)]:
        assert tree_search.tuning_margin(score, 100, scoring, 1.0) == pytest.approx(error / 10)


def test_boosting_minimises_what_is_asked_for():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (400, 1))
    y = rng.exponential(size=400)  # median and mean differ: log 2 and 1
    found = {loss: TreeSearchRegressor("boosting", loss=loss, trials=1).fit(x, y).predict(x).mean()
             for loss in ("squared", "absolute")}  # fmt: skip
    assert found["absolute"] < 0.85 < found["squared"]
    with pytest.raises(ValueError, match='kind must be "forest" or "boosting"'):
        TreeSearchRegressor("tree").fit(x, y)


def test_the_probability_of_a_class_that_was_not_learnt_is_small_but_not_zero():
    model = TreeSearchClassifier("boosting", trials=1).fit(X, (X[:, 0] > 0).astype(int))
    P = model.model_.predict_proba(X)
    expected = np.mean(np.log(np.maximum(P[np.arange(160), (X[:, 0] > 0).astype(int)], 1e-6)))
    score = tree_search.log_loss_score(model.model_, X, (X[:, 0] > 0).astype(int))
    assert score == pytest.approx(expected)
    assert tree_search.log_loss_score(model.model_, X, np.full(160, 7)) == pytest.approx(
        np.log(1e-6)
    )


def test_gaps_go_to_the_side_that_serves():
    """As the peer has it: with the low, with the high, or apart; new gaps with the larger part."""
    rng = np.random.default_rng(5)
    x = np.where(np.arange(300) % 3 == 0, np.nan, rng.uniform(-1, 1, 300))
    for y in (np.isnan(x) | (x < 0), np.isnan(x) | (x > 0.5), np.isnan(x)):
        forest = ForestClassifier(10, random_state=0, max_features=None).fit(x[:, None], y)
        assert forest.score(x[:, None], y) == 1.0
        assert forest.predict([[np.nan], [2.0], [-2.0]]).tolist() == [
            True, bool(y[np.nanargmax(x)]), bool(y[np.nanargmin(x)])
        ]  # fmt: skip
    whole = rng.uniform(-1, 1, (200, 2))
    forest = ForestClassifier(10, random_state=0).fit(whole, whole[:, 0] > 0.6)
    assert not forest.predict([[np.nan, 0.0]])[0]
    held = X.copy()
    forest = ForestRegressor(20, random_state=0).fit(held, Y)
    peer = RandomForestRegressor(100, random_state=0, oob_score=True).fit(held, Y)
    ours = ForestRegressor(100, random_state=0, oob_score=True).fit(held, Y)
    assert ours.oob_score_ == pytest.approx(peer.oob_score_, abs=0.03)
    assert tree_outputs(forest.arrays(), held)[:, 0] == pytest.approx(
        forest.predict(held), abs=1e-12
    )


def test_rare_classes_and_groups(monkeypatch):
    monkeypatch.setattr(tree_search, "TREES", 50)
    rng = np.random.default_rng(1)
    y = (X[:, 0] > 1.2).astype(int)
    found = {b: TreeSearchClassifier(balanced=b).fit(X[:, :1] + 0.8 * rng.normal(size=(160, 1)), y)
             for b in (False, True)}  # fmt: skip
    assert found[True].predict(X[:, :1]).sum() > found[False].predict(X[:, :1]).sum()
    assert 0 <= balanced_accuracy_score(y, found[True].predict(X[:, :1])) <= 1
    groups = np.repeat(np.arange(16), 10)
    level = rng.normal(size=16)[groups]
    name = np.column_stack([groups, rng.normal(size=160)]).astype(float)
    torn = TreeSearchRegressor().fit(name, level)
    whole = fit_rows(TreeSearchRegressor(), name, level, {"groups": groups})
    assert torn.best_score_ > 0.6 > 0.3 > whole.best_score_


@pytest.mark.parametrize("labels", [0, 2, 3])
@pytest.mark.parametrize("boosted", [True, False])
def test_a_few_rows_go_through_all_trees_at_once(labels, boosted, monkeypatch):
    """The same bits as tree after tree, missing values included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[::7, 1] = np.nan
    y = X[:, 0] + rng.normal(size=120) if not labels else np.arange(120) % labels
    model = (TreeSearchClassifier if labels else TreeSearchRegressor)()
    if boosted:
        arrays = model._boosted().set_params(max_iter=20).fit(X, y).ensemble_.arrays()
    else:
        arrays = model._grown(2).set_params(n_estimators=20, oob_score=False).fit(X, y).arrays()
    rows = X[:30]
    expected = tree_outputs(arrays, rows)
    assert np.array_equal(predict_trees(arrays, rows), expected)
    assert np.array_equal(predict_trees(arrays, rows[:1]), expected[:1])
    monkeypatch.setattr("kilogram.kitchen.recipes.tree_predictions.MAX_PAIRS", 0)
    assert np.array_equal(predict_trees(arrays, rows), expected)
