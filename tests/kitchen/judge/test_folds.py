"""Outer folds: groups stay whole, time runs forward, and copies can be left out."""

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.judge.folds import split
from kilogram.kitchen.measures import MEASURES
from tests.kitchen.conftest import QUICK

R2, ACCURACY = MEASURES["r2"], MEASURES["accuracy"]


@pytest.mark.parametrize("measure", [R2, ACCURACY])
def test_groups_stay_whole(measure):
    groups = np.repeat(np.arange(30), 4)
    y = np.arange(120) % 2
    found = split(y, measure, 5, 2, 0, groups=groups)
    assert len(found) == 10
    for train, test in found:
        assert not set(groups[train]) & set(groups[test])
    assert not np.array_equal(found[0][1], found[5][1])
    with pytest.raises(KitchenError, match="2 groups, fewer than the 5"):
        split(y, measure, 5, 1, 0, groups=np.arange(120) % 2)


def test_time_runs_forward():
    moments = np.random.default_rng(0).permutation(100).astype(float)
    for train, test in split(np.zeros(100), R2, 4, 3, 0, moments=moments):
        assert moments[train].max() < moments[test].min()
    with pytest.raises(KitchenError, match="class is missing"):
        split((np.arange(100) > 90).astype(int), ACCURACY, 4, 1, 0, moments=np.arange(100.0))


def by_patient(seed=0):
    """The own level of a patient can be recognised by a body height, and only by it."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), 4)
    height = rng.normal(size=40)[who]
    level = 3 * rng.normal(size=40)[who]
    return pd.DataFrame({"patient": who, "height": height, "other": rng.normal(size=160),
                         "y": level + 0.2 * rng.normal(size=160)})  # fmt: skip


def test_folds_between_groups_take_the_flattery_away():
    settings = {"folds": 3, "repeats": 1, "search": "path"}
    with pytest.raises(KitchenError, match="KG-A09"):
        cook(by_patient(), "y", **settings)
    flattered = cook(by_patient(), "y", accept=["KG-A09"], **settings)
    honest = cook(by_patient(), "y", group="patient", **settings)
    scores = [{one.name: one.score.mean for one in found.judged} for found in (flattered, honest)]
    assert scores[0]["trees"] > scores[1]["trees"] + 0.3
    assert scores[1]["trees"] < 0.2
    assert any(f.code == "KG-A09" for f in honest.audit.findings)


def test_copies_are_left_out_on_request():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("aby"))
    doubled = pd.concat([frame, frame])
    found = cook(doubled, "y", drop_duplicates=True, **QUICK)
    assert len(found.judged[0].y) == 100
    assert "100 duplicate rows" in " ".join(found.notes)


def test_time_is_cooked_forward():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"year": np.repeat(np.arange(1960, 2000), 4), "x": rng.normal(size=160)})
    frame["y"] = frame["x"] + rng.normal(size=160)
    found = cook(frame, "y", time="year", folds=3, search="path")
    assert len(found.judged[0].nested.folds) == 3
    with pytest.raises(KitchenError, match="cannot be used together"):
        cook(frame, "y", time="year", group="x")


def test_the_score_along_time_is_of_later_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"when": np.arange(120), "x": rng.normal(size=120)})
    frame["y"] = 3 * frame["x"] + rng.normal(size=120)
    found = cook(frame, "y", time="when", recipes=["linear"], search="path")
    ahead = len(found.judged[0].nested.folds[0].test)
    assert (
        f"on later rows (up to {ahead} rows after the training rows; 95 % interval"
        in (found.verdict[0])
    )
    # scores during tuning are of earlier rows: no optimism can be stated
    assert found.chosen.optimism is None
    assert "earlier rows" in found.verdict[2]


def test_groups_that_hold_all_rows_of_a_class_are_refused():
    frame = pd.DataFrame({"who": np.repeat([0, 1], 20), "x": np.arange(40.0)})
    frame["y"] = np.where(frame["who"] == 0, "no", "yes")
    with pytest.raises(KitchenError, match="All rows of some class"):
        cook(frame, "y", group="who", folds=2, accept=["KG-A07", "KG-A09"])
