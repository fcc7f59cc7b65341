"""Lecture notes, lectures 24 to 26: margins, the dual and its solvers, noisy XOR."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from book_checks import SIDES, covers, xor
from scipy.optimize import linprog

import kilogram as kg
from kilogram.functions.row_losses import Logistic, SquaredHinge
from kilogram.textbook import kernels, svm_dual, svm_sgd
from kilogram.textbook.state import run


class Textbook:
    def __init__(self, kernel, X, y, C):
        self.K = kernel(X, X)
        s = run(svm_dual.smo(self.K, y, C))
        self.alpha, self.b = s["alpha"], float(s["b"])
        self.decide = lambda new: kernel(new, X) @ (self.alpha * y) + self.b


class Fast:
    def __init__(self, kernel, X, y, C):
        self.K = kernel(X, X)
        model = kg.SVC(kernel=kernel, C=C, tol=1e-8).fit(X, y)
        self.alpha = np.zeros(len(y))
        self.alpha[model.support_] = np.abs(model.dual_coef_[0])
        self.b, self.decide = float(model.intercept_[0]), model.decision_function


svm_sides = pytest.mark.parametrize("fit_svm", [Textbook, Fast], ids=SIDES)


def blobs(seed, n=40, gap=0.8):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.random.default_rng(seed).standard_normal((n, 2)) + gap * y[:, None], y


def separable(X, y):
    """Is there a plane with y (Xw + b) >= 1? A linear programme."""
    G = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(G.shape[1]), A_ub=G, b_ub=-np.ones(len(X)), bounds=(None, None)).success


@covers("lecture_notes L24.M2", "lecture_notes L24.E2")
@svm_sides
def test_L24_M2_the_widest_plane(fit_svm):
    X, y = blobs(0, gap=3.0)
    f = fit_svm(kernels.linear, X, y, 1e6)
    beta = X.T @ (f.alpha * y)
    nearest = np.abs(f.decide(X)).min() / np.linalg.norm(beta)
    assert np.isclose(nearest, 1 / np.linalg.norm(beta), rtol=1e-4)
    for seed in range(5):  # the perceptron's planes separate, but are narrower
        p = run(svm_dual.perceptron(X, y, np.random.default_rng(seed)))
        assert 0 < p["margin"] <= 2 * nearest + 1e-6


@covers("lecture_notes L24.M3", "lecture_notes L24.T3")
@svm_sides
def test_L24_T3_slack_is_the_hinge(fit_svm):
    X, y = blobs(1)
    C = 0.7
    f = fit_svm(kernels.linear, X, y, C)
    xi = svm_sgd.hinge(f.decide(X), y)
    beta = X.T @ (f.alpha * y)
    primal = beta @ beta / 2 + C * xi.sum()
    assert np.isclose(primal, svm_dual.dual_value(f.K, y, f.alpha), rtol=1e-5)
    X, y = blobs(2, gap=3.0)  # separable: the penalty stops to matter
    planes = [fit_svm(kernels.linear, X, y, C).decide(X) for C in (1e2, 1e6)]
    assert np.allclose(*planes, atol=1e-4)
    assert (np.sign(planes[0]) == np.sign(7 * planes[0])).all()  # scaling: the same rule


@covers("lecture_notes L24.M4", "lecture_notes L24.T4", "lecture_notes L24.X3")
def test_L24_X3_the_squared_hinge_is_smooth_once():
    margin = np.linspace(-3, 3, 601)
    error = (margin < 0).astype(float)
    ones, loss_of_rows = np.ones_like(margin), SquaredHinge()
    hinge, logistic = np.maximum(0, 1 - margin), Logistic().value(ones, margin)
    squared = loss_of_rows.value(ones, margin)
    assert np.allclose(squared, hinge**2)
    for loss in (hinge, squared, logistic / np.log(2)):
        assert (loss >= error - 1e-12).all()
        assert (np.diff(loss, 2) >= -1e-9).all()  # convex
    assert (logistic < error).any()  # bounds only after division by log 2

    def jump(loss, h=1e-4):  # of the first derivative at margin 1
        return (loss(1 + h) - 2 * loss(1) + loss(1 - h)) / h

    def second(loss, t, h=1e-4):
        return (loss(t + h) - 2 * loss(t) + loss(t - h)) / h**2

    square = lambda m: float(loss_of_rows.value(np.ones(1), np.array([m]))[0])  # noqa: E731
    assert jump(lambda m: max(0.0, 1 - m)) > 0.9  # a kink
    assert jump(square) < 1e-3  # none: differentiable, against the footnote
    assert second(square, 0.9) - second(square, 1.1) > 1.9  # but only once


@covers("lecture_notes L24.G1", "lecture_notes L24.T2")
def test_L24_T2_lines_shatter_three_points_and_no_four():
    three = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert all(separable(three, np.array(y)) for y in product([-1.0, 1.0], repeat=3))
    for y in list(product([-1.0, 1.0], repeat=3))[1:-1]:
        assert kg.SVC(kernel="linear", C=1e4).fit(three, y).score(three, y) == 1
    rng = np.random.default_rng(3)
    for _ in range(5):
        four = rng.standard_normal((4, 2))
        labels = [np.array(y) for y in product([-1.0, 1.0], repeat=4)]
        apart = [separable(four, y) for y in labels]
        assert not all(apart)
        for y, possible in zip(labels[1:-1], apart[1:-1], strict=True):
            fitted = kg.SVC(kernel="linear", C=1e6).fit(four, y)
            assert possible == (fitted.score(four, y) == 1)


@covers("lecture_notes L25.M1", "lecture_notes L25.T1", "lecture_notes L25.X2")
@svm_sides
def test_L25_T1_conditions_of_the_dual(fit_svm):
    X, y = blobs(4)
    C = 0.5
    f = fit_svm(kernels.linear, X, y, C)
    g = y * f.decide(X)
    zero, bound = f.alpha < 1e-7, f.alpha > C - 1e-7
    assert (g[zero] >= 1 - 1e-5).all()
    assert np.allclose(g[~zero & ~bound], 1, atol=1e-5)
    assert (g[bound] <= 1 + 1e-5).all()
    assert abs(f.alpha @ y) < 1e-8
    report = svm_dual.conditions(f.K, y, f.alpha, f.b, C)
    assert max(report.values()) < 1e-4
    # slackness is a product that vanishes, not a derivative; alpha_i = C, not alpha_1
    assert report["alpha (y f - 1 + xi) = 0"] < 1e-5
    assert bound.sum() > 1


@covers("lecture_notes L25.T2")
@svm_sides
def test_L25_T2_points_without_alpha_may_go(fit_svm):
    X, y = blobs(5, 60)
    kernel = lambda A, B: kernels.gaussian(A, B, 1.5)  # noqa: E731
    f = fit_svm(kernel, X, y, 1.0)
    kept = f.alpha > 1e-7
    assert kept.mean() < 0.9
    again = fit_svm(kernel, X[kept], y[kept], 1.0)
    assert np.allclose(again.decide(X), f.decide(X), atol=1e-4)


@covers("lecture_notes L25.M2", "lecture_notes L25.M3", "lecture_notes L25.T3")
@pytest.mark.parametrize("slack", [1, 2])
def test_L25_T3_smo_and_coordinate_descent_agree_on_one_offset(slack):
    X, y = blobs(6, 30)
    w = run(
        svm_dual.coordinate_descent(X, y, 0.5, np.random.default_rng(0), slack=slack, tol=1e-9)
    )["w"]
    # descent penalises the offset: the same as a kernel x'z + 1 without one
    Q, bound = svm_dual.with_slack(X @ X.T + 1, 0.5, slack)
    alpha = np.zeros(30)
    for _ in range(3000):
        for i in range(30):
            slope = y[i] * (Q[i] @ (alpha * y)) - 1
            alpha[i] = min(max(alpha[i] - slope / Q[i, i], 0), bound)
        if _ % 100 == 0 and np.abs(X.T @ (alpha * y) - w[1:]).max() < 1e-6:
            break
    assert np.allclose(X.T @ (alpha * y), w[1:], atol=1e-5)
    assert np.isclose(alpha @ y, w[0], atol=1e-5)
    loss = "hinge" if slack == 1 else "squared_hinge"
    fast = kg.LinearSVC(loss=loss, C=0.5, tol=1e-9, dual=True, random_state=0).fit(X, y)
    assert np.allclose(fast.coef_[0], w[1:], atol=1e-3)
    smo = run(svm_dual.smo(X @ X.T, y, 0.5, slack=slack))
    free = kg.LinearSVC(loss=loss, C=0.5, tol=1e-9, penalize_intercept=False).fit(X, y)
    assert np.allclose(X.T @ (smo["alpha"] * y), free.coef_[0], atol=1e-4)
    assert not np.allclose(free.coef_[0], w[1:], atol=1e-4)  # another problem


@covers("lecture_notes L25.M3")
def test_L25_M3_every_pair_step_raises_the_dual():
    X, y = blobs(7)
    values = [s.objective for s in svm_dual.smo(kernels.gaussian(X, X), y, 2.0)]
    assert (np.diff(values) >= -1e-12).all()
    assert len(values) > 10


@covers("lecture_notes L25.M4", "lecture_notes L25.X1")
@svm_sides
def test_L25_X1_a_prediction_needs_the_offset(fit_svm):
    X, y = blobs(8, gap=2.0)
    X = X + 5
    f = fit_svm(kernels.linear, X, y, 1.0)
    printed = X @ X.T @ (f.alpha * y)  # without beta_0
    assert np.mean(np.sign(printed) == y) < 0.6
    assert np.mean(np.sign(printed + f.b) == y) > 0.95
    assert np.sum(np.abs(y * (printed + f.b) - 1) < 1e-4) >= 2  # equality does occur: >=, not >
    labels = np.arange(60) % 3
    Z = np.random.default_rng(8).standard_normal((60, 2)) * 0.4 + np.eye(3, 2)[labels] * 3
    rest = kg.SVC(kernel="linear", multi_class="ovr").fit(Z, labels)
    ref = [run(svm_dual.smo(Z @ Z.T, np.where(labels == k, 1.0, -1.0), 1.0)) for k in range(3)]
    scores = [
        Z @ Z.T @ (s["alpha"] * np.where(labels == k, 1.0, -1.0)) + s["b"]
        for k, s in enumerate(ref)
    ]
    assert (np.argmax(scores, axis=0) == rest.predict(Z)).all()


@covers("lecture_notes L25.G1")
def test_L25_G1_a_narrow_gaussian_machine_is_a_soft_nearest_neighbour():
    X, y = blobs(9, 60, gap=1.2)
    new = np.random.default_rng(9).standard_normal((200, 2))
    nearest = y[np.linalg.norm(new[:, None] - X[None], axis=2).argmin(axis=1)]
    wide, narrow = (kg.SVC(kernel=kg.Gaussian(sigma=t), C=1e3).fit(X, y) for t in (20.0, 0.3))
    assert np.mean(narrow.predict(new) == nearest) > np.mean(wide.predict(new) == nearest)
    assert len(narrow.support_) > len(wide.support_)


@covers("lecture_notes L26.M1", "lecture_notes L26.E1", "lecture_notes L26.T2")
@svm_sides
def test_L26_M1_degree_two_solves_xor(fit_svm):
    X, y = xor(10, 100, std=0.25)
    kernel = lambda A, B: kernels.polynomial(A, B, 2, 1.0)  # noqa: E731
    root = np.sqrt(2)
    phi = np.column_stack([X**2, root * X, root * X[:, :1] * X[:, 1:], np.ones(len(X))])
    assert np.allclose(phi @ phi.T, kernel(X, X))
    f = fit_svm(kernel, X, y, 10.0)
    assert np.mean(np.sign(f.decide(X)) == y) == np.mean(np.sign(phi[:, 4]) == y) == 1
    assert np.mean(np.sign(fit_svm(kernels.linear, X, y, 1.0).decide(X)) == y) < 0.8


@covers("lecture_notes L26.T1")
def test_L26_T1_a_line_errs_on_a_quarter_of_compact_blobs():
    rng = np.random.default_rng(11)
    angles = np.linspace(0, np.pi, 60)

    def best_line(X, y):
        lowest = 1.0
        for a in angles:
            z = X @ [np.cos(a), np.sin(a)]
            order = np.argsort(z)
            right = np.cumsum(y[order]) / len(y)  # fraction won by a threshold after each point
            total = right[-1]
            gain = np.abs(2 * np.r_[0, right] - total).max()
            lowest = min(lowest, 0.5 - gain / 2)
        return lowest

    for std, low, high in ((0.1, 0.24, 0.26), (0.5, 0.27, 0.33)):
        centre = np.array(list(product([-1.0, 1.0], repeat=2)) * 500)
        X = centre + std * rng.standard_normal(centre.shape)
        y = centre[:, 0] * centre[:, 1]
        assert low < best_line(X, y) < high
        assert kg.LogisticRegression().fit(X, y).score(X, y) < 1 - low  # no line is better
    Q = rng.uniform(-1, 1, (2000, 2))
    assert 0.29 < best_line(Q, np.sign(Q[:, 0] * Q[:, 1])) < 0.35  # quadrants: not 25 %
