"""Cookbook, chapter 20: the linear support vector machine by stochastic gradients."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, numerical_gradient
from sklearn.linear_model import LogisticRegression

import kilogram as kg
from kilogram.textbook import svm_dual, svm_sgd
from kilogram.textbook.state import run


def two_classes(seed, n=100, gap=1.0, d=2):
    """Two Gaussian classes around -gap and +gap."""
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.random.default_rng(seed).standard_normal((n, d)) + gap * y[:, None], y


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def optimum(X, y, lam):
    """Minimum of the mean hinge + lambda/2 |w|^2, offset penalised: C = 1 / (lambda N)."""
    C = 1 / (lam * len(y))
    return run(svm_dual.coordinate_descent(X, y, C, np.random.default_rng(0), tol=1e-7))["w"]


@covers("cookbook M20.1", "cookbook T20.2", "cookbook X20.2", "cookbook H20.1")
def test_T20_2_averaged_steps_reach_the_optimum():
    X, y = two_classes(0)
    lam = 0.1
    states = list(svm_sgd.linear_svm(X, y, lam, 100, np.random.default_rng(1)))
    best = optimum(X, y, lam)
    lowest = svm_sgd.linear_cost(with_ones(X), y, best, lam)
    assert lowest <= states[-1].objective < 1.01 * lowest
    assert states[-1].objective < states[1].objective
    fast = kg.LinearSVC(loss="hinge", C=1 / (lam * 100), tol=1e-8).fit(X, y)
    assert np.allclose(np.r_[fast.intercept_, fast.coef_[0]], best, atol=1e-4)
    assert np.isclose(fast.objective_ * lam, lowest, rtol=1e-6)
    # figure 20.2: support vectors are where y f(x) <= 1
    near = y * fast.decision_function(X) <= 1 + 1e-6
    alpha = run(svm_dual.coordinate_descent(X, y, 1 / (lam * 100), np.random.default_rng(0)))
    assert (near[np.asarray(alpha["alpha"]) > 1e-6]).all()


@covers("cookbook T20.1")
def test_T20_1_the_subgradient_is_the_gradient_off_the_kink():
    X, y = two_classes(2, 30)
    X1, lam = with_ones(X), 0.3
    w = np.random.default_rng(2).standard_normal(3)
    violated = y * (X1 @ w) <= 1
    gradient = lam * w - (violated * y) @ X1 / 30
    assert np.allclose(
        numerical_gradient(lambda v: svm_sgd.linear_cost(X1, y, v, lam), w), gradient, atol=1e-6
    )


@covers("cookbook T20.3", "cookbook X20.1")
def test_T20_3_a_weak_penalty_on_separable_classes_is_the_widest_margin():
    X, y = two_classes(3, 40, gap=3.0)
    hard = run(svm_dual.widest(X, y))
    f = X @ hard["w"] + hard["b"]
    assert np.isclose((y * f).min(), 1)
    assert np.isclose(hard["margin"], 2 / np.linalg.norm(hard["w"]))
    assert np.allclose((y * f)[np.asarray(hard["alpha"]) > 1e-6], 1, atol=1e-6)
    fast = kg.LinearSVC(loss="hinge", C=1e4, penalize_intercept=False, tol=1e-10).fit(X, y)
    assert np.allclose(fast.coef_[0], hard["w"], rtol=1e-3)
    assert np.isclose(2 / np.linalg.norm(fast.coef_), hard["margin"], rtol=1e-3)


@covers("cookbook T20.4")
@pytest.mark.parametrize("side", ["textbook", "kilogram"])
def test_T20_4_points_beyond_the_margin_may_go(side):
    X, y = two_classes(4)

    def fit(X, y):
        if side == "kilogram":
            model = kg.LinearSVC(loss="hinge", C=0.2, tol=1e-10).fit(X, y)
            return np.r_[model.intercept_, model.coef_[0]]
        return run(svm_dual.coordinate_descent(X, y, 0.2, np.random.default_rng(0), tol=1e-10))["w"]

    w = fit(X, y)
    support = y * (with_ones(X) @ w) < 1 + 1e-3
    assert 0.1 < support.mean() < 0.9
    assert np.allclose(fit(X[support], y[support]), w, atol=1e-3)
    # the mean form at fixed lambda changes with N
    lam = 1 / (0.2 * 100)
    assert not np.allclose(optimum(X[support], y[support], lam), w, atol=1e-2)


@covers("cookbook T20.5")
def test_T20_5_about_as_accurate_as_logistic_regression():
    X, y = two_classes(5, 400)
    new, y_new = two_classes(55, 2000)
    svm = kg.LinearSVC().fit(X, y).score(new, y_new)
    assert abs(svm - LogisticRegression().fit(X, y).score(new, y_new)) < 0.02
    w = run(svm_sgd.linear_svm(X, y, 0.05, 10, np.random.default_rng(5)))["w"]
    assert abs(np.mean(np.sign(with_ones(new) @ w) == y_new) - svm) < 0.02


@covers("cookbook E20.1")
def test_E20_1_the_step_minimises_the_mean_not_the_sum():
    X, y = two_classes(6, 100, gap=0.7)
    lam = 0.5
    reference = run(svm_sgd.linear_svm(X, y, lam, 30, np.random.default_rng(6)))["w"]
    mean_form, sum_form = optimum(X, y, lam), optimum(X, y, lam / 100)
    assert np.linalg.norm(reference - mean_form) < 0.05
    assert np.linalg.norm(reference - sum_form) > 0.3  # the objective as printed
    printed = kg.LinearSVC(loss="hinge", C=1 / lam, tol=1e-8).fit(X, y)
    assert np.allclose(printed.coef_[0], sum_form[1:], atol=1e-3)


@covers("cookbook E20.2")
def test_E20_2_steps_of_one_over_t_explode_for_a_large_penalty():
    X, y = two_classes(7)
    X1, lam = with_ones(X), 40.0
    rng = np.random.default_rng(7)
    w, largest = np.zeros(3), 0.0
    for t in range(1, 201):
        i = rng.integers(100)
        w = w - (lam * w - (y[i] * (X1[i] @ w) <= 1) * y[i] * X1[i]) / t
        largest = max(largest, float(np.linalg.norm(w)))
    assert largest > 1e6
    states = list(svm_sgd.linear_svm(X, y, lam, 2, np.random.default_rng(7)))
    assert max(np.linalg.norm(s["w"]) for s in states) < 1


@covers("cookbook E20.3")
def test_E20_3_the_constant_feature_is_penalised():
    X, y = two_classes(8, 40, gap=1.5)
    X = X + 5
    penalised = run(svm_dual.coordinate_descent(X, y, 1.0, np.random.default_rng(0), tol=1e-4))["w"]
    free = run(svm_dual.svm(X @ X.T, y, 1.0))
    w = X.T @ (free["alpha"] * y)
    assert penalised @ penalised < w @ w + free["b"] ** 2
    accuracy = [np.mean(np.sign(f) == y) for f in (with_ones(X) @ penalised, X @ w + free["b"])]
    assert accuracy[0] < accuracy[1]
    fast = kg.LinearSVC(loss="hinge", penalize_intercept=False, tol=1e-10).fit(X, y)
    assert np.allclose(fast.coef_[0], w, atol=1e-4)
    assert np.isclose(fast.intercept_[0], free["b"], atol=1e-2)


@covers("cookbook E20.4")
def test_E20_4_the_counter_and_the_index_are_two_things():
    """Algorithm 19 divides by i, the random index; the counter of steps is meant."""
    X, y = two_classes(9)
    X1, lam = with_ones(X), 0.5
    rng = np.random.default_rng(9)
    w, spread = np.zeros(3), []
    for t in range(1, 2001):
        i = rng.integers(100)
        w = w - (lam * w - (y[i] * (X1[i] @ w) <= 1) * y[i] * X1[i]) / (lam * (i + 1))
        if t > 1500:
            spread.append(w)
    assert np.std(spread, axis=0).max() > 0.1  # never settles
    last = run(svm_sgd.linear_svm(X, y, lam, 25, np.random.default_rng(9)))["w_last"]
    assert np.linalg.norm(last - optimum(X, y, lam)) < 0.1


@covers("cookbook E20.5", "cookbook E20.7")
def test_E20_5_margin_and_hinge_are_lengths_not_areas_or_absolute_errors():
    X, y = two_classes(10, 40, gap=3.0)
    hard = run(svm_dual.widest(X, y))
    planes = [np.ravel(hard["w"]) * (side - hard["b"]) / np.sum(hard["w"] ** 2) for side in (1, -1)]
    assert np.isclose(np.linalg.norm(planes[0] - planes[1]), hard["margin"])  # a distance
    f = np.array([-2.0, 0.5, 1.0, 3.0])
    assert np.allclose(svm_sgd.hinge(f, np.ones(4)), [3, 0.5, 0, 0])
    assert not np.allclose(svm_sgd.hinge(f, np.ones(4)), np.abs(1 - f))  # 3 is more than right
    # lambda is chosen, not solved for: every value has its own minimum
    X, y = two_classes(11)
    norms = [np.linalg.norm(optimum(X, y, lam)) for lam in (0.01, 0.1, 1.0)]
    assert norms[0] > norms[1] > norms[2]


@covers("cookbook E20.6")
def test_E20_6_more_classes_need_more_machines():
    rng = np.random.default_rng(12)
    labels = np.arange(150) % 3
    X = rng.standard_normal((150, 2)) * 0.5 + np.array([[0, 2], [-2, -1], [2, -1]])[labels]
    reference = np.array([optimum(X, np.where(labels == k, 1.0, -1.0), 0.05) for k in range(3)])
    assert np.mean((with_ones(X) @ reference.T).argmax(axis=1) == labels) > 0.95
    assert kg.LinearSVC().fit(X, labels).coef_.shape == (3, 2)  # one against the rest
    assert len(kg.SVC(kernel="linear").fit(X, labels).intercept_) == 3  # one per pair
    assert kg.LinearSVC().fit(X, labels).score(X, labels) > 0.95
