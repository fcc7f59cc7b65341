"""Every measure drives comparison, interval and verdict."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.measures import ALIASES, MEASURES, quick
from kilogram.kitchen.report.facts import facts
from tests.kitchen.conftest import QUICK, classes, curved


@pytest.mark.parametrize("name", ["mean_absolute_error", "concordance"])
def test_measures_of_numbers(name):
    frame = curved(80)
    frame["y"] += 20
    cooked = cook(frame, "y", measure=name, **QUICK)
    assert_consistent(cooked, name)


@pytest.mark.parametrize("name", ["f1", "roc_auc", "log_loss", "top_3_accuracy"])
def test_measures_of_classes(name):
    frame = classes(100)
    if name == "top_3_accuracy":
        with pytest.raises(KitchenError, match="more than 3 classes"):
            cook(frame, "kind", measure=name, **QUICK)
        return
    assert_consistent(cook(frame, "kind", measure=name, **QUICK), name)


def assert_consistent(cooked, name):
    measure = MEASURES[name]
    assert cooked.measure is measure
    assert cooked.chosen.name != "baseline"
    best = max(cooked.judged, key=lambda one: measure.sign * one.score.mean)
    assert best.merit >= cooked.chosen.merit
    for one in facts(cooked)["recipes"][1:]:
        gain = one["gain_over_baseline"]["difference"]["mean"]
        base = cooked.judged[0].score.mean
        assert gain == pytest.approx(measure.sign * (one["score"]["mean"] - base))
        assert measure.low <= one["score"]["low"] <= one["score"]["high"] <= measure.high
    assert measure.title in cooked.verdict[0]


def test_functions_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    y, f = rng.poisson(3, 50) + 1.0, rng.uniform(0.5, 6, 50)
    assert MEASURES["poisson_deviance"].function(y, f) == pytest.approx(
        metrics.mean_poisson_deviance(y, f)
    )
    assert quick(MEASURES["mean_absolute_percentage_error"])(y, f) == pytest.approx(
        metrics.mean_absolute_percentage_error(y, f)
    )
    for count in (2, 4):
        P = rng.dirichlet(np.ones(count), 60)
        codes = rng.integers(0, count, 60)
        assert MEASURES["log_loss"].function(codes, P) == pytest.approx(metrics.log_loss(codes, P))
        multi = {"multi_class": "ovr"} if count > 2 else {}
        given = P if count > 2 else P[:, 1]
        assert MEASURES["roc_auc"].function(codes, P) == pytest.approx(
            metrics.roc_auc_score(codes, given, **multi)
        )
    assert MEASURES["top_3_accuracy"].function(codes, P) == pytest.approx(
        metrics.top_k_accuracy_score(codes, P, k=3)
    )
    f = rng.integers(0, 4, 60)
    assert quick(MEASURES["f1"])(codes, f) == pytest.approx(MEASURES["f1"].function(codes, f))
    assert MEASURES["concordance"].function(y, y) == pytest.approx(1)
    assert MEASURES["concordance"].function(y, np.ones(50)) == 0.5


def test_short_names_and_measures_that_do_not_suit():
    assert set(ALIASES.values()) <= set(MEASURES)
    frame = pd.DataFrame({"a": range(40), "y": [k % 13 for k in range(40)]})
    with pytest.raises(KitchenError, match="0 in 4 rows"):
        cook(frame, "y", measure="mape", task="regression", **QUICK)
    with pytest.raises(KitchenError, match="negative"):
        cook(
            frame.assign(y=frame.y - 5), "y", measure="poisson_deviance", task="regression", **QUICK
        )
    with pytest.raises(KitchenError, match="must be one of r2"):
        cook(frame, "y", measure="auc", task="regression", **QUICK)
