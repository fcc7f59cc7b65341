"""Scores of pooled predictions: small folds, groups, and one verdict."""

import numpy as np
import pandas as pd
import pytest

from kilogram.evaluation import exchange_test
from kilogram.evaluation.confusion_matrix import accuracy
from kilogram.evaluation.nested import Fold
from kilogram.evaluation.regression_metrics import r_squared
from kilogram.kitchen import cook
from kilogram.kitchen.judge.pooled_scores import pooled_score, repetitions
from kilogram.kitchen.report.facts import facts


def folds(*tests):
    return [Fold(0.0, None, {}, np.arange(0), np.asarray(t), np.asarray(t), 0.0) for t in tests]


def test_contributions_are_the_fold_scores_of_a_mean_over_rows():
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 2, (2, 23))
    tests = [np.arange(0, 5), np.arange(5, 16), np.arange(16, 23)]
    found = pooled_score(accuracy, y, folds(*tests), [f[t] for t in tests])
    assert found.mean == pytest.approx(accuracy(y, f))
    assert found.parts == pytest.approx([accuracy(y[t], f[t]) for t in tests])
    assert found.weights @ found.parts / 23 == pytest.approx(found.mean)


def test_small_folds_do_not_bias_r_squared():
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    f = y + rng.normal(size=60)
    tests = np.arange(60).reshape(20, 3)
    found = pooled_score(r_squared, y, folds(*tests), [f[t] for t in tests])
    assert found.mean == pytest.approx(r_squared(y, f))
    assert np.mean([r_squared(y[t], f[t]) for t in tests]) < found.mean - 0.5


def test_repetitions_begin_where_a_row_comes_again():
    tests = [[0, 1], [2, 3], [1, 2], [0, 3], [0, 2]]
    assert repetitions(folds(*tests)) == [[0, 1], [2, 3], [4]]


def test_exchanges_of_two_predictions():
    rng = np.random.default_rng(2)
    y = rng.normal(size=40)
    good, bad = y + 0.1 * rng.normal(size=40), np.zeros(40)
    assert exchange_test(y, good, bad, r_squared).p_value == pytest.approx(0.001)
    assert exchange_test(y, bad, good, r_squared).p_value > 0.99
    assert exchange_test(y, bad, bad, r_squared).p_value == 1
    # two groups can only be exchanged in four ways
    halves = np.repeat([0, 1], 20)
    assert 0.15 < exchange_test(y, good, bad, r_squared, units=halves).p_value < 0.35


def consistent(cooked):
    """Score, gain, test, choice and sentences agree."""
    found = facts(cooked)
    test = found["trust"]["chance"]["p_value"]
    predicted = found["chosen"] != "baseline"
    assert predicted == (test <= 0.025)
    assert predicted == found["conclusion"][0].startswith(f"{found['target']} can be predicted")
    by_name = {one["name"]: one for one in found["recipes"]}
    base = by_name["baseline"]["score"]["mean"]
    for one in found["recipes"][1:]:
        gain = one["gain_over_baseline"]
        assert gain["difference"]["mean"] == pytest.approx(one["score"]["mean"] - base)
    return found


def test_a_tiny_table_is_scored_by_its_pooled_predictions():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4))
    y = X @ [1.0, 0.5, 0, 0] + rng.normal(size=30)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    cooked = cook(frame, "y", folds=10, repeats=1, search="path")
    consistent(cooked)
    for one in cooked.judged:
        rows, predicted = one.held_out
        assert one.score.mean == pytest.approx(r_squared(cooked.chosen.y[rows], predicted))
        assert one.score.low <= one.score.mean <= one.score.high


def test_groups_decide_together():
    """A clear gain that varies between groups is no tie, and the constant is not shipped."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(24), 6)
    x = rng.normal(size=144)
    label = np.where(x + 0.5 * rng.normal(size=24)[who] + 0.5 * rng.normal(size=144) > 0, "u", "v")
    frame = pd.DataFrame({"who": who, "x": x, "z": rng.normal(size=144), "label": label})
    cooked = cook(frame, "label", group="who", search="path", repeats=1, folds=5)
    consistent(cooked)
    assert cooked.chosen.name != "baseline"


def test_noise_has_one_verdict():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "y"])
    found = consistent(cook(frame, "y", folds=5, repeats=2, search="path"))
    assert found["chosen"] == "baseline"
