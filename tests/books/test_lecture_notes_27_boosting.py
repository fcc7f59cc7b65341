"""Lecture notes L27: AdaBoost, gradient boosting, cascades."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import boosting


def disc(seed: int, n: int):
    """A disc in a square: no single stump separates it."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 0.5, 1.0, -1.0)


@covers("lecture_notes L27.M1", "lecture_notes L27.E1")
def test_L27_M1_adaboost_of_stumps():
    X, y = disc(0, 120)
    *_, last = boosting.adaboost(X, y, 20)
    fast = kg.AdaBoostClassifier(n_estimators=20, criterion="error").fit(X, y)
    np.testing.assert_allclose(fast.estimator_errors_, last["err"], rtol=1e-9)
    np.testing.assert_allclose(fast.estimator_weights_, 2 * last["beta"], rtol=1e-9)
    agree = last["f"] / last["beta"].sum()
    np.testing.assert_allclose(fast.decision_function(X), agree, atol=1e-9)
    assert np.mean(np.sign(last["f"]) == y) > 0.9 > 1 - last["err"][0]


@covers("lecture_notes L27.M2")
def test_L27_M2_gradient_boosting_fits_residuals():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (80, 1))
    y = np.sin(X[:, 0])
    states = list(boosting.gradient_boosting(X, y, 15))
    assert (np.diff([s.objective for s in states]) < 0).all()
    fast = kg.HistGradientBoostingRegressor(max_iter=15, max_leaf_nodes=2, min_samples_leaf=1)
    np.testing.assert_allclose(fast.fit(X, y).predict(X), states[-1]["f"], atol=1e-9)


@covers("lecture_notes L27.T1")
def test_L27_T1_beta_is_the_best_step_and_errors_gain_weight():
    X, y = disc(1, 80)
    states = list(boosting.adaboost(X, y, 3))
    before, after = states[1], states[2]
    g = boosting.stump_values(X, after["stumps"][1])
    steps = np.linspace(0.01, 3, 3000)
    losses = [np.exp(-y * (before["f"] + b * g)).sum() for b in steps]
    assert steps[np.argmin(losses)] == pytest.approx(after["beta"][1], abs=2e-3)
    grown = after["w"] > before["w"]
    np.testing.assert_array_equal(grown, g != y)


@covers("lecture_notes L27.T2")
def test_L27_T2_the_bound_and_the_loss():
    X, y = disc(2, 100)
    states = list(boosting.adaboost(X, y, 25))
    losses = [s.objective for s in states]
    assert (np.diff(losses) < 0).all()
    last = states[-1]
    bound = np.prod(2 * np.sqrt(last["err"] * (1 - last["err"])))
    assert last.objective / len(y) == pytest.approx(bound)
    fast = kg.AdaBoostClassifier(n_estimators=25, criterion="error").fit(X, y)
    assert fast.training_error_bound_[-1] == pytest.approx(bound)
    wrong = [1 - score for score in fast.staged_score(X, y)]
    assert (np.array(wrong) <= fast.training_error_bound_ + 1e-12).all()
    for s in states[1:]:  # under the new weights the last stump is no better than chance
        g = boosting.stump_values(X, s["stumps"][-1])
        assert s["w"][g != y].sum() == pytest.approx(s["w"].sum() / 2)


@covers("lecture_notes L27.T3")
def test_L27_T3_a_perfect_learner_ends_the_fit():
    X = np.arange(10.0)[:, None]
    y = np.where(X[:, 0] < 5, -1.0, 1.0)
    model = kg.AdaBoostClassifier().fit(X, y)
    assert len(model.estimators_) == 1
    assert np.isfinite(model.estimator_weights_).all()
    assert model.score(X, y) == 1
    assert len(list(boosting.adaboost(X, y, 5))) == 1  # no finite beta


@covers("lecture_notes L27.X1")
def test_L27_X1_the_sign_of_the_exponential_loss():
    X, y = disc(3, 60)
    *_, last = boosting.adaboost(X, y, 10)
    right, printed = np.exp(-y * last["f"]).sum(), np.exp(y * last["f"]).sum()
    assert right < len(y) < printed


@covers("lecture_notes L27.M3", "lecture_notes L27.E2", "lecture_notes L27.T4")
def test_L27_M3_a_cascade_rejects_early():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 3))
    y = np.where((X**2).sum(axis=1) < 0.25, 1.0, -1.0)  # one row in fifteen
    epsilon = 0.05
    states = list(boosting.cascade(X, y, 4, 6, epsilon))
    positive = y > 0
    for t, s in enumerate(states):
        assert s["alive"][positive].mean() >= (1 - epsilon) ** t - 1e-12
    passed = [s["alive"][~positive].mean() for s in states]
    assert (np.diff(passed) <= 0).all()
    assert passed[-1] < 0.2
    assert states[-1]["cost"].mean() < 0.7 * 24  # of 4 stages of 6 stumps
    # independent stages that each keep a fraction 1 - epsilon keep (1 - epsilon)^T together
    kept = (rng.random((200_000, 4)) > epsilon).all(axis=1).mean()
    assert kept == pytest.approx((1 - epsilon) ** 4, abs=0.005)


@covers("lecture_notes L27.M3", "lecture_notes L27.T4")
def test_L27_M3_the_estimator_has_the_stages_of_the_textbook():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 3))
    y = np.where((X**2).sum(axis=1) < 0.3, 1.0, -1.0)
    fast = kg.CascadeClassifier(
        min_tpr=1 - 0.0625, max_fpr=0.0, max_stages=3, max_stumps=4,
        validation_fraction=0, balanced=False, criterion="error",
    ).fit(X, y)  # fmt: skip
    sizes = [len(stage.stumps) for stage in fast.stages_]
    assert len(set(sizes)) > 1
    states = list(boosting.cascade(X, y, 3, sizes, 0.0625))
    np.testing.assert_allclose(fast.thresholds_, [s["c"] for s in states[1:]], rtol=1e-9)
    np.testing.assert_array_equal(fast.predict(X) > 0, states[-1]["alive"])
    np.testing.assert_array_equal(fast.evaluation_cost(X), states[-1]["cost"])
    assert (fast.stage_tpr_ >= 1 - 0.0625).all()
    assert fast.tpr_ == pytest.approx(np.prod(fast.stage_tpr_))


@covers("lecture_notes L27.E2")
def test_L27_E2_cost_and_rates_against_the_number_of_stages():
    """Rare windows with a bright bar: more stages, fewer false positives, little more cost."""
    rng = np.random.default_rng(0)
    windows, y = rng.normal(0, 1, (2500, 6, 6)), rng.random(2500) < 0.1
    windows[y, 2:4] += 1.5
    X = kg.HaarFeatures((6, 6), step=2).fit_transform(windows.reshape(-1, 36))
    fits = [
        kg.CascadeClassifier(min_tpr=0.96, max_stages=T, max_stumps=10, random_state=0).fit(X, y)
        for T in (1, 2, 4)
    ]
    assert (np.diff([m.fpr_ for m in fits]) <= 0).all()
    assert (np.diff([m.tpr_ for m in fits]) <= 0).all()
    for m in fits:
        assert m.tpr_ >= 0.96 ** len(m.stages_) - 1e-12
        assert m.mean_cost_ <= sum(len(stage.stumps) for stage in m.stages_)
    assert fits[-1].fpr_ < 0.1
    assert fits[-1].mean_cost_ < 10
