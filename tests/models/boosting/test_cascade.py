"""Cascades: detection of bars among noise, targets of the stages, costs, errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import kilogram as kg


def bars(seed: int, n: int, rate: float):
    """Windows of 8 x 8 noise; positives have a bright bar over a dark one, as eyes and cheeks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (n, 8, 8))
    y = rng.random(n) < rate
    X[y, 2:4, 1:7] -= 0.9
    X[y, 4:6, 1:7] += 0.9
    return X.reshape(n, 64), y.astype(int)


@pytest.fixture(scope="module")
def detector():
    X, y = bars(0, 3000, 0.1)
    features = kg.HaarFeatures((8, 8), step=2)
    cascade = kg.CascadeClassifier(min_tpr=0.99, max_stages=5, max_stumps=20, random_state=0)
    return make_pipeline(features, cascade).fit(X, y)


def test_finds_bars_on_new_windows_at_a_small_cost(detector):
    X, y = bars(1, 4000, 0.02)
    found = detector.predict(X)
    assert found[y == 1].mean() > 0.9
    assert found[y == 0].mean() < 0.08
    cost = detector[-1].evaluation_cost(detector[0].transform(X))
    stumps = sum(len(stage.stumps) for stage in detector[-1].stages_)
    assert cost.dtype == np.int64
    assert cost.max() <= stumps
    assert cost[y == 0].mean() < 0.5 * cost[y == 1].mean()


def test_stages_meet_their_targets_on_held_out_rows(detector):
    model = detector[-1]
    assert (model.stage_tpr_ >= 0.99).all()
    assert (model.stage_fpr_[:2] <= 0.5).all()
    assert all(len(stage.stumps) <= 20 for stage in model.stages_)
    assert model.tpr_ == pytest.approx(np.prod(model.stage_tpr_))
    assert model.fpr_ == pytest.approx(np.prod(model.stage_fpr_))
    assert len(model.thresholds_) == len(model.n_features_used_) == len(model.stages_)
    used = [len(set(stage.stumps[:, 0])) for stage in model.stages_]
    np.testing.assert_array_equal(model.n_features_used_, used)


def test_a_stage_that_misses_its_target_has_its_best_size():
    """One positive amid the negatives: with min_tpr = 1 no stage can reject many."""
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.2
    X = rng.normal(0, 1, (1500, 4)) + 2.0 * y[:, None]
    X[np.flatnonzero(y)[0]] = -1.0
    settings = {"min_tpr": 1.0, "max_fpr": 0.01, "validation_fraction": 0, "max_stages": 1}
    (stage,) = kg.CascadeClassifier(max_stumps=40, **settings).fit(X, y).stages_
    assert stage.fpr > 0.01
    assert len(stage.stumps) < 40
    sizes = range(1, 41)
    found = [kg.CascadeClassifier(max_stumps=k, **settings).fit(X, y).fpr_ for k in sizes]
    assert stage.fpr == found[-1] == min(found)
    assert (np.diff(found) <= 0).all()  # more stumps allowed: never worse
    assert len(stage.stumps) == 1 + int(np.argmin(found))


def test_scores_order_rows_by_their_rejection():
    X = np.random.default_rng(0).uniform(-1, 1, (800, 3))
    y = (X**2).sum(axis=1) < 0.3
    model = kg.CascadeClassifier(min_tpr=0.95, validation_fraction=0).fit(X, y)
    assert len(model.stages_) > 2
    scores, cost = model.decision_function(X), model.evaluation_cost(X)
    stumps = np.cumsum([len(stage.stumps) for stage in model.stages_])
    accepted = scores > 0
    np.testing.assert_array_equal(model.predict(X), accepted)
    assert (scores[accepted] >= 1).all()
    assert (cost[accepted] == stumps[-1]).all()
    for s, total in enumerate(stumps):
        rejected = (cost == total) & ~accepted
        assert (scores[rejected] >= s - len(stumps)).all()
        assert (scores[rejected] <= s - len(stumps) + 1).all()
    assert model.tpr_ == accepted[y].mean() >= 0.95 ** len(stumps)
    assert model.fpr_ == accepted[~y].mean()
    assert model.mean_cost_ == pytest.approx(cost.mean())


def test_equal_seeds_hold_out_equal_rows():
    X, y = bars(2, 400, 0.3)
    one, two = (kg.CascadeClassifier(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)
    words = kg.CascadeClassifier(random_state=3).fit(X, np.array(["noise", "parts"])[y])
    np.testing.assert_array_equal(words.predict(X) == "parts", one.predict(X) == 1)


def test_a_separable_problem_ends_after_one_stump():
    x = np.arange(40.0)[:, None]
    model = kg.CascadeClassifier(random_state=0).fit(x, x[:, 0] > 19)
    assert len(model.stages_) == 1
    assert model.mean_cost_ == 1
    assert (model.tpr_, model.fpr_) == (1, 0)


def test_clear_errors():
    X, y = bars(3, 60, 0.5)
    with pytest.raises(ValueError, match=r"Only binary classification .* 3 classes"):
        kg.CascadeClassifier().fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="validation_fraction=0"):
        kg.CascadeClassifier().fit(X, np.arange(60) == 0)
    with pytest.raises(ValueError, match="min_tpr must be a float in"):
        kg.CascadeClassifier(min_tpr=0.0).fit(X, y)
    with pytest.raises(ValueError, match="better than chance"):
        kg.CascadeClassifier().fit(np.ones((60, 2)), y)
    assert kg.CascadeClassifier(validation_fraction=0).fit(X, np.arange(60) == 0).tpr_ == 1
