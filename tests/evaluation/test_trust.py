"""Calibration, conformal intervals and subgroups: what a single answer is worth."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss

import kilogram.evaluation as evaluation
from kilogram.evaluation import (
    brier,
    conformal_quantile,
    conformal_sets,
    coverage_test,
    cv_plus,
    holm,
    reliability,
    split_conformal,
    subgroup_losses,
    wilson,
)


def test_calibrated_and_overconfident_probabilities():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=3000)
    y = (rng.uniform(size=3000) < p).astype(float)
    good = reliability(y, p)
    assert good.calibration_error < 0.04
    inside = [b.low <= b.predicted <= b.high for b in good.bins]
    assert sum(inside) >= 8
    sure = reliability(y, np.clip(3 * (p - 0.5) + 0.5, 0, 1), strategy="uniform")
    assert sure.calibration_error > 0.1
    assert good.brier == pytest.approx(brier_score_loss(y, p))
    assert sure.brier > good.brier
    assert sum(b.count for b in sure.bins) == 3000


def test_the_parts_of_the_brier_score():
    rng = np.random.default_rng(1)
    p = rng.choice([0.1, 0.4, 0.8], 500)  # one value per bin: the parts add up exactly
    y = (rng.uniform(size=500) < p).astype(float)
    found = reliability(y, p, bins=3, strategy="uniform")
    parts = found.reliability - found.resolution + found.uncertainty
    assert parts == pytest.approx(found.brier)
    constant = reliability(y, np.full(500, y.mean()))
    assert constant.calibration_error == pytest.approx(0)
    assert constant.resolution == pytest.approx(0)
    P = np.column_stack([1 - p, p])
    assert brier(y, P) == pytest.approx(2 * brier(y, p))


def test_wilson_stays_inside():
    assert wilson(0, 10)[0] == 0
    assert wilson(10, 10)[1] == pytest.approx(1)
    assert wilson(0, 0) == (0, 1)
    low, high = wilson(5, 10)
    assert low == pytest.approx(1 - high)


def line(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.standard_t(3, size=n)


def test_the_quantile_counts_the_new_row_too():
    assert conformal_quantile(np.arange(1, 10), 0.9) == 9
    assert conformal_quantile(np.arange(1, 9), 0.9) == np.inf
    assert conformal_quantile(np.arange(1, 20), 0.5) == 10
    with pytest.raises(ValueError, match="coverage"):
        conformal_quantile([1.0], 90)


@pytest.mark.parametrize("make", [split_conformal, cv_plus])
def test_intervals_cover_whatever_the_noise(make):
    shares = []
    for seed in range(30):
        found = make(LinearRegression(), *line(seed, 80))
        X, y = line(1000 + seed, 100)
        shares.append(coverage_test(y, *found.interval(X, 0.9), 0.9).covered)
    assert 0.87 < np.mean(shares) < 0.95


def test_cv_plus_is_its_definition():
    X, y = line(0, 25)
    found = cv_plus(LinearRegression(), X, y)
    new = X[:3]
    spread = [
        (model.predict(new)[:, None], error)
        for model, error in zip(found.models, found.errors, strict=True)
    ]
    high = np.sort(np.hstack([f + e for f, e in spread]), axis=1)
    low = np.sort(np.hstack([f - e for f, e in spread]), axis=1)
    got = found.interval(new, 0.8)
    k = int(np.ceil(0.8 * 26))
    assert np.allclose(got[1], high[:, k - 1])
    assert np.allclose(got[0], low[:, 26 - k - 1])
    assert np.all(np.isinf(found.interval(new, 0.99)[0]))
    with pytest.raises(ValueError, match="coverage"):
        found.interval(new, 2)


def test_sets_of_classes_cover():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 1200)
    X = rng.normal(size=(1200, 2)) + np.array([[0, 0], [1.5, 0], [0, 1.5]])[y]
    names = np.array(["p", "q", "r"])[y]
    sets = conformal_sets(LogisticRegression(), X[:600], names[:600]).sets(X[600:], 0.9)
    assert sets[np.arange(600), y[600:]].mean() == pytest.approx(0.9, abs=0.04)
    assert sets.sum(axis=1).mean() < 2.2


def test_the_coverage_test_finds_intervals_that_are_too_short():
    y = np.random.default_rng(4).normal(size=200)
    assert coverage_test(y, np.full(200, -1.645), np.full(200, 1.645), 0.9).p_value > 0.01
    assert coverage_test(y, np.full(200, -1), np.full(200, 1), 0.9).p_value < 1e-6


def test_a_worse_subgroup_is_found_and_chance_is_not():
    rng = np.random.default_rng(5)
    groups = rng.choice(["a", "b", "c"], 300)
    loss = rng.exponential(size=300) + 1.0 * (groups == "b")
    found = subgroup_losses(loss, groups)
    assert found[0].name == "b"
    assert found[0].verdict == "worse"
    assert found[0].difference.mean == pytest.approx(
        loss[groups == "b"].mean() - loss[groups != "b"].mean()
    )
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noise = subgroup_losses(rng.normal(size=200), rng.integers(0, 8, 200))
        alarms += any(group.verdict != "like the others" for group in noise)
    assert alarms <= 8


def test_small_groups_are_pooled():
    groups = ["x"] * 20 + ["y"] * 20 + ["z"] * 6 + ["w"] * 6
    found = subgroup_losses(np.arange(52.0), groups)
    assert {group.name: group.count for group in found} == {"x": 20, "y": 20, "other": 12}
    assert subgroup_losses(np.arange(5.0), list("aabbc")) == ()
    assert subgroup_losses(np.arange(20.0), ["a"] * 20) == ()
    same = subgroup_losses(np.ones(40), ["a", "b"] * 20)
    assert [group.p_value for group in same] == [1, 1]


def test_holm_is_its_definition():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_every_public_name_is_there():
    for name in evaluation.__all__:
        assert getattr(evaluation, name).__doc__, name
    assert dir(evaluation) == evaluation.__all__
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = evaluation.nothing_of_the_kind


@pytest.mark.parametrize(
    ("y", "p", "word"),
    [
        ([0, 1], [0.5], "same (length|shape)"),
        ([0, 1], [0.5, 2], "floats in"),
        ([0, 3], [0, 1], "0 and 1"),
    ],
)
def test_bad_probabilities(y, p, word):
    with pytest.raises(ValueError, match=word):
        reliability(y, p)
