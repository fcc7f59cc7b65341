"""Which recipe is kept: the simplest within one standard error of the best."""

from types import SimpleNamespace

import numpy as np
import pytest

from kilogram.evaluation import compare, corrected_interval
from kilogram.kitchen.judge import choose
from kilogram.kitchen.words import _structure

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
    assert "tie" in said
    assert "beyond doubt; but it leads by more than one standard error, and is kept." in said
    assert "so the simpler one is enough" in _structure(by_name, by_name["linear"])
    trees = Recipe("trees", 0.84 + FOLDS[::-1] * 2)
    said = _structure(by_name | {"trees": trees}, trees)
    assert "trees lead the better of them, not beyond doubt" in said
