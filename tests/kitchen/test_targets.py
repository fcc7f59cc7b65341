"""Targets beyond one number: quantiles, counts, several targets."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kilogram.kitchen import KitchenError, cook, cook_targets, load_model
from kilogram.kitchen.cook import target_names
from kilogram.kitchen.features.columns import as_text
from kilogram.kitchen.measures import MEASURES, measure_named, pinball
from kilogram.kitchen.question import make_question
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.report.html import as_html
from tests.kitchen.conftest import QUICK


def spread(n=300, seed=0):
    """Noise that grows with x, and counts whose rate does."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 2, n)
    y = 3 * x + (0.2 + x) * rng.normal(size=n)
    counts = rng.poisson(np.exp(x))
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": y, "count": counts})


def test_the_quantile_loss_is_least_at_the_quantile():
    y = np.random.default_rng(0).normal(size=4001)
    levels = np.linspace(-3, 3, 601)
    losses = [pinball(y, np.full(len(y), level), 0.9) for level in levels]
    assert levels[int(np.argmin(losses))] == pytest.approx(np.quantile(y, 0.9), abs=0.02)
    assert measure_named("quantile_loss_0.9").quantile == 0.9
    assert measure_named("r2") is MEASURES["r2"]
    with pytest.raises(KitchenError, match="quantile must be a float in"):
        measure_named("quantile_loss_1.5")


def test_a_quantile_is_predicted_saved_and_checked(tmp_path):
    found = cook(spread().drop(columns="count"), "y", quantile=0.9, folds=3, repeats=1,
                 search="path")  # fmt: skip
    assert [one.name for one in found.judged][:3] == ["baseline", "linear", "boosting"]
    assert found.chosen.name != "baseline"
    assert found.evidence.trust.quantile.covered == pytest.approx(0.9, abs=0.08)
    assert found.evidence.trust.range is None
    files = found.save(tmp_path)
    assert "should" in files["report.html"].read_text()
    assert json.loads(files["report.json"].read_text())["trust"]["quantile"]["wanted"] == 0.9
    fresh = spread(2000, seed=1)
    model = load_model(files["model.skops"])
    assert np.mean(fresh["y"] <= model.predict(fresh)) == pytest.approx(0.9, abs=0.1)
    assert "low y" not in found.predict_table(fresh.head(3)).column_names


def test_what_has_no_quantile_is_refused():
    frame = spread(60).drop(columns="count")
    with pytest.raises(KitchenError, match="trees has no quantiles; use some of linear, boosting"):
        cook(frame, "y", quantile=0.9, recipes=["trees"])
    with pytest.raises(KitchenError, match="not both"):
        cook(frame, "y", quantile=0.9, measure="r2")
    with pytest.raises(KitchenError, match="quantile must be a float in"):
        cook(frame, "y", quantile=3)


def test_counts_are_predicted_by_poisson_regression():
    frame = spread(150).drop(columns="y")
    found = cook(frame, "count", task="regression", measure="poisson_deviance", **QUICK)
    names = [one.name for one in found.judged]
    assert "poisson" in names
    best = next(one for one in found.judged if one.name == "poisson")
    assert best.score.mean < found.judged[0].score.mean
    kept = cook(frame, "count", task="regression", recipes=["poisson"], keep="poisson", **QUICK)
    assert np.all(kept.predict(frame) > 0)
    assert as_html(kept)
    with pytest.raises(KitchenError, match="non-negative target"):
        cook(spread(60), "y", recipes=["poisson"], **QUICK)


def test_several_targets_are_left_out_of_each_other():
    frame = spread(60)
    found = cook_targets(frame, ("y", "count"), recipes=["linear"], task="regression", **QUICK)
    assert list(found) == ["y", "count"]
    for target, one in found.items():
        other = "count" if target == "y" else "y"
        assert one.question.target == target
        assert other not in {column.name for column in one.model.layout.used}
    assert target_names("y, count,y", ["y", "count"]) == ("y", "count")
    assert target_names("a,b", ["a,b", "a", "b"]) == ("a,b",)


def test_integers_beyond_the_exact_floats_are_numbers():
    """Nanoseconds and account numbers; Arrow refuses to round them unless asked to."""
    rng = np.random.default_rng(0)
    x = np.round(rng.random(60), 3)
    big = 10**18 + (x * 1e17).astype(np.int64)
    frame = pd.DataFrame({"x": x, "big": big, "y": big[::-1].copy()})
    question = make_question(read_table(frame), "y")
    assert question.task == "regression"
    np.testing.assert_array_equal(question.y, big[::-1].astype(float))
    found = cook(frame, "y", folds=2, repeats=1, search="path", recipes=("linear",))
    assert np.isfinite(found.predict(frame)).all()


def test_targets_whose_squares_overflow_are_named():
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60.0) * 1e300})
    with pytest.raises(KitchenError, match=r"reaches 5\.9e\+301"):
        make_question(read_table(frame), "y")
    assert as_text(pa.array([2.0**60, None])).to_pylist() == [str(2**60), None]
    assert as_text(pa.array([1e300, 1.0])).to_pylist() == ["1e+300", "1"]  # no int64 holds it


def test_features_at_the_end_of_the_floats_count_as_missing():
    """C programs write the largest float where a value is missing."""
    rng = np.random.default_rng(0)
    x = rng.random(60)
    frame = pd.DataFrame({"x": np.where(x < 0.1, np.finfo(float).max, x), "y": x + rng.random(60)})
    found = cook(frame, "y", folds=2, repeats=1, search="path", recipes=("linear",))
    gaps = frame.assign(x=frame["x"].mask(x < 0.1))
    np.testing.assert_array_equal(found.predict(frame), found.predict(gaps))
