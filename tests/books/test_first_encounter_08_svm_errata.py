"""A First Encounter, chapter 8: where the printed page does not hold."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from scipy.optimize import linprog

import kilogram as kg
from kilogram.textbook import svm_dual
from kilogram.textbook.quadratic_program import quadratic_program, residuals
from kilogram.textbook.state import run

TWO_X, TWO_Y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])


def blobs(seed, n=40, gap=0.8):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.random.default_rng(seed).standard_normal((n, 2)) + gap * y[:, None], y


def alphas(model, n):
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


@covers("first_encounter E8.1")
def test_E8_1_the_sign_of_f_not_of_the_point():
    X, y = blobs(0)
    s = run(svm_dual.svm(X @ X.T, y, 1.0))
    f = X @ (X.T @ (s["alpha"] * y)) + s["b"]
    assert np.sign(X).shape != y.shape  # sign(x_test) is a vector
    assert np.mean(np.sign(f) == y) > 0.8
    assert (kg.SVC(kernel="linear", tol=1e-8).fit(X, y).predict(X) == np.sign(f)).all()


@covers("first_encounter E8.2")
def test_E8_2_convexity_is_enough_for_strong_duality_but_not_needed():
    """min -x^2 on [-1, 1]: not convex, yet with x^2 <= 1 the dual has the same value, -1."""
    lam = np.linspace(0, 3, 301)
    # L = -x^2 + lam (x^2 - 1): bounded below only for lam >= 1, there its infimum is -lam
    dual = np.where(lam >= 1, -lam, -np.inf)
    assert np.isclose(dual.max(), -1)
    x = np.linspace(-1, 1, 201)
    assert np.isclose((-(x**2)).min(), dual.max())
    X, y = blobs(1)  # the convex case: no gap
    fast = kg.SVC(kernel="linear", tol=1e-9).fit(X, y)
    assert fast.dual_gap_ < 1e-4 * fast.objective_


@covers("first_encounter E8.4")
def test_E8_4_only_free_vectors_give_the_offset():
    X, y = blobs(2, 41)  # unequal classes
    C = 0.3
    s = run(svm_dual.svm(X @ X.T, y, C))
    wanted = y - X @ (X.T @ (s["alpha"] * y))
    support = s["alpha"] > 1e-6
    free = support & (s["alpha"] < C * (1 - 1e-6))
    assert np.allclose(wanted[free], s["b"], atol=1e-6)
    assert abs(wanted[support].mean() - s["b"]) > 0.02  # (8.18) averaged over all
    fast = kg.SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    assert np.isclose(fast.intercept_[0], s["b"], atol=1e-5)
    # no free vector at all: the middle of the interval
    assert run(svm_dual.svm(TWO_X @ TWO_X.T, TWO_Y, 0.1))["b"] == pytest.approx(0, abs=1e-8)
    low = kg.SVC(kernel="linear", C=0.1).fit(TWO_X + 5, TWO_Y)
    assert low.intercept_[0] == pytest.approx(-1.0, abs=1e-6)  # w = 0.2 and the middle at 5


@covers("first_encounter E8.5", "first_encounter E8.7")
def test_E8_5_alpha_is_C_by_the_third_condition():
    """xi > 0 gives mu = 0 (slackness of xi, the second) and C - alpha - mu = 0 then alpha = C."""
    X, y = blobs(3)
    C = 0.5
    s = run(svm_dual.svm(X @ X.T, y, C))
    f = X @ (X.T @ (s["alpha"] * y)) + s["b"]
    violating = 1 - y * f > 1e-4
    assert violating.any()
    assert np.allclose(s["alpha"][violating], C, atol=1e-6)
    fast = alphas(kg.SVC(kernel="linear", C=C, tol=1e-6).fit(X, y), len(y))
    assert np.allclose(fast[violating], C)
    report = svm_dual.conditions(X @ X.T, y, s["alpha"], float(s["b"]), C)
    assert {"alpha (y f - 1 + xi) = 0", "mu xi = 0", "mu = C - alpha >= 0"} <= set(report)
    # stationarity in w (the first condition) says nothing about C
    assert np.isclose(np.sum(s["alpha"] * y), 0, atol=1e-8)


@covers("first_encounter E8.6")
def test_E8_6_no_slack_and_yet_at_the_bound():
    s = run(svm_dual.svm(TWO_X @ TWO_X.T, TWO_Y, 0.5))
    f = TWO_X[:, 0] * (TWO_X[:, 0] @ (s["alpha"] * TWO_Y)) + s["b"]
    assert np.allclose(s["alpha"], 0.5)  # alpha = C, so mu = 0
    assert np.allclose(TWO_Y * f, 1)  # and xi = 0
    # a point on the plane with alpha = 0: three points on one support plane, one would do
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    y = np.array([-1.0, 1.0, 1.0, 1.0])
    alpha = np.array([0.5, 0.5, 0.0, 0.0])
    assert max(svm_dual.conditions(X @ X.T, y, alpha, 0.0, np.inf).values()) < 1e-12
    fast = kg.SVC(kernel="linear", C=1e6, tol=1e-9).fit(X, y)
    assert np.allclose(fast.coef_, [[1, 0]], atol=1e-6)


@covers("first_encounter E8.9")
def test_E8_9_the_lagrangian_has_b_as_well():
    """Without b nothing asks for sum alpha y = 0, and the plane must pass through the origin."""
    X, y = blobs(4, 40, gap=2.0)
    X = X + 2
    K = X @ X.T * np.outer(y, y)
    n = len(y)
    G, h = np.vstack([-np.eye(n), np.eye(n)]), np.r_[np.zeros(n), np.full(n, 0.5)]
    none = np.zeros((0, n)), np.zeros(0)
    alpha = run(quadratic_program(K, -np.ones(n), G, h, *none))["x"]
    assert abs(alpha @ y) > 0.1
    through_origin = np.sign(X @ X.T @ (alpha * y))
    s = run(svm_dual.svm(X @ X.T, y, 0.5))
    assert abs(s["alpha"] @ y) < 1e-8
    right = np.sign(X @ X.T @ (s["alpha"] * y) + s["b"])
    assert np.mean(right == y) > np.mean(through_origin == y)


@covers("first_encounter E8.10")
def test_E8_10_two_penalties_that_differ_for_k_2():
    xi = np.array([1.0, 2.0, 0.5])
    assert np.sum(xi) ** 1 == np.sum(xi**1)
    assert np.sum(xi) ** 2 != np.sum(xi**2)
    X, y = blobs(5)
    fast = kg.SVC(kernel="linear", C=0.5, slack=2, tol=1e-9).fit(X, y)  # C sum xi^2
    reference = run(svm_dual.svm(X @ X.T, y, 0.5, slack=2))
    assert np.isclose(fast.objective_, reference.objective, rtol=1e-6)
    slack = np.maximum(0, 1 - y * fast.decision_function(X))
    assert np.isclose(fast.objective_, np.sum(fast.coef_**2) / 2 + 0.5 * slack @ slack, rtol=1e-6)


@covers("first_encounter E8.11")
def test_E8_11_the_distance_to_the_support_plane_is_xi_over_w():
    X, y = blobs(6)
    model = kg.SVC(kernel="linear", tol=1e-8).fit(X, y)
    s = run(svm_dual.svm(X @ X.T, y, 1.0))
    w = X.T @ (s["alpha"] * y)
    assert np.allclose(w, model.coef_[0], atol=1e-5)
    xi = 1 - y * (X @ w + s["b"])
    i = int(np.argmax(xi))
    foot = X[i] + w * (y[i] * xi[i]) / (w @ w)  # on the plane y f = 1
    assert np.isclose(y[i] * (foot @ w + s["b"]), 1)
    distance = np.linalg.norm(foot - X[i])
    assert np.isclose(distance, xi[i] / np.linalg.norm(w))
    assert not np.isclose(distance, xi[i], rtol=0.05)


@covers("first_encounter E8.12")
def test_E8_12_conditions_need_a_qualification_linear_constraints_have_it():
    """min x s.t. x^2 <= 0: the solution 0 has no multiplier, for 1 + 2 lam x = 1 there."""
    x = 0.0
    assert all(1 + 2 * lam * x == 1 for lam in (0.0, 1.0, 1e6))
    # linear constraints, even two that say the same: multipliers exist
    P, q = np.eye(2), np.array([1.0, 0.0])
    G, h = np.array([[-1.0, 0.0], [-2.0, 0.0]]), np.zeros(2)
    none = np.zeros((0, 2)), np.zeros(0)
    s = run(quadratic_program(P, q, G, h, *none))
    report = residuals(P, q, G, h, *none, s["x"], s["z"], s["v"])
    assert max(report.values()) < 1e-6
    assert linprog([1, 0], A_ub=G, b_ub=h, bounds=(None, None)).fun == pytest.approx(0)
