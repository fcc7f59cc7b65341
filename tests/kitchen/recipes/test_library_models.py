"""Recipes by name, and runs that are repeated exactly."""

import math

import numpy as np
import pandas as pd
import pytest

from kilogram import LogisticRegressionCV
from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.archive import dumps, loads
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.artifact.recipe_file import load_recipe
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.recipes.library_models import RareClassFolds
from kilogram.kitchen.settings import RECIPES
from tests.kitchen.conftest import classes, curved

NUMBERS = ("lasso", "elastic_net", "huber", "knn", "svm", "network", "boosting")
CLASSES = ("naive_bayes", "logistic", "knn", "svm", "network", "boosting")


@pytest.mark.parametrize(
    ("frame", "target", "names"),
    [(curved(90), "y", NUMBERS), (classes(90), "kind", CLASSES)],
)
def test_named_recipes_are_compared_kept_and_read_again(frame, target, names, tmp_path):
    cooked = cook(frame, target, recipes=names, folds=2, repeats=1, search="path")
    shown = [one.name for one in cooked.judged]
    assert shown == ["baseline", *(name for name in RECIPES if name in names)]
    cooked.save(tmp_path)
    model = load_model(tmp_path / "model.skops")
    assert np.array_equal(model.predict(frame), cooked.predict(frame))
    for one in cooked.judged[1:]:
        pipeline = one.first_round[0].model
        X = cooked.model.layout.array(read_table(frame).data)
        assert np.array_equal(loads(dumps(pipeline)).predict(X), pipeline.predict(X))
        if target == "kind":
            P = one.outputs(MEASURES["log_loss"])[1]
            assert np.allclose(P.sum(axis=1), 1)


def test_the_network_learns_what_is_curved_at_any_scale_of_the_target():
    """The linear recipe misses the curve."""
    frame = curved(150)
    frame["y"] = 1e6 * frame["y"] + 1e7
    cooked = cook(frame, "y", recipes=["linear", "network"], folds=2, repeats=1, keep="network")
    scores = {one.name: one.score.mean for one in cooked.judged}
    assert scores["network"] > max(scores["linear"], scores["baseline"]) + 0.1


@pytest.mark.parametrize(
    ("frame", "target", "folds"), [(classes(300), "kind", 5), (curved(300), "y", 2)]
)
def test_neighbours_have_learning_curves(frame, target, folds):
    """No candidate asks for more neighbours than an eighth of the rows has in an inner fold."""
    cooked = cook(frame, target, recipes=["knn"], folds=folds, repeats=1)
    assert cooked.judged[-1].name == "knn"
    assert cooked.evidence.learning.sizes[0] < 40


def test_folds_of_rare_classes():
    """A class of one row is never left out; of others some rows always stay."""
    y = np.array([0] * 10 + [1] * 2 + [2])
    splits = list(RareClassFolds().split(y[:, None], y))
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(12))
    for train, test in splits:
        assert set(y[train]) == {0, 1, 2}
        assert not set(train) & set(test)
    X = np.random.default_rng(0).normal(size=(13, 2)) + y[:, None]
    assert LogisticRegressionCV(cv=RareClassFolds()).fit(X, y).classes_.tolist() == [0, 1, 2]


def test_recipes_that_do_not_suit():
    with pytest.raises(KitchenError, match="lasso is for regression"):
        cook(classes(60), "kind", recipes=["lasso"])
    with pytest.raises(KitchenError, match="recipes must be one of"):
        cook(classes(60), "kind", recipes=["forest"])


def test_a_recipe_holds_what_was_done(tmp_path):
    """Folds that the time limit left out stay out, and no time limit changes the repetition."""
    cooked = cook(curved(60), "y", folds=3, repeats=1, outer_folds=2, search="path")
    cooked.save(tmp_path)
    found = load_recipe(tmp_path / "recipe.toml").keywords
    assert found["outer_folds"] == 2
    assert found["max_time"] == math.inf
    again = cook(curved(60), "y", **found)
    for one, other in zip(cooked.judged, again.judged, strict=True):
        assert one.score == other.score
        assert np.array_equal(one.held_out[1], other.held_out[1])


def test_whole_numbers_that_may_be_classes_are_pointed_out():
    frame = pd.DataFrame({"a": np.arange(60.0), "class": np.arange(60) % 20})
    notes = cook(frame, "class", folds=2, repeats=1, search="path", recipes=["linear"]).notes
    assert any("--task classification" in note for note in notes)
