"""`--recipe recipe.toml` repeats a search that its time limit had ended, number for number."""

from itertools import cycle

import numpy as np
import pytest

from kilogram.base.budget import Budget
from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.artifact.recipe_file import load_recipe
from kilogram.kitchen.report.sentences import _optimism
from tests.kitchen.conftest import classes, curved


@pytest.fixture
def uneven_clock(monkeypatch):
    """Searches that a time limit ends after one, three or more points, in turn."""
    looks = cycle([0, 2, 1, 9])

    class Clock(Budget):
        @property
        def left(self):
            self.__dict__.setdefault("looks", next(looks))
            self.__dict__["looks"] -= 1
            return np.inf if self.max_time is None or self.__dict__["looks"] >= 0 else -np.inf

    monkeypatch.setattr("kilogram.evaluation.search.Budget", Clock)


def written(cooked, folder):
    """The recipe file of a run."""
    return load_recipe(cooked.save(folder)["recipe.toml"])


@pytest.mark.parametrize("frame", [curved, classes])
def test_a_search_that_was_cut_is_repeated(frame, uneven_clock, tmp_path):
    path = tmp_path / "t.csv"
    frame().to_csv(path, index=False)
    target = "y" if frame is curved else "kind"
    first = cook(path, target, folds=3, repeats=1, max_time=500.0,
                 recipes=["linear", "knn", "boosting", "ensemble"])  # fmt: skip
    stops = dict(first.stopped_at)
    assert len(set(stops["boosting"])) > 1  # folds that tried a different number of settings
    assert "--recipe recipe.toml repeats this search" in " ".join(first.notes)
    recipe = written(first, tmp_path / "first")
    again = cook(recipe.path, recipe.target, **recipe.keywords)
    assert dict(again.stopped_at) == stops
    assert again.verdict == first.verdict
    for one, other in zip(first.judged, again.judged, strict=True):
        assert one.name == other.name
        assert one.nested.winners == other.nested.winners
        for fold, repeated in zip(one.nested.folds, other.nested.folds, strict=True):
            assert np.array_equal(fold.prediction, repeated.prediction)
    X = frame().drop(columns=target)
    assert np.array_equal(first.predict(X), again.predict(X))
    assert np.array_equal(first.evidence.learning.scores, again.evidence.learning.scores)
    files = written(again, tmp_path / "again")
    assert files.keywords == recipe.keywords


def test_evidence_that_was_cut_is_repeated(tmp_path):
    path = tmp_path / "t.csv"
    curved().to_csv(path, index=False)
    stops = {"permutation_importance": (1,), "learning_curve": (2,), "partial_dependence": (1,)}
    cooked = cook(path, "y", folds=2, repeats=1, recipes=["linear", "kernel"], stopped_at=stops)
    assert cooked.evidence.importance.losses.shape[1] == 1
    assert len(cooked.evidence.learning.sizes) == 2
    assert len(cooked.effects) == 1
    assert written(cooked, tmp_path).keywords["stopped_at"] == {
        k: list(v) for k, v in stops.items()
    }


def test_time_ordered_folds_that_were_cut_are_recorded(tmp_path):
    frame = curved().assign(when=np.arange(90))
    cooked = cook(frame, "y", folds=4, time="when", recipes=["linear"], outer_folds=2)
    cut = cook(frame, "y", folds=4, time="when", recipes=["linear"])
    assert len(cut.judged[0].nested.folds) == cut.planned_folds == 4
    assert cooked._settings_used().outer_folds == 2


def test_counts_of_a_recipe_file_are_checked(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('format = "kilogram recipe 1"\n[settings]\nstopped_at = { linear = 3 }')
    with pytest.raises(KitchenError, match="a table of lists of integers"):
        load_recipe(path)


def test_optimism_is_of_one_measure(sorted_classes):
    """Boosting is tuned by its log-loss: the difference to an accuracy means nothing."""
    by_name = {one.name: one for one in sorted_classes.judged}
    assert by_name["boosting"].nested.inner_scores is not None
    assert by_name["boosting"].optimism is None
    assert abs(by_name["trees"].optimism) < 0.3
    sentence = _optimism(by_name.values(), by_name["boosting"])
    assert sentence.startswith("Tuning of the boosting recipe used another score than accuracy")
    assert "During tuning the forest recipe" in _optimism(by_name.values(), by_name["trees"])
