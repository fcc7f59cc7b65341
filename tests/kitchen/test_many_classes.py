"""A target with hundreds of classes: finished within the time limit, what is left out is stated."""

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import cook
from kilogram.kitchen.measures import MEASURES, side_measures
from kilogram.kitchen.recipes.recipe import SearchSettings, kernel_too_slow
from kilogram.models.fisher.ridge_rule import class_sums


def test_five_hundred_classes(tmp_path):
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(500), 6)
    X = rng.normal(size=(500, 4))[code] * 4 + rng.normal(size=(len(code), 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(item=[f"item {k}" for k in code])
    cooked = cook(frame, "item", max_time=20, folds=2, recipes=["linear"])
    assert len(cooked.question.classes) == 500
    assert cooked.chosen.name == "linear"
    assert "roc_auc" not in cooked.chosen.side()
    cooked.save(tmp_path)
    assert set(cooked.predict(frame.head(20))) <= set(frame["item"])


def test_the_kernel_version_is_left_out_by_plan():
    y = np.tile(np.arange(500), 40)
    measure = MEASURES["accuracy"]
    assert kernel_too_slow(measure, y, SearchSettings(max_time=1.25))
    assert not kernel_too_slow(measure, y, SearchSettings(max_time=100.0))
    assert not kernel_too_slow(measure, y, SearchSettings())
    assert not kernel_too_slow(measure, y % 3, SearchSettings(max_time=1.25))
    assert not kernel_too_slow(MEASURES["r2"], y.astype(float), SearchSettings(max_time=1.25))


def test_areas_of_many_classes_are_no_side_measure():
    names = [one.name for one in side_measures(MEASURES["accuracy"], 31)]
    assert names == ["balanced_accuracy", "log_loss"]
    assert "roc_auc" in [one.name for one in side_measures(MEASURES["accuracy"], 30)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(), (40,), (40, 3)])
def test_sums_of_many_classes(weighted, shape):
    rng = np.random.default_rng(0)
    Y = np.eye(40)[rng.integers(0, 40, 200)]
    F = rng.normal(size=(200, *shape))
    w = rng.uniform(size=200) if weighted else None
    v = np.ones(200) if w is None else w
    expected = np.einsum("nk,n,n...->k...", Y, v / v.sum(), F)
    assert class_sums(Y, F, w) == pytest.approx(expected)
