"""The question: task and measure recognised, and targets that cannot be answered refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.measures import choose_measure, side_measures
from kilogram.kitchen.question import make_question
from kilogram.kitchen.read.table import Table, read_table

N = 120
RNG = np.random.default_rng(0)


def question(values, **settings):
    return make_question(
        Table(pa.table({"x": range(len(values)), "y": values}), "t.csv"), "y", **settings
    )


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (RNG.normal(size=N), "regression"),
        (np.arange(N), "regression"),
        (RNG.integers(0, 60, N), "regression"),
        (np.arange(24) % 10, "regression"),
        (RNG.integers(0, 3, N), "classification"),
        (RNG.integers(0, 2, N) * 0.5, "classification"),
        (["yes", "no"] * 60, "classification"),
        ([True, False] * 60, "classification"),
    ],
)
def test_task_is_recognised(values, task):
    found = question(values)
    assert found.task == task
    assert found.reason
    assert len(found.y) == len(found.rows)


def test_task_can_be_overruled():
    assert question(RNG.integers(0, 3, N), task="regression").y.dtype == float
    assert question(np.arange(300) % 30, task="classification").classes[2:4] == ("2", "3")
    with pytest.raises(KitchenError, match="not numbers"):
        question(["a", "b"] * 20, task="regression")


def test_rows_without_a_target_are_counted():
    values = RNG.normal(size=N)
    values[:7] = np.nan
    values[7] = np.inf
    found = question(pa.array(values, from_pandas=True))
    assert len(found.y) == N - 8
    assert found.rows[0] == 8
    assert "8 of 120 rows have no finite" in found.notes[0]
    assert "1 of 120 rows have no 'y'" in question([None, *values[8:], *values[8:15]]).notes[0]


def test_small_classes_are_left_out_and_named():
    found = question(["a"] * 30 + ["b"] * 30 + ["rare"] * 2)
    assert found.classes == ("a", "b")
    assert len(found.y) == 60
    assert "'rare'" in found.notes[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None] * N, "no value in any row"),
        ([3.0] * N, "3.0 in every row"),
        ([f"name {k}" for k in range(N)], "one row per class"),
        ([f"name {k // 2}" for k in range(N)], "60 classes, of which 0 have"),
        (["rare"] * 2 + ["usual"] * (N - 2), "2 classes, of which 1 has"),
        ([1.5], "Only 1 row has"),
        (RNG.normal(size=12), "Only 12 rows have"),
    ],
)
def test_a_question_without_an_answer_is_refused(values, message):
    with pytest.raises(KitchenError, match=message):
        question(values)


def test_a_target_that_is_not_there():
    table = Table(pa.table({"Body Mass (g)": [1], "sex": [2]}), "t.csv")
    with pytest.raises(
        KitchenError, match=r"no column 'body mass'.*Did you mean 'Body Mass \(g\)'"
    ):
        make_question(table, "body mass")
    with pytest.raises(KitchenError, match=r"Available: 'Body Mass \(g\)', 'sex'"):
        make_question(table, "qqq")
    headless = Table(table.data, "t.csv", header_looks_like_data=True)
    with pytest.raises(KitchenError, match="--no-header"):
        make_question(headless, "qqq")


def test_measures():
    assert choose_measure(question(RNG.normal(size=N)))[0].name == "r2"
    assert choose_measure(question(["a", "b"] * 60))[0].name == "accuracy"
    measure, why = choose_measure(question(["a"] * 110 + ["b"] * 10))
    assert measure.name == "balanced_accuracy"
    assert "92 %" in why
    assert [side.name for side in side_measures(measure)] == ["accuracy", "roc_auc", "log_loss"]
    assert choose_measure(question(["a", "b"] * 60), "balanced_accuracy")[1] == "as requested"
    with pytest.raises(KitchenError, match="got 'r2'"):
        choose_measure(question(["a", "b"] * 60), "r2")


def test_classes_written_in_several_ways_are_reported():
    words = ["yes", "Yes", "no", "no "] * 20
    notes = " ".join(
        make_question(read_table(pd.DataFrame({"x": range(80), "y": words})), "y").notes
    )
    assert "'Yes', 'yes'" in notes
    assert "'no', 'no '" in notes
    assert not make_question(
        read_table(pd.DataFrame({"x": range(80), "y": ["a", "b"] * 40})), "y"
    ).notes


def test_classes_with_decimal_commas_are_sorted_as_numbers():
    frame = pd.DataFrame({"a": np.arange(40.0), "y": ["10,5", "2,5"] * 20})
    found = cook(frame, "y", task="classification", folds=2, repeats=1, search="path",
                 recipes=["linear"])  # fmt: skip
    assert found.question.classes == ("2,5", "10,5")
