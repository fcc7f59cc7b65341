"""Which recipe is kept: the simplest within one standard error of the best."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kilogram.evaluation import compare, corrected_interval
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.judge.compare import choose
from kilogram.kitchen.judge.evidence import _with_fewer
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.recipes.recipe import SearchSettings
from kilogram.kitchen.recipes.recipe import recipes as make_recipes
from kilogram.kitchen.report.sentences import _structure

ROWS = (80, 20)


class Recipe:
    """Stands in for a judged recipe: a name and the scores of its folds."""

    def __init__(self, name, scores):
        self.name, self.scores = name, np.asarray(scores, dtype=float)
        self.score = corrected_interval(self.scores, *ROWS)
        self.recipe = SimpleNamespace(title=name.title())

    def against(self, other):
        return compare(self.scores, other.scores, *ROWS)


def recipes(**scores):
    return tuple(Recipe(name, folds) for name, folds in scores.items())


FOLDS = np.array([-0.01, 0.02, 0.0, -0.02, 0.01])
BASE = [0.5, 0.51, 0.49, 0.5, 0.5]


@pytest.mark.parametrize(
    ("gain", "kept"),
    [(0.002, "linear"), (-0.03, "linear"), (0.03, "kernel"), (0.2, "kernel")],
)
def test_a_gain_of_more_than_one_standard_error_is_taken(gain, kept):
    kernel = 0.8 + gain + FOLDS[::-1]
    judged = recipes(baseline=BASE, linear=0.8 + FOLDS, kernel=kernel)
    lead = judged[2].against(judged[1])
    assert choose(judged).name == kept
    assert (lead.lead > 1) == (kept == "kernel")
    assert lead.lead == pytest.approx(lead.difference.mean / lead.error)


def test_of_three_the_simplest_near_the_best():
    linear, kernel = 0.7 + FOLDS, 0.8 + FOLDS[::-1]
    judged = recipes(baseline=BASE, linear=linear, kernel=kernel, trees=kernel[::-1] + 0.001)
    assert choose(judged).name == "kernel"


def test_the_baseline_stays_unless_beaten_beyond_doubt():
    judged = recipes(baseline=BASE, linear=0.505 + FOLDS, kernel=0.52 + 3 * FOLDS)
    assert judged[2].against(judged[0]).lead > 1 / 2
    assert choose(judged).name == "baseline"


def test_without_any_spread():
    same = recipes(baseline=[0.5] * 5, linear=[0.9] * 5, kernel=[0.9] * 5, trees=[0.95] * 5)
    assert same[1].against(same[2]).lead == 0
    assert same[1].against(same[3]).lead == -np.inf
    assert choose(same[:3]).name == "linear"
    assert choose(same).name == "trees"


def test_a_lead_that_is_a_tie_is_said_so():
    judged = recipes(baseline=BASE, linear=0.8 + FOLDS, kernel=0.83 + FOLDS[::-1])
    by_name = {one.name: one for one in judged}
    said = _structure(by_name, by_name["kernel"])
    assert "not significant" in said
    assert "the kernel version leads by more than one standard error and is chosen." in said
    assert "so the simpler recipe is chosen" in _structure(by_name, by_name["linear"])
    trees = Recipe("trees", 0.84 + FOLDS[::-1] * 2)
    said = _structure(by_name | {"trees": trees}, trees)
    assert "trees lead the better of them, not significantly" in said


def test_rare_classes_are_searched_on_all_rows():
    """Halving starts with a ninth of the rows, and the learning curve with an eighth of these."""
    layout = Layout((Column("a", "numeric", ""),))
    for rare, method in [(32, "random"), (1000, "halving")]:
        y = np.repeat([0, 1], [2889, rare])
        found = make_recipes(layout, MEASURES["balanced_accuracy"], y, SearchSettings("halving"))
        assert [one.pipeline.method for one in found[1:3]] == [method, method]


def test_the_learning_curve_needs_rows_of_every_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [200, 26])
    X = rng.normal(size=(226, 2)) + y[:, None]
    rows = np.arange(226)
    measure = MEASURES["balanced_accuracy"]
    judged = SimpleNamespace(y=y, measure=measure, along=None,
                             recipe=SimpleNamespace(pipeline=LogisticRegression()))  # fmt: skip
    fold = SimpleNamespace(train=rows, test=rows)
    assert _with_fewer(judged, X, fold, 0.125, 0) is None  # three rows of the rare class
    assert 0.5 < _with_fewer(judged, X, fold, 0.25, 0) <= 1
