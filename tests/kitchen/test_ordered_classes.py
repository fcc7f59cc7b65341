"""Ordered classes as the target: their order, their model and their measures."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.question import make_question, natural_order
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.recipes.cumulative_logit import CumulativeLogit, objective
from tests.kitchen.conftest import QUICK, classes

LEVELS = np.array(["low", "medium", "high", "very high"])


def rated(rows=200, seed=0):
    """Four ordered classes along one direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    z = X @ [1.5, 1.0, 0.0] + rng.logistic(size=rows)
    frame = pd.DataFrame(X, columns=list("abc"))
    return frame.assign(place=np.digitize(z, [-2, 0, 2]))


def worded(rows=200, seed=0):
    frame = rated(rows, seed)
    return frame.drop(columns="place").assign(y=LEVELS[frame["place"]])


def test_gradient_of_the_cumulative_logit():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    p = rng.normal(size=6)
    slope = approx_fprime(p, lambda q: objective(q, X, codes, 0.3)[0], 1e-7)
    assert objective(p, X, codes, 0.3)[1] == pytest.approx(slope, abs=1e-5)


def test_objective_agrees_with_the_formula():
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    w, t = np.array([0.5, -1.0]), np.array([-0.3, 0.8])
    p = np.concatenate([w, t[:1], np.log(np.diff(t))])
    total = 0.0
    for row, k in zip(X, codes, strict=True):
        up = 1.0 if k == 2 else expit(t[k] - row @ w)
        down = 0.0 if k == 0 else expit(t[k - 1] - row @ w)
        total -= np.log(up - down) / len(X)
    assert objective(p, X, codes, 0.1)[0] == pytest.approx(total + 0.05 * w @ w)


def test_cumulative_logit_finds_the_truth():
    frame = rated(20_000)
    model = CumulativeLogit(alpha=1e-6).fit(frame[list("abc")].to_numpy(), frame["place"])
    assert model.coef_ == pytest.approx([1.5, 1.0, 0.0], abs=0.1)
    assert model.thresholds_ == pytest.approx([-2, 0, 2], abs=0.1)
    P = model.predict_proba(frame[list("abc")].to_numpy())
    assert P.sum(axis=1) == pytest.approx(1)
    assert np.bincount(frame["place"]) / len(frame) == pytest.approx(P.mean(axis=0), abs=1e-3)


def test_two_classes_are_logistic_regression():
    from kilogram import LogisticRegression

    frame = rated()
    X, y = frame[list("abc")].to_numpy(), (frame["place"] > 1).to_numpy()
    model = CumulativeLogit(alpha=0.01).fit(X, y)
    other = LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-8).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-4)


def test_separated_classes_have_finite_coefficients():
    x = np.repeat([-5.0, 0.0, 5.0], 20)[:, None]
    model = CumulativeLogit().fit(x, np.repeat([0, 1, 2], 20))
    assert np.all(np.isfinite(model.coef_))
    assert np.array_equal(model.predict(x), np.repeat([0, 1, 2], 20))


def question(values, **how):
    return make_question(
        read_table(pd.DataFrame({"x": range(len(values)), "y": values})), "y", **how
    )


def test_order_of_classes():
    assert natural_order(("high", "low", "medium")) == ("low", "medium", "high")
    assert natural_order(("10", "2", "1")) == ("1", "2", "10")
    assert natural_order(("a", "b", "c")) == ()
    found = question(["low", "high", "medium"] * 20, task="ordinal")
    assert found.classes == ("low", "medium", "high")
    assert found.ordered
    assert found.task == "classification"
    assert found.y[:3].tolist() == [0, 2, 1]
    numbers = question([5, 1, 3] * 20, task="ordinal")
    assert numbers.classes == ("1", "3", "5")
    given = question(["a", "b", "c"] * 20, levels=("c", "a", "b"))
    assert given.y[:3].tolist() == [1, 2, 0]
    with pytest.raises(KitchenError, match="--ordinal y=LOWEST"):
        question(["a", "b", "c"] * 20, task="ordinal")
    with pytest.raises(KitchenError, match="lacks the classes 'c'"):
        question(["a", "b", "c"] * 20, levels=("a", "b"))
    with pytest.raises(KitchenError, match="its task is ordinal, not regression"):
        question([1, 2, 3] * 20, levels=("1", "2", "3"), task="regression")


@pytest.mark.parametrize(
    ("values", "proposed"),
    [
        (["low", "high", "medium"], True),
        ([1, 2, 3], True),
        (["a", "b", "c"], False),
        ([1, 5, 7], False),
        (["low", "high", "low"], False),
    ],
)
def test_order_is_proposed(values, proposed):
    notes = " ".join(question(values * 20).notes)
    assert ("--task ordinal" in notes) == proposed


def test_measures_of_ordered_classes():
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 4, 80), rng.integers(0, 4, 80)
    kappa = cohen_kappa_score(y, f, weights="quadratic")
    assert MEASURES["quadratic_kappa"].function(y, f) == pytest.approx(kappa)
    assert MEASURES["ordinal_error"].function(y, f) == pytest.approx(np.abs(y - f).mean())
    assert MEASURES["quadratic_kappa"].function(np.ones(5), np.ones(5)) == 0


@pytest.mark.parametrize("measure", [None, "qwk"])
def test_cook_ordered_classes(measure, tmp_path):
    frame = worded()
    cooked = cook(frame, "y", task="ordinal", measure=measure, recipes=["ordinal", "linear"],
                  folds=4, repeats=1, search="path")  # fmt: skip
    assert cooked.measure.name == ("quadratic_kappa" if measure else "ordinal_error")
    assert cooked.question.classes == tuple(LEVELS)
    base = cooked.judged[0]
    if measure is None:  # the baseline predicts the median class
        constant = min(np.abs(base.y - k).mean() for k in range(4))
        assert base.score.mean == pytest.approx(constant)
    assert cooked.chosen.name != "baseline"
    assert set(cooked.chosen.side()) >= {"accuracy"}
    table = cooked.predict_table(frame.head(30)).to_pandas()
    P = table[[f"P({name})" for name in LEVELS]].to_numpy()
    power = 2 if measure else 1
    place = np.arange(4)
    costs = np.abs(place[:, None] - place) ** power
    assert np.array_equal(table["predicted y"], LEVELS[np.argmin(P @ costs, axis=1)])
    assert "expected cost" not in table
    cooked.save(tmp_path)
    pytest.importorskip("onnxruntime")
    from kilogram.kitchen.export import export_model

    assert export_model(tmp_path / "model.skops").agreed == 1


def test_default_menu_of_ordered_classes():
    from kilogram import choose

    frame = worded(80)
    names = [one.name for one in choose(frame, "y", task="ordinal").menu]
    assert "ordinal" in names
    assert "ordinal" not in [one.name for one in choose(frame, "y").menu]


def test_ordinal_recipe_needs_an_order():
    with pytest.raises(KitchenError, match="ordered classes"):
        cook(classes(), "kind", recipes=["ordinal"], **QUICK)
    with pytest.raises(KitchenError, match="ordered classes"):
        cook(classes(), "kind", measure="ordinal_mae", **QUICK)


def test_order_of_the_target_beside_other_orders():
    frame = worded(120).assign(size=np.tile(["S", "M", "L"], 40))
    cooked = cook(frame, "y", ordinal={"y": LEVELS, "size": ["S", "M", "L"]},
                  recipes=["ordinal"], **QUICK)  # fmt: skip
    assert cooked.question.ordered
    kinds = {column.name: column.kind for column in cooked.model.layout.columns}
    assert kinds["size"] == "ordinal"
