"""Predictions of cooked models: probabilities, thresholds, local intervals, unusual rows."""

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.artifact import out_of_distribution
from kilogram.kitchen.artifact.predictions import PredictionSummary, predict_blocks
from kilogram.kitchen.artifact.uncertainty import cost_threshold
from kilogram.kitchen.judge.local_scale import expected_error, fit_scale
from tests.kitchen.conftest import QUICK


def imbalanced(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    rare = x + rng.normal(size=rows) > 2.2
    return pd.DataFrame({"x": x, "z": rng.normal(size=rows), "y": np.where(rare, "Yes", "No")})


@pytest.fixture(scope="module")
def rare_class():
    return cook(imbalanced(), "y", **QUICK)


def predicted(model, frame, **how):
    return next(predict_blocks(model, frame, PredictionSummary(), **how)).to_pandas()


def test_every_class_has_its_probability_and_costs_move_the_threshold(rare_class):
    fresh = imbalanced(300, seed=1).drop(columns="y")
    found = predicted(rare_class.model, fresh)
    assert np.allclose(found["P(Yes)"] + found["P(No)"], 1)
    reported = found["predicted y"] == "Yes"
    assert np.allclose(found["probability"], np.where(reported, found["P(Yes)"], found["P(No)"]))
    half = predicted(rare_class.model, fresh, threshold=0.5)
    assert ((half["predicted y"] == "Yes") == (half["P(Yes)"] >= 0.5)).all()
    dear = predicted(rare_class.model, fresh, threshold=cost_threshold("1,9"))
    assert ((dear["predicted y"] == "Yes") == (dear["P(Yes)"] >= 0.1)).all()
    assert "P(Yes)" not in predicted(rare_class.model, fresh, bare=True)
    # calibrated: as many as were observed
    assert found["P(Yes)"].mean() == pytest.approx(
        (imbalanced(5000, 2).y == "Yes").mean(), abs=0.05
    )


def test_precision_and_recall_are_counted(rare_class):
    no, yes = rare_class.evidence.trust.classes
    answers = rare_class.evidence.held_out
    assert yes.name == "Yes"
    assert yes.rows + no.rows == 400
    assert yes.right == np.sum((answers.truth == 1) & (answers.prediction == 1))
    assert yes.recall == yes.right / yes.rows
    assert yes.precision == yes.right / yes.predicted
    for _, _, best in rare_class.evidence.trust.ranking.costs:
        assert best.value >= 0  # a probability


def test_thresholds_out_of_place_are_refused(rare_class, cooked):
    with pytest.raises(KitchenError, match=r"threshold must be a float in \[0, 1\] or None, got"):
        predicted(rare_class.model, imbalanced(20), threshold=1.5)
    with pytest.raises(KitchenError, match="no probabilities"):
        predicted(
            cooked.model, pd.DataFrame({"x": [0.0], "noise": 0.0, "word": "red"}), threshold=0.5
        )
    with pytest.raises(KitchenError, match="two positive numbers"):
        cost_threshold("1;5")
    with pytest.raises(KitchenError, match="not both"):
        cost_threshold("1,5", 0.3)


def spread_out(rows, seed):
    """Errors that grow with x, and twice as large where z is missing."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 10, rows)
    z = np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows))
    sigma = 0.1 * x * np.where(np.isnan(z), 2, 1)
    return pd.DataFrame({"x": x, "z": z, "y": 3 * x + sigma * rng.normal(size=rows)})


def test_intervals_are_wider_where_errors_are():
    cooked = cook(spread_out(600, 0), "y", accept=["KG-A07"], folds=3, repeats=1, search="path")
    assert cooked.evidence.trust.range.local
    fresh = spread_out(2000, 1)
    found = predicted(cooked.model, fresh.drop(columns="y"))
    inside = (found["low y"] <= fresh.y) & (fresh.y <= found["high y"])
    assert 0.86 < inside.mean() < 0.94
    quarter = pd.qcut(fresh.x, 4, labels=False)
    assert inside.groupby(quarter).mean().min() > 0.8
    width = found["high y"] - found["low y"]
    assert width[quarter == 3].mean() > 2 * width[quarter == 0].mean()
    assert width[fresh.z.isna()].mean() > 1.2 * width[fresh.z.notna()].mean()


def test_even_errors_keep_one_width():
    rng = np.random.default_rng(0)
    X, error = rng.normal(size=(400, 3)), np.abs(rng.normal(size=400))
    sigma, found = fit_scale(X, X[:, 0], error)
    assert not found
    assert (sigma == 1).all()
    assert (expected_error(found, X, X[:, 0]) == 1).all()


@pytest.mark.parametrize(("rows", "columns"), [(60, 100), (60, 1000), (200, 250)])
def test_rows_of_wide_tables_are_not_all_unusual(rows, columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    found = out_of_distribution.describe(X, X)
    fresh = rng.normal(size=(500, columns))
    far = out_of_distribution.distances(found, fresh) > 1
    outside = out_of_distribution.outside_range(found, fresh).sum(axis=1) > found["most_outside"]
    assert np.mean(far | outside) < 0.05
    moved = fresh + 4
    assert np.mean(out_of_distribution.distances(found, moved) > 1) > 0.9
