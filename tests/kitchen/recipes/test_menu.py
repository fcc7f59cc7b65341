"""The default menu follows from the shape of the table and the kind of the target."""

import numpy as np
import pytest

from kilogram.kitchen import cook
from kilogram.kitchen.choose import choose
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.recipes.menu import are_counts, default_menu
from tests.kitchen.conftest import classes, curved

USUAL = ["linear", "kernel", "trees", "boosting", "ensemble"]


def menu(columns, y, measure="r2", kind="numeric", **settings):
    layout = Layout(tuple(Column(f"c{k}", kind, "") for k in range(columns)))
    return default_menu(layout, MEASURES[measure], np.asarray(y), **settings)


def names(found):
    return [one.name for one in found if one.used]


def test_the_menu_suits_the_table():
    rng = np.random.default_rng(0)
    numbers, counts = rng.normal(size=90), rng.poisson(2, size=90)
    assert names(menu(4, numbers)) == USUAL
    assert names(menu(60, numbers)) == ["lasso", *USUAL]
    assert names(menu(60, numbers, along=True)) == USUAL
    assert names(menu(4, counts)) == ["poisson", *USUAL]
    assert names(menu(4, counts, "median_absolute_error")) == USUAL
    two = np.arange(90) % 2
    assert names(menu(4, two, "accuracy")) == ["linear", "logistic", *USUAL[1:]]
    assert names(menu(1, two, "accuracy", "text")) == ["linear", "kernel", "ensemble"]


def test_what_takes_too_long_is_left_out_with_the_reason():
    many = np.arange(4000) % 100
    found = {one.name: one for one in menu(10, many, "accuracy")}
    assert not found["boosting"].used
    assert "so many classes" in found["boosting"].why
    assert not found["logistic"].used
    assert found["trees"].used
    wide = {one.name: one for one in menu(4000, np.zeros(50))}
    assert not wide["trees"].used
    assert not wide["boosting"].used


def test_counts():
    assert are_counts(np.array([0, 1, 2, 50.0]))
    assert not are_counts(np.array([0.5, 1, 2]))
    assert not are_counts(np.array([-1, 1, 2]))
    assert not are_counts(np.array([1000, 1001, 2]))


@pytest.mark.parametrize(("frame", "target"), [(curved(60), "y"), (classes(60), "kind")])
def test_cook_compares_what_choose_names(frame, target):
    found = choose(frame, target)
    assert "kg cook compares" in str(found)
    cooked = cook(frame, target, folds=2, repeats=1, search="path")
    judged = [one.name for one in cooked.judged[1:]]
    assert [name for name in names(found.menu) if name != "ensemble" or name in judged] == judged
    assert found.as_dict()["menu"][0]["why"]
