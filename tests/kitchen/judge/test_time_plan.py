"""The time limit: a plan before the first fold, and at least the simplest recipe on two folds."""

import time

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from kilogram.kitchen import KitchenError
from kilogram.kitchen.judge.compare import judge
from kilogram.kitchen.judge.preparation import affordable_rows, sample
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.question import Question
from kilogram.kitchen.recipes.recipe import Recipe
from kilogram.kitchen.settings import Settings


class Clock:
    """A budget that ends after so many looks; a busy machine may sleep between any two."""

    def __init__(self, looks):
        self.looks, self.started = looks, time.perf_counter()

    @property
    def expired(self):
        self.looks -= 1
        return self.looks < 0

    @property
    def left(self):
        return 0.0 if self.looks <= 0 else 1e9


def evaluated(looks):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    recipes = tuple(
        Recipe(name, name, "", Pipeline([("model", model)]))
        for name, model in [("baseline", DummyRegressor()), ("linear", LinearRegression()),
                            ("kernel", LinearRegression()), ("trees", LinearRegression())]
    )  # fmt: skip
    splits = list(KFold(5).split(X))
    return judge(recipes, X, y, MEASURES["r2"], splits, first_round=5, budget=Clock(looks),
                 notify=lambda what: None)  # fmt: skip


def test_the_simplest_recipe_is_always_evaluated():
    judged, notes = evaluated(looks=1)  # the limit passes after the first look
    assert [one.name for one in judged] == ["baseline", "linear"]
    assert all(len(one.nested.folds) == 2 for one in judged)
    text = " ".join(notes)
    assert "'kernel' was left out: too slow" in text
    assert "allowed 2 of 5 outer folds" in text
    assert "The time limit was exceeded" in text


def test_with_time_enough_all_are_evaluated_on_all_folds():
    judged, notes = evaluated(looks=10**6)
    assert len(judged) == 4
    assert all(len(one.nested.folds) == 5 for one in judged)
    assert not notes


def test_no_time_at_all_is_an_error():
    with pytest.raises(KitchenError, match="too short to evaluate any recipe"):
        evaluated(looks=0)


def test_rows_are_planned_from_the_limit_and_reported():
    assert affordable_rows(None, 5) > 10**9
    assert affordable_rows(float("inf"), 5) > 10**9
    assert affordable_rows(20, 10) == 5000
    assert affordable_rows(20, 500) == 1000  # wide tables take longer; never fewer than this
    question = Question("y", "regression", "", np.arange(20_000), np.zeros(20_000))
    rows, notes = sample(question, Settings(max_time=20), 10)
    assert len(rows) == 5000
    assert "5,000 of 20,000 rows was used as the time limit allows (--max-time 20)" in notes[0]
    again, _ = sample(question, Settings(max_time=float("inf"), max_rows=5000), 10)
    assert np.array_equal(rows, again)
    assert len(sample(question, Settings(max_rows=300), 10)[0]) == 300
