"""Lectures 17 and 18: costs, ROC and PR, optimism, variants of cross-validation, bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

from kilogram.evaluation import (
    auc,
    auc_interval,
    average_precision,
    best_threshold,
    bootstrap_error,
    class_report,
    confusion,
    corrected_cross_validate,
    covariance_penalty,
    curve,
    likelihood_ratio_threshold,
    linear_penalty,
    make_splits,
    nested_cross_validate,
    probability_threshold,
    ridge_degrees_of_freedom,
    squared_correlation,
)


def gaussian_scores(seed, n1, n0, shift):
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(n1, int), np.zeros(n0, int)]
    return y, rng.normal(size=n1 + n0) + shift * y


@covers("lecture_notes L17.M3", "lecture_notes L17.M4", "lecture_notes L17.T1",
        "lecture_notes L17.E1", "lecture_notes L17.G1", "lecture_notes L18.M1")  # fmt: skip
def test_L17_T1_losses_only_move_the_threshold():
    """Access by fingerprint: positives N(2, 1), negatives N(0, 1), posterior known."""
    y, x = gaussian_scores(0, 3000, 6000, 2.0)
    p1 = 1 / 3
    ratio = stats.norm.pdf(x, 2) / stats.norm.pdf(x, 0)
    posterior = ratio * p1 / (ratio * p1 + 1 - p1)
    assert probability_threshold(1, 1) == 0.5  # equal losses: the rule of least error
    previous = -np.inf
    for false_alarm in (0.2, 1.0, 5.0, 50.0):  # the dearer a false alarm, the higher the gate
        by_odds = posterior > probability_threshold(false_alarm, 1.0)
        by_ratio = ratio > likelihood_ratio_threshold(false_alarm, 1.0, p1)
        assert np.array_equal(by_odds, by_ratio)
        found = best_threshold(y, x, false_alarm=false_alarm, miss=1.0)
        exact = 1 + np.log(likelihood_ratio_threshold(false_alarm, 1.0, p1)) / 2
        risks = [
            confusion(truth=y, prediction=(x >= t).astype(int)).cost(false_alarm, 1.0)
            for t in (exact - 0.5, exact, exact + 0.5)
        ]
        assert found.risk <= min(risks) + 1e-12
        assert risks[1] < min(risks[0], risks[2])
        assert exact > previous
        previous = exact


@covers("lecture_notes L17.T2", "lecture_notes L17.X3", "lecture_notes L17.X2",
        "first_encounter C.2")  # fmt: skip
def test_L17_T2_ends_of_the_ROC_curve_and_the_diagonal():
    y, x = gaussian_scores(1, 200, 2000, 1.0)
    found = curve(y, x)
    assert (found.false_alarms[0], found.hits[0], found.thresholds[0]) == (0, 0, np.inf)
    assert (found.false_alarms[-1], found.hits[-1]) == (1, 1)
    perfect = curve(y, y.astype(float))
    assert (0.0, 1.0) in set(zip(perfect.false_alarms, perfect.hits, strict=True))
    # guessing lies on the diagonal for ten times more negatives than positives too
    guess = curve(y, np.random.default_rng(2).normal(size=len(y)))
    assert np.max(np.abs(guess.hits - guess.false_alarms)) < 0.12
    # the four outcomes: FN is L_FN's, and TN exists
    four = confusion(truth=y, prediction=(x > 0.5).astype(int))
    assert four.tp + four.fn == 200
    assert four.tn + four.fp == 2000
    assert four.cost(1.0, 7.0) == pytest.approx((four.fp + 7 * four.fn) / 2200)
    assert squared_correlation(y, x) == pytest.approx(np.corrcoef(y, x)[0, 1] ** 2)


@covers("lecture_notes L18.M2", "lecture_notes L18.E1", "lecture_notes L18.T6")
def test_L18_E1_few_positives_look_good_in_ROC_and_poor_in_PR():
    balanced = gaussian_scores(3, 400, 400, 2.0)
    rare = gaussian_scores(3, 40, 8000, 2.0)
    assert abs(auc(*balanced) - auc(*rare)) < 0.06
    assert auc(*rare) > 0.88
    assert average_precision(*rare) < 0.4 < 0.85 < average_precision(*balanced)
    four = confusion(truth=rare[0], prediction=(rare[1] > 1.5).astype(int))
    assert four.f1 == pytest.approx(2 / (1 / four.precision + 1 / four.recall))
    report = class_report(truth=rare[0], prediction=(rare[1] > 1.5).astype(int))
    assert report.accuracy > 0.9 > 0.3 > four.f1


@covers("lecture_notes L18.T5", "lecture_notes L18.X1")
def test_L18_T5_the_area_is_a_rank_statistic_and_may_lie_below_one_half():
    y, x = gaussian_scores(4, 30, 300, 0.8)
    u = stats.mannwhitneyu(x[y == 1], x[y == 0]).statistic
    assert auc(y, x) == pytest.approx(u / (30 * 300))
    assert auc(y, -x) < 0.5  # whatever N_0 and N_1
    assert auc(y, -x) == pytest.approx(1 - auc(y, x))
    found = curve(y, x)
    mirrored = 1 - found.false_alarms  # TNR on the axis: the curve mirrored at 1/2
    assert np.trapezoid(found.hits[::-1], mirrored[::-1]) == pytest.approx(found.area)
    assert auc_interval(y, x).low > 0.5


@covers("lecture_notes L18.M3", "lecture_notes L18.M4")
def test_L18_M4_repeating_steadies_the_mean():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 5))
    y = X[:, 0] + rng.normal(size=40)
    once, often = [], []
    for seed in range(8):
        for found, repeats in ((once, 1), (often, 6)):
            cv = make_splits(y, "repeated", folds=5, repeats=repeats, seed=100 * seed)
            found.append(nested_cross_validate(LinearRegression(), X, y, cv=cv).scores.mean())
    assert np.std(often) < np.std(once)
    for K in (2, 5, 10, 40):
        assert len(make_splits(y, "random", folds=K)) == K


@covers("lecture_notes L18.M5", "lecture_notes L18.T4")
def test_L18_M5_reversed_folds_favour_the_simple_and_out_of_bag_is_pessimistic():
    rng = np.random.default_rng(6)
    x = rng.uniform(-2, 2, (60, 1))
    y = np.sin(1.5 * x[:, 0]) + 0.3 * rng.normal(size=60)
    chosen = {}
    for kind in ("random", "reversed"):
        errors = []
        for degree in range(1, 9):
            model = make_pipeline(PolynomialFeatures(degree), LinearRegression())
            cv = make_splits(y, kind, folds=5, seed=1)
            nested = nested_cross_validate(model, x, y, cv=cv, scoring="neg_mean_squared_error")
            errors.append(-nested.scores.mean())
        chosen[kind] = 1 + int(np.argmin(errors))
    assert chosen["reversed"] < chosen["random"]
    model = make_pipeline(PolynomialFeatures(5), LinearRegression())
    oob = bootstrap_error(model, x, y, draws=60)
    ten = nested_cross_validate(
        model, x, y, cv=KFold(10, shuffle=True, random_state=0), scoring="neg_mean_squared_error"
    )
    assert oob.out_of_bag > -ten.scores.mean() > oob.training


@covers("lecture_notes L18.M6", "lecture_notes L18.T3")
def test_L18_T3_corrected_cross_validation_is_less_biased():
    """Least squares, N = 30, d = 8, K = 3: the plain error is that of 20 rows."""
    rng = np.random.default_rng(7)
    beta, plain, corrected, true = rng.normal(size=8), [], [], []
    for _ in range(60):
        X = rng.normal(size=(30, 8))
        y = X @ beta + rng.normal(size=30)
        model = LinearRegression(fit_intercept=False)
        found = corrected_cross_validate(model, X, y, cv=KFold(3, shuffle=True, random_state=0))
        plain.append(found.plain)
        corrected.append(found.corrected)
        w = clone(model).fit(X, y).coef_
        true.append(1 + np.sum((w - beta) ** 2))
    bias = [abs(np.mean(found) - np.mean(true)) for found in (plain, corrected)]
    assert bias[1] < 0.6 * bias[0]


@covers("lecture_notes L18.M7", "lecture_notes L18.T1")
def test_L18_T1_out_of_the_bag():
    for n in (10, 1000):
        assert (1 - 1 / n) ** n == pytest.approx(1 / np.e, rel=0.06)
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=80)
    found = bootstrap_error(DecisionTreeRegressor(random_state=0), X, y, draws=40)
    assert found.in_bag == pytest.approx(0.632, abs=0.02)
    assert found.training == 0 < found.error_632 < found.out_of_bag
    # per instance first, then over instances
    assert found.out_of_bag == pytest.approx(np.nanmean(found.row_losses))
    assert np.isfinite(found.row_losses).all()


@covers("lecture_notes L18.M8", "lecture_notes L18.T2", "lecture_notes L18.G1",
        "lecture_notes L18.X3")  # fmt: skip
def test_L18_T2_covariance_penalties():
    """Err_in - err is 2 d sigma^2 / N = 0.25 for N = 40, d = 5, sigma = 1."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(40, 5))
    f = X @ np.arange(5.0)
    gap, err_in, err_new = [], [], []
    model = LinearRegression(fit_intercept=False)
    for _ in range(300):
        y, again = f + rng.normal(size=(2, 40))
        fit = model.fit(X, y)
        gap.append(np.mean((again - fit.predict(X)) ** 2) - np.mean((y - fit.predict(X)) ** 2))
        err_in.append(1 + np.mean((fit.predict(X) - f) ** 2))
        err_new.append(1 + np.sum((fit.coef_ - np.arange(5.0)) ** 2))
    assert linear_penalty(5, 1.0, 40) == 0.25
    assert np.mean(gap) == pytest.approx(0.25, abs=0.04)
    assert np.mean(err_new) > np.mean(err_in)  # new x are harder than the same ones; both tend to 1
    y = f + rng.normal(size=40)
    for method in ("bootstrap", "perturbation"):
        sampled = covariance_penalty(model, X, y, 1.0, method=method, draws=150)
        assert sampled.penalty == pytest.approx(0.25, rel=0.2)
    ridge = covariance_penalty(Ridge(20.0, fit_intercept=False), X, y, 1.0, draws=150)
    assert ridge.degrees_of_freedom == pytest.approx(ridge_degrees_of_freedom(X, 20.0), rel=0.2)
    lasso = Lasso(0.3, fit_intercept=False)
    counted = np.mean(
        [np.count_nonzero(clone(lasso).fit(X, f + e).coef_) for e in rng.normal(size=(50, 40))]
    )
    sampled = covariance_penalty(lasso, X, y, 1.0, draws=150)
    assert sampled.degrees_of_freedom == pytest.approx(counted, abs=0.9)


@covers("lecture_notes L18.E2")
def test_L18_E2_errors_against_complexity_side_by_side():
    rng = np.random.default_rng(1)
    x, new = rng.uniform(-2, 2, (40, 1)), rng.uniform(-2, 2, (2000, 1))
    y = np.sin(2 * x[:, 0]) + 0.4 * rng.normal(size=40)
    y_new = np.sin(2 * new[:, 0]) + 0.4 * rng.normal(size=2000)
    table = []
    for degree in (1, 5, 15):
        model = make_pipeline(PolynomialFeatures(degree), LinearRegression())
        cv = KFold(10, shuffle=True, random_state=0)
        found = corrected_cross_validate(model, x, y, cv=cv)
        penalty = covariance_penalty(model, x, y, 0.4, draws=60)
        test = np.mean((clone(model).fit(x, y).predict(new) - y_new) ** 2)
        table.append((found.training, test, found.plain, found.corrected, penalty.error))
    training, test, plain, corrected, penalty = np.array(table).T
    assert training[0] > training[1] > training[2]  # training error only falls
    for column in (test, plain, corrected, penalty):  # everything else turns
        assert np.argmin(column) == 1
    assert test[2] - training[2] > test[1] - training[1]  # optimism grows with complexity
