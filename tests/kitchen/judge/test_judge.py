"""Which recipe is kept: the simplest within one standard error of the best."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from kilogram.evaluation.calibration import wilson
from kilogram.evaluation.nested import Fold, Nested
from kilogram.evaluation.permutation_tests import ChanceTest
from kilogram.kitchen import cook
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.formatting import figure
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.evidence import _with_fewer
from kilogram.kitchen.judge.pooled_scores import PooledScore
from kilogram.kitchen.judge.selection import choose, select
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.recipes.recipe import SearchSettings
from kilogram.kitchen.recipes.recipe import recipes as make_recipes
from kilogram.kitchen.report.sentences import _structure

ROWS = (80, 20)


class Recipe(EvaluatedRecipe):
    """An evaluated recipe of given fold scores: mean absolute gains of each fold's 20 rows."""

    def __init__(self, name, scores, p=0.001):
        parts = np.asarray(scores, dtype=float)
        object.__setattr__(self, "recipe", SimpleNamespace(name=name, title=name.title()))
        object.__setattr__(self, "measure", MEASURES["r2"])
        folds = [SimpleNamespace(test=np.arange(20 * k, 20 * k + 20)) for k in range(len(parts))]
        object.__setattr__(self, "nested", SimpleNamespace(folds=folds, rows=ROWS))
        pooled = PooledScore(parts.mean(), parts, np.full(len(parts), 20.0))
        self.__dict__["pooled"] = pooled
        self.__dict__["score"] = pooled.interval(*ROWS, len(parts) - 1, 0.95)
        # as good as chance in a fraction p of the exchanges
        shuffled = np.r_[np.ones(round(1000 * p) - 1), np.zeros(1000 - round(1000 * p))]
        self.__dict__["_chance"] = ChanceTest(0.5, shuffled)


def recipes(p=0.001, **scores):
    return tuple(Recipe(name, folds, p) for name, folds in scores.items())


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


def test_a_noisy_recipe_never_passes_where_a_better_one_fails():
    """Kernel 0.335 is within one standard error of trees 0.549, linear 0.455 is not."""
    trees = 0.549 + FOLDS
    linear = trees - 0.094 - FOLDS[::-1]
    kernel = trees - 0.214 + np.array([-0.6, 0.7, 0.1, -0.5, 0.3])
    judged = recipes(baseline=np.zeros(5), linear=linear, kernel=kernel, trees=trees)
    best = judged[3]
    assert best.against(judged[1]).lead > 1 > best.against(judged[2]).lead
    assert choose(judged).name == "trees"
    # alone beside the best, it would forgo too much of the gain
    assert choose(judged[:1] + judged[2:]).name == "trees"
    found = select(judged)
    text = _structure({one.name: one for one in judged}, found)
    assert f"it has the best score, {figure(0.094)} ahead of the linear recipe" in text


def test_a_simpler_recipe_may_not_have_a_clearly_larger_error():
    """Within one standard error because folds vary, but with an error of 1.06 times the best's."""
    linear, kernel = 0.5 + 6 * FOLDS, 0.53 - 6 * FOLDS
    judged = recipes(baseline=np.zeros(5), linear=linear, kernel=kernel)
    assert judged[2].against(judged[1]).lead < 1
    found = select(judged)
    assert (found.chosen.name, found.passed.name, found.why) == ("kernel", "linear", "error")
    text = _structure({one.name: one for one in judged}, found)
    assert "simpler and within one standard error, but its error is 6 % larger" in text


def test_of_recipes_of_equal_accuracy_the_probabilities_decide():
    """Accuracies within one standard error; the simpler recipe has the worse Brier score."""

    def of_classes(name, scores, brier):
        one = Recipe(name, scores)
        object.__setattr__(one, "measure", MEASURES["accuracy"])
        one.__dict__["brier"] = PooledScore(brier, brier + FOLDS / 10, np.full(5, 20.0))
        return one

    base = of_classes("baseline", BASE, 0.25)
    best = of_classes("kernel", 0.785 + FOLDS[::-1], 0.15)
    for brier, chosen in [(0.152, "linear"), (0.17, "kernel")]:
        judged = (base, of_classes("linear", 0.78 + FOLDS, brier), best)
        found = select(judged)
        assert found.chosen.name == chosen
        assert found.why == ("" if chosen == "linear" else "brier")
    text = _structure({one.name: one for one in judged}, found)
    assert "but its probabilities are worse (Brier score 0.170, of the kernel recipe 0.150)" in text


def test_the_best_probabilities_of_recipes_of_equal_accuracy_are_named():
    """The simplest has the best accuracy by a hair, another by far the best Brier score."""
    judged = list(recipes(baseline=BASE, linear=0.785 + FOLDS, kernel=0.784 + FOLDS[::-1]))
    for one, brier in zip(judged, (0.25, 0.17, 0.15), strict=True):
        object.__setattr__(one, "measure", MEASURES["accuracy"])
        one.__dict__["brier"] = PooledScore(brier, brier + FOLDS / 10, np.full(5, 20.0))
    found = select(tuple(judged))
    assert (found.best.name, found.chosen.name) == ("linear", "kernel")
    said = _structure({one.name: one for one in judged}, found)
    assert "it has the best probabilities (Brier score 0.150, of the linear recipe 0.170)" in said
    assert "simplest" not in said


def test_a_perfect_score_has_an_interval():
    """60 rows without an error do not show that there never is one."""
    rng = np.random.default_rng(0)
    y = np.repeat(["p", "q"], 30)
    frame = pd.DataFrame({"a": (y == "q") * 10 + rng.normal(size=60), "y": y})
    found = cook(frame, "y", folds=3, repeats=1, search="path", recipes=["linear"],
                 accept=["KG-A07"]).chosen.score  # fmt: skip
    assert found.mean == found.high == 1.0
    assert found.low == pytest.approx(wilson(60, 60)[0])


def test_the_baseline_stays_unless_beaten_beyond_doubt():
    judged = recipes(p=0.04, baseline=BASE, linear=0.505 + FOLDS, kernel=0.52 + 3 * FOLDS)
    assert judged[2].against(judged[0]).lead > 1 / 2
    assert choose(judged).name == "baseline"


def test_without_any_spread():
    same = recipes(baseline=[0.5] * 5, linear=[0.9] * 5, kernel=[0.9] * 5, trees=[0.95] * 5)
    assert same[1].against(same[2]).lead == 0
    assert same[1].against(same[3]).lead < -1e9
    assert choose(same[:3]).name == "linear"
    assert choose(same).name == "trees"


def test_sentences_follow_from_the_facts():
    judged = recipes(baseline=BASE, linear=0.8 + FOLDS, kernel=0.83 + FOLDS[::-1])
    by_name = {one.name: one for one in judged}
    text = _structure(by_name, select(judged))
    assert "The kernel recipe is chosen: it has the best score" in text
    assert "standard errors, not significant" in text
    near = recipes(baseline=BASE, linear=0.8 + FOLDS, kernel=0.802 + FOLDS[::-1])
    text = _structure({one.name: one for one in near}, select(near))
    assert (
        "The linear recipe is chosen as the simplest that is not clearly worse than the best"
        in text
    )
    assert "the kernel recipe is ahead by 0.002" in text


def test_rare_classes_are_searched_on_all_rows():
    """Halving starts with a ninth of the rows, and the learning curve with an eighth of these."""
    layout = Layout((Column("a", "numeric", ""),))
    for rare, method in [(32, "random"), (1000, "halving")]:
        y = np.repeat([0, 1], [2889, rare])
        found = make_recipes(layout, MEASURES["balanced_accuracy"], y, SearchSettings("halving"))
        ridge = [one.pipeline for one in found if one.name in ("linear", "kernel")]
        assert [one.method for one in ridge] == [method, method]


def test_the_learning_curve_needs_rows_of_every_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [200, 26])
    X = rng.normal(size=(226, 2)) + y[:, None]
    rows = np.arange(226)
    measure = MEASURES["balanced_accuracy"]
    recipe = SimpleNamespace(pipeline=LogisticRegression())
    fold = Fold(0.0, None, {}, rows, rows, y, 0.0, model=recipe.pipeline)
    judged = EvaluatedRecipe(recipe, Nested((fold,)), measure, y)
    assert _with_fewer(judged, X, 0, 0.125, 0) is None  # three rows of the rare class
    assert np.mean(_with_fewer(judged, X, 0, 0.25, 0) == y) > 0.5
