"""Nested cross-validation: equal to the one by hand; its optimism shows over-searching."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from kilogram.evaluation import nested_cross_validate


@pytest.fixture
def line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.normal(size=80)


def test_outer_scores_are_those_of_cross_val_score(line):
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1, 10]}, cv=3, scoring="r2")
    cv = KFold(5, shuffle=True, random_state=0)
    nested = nested_cross_validate(search, *line, cv=cv, scoring="r2")
    assert nested.scores == pytest.approx(cross_val_score(search, *line, cv=cv, scoring="r2"))
    assert len(nested.winners) == 5
    assert set(nested.winners[0]) == {"alpha"}
    assert 0.2 <= nested.stability <= 1
    assert nested.optimism == pytest.approx(np.mean(nested.inner_scores - nested.scores))
    assert nested.interval().mean == pytest.approx(nested.scores.mean())
    assert nested.folds[0].model is None


def test_a_search_over_noise_flatters_itself():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 20)), rng.integers(0, 2, 60)
    search = GridSearchCV(DecisionTreeClassifier(), {"random_state": range(15)}, cv=3)
    nested = nested_cross_validate(search, X, y, cv=5)
    assert nested.optimism > 0.05


def test_pipelines_and_plain_models(line):
    piped = make_pipeline(StandardScaler(), RidgeCV([0.1, 1.0], scoring="r2"))
    nested = nested_cross_validate(piped, *line, cv=4, keep_models=True)
    assert set(nested.winners[0]) == {"alpha"}
    assert nested.inner_scores.shape == (4,)
    assert nested.folds[0].model.predict(line[0]).shape == (80,)
    plain = nested_cross_validate(Ridge(), *line, cv=4)
    assert plain.optimism is None
    assert plain.stability is None
    assert nested.against(plain).verdict == "tie"


def test_optimism_compares_like_with_like(line):
    """RidgeCV scores itself by -MSE: minus an R^2 that was an optimism of thousands."""
    X, y = line
    assert nested_cross_validate(RidgeCV(), X, y, scoring="r2").optimism is None
    assert nested_cross_validate(RidgeCV(), X, y).optimism is None
    for scoring in ("r2", "neg_mean_squared_error"):
        model = RidgeCV(scoring=scoring)
        assert nested_cross_validate(model, X, y, scoring=scoring).optimism is not None


def test_results_are_shown_on_a_line(line):
    X, y = line
    nested = nested_cross_validate(RidgeCV(scoring="r2"), X, y)
    assert len(repr(nested)) < 150
    assert len(repr(nested.folds[0])) < 300
    assert repr(nested.interval()).startswith("Interval(mean=0.")


def test_progress_and_classes():
    seen = []
    y = np.array(["a", "b"] * 20)
    nested = nested_cross_validate(
        DummyClassifier(), np.zeros((40, 1)), y, cv=4, progress=lambda k, n: seen.append((k, n))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert nested.scores == pytest.approx([0.5] * 4)


def test_different_folds_are_not_compared(line):
    a = nested_cross_validate(Ridge(), *line, cv=KFold(4))
    b = nested_cross_validate(Ridge(), *line, cv=KFold(4, shuffle=True, random_state=0))
    with pytest.raises(ValueError, match="same folds"):
        a.against(b)
