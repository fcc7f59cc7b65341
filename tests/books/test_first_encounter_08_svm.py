"""A First Encounter, chapter 8: margins, the dual and what holds at its solution."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from book_checks import covers, gaussian, linear, polynomial, rings

import kilogram as kg
from kilogram.textbook import svm_dual
from kilogram.textbook.quadratic_program import quadratic_program
from kilogram.textbook.state import run


class Textbook:
    """The dual by a quadratic programme, or by SMO."""

    def __init__(self, solve, kernel, X, y, C, slack=1):
        self.K, self.X, self.y, self.kernel = kernel.reference(X, X), X, y, kernel
        s = run(solve(self.K, y, C, slack=slack))
        self.alpha, self.b, self.dual = s["alpha"], float(s["b"]), s.objective

    def decide(self, new):
        return self.kernel.reference(new, self.X) @ (self.alpha * self.y) + self.b


class Fast:
    def __init__(self, kernel, X, y, C, slack=1):
        self.K = kernel.reference(X, X)
        self.model = kg.SVC(kernel=kernel.fast, C=C, slack=slack, tol=1e-9).fit(X, y)
        self.alpha = np.zeros(len(y))
        self.alpha[self.model.support_] = np.abs(self.model.dual_coef_[0])
        self.b, self.decide = float(self.model.intercept_[0]), self.model.decision_function
        self.dual = self.model.objective_ - self.model.dual_gap_


MACHINES = [partial(Textbook, svm_dual.svm), partial(Textbook, svm_dual.smo), Fast]
svm_sides = pytest.mark.parametrize("fit_svm", MACHINES, ids=["textbook", "smo", "kilogram"])


def blobs(seed, n=40, gap=0.8):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.random.default_rng(seed).standard_normal((n, 2)) + gap * y[:, None], y


def primal(X, y, C):
    """Soft margin in (w, b, xi) as its own quadratic programme (8.22)."""
    n, d = X.shape
    P = np.diag(np.r_[np.ones(d), np.zeros(n + 1)])
    q = np.r_[np.zeros(d + 1), np.full(n, C)]
    G = np.block([[-y[:, None] * X, -y[:, None], -np.eye(n)], [np.zeros((n, d + 1)), -np.eye(n)]])
    s = run(
        quadratic_program(
            P, q, G, np.r_[-np.ones(n), np.zeros(n)], np.zeros((0, n + d + 1)), np.zeros(0)
        )
    )
    return s["x"][:d], s["x"][d], s.objective


@covers("first_encounter FE8.1", "first_encounter FE8.2", "first_encounter T8.6")
@svm_sides
def test_FE8_1_two_points_by_hand(fit_svm):
    """x = -1, 1: w = 1, b = 0, alpha = (1/2, 1/2); x = 1, 3: w = 1 and the page's b = 2."""
    y = np.array([-1.0, 1.0])
    for X, b in ((np.array([[-1.0], [1.0]]), 0.0), (np.array([[1.0], [3.0]]), -2.0)):
        fitted = fit_svm(linear(), X, y, np.inf)
        assert np.allclose(fitted.alpha, 0.5, atol=1e-6)
        assert np.isclose(X[:, 0] @ (fitted.alpha * y), 1, atol=1e-6)
        assert np.isclose(fitted.b, b, atol=1e-6)
        assert np.isclose(fitted.dual, 0.5, atol=1e-6)  # = 1/2 |w|^2
        assert np.isclose(svm_dual.margin(fitted.K, y, fitted.alpha), 2, atol=1e-5)


@covers(
    "first_encounter T8.1", "first_encounter T8.2", "first_encounter FE8.5", "first_encounter FE8.7"
)
@pytest.mark.parametrize("slack", [1, 2])
@svm_sides
def test_T8_2_every_condition_holds(fit_svm, slack):
    X, y = blobs(0)
    for kernel in (linear(), gaussian(1.0)):
        for C in (0.1, 3.0):
            f = fit_svm(kernel, X, y, C, slack)
            report = svm_dual.conditions(f.K, y, f.alpha, f.b, C, slack=slack)
            assert len(report) == 8
            assert max(report.values()) < 2e-5 * (1 + C), report


@covers("first_encounter FE8.6")
def test_FE8_6_two_quadratic_penalties():
    """C sum xi^2 puts 1/(2C) on the diagonal; C (sum xi)^2 bounds alpha by D and costs D^2/4C."""
    X, y = blobs(1, 30)
    C = 0.5
    s = run(svm_dual.svm(X @ X.T, y, C, slack=2))
    xi = s["alpha"] / (2 * C)
    w = X.T @ (s["alpha"] * y)
    assert np.isclose(w @ w / 2 + C * xi @ xi, s.objective)
    duals = []
    for D in np.linspace(0.1, 6, 60):
        duals.append(run(svm_dual.svm(X @ X.T, y, D)).objective - D**2 / (4 * C))
    D = np.linspace(0.1, 6, 60)[int(np.argmax(duals))]
    t = run(svm_dual.svm(X @ X.T, y, D))
    w = X.T @ (t["alpha"] * y)
    slack = np.maximum(0, 1 - y * (X @ w + t["b"])).sum()
    assert np.isclose(w @ w / 2 + C * slack**2, max(duals), rtol=0.02)


@covers("first_encounter T8.3", "first_encounter FE8.4")
@svm_sides
def test_T8_3_primal_and_dual_have_one_plane(fit_svm):
    X, y = blobs(2, 30)
    w, b, value = primal(X, y, 0.7)
    f = fit_svm(linear(), X, y, 0.7)
    assert np.allclose(X.T @ (f.alpha * y), w, atol=1e-5)
    assert np.isclose(f.b, b, atol=1e-5)
    assert np.isclose(f.dual, value, atol=1e-5)


@covers("first_encounter T8.4", "first_encounter E8.13")
@svm_sides
def test_T8_4_slack_bounds_training_errors_only(fit_svm):
    X, y = blobs(3, 60)
    f = fit_svm(linear(), X, y, 1.0)
    xi = np.maximum(0, 1 - y * f.decide(X))
    assert xi.sum() >= np.sum(y * f.decide(X) < 0)
    assert ((xi > 1) == (y * f.decide(X) < 0)).all()  # misclassified: xi > 1
    X, y = blobs(4, 12, gap=0.0)  # noise in many dimensions: no slack, many test errors
    X = np.hstack([X, np.random.default_rng(4).standard_normal((12, 30))])
    g = fit_svm(linear(), X, y, 1e3)
    assert np.maximum(0, 1 - y * g.decide(X)).sum() < 1e-3
    new = np.random.default_rng(44).standard_normal((200, 32))
    assert np.mean(np.sign(g.decide(new)) != np.where(np.arange(200) % 2, 1, -1)) > 0.3


@covers("first_encounter T8.5", "first_encounter X8.e", "first_encounter X8.d")
@svm_sides
def test_T8_5_inactive_points_do_not_matter(fit_svm):
    X, y = blobs(5, 60, gap=1.2)
    f = fit_svm(linear(), X, y, 1.0)
    kept = f.alpha > 1e-6
    assert 0.05 < kept.mean() < 0.6  # sparse
    again = fit_svm(linear(), X[kept], y[kept], 1.0)
    assert np.allclose(again.decide(X), f.decide(X), atol=1e-4)
    moved = X + np.where(kept[:, None], 0.0, y[:, None])  # further out: still inactive
    assert np.allclose(fit_svm(linear(), moved, y, 1.0).decide(X), f.decide(X), atol=1e-4)


@covers("first_encounter T8.7", "first_encounter E8.3")
@svm_sides
def test_E8_3_the_plane_is_unique_alpha_is_not(fit_svm):
    X, y = blobs(6, 20, gap=3.0)
    f = fit_svm(linear(), X, y, np.inf)
    i = int(np.argmax(f.alpha))
    X2, y2 = np.vstack([X, X[i]]), np.r_[y, y[i]]
    doubled = fit_svm(linear(), X2, y2, np.inf)
    assert np.allclose(X2.T @ (doubled.alpha * y2), X.T @ (f.alpha * y), atol=1e-5)
    for fraction in (0.2, 0.9):  # any split between the twins is a solution
        alpha = np.r_[f.alpha, fraction * f.alpha[i]]
        alpha[i] *= 1 - fraction
        report = svm_dual.conditions(doubled.K, y2, alpha, doubled.b, np.inf)
        assert max(report.values()) < 1e-4
    # and b may be an interval: both alphas at C, x = -1, 1
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    values = [
        X[0, 0] ** 2 * 0.2**2 / 2 + 0.1 * np.sum(svm_hinge(0.2 * X[:, 0] + b, y))
        for b in (-0.5, 0.0, 0.5)
    ]
    assert np.allclose(values, values[0])
    assert np.isclose(fit_svm(linear(), X, y, 0.1).b, 0, atol=1e-6)  # its middle


def svm_hinge(f, y):
    return np.maximum(0, 1 - y * f)


@covers("first_encounter T8.8")
@svm_sides
def test_T8_8_soft_becomes_hard(fit_svm):
    X, y = blobs(7, 30, gap=2.5)
    hard = fit_svm(linear(), X, y, np.inf)
    soft = [fit_svm(linear(), X, y, C) for C in (0.01, 100.0)]
    gaps = [np.abs(s.decide(X) - hard.decide(X)).max() for s in soft]
    assert gaps[0] > 0.1
    assert gaps[1] < 1e-4


@covers("first_encounter T8.9", "first_encounter T8.10")
def test_T8_10_the_planes_and_their_distances_for_every_offset():
    """Scaling (w, b, delta) together moves nothing; d+ = (delta + b) / |w| from the origin."""
    w = np.array([3.0, 4.0])
    for b in (-2.0, -0.5, 0.0, 0.5, 2.0):
        for scale in (1.0, 7.0):
            on_plane = w * scale * (b + 1) * scale / (25 * scale**2)  # w'x = b + 1
            assert np.isclose(np.linalg.norm(on_plane), abs(b + 1) / 5)
            assert np.isclose(w @ on_plane, b + 1)
        plus, middle, minus = (w * (b + side) / 25 for side in (1, 0, -1))
        assert np.isclose(np.linalg.norm(plus - middle), 1 / 5)  # also for b in (-1, 0)
        assert np.isclose(np.linalg.norm(middle - minus), 1 / 5)  # and for b in (0, 1)
        assert np.isclose(np.linalg.norm(plus - minus), 2 / 5)
    for shift in (-2.0, 0.0, 2.0):  # two points: the planes go through them
        X = np.array([[0.0, 0.0], [3.0, 4.0]]) + shift
        fitted = kg.SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, [-1, 1])
        assert np.isclose(2 / np.linalg.norm(fitted.coef_), 5)
        assert np.allclose(fitted.decision_function(X), [-1, 1])


@covers("first_encounter T8.11", "first_encounter FE8.3", "first_encounter E8.8")
@svm_sides
def test_T8_11_only_inner_products_of_pairs_matter(fit_svm):
    X, y = blobs(8, 30)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    here, there = fit_svm(linear(), X, y, 1.0), fit_svm(linear(), X @ turn.T, y, 1.0)
    assert np.allclose(here.decide(X), there.decide(X @ turn.T), atol=1e-5)
    v = here.alpha * y  # x_i'x_i in the double sum, as printed, is another number
    assert np.isclose(v @ (X @ X.T) @ v, np.sum((X.T @ v) ** 2))
    assert not np.isclose(v @ np.diag(np.sum(X**2, axis=1)) @ v, np.sum((X.T @ v) ** 2), rtol=0.01)


@covers("first_encounter X8.a")
def test_X8_a_the_widest_of_many_planes_bears_noise_best():
    X, y = blobs(9, 40, gap=2.0)
    y[np.abs(X.sum(axis=1)) < 1.0] = np.sign(X.sum(axis=1))[np.abs(X.sum(axis=1)) < 1.0]
    X = X + 0.4 * y[:, None]
    wide = run(svm_dual.widest(X, y))
    rng = np.random.default_rng(9)
    errors = {}
    planes = [run(svm_dual.perceptron(X, y, np.random.default_rng(k))) for k in range(5)]
    for name, s in [("wide", wide), *enumerate(planes)]:
        assert (y * (X @ s["w"] + s["b"]) > 0).all()
        assert s["margin"] <= wide["margin"] + 1e-9
        noisy = X[None] + 0.7 * rng.standard_normal((200, *X.shape))
        errors[name] = np.mean(np.sign(noisy @ s["w"] + s["b"]) != y)
    assert errors["wide"] <= np.mean([errors[k] for k in range(5)])


@covers("first_encounter X8.b")
@svm_sides
def test_X8_b_larger_C_narrower_margins(fit_svm):
    X, y = blobs(10, 60)
    fits = [fit_svm(linear(), X, y, C) for C in (0.01, 0.1, 1.0, 10.0)]
    margins = [svm_dual.margin(f.K, y, f.alpha) for f in fits]
    slacks = [svm_hinge(f.decide(X), y).sum() for f in fits]
    assert (np.diff(margins) < 0).all()
    assert (np.diff(slacks) < 1e-6).all()
    assert np.sum(fits[0].alpha > 1e-6) > np.sum(fits[-1].alpha > 1e-6)


@covers("first_encounter X8.c", "first_encounter D.6")
@pytest.mark.parametrize("kernel", [gaussian(1.0), polynomial(2, 1.0)], ids=lambda k: k.name)
@svm_sides
def test_X8_c_kernels_part_rings(fit_svm, kernel):
    X, label = rings(11, (1, 3), 60)
    y = 2.0 * label - 1
    assert (np.sign(fit_svm(kernel, X, y, 10.0).decide(X)) == y).all()
    assert np.mean(np.sign(fit_svm(linear(), X, y, 1.0).decide(X)) == y) < 0.8


@covers("first_encounter D.6")
@svm_sides
def test_D_6_a_hard_margin_that_does_not_exist_is_refused(fit_svm):
    X, y = blobs(12, 14, gap=0.1)
    with pytest.raises(ValueError, match="separate"):
        fit_svm(linear(), X, y, np.inf)
