"""Costs as the measure: read in every form, they drive tuning, choice, verdict and decisions."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kilogram.cli import app
from kilogram.kitchen import CookClassifier, KitchenError, cook
from kilogram.kitchen.artifact.model_file import load_model
from kilogram.kitchen.artifact.recipe_file import load_recipe
from kilogram.kitchen.costs import CostScore, as_literal, least_cost, mean_cost, read_costs, steps
from kilogram.kitchen.recipes.ridge_search import RidgeSearchClassifier
from kilogram.kitchen.recipes.tree_search import TreeSearchClassifier
from kilogram.kitchen.report.facts import facts
from tests.kitchen.conftest import QUICK, classes

THREE = ("p", "q", "r")
MATRIX = [[0, 1, 9], [2, 0, 9], [1, 1, 0]]


def overlapping(rows=160, seed=0):
    """Two classes that overlap, a third of the rows of the rarer one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    bad = 2 * X[:, 0] + rng.logistic(size=rows) > 1.5
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(bad, "bad", "good")})


def test_every_form_gives_the_same_matrix(tmp_path):
    frame = pd.DataFrame(MATRIX, index=THREE, columns=THREE)
    shuffled = frame.loc[["r", "p", "q"], ["q", "r", "p"]]
    path = tmp_path / "costs.csv"
    shuffled.to_csv(path, index_label="observed")
    forms = ["0,1,9;2,0,9;1,1,0", MATRIX, np.array(MATRIX), shuffled, path, str(path),
             shuffled.to_dict("index"), shuffled.reset_index(names="observed")]  # fmt: skip
    for given in forms:
        assert np.array_equal(read_costs(given, THREE, 0), MATRIX)
    assert read_costs(as_literal(read_costs(MATRIX, THREE, 0)), THREE, 0) == tuple(
        tuple(map(float, row)) for row in MATRIX
    )


def test_two_numbers_are_false_alarm_and_miss_of_the_rarer_class():
    assert read_costs("1,5", ("bad", "good"), 0) == ((0.0, 5.0), (1.0, 0.0))
    assert read_costs("1,5", ("bad", "good"), 1) == ((0.0, 1.0), (5.0, 0.0))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("1,5", "Two costs are for two classes"),
        ("0,1;1,0", "of 2 classes; the target has 3"),
        ("0,1,x;1,0,1;1,1,0", "cost must be"),
        ("0,1,2;1,0,2", "square"),
        ([[0, 1], [1]], "cost must be"),
        ("0,-1,2;1,0,2;1,1,0", "non-negative"),
        ("0,1,nan;1,0,2;1,1,0", "non-negative"),
        ("5,1,1;1,0,1;1,1,0", "right class must cost least.*'p'"),
        ("1,1,1;2,2,2;1,1,1", "nothing to decide"),
        ({"p": {"x": 1}}, "name 'x'"),
        ({"p": {"q": 1}}, "lack that of predicting"),
        ("no-such-file.csv", "no-such-file.csv"),
    ],
)
def test_costs_that_are_none(given, word):
    with pytest.raises(KitchenError, match=word):
        read_costs(given, THREE, 0)


def test_decision_is_that_of_least_expected_cost():
    P = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    C = np.random.default_rng(1).uniform(1, 3, (4, 4)) * (1 - np.eye(4))
    expected = [[sum(p[i] * C[i, j] for i in range(4)) for j in range(4)] for p in P]
    assert np.array_equal(least_cost(P, C), np.argmin(expected, axis=1))
    assert np.array_equal(least_cost(P, 1 - np.eye(4)), np.argmax(P, axis=1))
    # ordered classes: the median of the distribution
    median = [int(np.searchsorted(np.cumsum(p), 0.5)) for p in P]
    assert np.array_equal(least_cost(P, steps(4, 1)), median)


def test_costs_change_what_is_tuned():
    frame = overlapping()
    X, y = frame[["a", "b"]].to_numpy(), (frame["y"] == "good").to_numpy().astype(int)
    C = ((0.0, 8.0), (1.0, 0.0))
    plain, dear = (RidgeSearchClassifier(costs=costs).fit(X, y) for costs in ((), C))
    assert mean_cost(y, dear.predict(X), C) < mean_cost(y, plain.predict(X), C)
    assert -8 <= dear.best_score_ <= 0
    forest = TreeSearchClassifier(costs=C).fit(X, y)
    assert -8 <= forest.best_score_ <= 0
    assert CostScore(C)(forest, X, y) <= 0


@pytest.fixture(scope="module")
def by_cost():
    how = QUICK | {"folds": 4, "recipes": ["linear", "logistic"]}
    return cook(overlapping(), "y", cost="1,6", **how)


def test_costs_are_the_measure(by_cost):
    assert by_cost.measure.name == "cost"
    assert "cost per row" in by_cost.verdict[0]
    assert by_cost.settings.cost == "0,6;1,0"
    C = np.array([[0.0, 6.0], [1.0, 0.0]])
    base = by_cost.judged[0]
    rate = np.mean(base.y == 0)
    assert base.score.mean == pytest.approx(min(6 * rate, 1 - rate))  # the cheaper constant
    rows, decided = by_cost.chosen.held_out
    assert by_cost.chosen.score.mean == pytest.approx(mean_cost(by_cost.chosen.y[rows], decided, C))
    assert by_cost.chosen.score.mean < base.score.mean
    found = facts(by_cost)
    counts = {one["name"]: one["predicted"] for one in found["trust"]["classes"]}
    assert counts["bad"] == np.sum(decided == 0)


def test_predictions_are_decisions(by_cost, tmp_path):
    rows = overlapping(60, seed=5).drop(columns="y")
    table = by_cost.predict_table(rows).to_pandas()
    P = table[["P(bad)", "P(good)"]].to_numpy()
    flagged = 6 * P[:, 0] > P[:, 1]
    assert np.array_equal(table["predicted y"] == "bad", flagged)
    assert np.any(flagged & (P[:, 0] < 0.5))  # not the most probable class
    cost = np.where(flagged, P[:, 1], 6 * P[:, 0])
    assert table["expected cost"].to_numpy() == pytest.approx(cost)
    assert np.array_equal(by_cost.predict(rows), table["predicted y"])
    by_cost.save(tmp_path)
    stored = load_model(tmp_path / "model.skops")
    assert np.array_equal(stored.predict(rows), table["predicted y"])
    again = load_recipe(tmp_path / "recipe.toml").keywords
    assert again["cost"] == "0,6;1,0"
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["settings"]["cost"] == "0,6;1,0"


def test_export_decides_by_costs(by_cost):
    pytest.importorskip("onnxruntime")
    from kilogram.kitchen.export import export_model

    assert export_model(by_cost.model).agreed == 1


def test_command_line_takes_a_file(tmp_path):
    overlapping().to_csv(tmp_path / "t.csv", index=False)
    costs = pd.DataFrame([[0, 6], [1, 0]], index=["bad", "good"], columns=["bad", "good"])
    costs.to_csv(tmp_path / "costs.csv", index_label="observed")
    out = tmp_path / "out"
    how = ["--folds", "2", "--repeats", "1", "--search", "path", "--recipes", "linear"]
    run = CliRunner().invoke(app, ["cook", str(tmp_path / "t.csv"), "-t", "y", *how, "--cost",
                                   str(tmp_path / "costs.csv"), "--out", str(out)])  # fmt: skip
    assert run.exit_code == 0, run.output
    assert "cost per row" in run.output
    run = CliRunner().invoke(app, ["predict", str(out / "model.skops"), str(tmp_path / "t.csv")])
    assert run.exit_code == 0
    assert "expected cost" in run.output
    assert "cost per row of the predictions of 'y'" in run.output
    run = CliRunner().invoke(app, ["cook", "--recipe", str(out / "recipe.toml"), "--out",
                                   str(tmp_path / "again")])  # fmt: skip
    assert run.exit_code == 0, run.output
    first, again = (
        json.loads((tmp_path / name / "report.json").read_text()) for name in ("out", "again")
    )
    assert first["recipes"][1]["score"] == again["recipes"][1]["score"]


def test_costs_are_for_classes():
    frame = classes(60)
    with pytest.raises(KitchenError, match="Costs are for classes"):
        cook(frame, "a", cost="1,5", **QUICK)
    with pytest.raises(KitchenError, match="costs or a measure"):
        cook(frame, "kind", cost=MATRIX, measure="f1", **QUICK)
    with pytest.raises(KitchenError, match="needs the costs"):
        cook(frame, "kind", measure="cost", **QUICK)


def test_estimator_takes_costs():
    frame = overlapping()
    X, y = frame[["a", "b"]], (frame["y"] == "bad").to_numpy()
    how = {"folds": 2, "repeats": 1, "search": "path", "recipes": ["linear"]}
    plain = CookClassifier(**how).fit(X, y)
    dear = CookClassifier(cost=[[0, 1], [6, 0]], **how).fit(X, y)
    assert dear.predict(X).sum() > plain.predict(X).sum()
