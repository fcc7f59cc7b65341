"""Checks of predictions: right where the truth is known, and reported in words and in JSON."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from kilogram.evaluation.probability_scaling import fit_scaling
from kilogram.kitchen import cook
from kilogram.kitchen.features.columns import Column
from kilogram.kitchen.judge.prediction_checks import group_names
from kilogram.kitchen.measures import MEASURES, quick
from kilogram.kitchen.report.facts import as_json
from kilogram.kitchen.report.prediction_sentences import check_lines
from tests.kitchen.conftest import QUICK, curved


def test_numbers_have_intervals_that_hold(cooked):
    found = cooked.evidence.trust
    assert found.chance.p_value == 0.001
    rows, predicted = cooked.shown.held_out
    y, constant = cooked.shown.y[rows], cooked.judged[0].held_out[1]
    gain = np.sum((y - constant) ** 2) - np.sum((y - predicted) ** 2)
    assert found.chance.score == pytest.approx(gain / np.sum((y - y.mean()) ** 2))
    errors = np.abs(cooked.evidence.held_out.truth - cooked.evidence.held_out.prediction)
    assert np.mean(errors <= found.range.half) == pytest.approx(0.9, abs=0.03)
    assert 0.8 < found.range.held.covered < 0.98
    fresh = curved(300, seed=5).dropna(subset="y")
    inside = np.abs(fresh["y"] - cooked.predict(fresh)) <= found.range.half
    assert 0.8 < inside.mean() < 0.98
    assert found.calibration is None
    assert found.ranking is None


def test_two_classes_have_areas_costs_and_probabilities(two_classes):
    found = two_classes.evidence.trust
    assert found.range is None
    assert found.ranking.roc.low > 0.8
    assert found.ranking.precision.mean > found.ranking.fraction
    dear_misses, dear_alarms = found.ranking.costs[1][2], found.ranking.costs[2][2]
    assert dear_misses.hits >= dear_alarms.hits
    assert found.calibration.brier < found.calibration.uncertainty


def test_average_precision_is_that_of_the_rarer_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    answer = np.where(X[:, 0] + rng.normal(size=120) > 1.2, "bad", "good")
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(answer=answer)
    cooked = cook(frame, "answer", recipes=["linear"], **QUICK)
    found = cooked.evidence.trust.ranking
    held = cooked.evidence.held_out
    assert found.fraction == pytest.approx(np.mean(answer == "bad"))
    expected = average_precision_score(held.truth == 0, -held.margin)
    assert found.precision.mean == pytest.approx(expected)


def test_three_classes_are_sure_of_their_prediction(sorted_classes):
    found = sorted_classes.evidence.trust
    assert found.ranking is None
    assert found.calibration.base_rate > 0.9
    assert sum(b.count for b in found.calibration.bins) == 90


@pytest.mark.parametrize("which", ["cooked", "two_classes", "sorted_classes"])
def test_it_is_reported_in_words_and_in_json(which, request):
    one = request.getfixturevalue(which)
    lines = dict(check_lines(one.evidence.trust, one.measure))
    assert {"significance", "subgroups"} <= set(lines)
    assert lines["significance"].startswith("Better than always predicting the m")
    reported = json.loads(as_json(one))["trust"]
    assert reported["chance"]["p_value"] == 0.001
    assert len(reported["subgroups"]) == len(one.evidence.trust.groups)
    assert ("ranking" in reported) == (which == "two_classes")
    assert ("calibration" in reported) == (which != "cooked")
    assert (reported["intervals"] is None) == (which != "cooked")


def test_columns_become_groups():
    word = Column("w", "categorical", "", levels=("a", "b"))
    assert group_names(word, np.array([0, 1, np.nan])).tolist() == ["a", "b", "missing"]
    order = Column("o", "ordinal", "", levels=("S", "M", "L"))
    assert group_names(order, np.array([1 / 3, 1.0, 2 / 3])).tolist() == ["S", "L", "M"]
    number = Column("n", "numeric", "")
    thirds = group_names(number, np.arange(30.0))
    assert {(thirds == name).sum() for name in set(thirds)} == {10}
    assert group_names(number, np.ones(50)) is None
    assert group_names(Column("t", "text", ""), np.array(["x"])) is None


@pytest.mark.parametrize("name", ["r2", "accuracy", "balanced_accuracy", "mean_absolute_error"])
def test_the_quick_measures_are_the_measures(name):
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 3, (2, 40))
    assert quick(MEASURES[name])(y, f) == pytest.approx(MEASURES[name].function(y, f))


def test_scaling_recovers_probabilities_and_keeps_the_prediction():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(4000, 3))
    P = np.exp(2 * F)
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.uniform(size=(4000, 1)) > P.cumsum(axis=1)).sum(axis=1)
    found = fit_scaling(F, y)
    assert found.scale == pytest.approx(2, rel=0.1)
    assert np.array_equal(found.probabilities(F).argmax(axis=1), F.argmax(axis=1))
    moved = fit_scaling(F - [2, 0, 0], y, shifts=True)
    assert moved.scale == pytest.approx(2, rel=0.1)
    assert moved.shifts[0] - moved.shifts[1] == pytest.approx(4, rel=0.15)
    separable = fit_scaling(np.array([-1.0, 1.0] * 20), np.array([0, 1] * 20))
    # as if one of two more rows were of the other class
    assert separable.probabilities([1.0])[0, 1] == pytest.approx(1 - 1 / 42, rel=1e-4)
    with pytest.raises(ValueError, match=r"same (length|shape)"):
        fit_scaling(F, y[:5])
