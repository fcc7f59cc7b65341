"""The ensemble of the recipes: weights, an honest score, and a model like any other."""

import json

import numpy as np
import pandas as pd
import pytest

from kilogram.evaluation.nested import Fold, Nested
from kilogram.kitchen import KitchenError, cook, load_model
from kilogram.kitchen.archive import TRUSTED_TYPES
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.ensembles import _folds, ensemble
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.recipes.ensemble import greedy_weights
from kilogram.kitchen.recipes.recipe import Recipe
from tests.kitchen.conftest import QUICK


def squared(y):
    return lambda f: float(np.mean((f - y) ** 2))


def test_greedy_weights_come_near_the_best_mean():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2000)
    errors = rng.normal(size=(3, 2000)) * np.array([[1.0], [0.5], [5.0]])
    weights = greedy_weights(squared(y), list(y + errors))
    assert weights.sum() == pytest.approx(1)
    assert weights == pytest.approx([0.2, 0.8, 0.0], abs=0.05)  # inverse variances


def test_one_member_alone_is_kept_where_the_others_only_harm():
    y = np.arange(50.0)
    assert greedy_weights(squared(y), [y, y + 3, y + 5]).tolist() == [1, 0, 0]


def fake(name, predictions, y, parts, along=None, model=None):
    folds = tuple(
        Fold(
            0.0,
            None,
            {},
            np.setdiff1d(np.arange(len(y)), part),
            part,
            predictions[part],
            1.0,
            model,
        )
        for part in parts
    )
    recipe = Recipe(name, name, "", None)
    return EvaluatedRecipe(recipe, Nested(folds), MEASURES["r2"], y, along)


def test_no_row_has_a_part_in_the_weights_it_is_predicted_with():
    """What is left out of the targets of one fold changes its weights, but not its own."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    a, b = y + rng.normal(size=60), y + rng.normal(size=60)
    parts = np.split(np.arange(60), 3)
    before = _folds([fake("a", a, y, parts), fake("b", b, y, parts)])
    z = y.copy()
    z[parts[1]] = b[parts[1]]  # b is perfect there
    after = _folds([fake("a", a, z, parts), fake("b", b, z, parts)])
    assert np.array_equal(before[1].prediction, after[1].prediction)
    assert not np.array_equal(before[0].prediction, after[0].prediction)


def test_along_time_weights_come_from_earlier_folds_only():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    a, b = y + rng.normal(size=60), y + rng.normal(size=60)
    parts = np.split(np.arange(60), 3)
    along = {"moments": np.arange(60.0)}
    found = _folds([fake("a", a, y, parts, along=along), fake("b", b, y, parts, along=along)])
    assert found[0].winner == {"a": 0.5, "b": 0.5}
    assert found[0].prediction == pytest.approx((a + b)[parts[0]] / 2)
    z = y.copy()
    z[parts[2]] = b[parts[2]]
    later = _folds([fake("a", a, z, parts, along=along), fake("b", b, z, parts, along=along)])
    assert np.array_equal(found[1].prediction, later[1].prediction)


def test_fewer_than_two_able_recipes_have_no_ensemble():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    parts = np.split(np.arange(60), 3)
    able, noise = y + 0.1 * rng.normal(size=60), rng.normal(size=60)
    each = {"baseline": np.zeros(60), "a": able, "b": noise}
    judged = tuple(fake(name, f, y, parts, model=object()) for name, f in each.items())
    assert ensemble(judged) is None


def two_parts(n=100, seed=0):
    """A line that trees miss and a jump that the line misses."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 2 * X[:, 0] + 2 * (X[:, 1] > 0) * (X[:, 2] > 0) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})


RECIPES = {"recipes": ["linear", "trees", "ensemble"], "keep": "ensemble"}


@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_it_is_saved_and_predicts_like_any_model(kind, tmp_path):
    frame = two_parts()
    if kind != "number":
        cuts = [1.0] if kind == "two" else [-1.0, 1.5]
        frame["y"] = np.array(["low", "middle", "high"])[np.digitize(frame["y"], cuts)]
    found = cook(frame, "y", **QUICK, **RECIPES)
    assert [one.name for one in found.judged] == ["baseline", "linear", "trees", "ensemble"]
    assert found.model.about["recipe"] == "ensemble"
    assert sum(found.model.about["winner"].values()) == pytest.approx(1)
    files = found.save(tmp_path)
    model = load_model(files["model.skops"])
    head = frame.drop(columns="y").head(20)
    if kind == "number":
        assert model.predict(head) == pytest.approx(found.predict(head))
    else:
        assert model.predict(head).tolist() == found.predict(head).tolist()
    predicted = found.predict_table(head)
    if kind == "number":
        assert np.all(np.array(predicted["low y"]) < np.array(predicted["high y"]))
    else:
        assert sum(np.array(predicted[f"P({c})"]) for c in model.classes) == pytest.approx(1)
    facts = json.loads(files["report.json"].read_text())
    assert facts["recipes"][-1]["name"] == "ensemble"


def test_it_is_chosen_only_where_it_beats_the_best_recipe():
    found = cook(two_parts(), "y", **QUICK, recipes=["linear", "trees", "ensemble"])
    one, best = found.judged[-1], max(found.judged[1:-1], key=lambda r: r.score.mean)
    ahead = one.against(best)
    kept = ahead.lead > 1 or ahead.difference.mean > 0.1 * one.against(
        found.judged[0]).difference.mean  # fmt: skip
    assert (found.chosen.name == "ensemble") == (kept and one.score.mean > best.score.mean)
    assert one.optimism is not None


def test_other_recipes_asked_for_alone_have_none_and_it_needs_others():
    found = cook(two_parts(60), "y", **QUICK, recipes=["linear", "lasso"])
    assert [one.name for one in found.judged] == ["baseline", "lasso", "linear"]
    with pytest.raises(KitchenError, match="at least two other recipes"):
        cook(two_parts(60), "y", **QUICK, recipes=["linear", "ensemble"])


def test_its_types_are_trusted():
    assert {t for t in TRUSTED_TYPES if ".ensemble.Ensemble" in t} == {
        "kilogram.kitchen.recipes.ensemble.EnsembleClassifier",
        "kilogram.kitchen.recipes.ensemble.EnsembleRegressor",
    }
