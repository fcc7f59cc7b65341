"""Cooking: the answer is right on tables whose truth is known, and refused where there is none."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kilogram.base.budget import Budget
from kilogram.kitchen import KitchenError, cook
from tests.kitchen.conftest import QUICK, classes, curved


def test_structure_is_found_and_the_line_not_chosen(cooked):
    assert cooked.question.task == "regression"
    assert cooked.chosen.name not in ("baseline", "linear")
    assert cooked.chosen.score.mean > 0.8
    assert "significantly better" in cooked.verdict[1]
    assert "1 of 90 rows" in cooked.notes[0]
    assert len(cooked.judged[0].nested.folds) == 6
    order = cooked.evidence.importance.order
    assert cooked.evidence.importance.columns[order[0]] == "x"
    fresh = curved(200, seed=1).dropna(subset="y")
    residual = fresh["y"] - cooked.predict(fresh)
    assert 1 - residual.var() / fresh["y"].var() > 0.85


def test_a_line_ties_with_its_kernel_twin(sorted_classes):
    assert sorted_classes.chosen.name == "linear"
    assert "not significant" in sorted_classes.verdict[1]
    fresh = classes(200, seed=1)
    assert np.mean(sorted_classes.predict(fresh) == fresh["kind"]) > 0.95


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    found = cook(frame, "y", folds=3, repeats=1, search="path")
    assert found.chosen.name == "baseline"
    assert "There is no evidence that" in found.verdict[0]
    assert found.shown.name != "baseline"
    assert found.predict(frame) == pytest.approx(np.full(60, frame["y"].mean()))
    assert cook(frame, "y", **QUICK, keep="linear").model.about["recipe"] == "linear"


def test_true_and_false(two_classes):
    assert two_classes.question.classes == ("false", "true")
    assert two_classes.evidence.held_out.margin is not None
    assert set(two_classes.predict(classes(10, seed=3))) <= {"true", "false"}


def test_the_same_seed_gives_the_same_numbers_and_warns_of_nothing(cooked):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = cook(pa.Table.from_pandas(curved()), "y", folds=3, repeats=2)
    for one, other in zip(cooked.judged, again.judged, strict=True):
        assert np.array_equal(one.nested.scores, other.nested.scores)


def test_progress_counts_to_the_end():
    seen = []
    cook(classes(), "kind", **QUICK, progress=lambda *step: seen.append(step))
    done, steps, what = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    looking = [k for k, note in enumerate(what) if note.startswith("checking")]
    assert looking == list(range(len(looking)))
    assert "checking for target leaks" in what
    assert not any(done[: len(looking)])  # how many steps there are is known after the audit
    assert done[-1] < steps[len(looking)] == steps[-1]
    assert "fold 1 of 2: baseline" in what


def test_the_time_limit_is_kept_and_reported(monkeypatch):
    """Looks at the clock are counted, not seconds: a busy machine may sleep between any two."""
    looks = iter([1e9] * 12)
    left = property(lambda self: next(looks, 0.0) if self.max_time == 2.0 else np.inf)
    monkeypatch.setattr(Budget, "left", left)
    frame = curved(60)
    found = cook(frame, "y", folds=3, repeats=1000, max_time=2.0, search="path")
    assert 2 <= len(found.judged[0].nested.folds) < 12
    assert "of 3000 outer folds" in " ".join(found.notes)
    assert found.predict(frame).shape == (60,)


def test_few_folds_are_reported_to_make_intervals_wide(cooked, sorted_classes):
    assert "makes the intervals 2.2 times as wide" in " ".join(sorted_classes.notes)  # 3 folds
    assert "times as wide" not in " ".join(cooked.notes)  # 6 folds


def test_long_tables_are_sampled_and_that_is_reported():
    found = cook(curved(200), "y", **QUICK, max_rows=80)
    assert len(found.judged[0].y) == 80
    assert "80 of 199 rows" in " ".join(found.notes)


def test_rare_and_new_words_and_gaps_at_prediction():
    frame = curved()
    frame.loc[5, "word"] = "once"
    found = cook(frame, "y", **QUICK)
    odd = pd.DataFrame({"x": [0.0, np.nan], "noise": [np.nan, np.inf], "word": ["new", None]})
    assert np.isfinite(found.predict(odd)).all()


def test_wide_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 300)), columns=[f"c{k}" for k in range(300)])
    frame["y"] = frame["c7"] * 5
    with pytest.raises(KitchenError, match=r"KG-A07.*'c7' is 'y' under another name"):
        cook(frame, "y", **QUICK)
    found = cook(frame, "y", **QUICK, accept=["KG-A07"])
    assert found.evidence.importance.skipped == 240
    assert "c7" in found.evidence.importance.columns


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        (curved(), {"target": None}, "Which column"),
        (curved(), {"folds": 1}, "folds must be an integer of at least 2"),
        (curved(), {"repeats": 0}, "repeats"),
        (curved(), {"max_time": -1}, "max_time must be a float greater than 0"),
        (curved(), {"max_rows": 3}, "max_rows"),
        (curved(), {"keep": "forest"}, "'forest'"),
        (curved()[["y"]], {}, "only column"),
        (curved()[["y"]].assign(a=None, b=1), {}, "No usable input column is left.*'a': no value"),
        (curved().head(1), {}, "Only 1 row"),
        (curved(), {"max_time": 1e-9}, "too short to evaluate"),
    ],
)
def test_what_cannot_be_cooked_is_refused(frame, settings, message):
    settings = {"target": "y"} | settings
    with pytest.raises(KitchenError, match=message):
        cook(frame, settings.pop("target"), **settings)


def test_in_a_plain_terminal_it_prints_its_verdict(cooked):
    assert repr(cooked) == "\n".join(cooked.verdict)
