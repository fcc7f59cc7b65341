"""A First Encounter, chapter 9: regression with a tube, linear and quadratic slack."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, cloud, covers, gaussian, linear, noisy_sine

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels, svr
from kilogram.textbook.state import run


class Textbook:
    def __init__(self, kernel, X, y, C, epsilon, slack=1):
        self.K = kernel.reference(X, X)
        s = run(svr.svr(self.K, y, C, epsilon, slack=slack))
        self.beta, self.b, self.dual = s["beta"], float(s["b"]), s.objective
        self.predict = lambda new: kernel.reference(new, X) @ self.beta + self.b


class Fast:
    def __init__(self, kernel, X, y, C, epsilon, slack=1):
        self.K = kernel.reference(X, X)
        model = kg.SVR(kernel=kernel.fast, C=C, epsilon=epsilon, slack=slack, tol=1e-9).fit(X, y)
        self.beta = np.zeros(len(y))
        self.beta[model.support_] = model.dual_coef_[0]
        self.b, self.predict = float(model.intercept_[0]), model.predict
        self.dual = model.objective_ - model.dual_gap_


svr_sides = pytest.mark.parametrize("fit_svr", [Textbook, Fast], ids=SIDES)
slacks = pytest.mark.parametrize("slack", [1, 2], ids=["linear", "quadratic"])
X2, Y2 = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])


@covers("first_encounter FE9.1", "first_encounter FE9.3", "first_encounter FE9.4")
@svr_sides
def test_FE9_1_two_points_by_hand(fit_svr):
    """Quadratic: beta = (1 - eps) / (2 + 1/C), w = 2 beta; linear: beta = min(C, (1 - eps) / 2)."""
    quadratic = fit_svr(linear(), X2, Y2, 1.0, 0.1, slack=2)
    assert np.allclose(quadratic.beta, [-0.3, 0.3], atol=1e-6)
    assert np.allclose(quadratic.predict(X2), [-0.6, 0.6], atol=1e-6)
    for C, w in ((1.0, 0.9), (0.2, 0.4)):
        assert np.allclose(fit_svr(linear(), X2, Y2, C, 0.1).predict(X2), [-w, w], atol=1e-6)


@covers("first_encounter T9.1", "first_encounter FE9.5", "first_encounter D.7")
@slacks
@svr_sides
def test_T9_1_no_duality_gap(fit_svr, slack):
    X, y = noisy_sine(0, 30)
    f = fit_svr(gaussian(1.0), X, y, 2.0, 0.1, slack)
    assert np.allclose(f.predict(X), f.K @ f.beta + f.b)
    assert abs(f.beta.sum()) < 1e-7
    assert slack == 2 or np.abs(f.beta).max() <= 2 + 1e-9
    Q = f.K if slack == 1 else f.K + np.eye(30) / 2.0
    primal = svr.primal_value(f.K, y, f.beta, f.b, 2.0, 0.1, slack)
    assert np.isclose(primal, svr.dual_value(Q, y, f.beta, 0.1), rtol=1e-5)
    assert np.isclose(primal, f.dual, rtol=1e-5)


@covers("first_encounter FE9.2", "first_encounter FE9.6", "first_encounter T9.2")
@covers("first_encounter T9.3", "first_encounter T9.4")
@slacks
@svr_sides
def test_T9_2_what_holds_at_the_solution(fit_svr, slack):
    X, y = noisy_sine(1, 40)
    C, epsilon = 1.5, 0.2
    f = fit_svr(gaussian(1.0), X, y, C, epsilon, slack)
    r = y - f.predict(X)
    inside = np.abs(r) < epsilon - 1e-5
    assert inside.any()
    assert np.abs(f.beta[inside]).max() < 1e-6
    support = np.abs(f.beta) > 1e-5
    assert (np.sign(r[support]) == np.sign(f.beta[support])).all()  # alpha alpha^ = 0
    if slack == 2:
        assert np.allclose(np.abs(r[support]) - epsilon, np.abs(f.beta[support]) / C, atol=1e-5)
        b = y - f.K @ f.beta - epsilon * np.sign(f.beta) - f.beta / C
        assert np.allclose(b[support], f.b, atol=1e-5)
    else:
        edge = support & (np.abs(f.beta) < C - 1e-5)
        b = y - f.K @ f.beta - epsilon * np.sign(f.beta)
        assert np.allclose(b[edge], f.b, atol=1e-5)
        out = np.abs(r) > epsilon + 1e-5
        assert np.allclose(np.abs(f.beta[out]), C)


@covers("first_encounter T9.5", "first_encounter E9.3")
def test_E9_3_quadratic_slack_has_one_beta_linear_slack_one_function():
    X, y = noisy_sine(2, 15)
    X, y = np.vstack([X, X[:1]]), np.r_[y, y[0]]  # a point twice
    K = kernels.gaussian(X, X)
    assert np.linalg.eigvalsh(K).min() < 1e-10  # linear slack: flat directions
    assert np.linalg.eigvalsh(K + np.eye(16) / 2.0).min() > 0.4  # quadratic: strictly concave
    s = run(svr.svr(K, y, 2.0, 0.05))
    total = s["beta"][0] + s["beta"][15]
    assert 0.1 < abs(total) < 3.9
    for fraction in (0.4, 0.6):
        beta = s["beta"].copy()
        beta[0], beta[15] = fraction * total, (1 - fraction) * total
        value = svr.dual_value(K, y, beta, 0.05)
        assert np.isclose(value, s.objective)  # as good, and the same function
    fast = kg.SVR(kernel=kg.Gaussian(sigma=1.0), C=2.0, epsilon=0.05, tol=1e-9).fit(X, y)
    assert np.allclose(fast.predict(X), K @ s["beta"] + s["b"], atol=1e-4)


@covers("first_encounter T9.6", "first_encounter E9.4")
@svr_sides
def test_T9_6_no_tube_and_squares_are_ridge_with_a_free_offset(fit_svr):
    X = cloud(3, 20, 2)
    y = X[:, 0] + 50 + np.random.default_rng(3).standard_normal(20)
    C = 0.3
    f = fit_svr(gaussian(2.0), X, y, C, 0.0, slack=2)
    system = np.block(
        [[f.K + np.eye(20) / C, np.ones((20, 1))], [np.ones((1, 20)), np.zeros((1, 1))]]
    )
    solution = np.linalg.solve(system, np.r_[y, 0])
    assert np.allclose(f.beta, solution[:20], atol=1e-5)
    assert np.isclose(f.b, solution[20], atol=1e-5)
    # E9.4: the constant feature of chapter 10 penalises the offset and falls short of 50
    alpha = run(kernel_ridge.kernel_ridge(f.K + 1, y, 1 / C))["alpha"]
    assert np.mean((f.K + 1) @ alpha - y) < -0.5
    assert abs(np.mean(f.predict(X) - y)) < 1e-5


@covers("first_encounter T9.7")
@slacks
@svr_sides
def test_T9_7_a_shift_of_y_shifts_b(fit_svr, slack):
    X, y = noisy_sine(4, 25)
    here, there = (fit_svr(gaussian(1.0), X, y + t, 1.0, 0.1, slack) for t in (0.0, 7.0))
    assert np.allclose(here.beta, there.beta, atol=1e-4)
    assert np.isclose(there.b - here.b, 7, atol=1e-4)


@covers("first_encounter X9.a", "first_encounter X9.b", "first_encounter X9.c")
@svr_sides
def test_X9_b_wider_tubes_fewer_support_vectors(fit_svr):
    X, y = noisy_sine(5, 50)
    counts = []
    for epsilon in (0.0, 0.1, 0.3, 0.6):
        f = fit_svr(gaussian(1.0), X, y, 1.0, epsilon)
        support = np.abs(f.beta) > 1e-6
        counts.append(support.sum())
        assert (np.abs(y - f.predict(X))[support] >= epsilon - 1e-5).all()  # on or outside
    assert counts[0] >= 48
    assert (np.diff(counts) < 0).all()
    assert counts[-1] < 15
    dense = run(kernel_ridge.kernel_ridge(kernels.gaussian(X, X), y, 1.0))["alpha"]
    assert (np.abs(dense) > 1e-6).all()


@covers("first_encounter X9.d")
@svr_sides
def test_X9_d_an_outlier_bends_quadratic_slack_more(fit_svr):
    x, clean = np.linspace(0, 1, 30)[:, None], np.linspace(0, 1, 30)
    y = clean.copy()
    y[15] = 30.0
    bent = [
        np.abs(fit_svr(linear(), x, y, 1.0, 0.05, slack).predict(x) - clean).max()
        for slack in (1, 2)
    ]
    assert bent[0] < 0.3 * bent[1]


@covers("first_encounter X9.e")
@svr_sides
def test_X9_e_inside_the_tube_nothing_pulls(fit_svr):
    X, y = noisy_sine(6, 30)
    f = fit_svr(gaussian(1.0), X, y, 1.0, 0.3)
    r = y - f.predict(X)
    i = int(np.argmin(np.abs(r)))
    moved = y.copy()
    moved[i] += 0.05
    assert np.allclose(
        fit_svr(gaussian(1.0), X, moved, 1.0, 0.3).predict(X), f.predict(X), atol=1e-5
    )


@covers("first_encounter E9.1")
@svr_sides
def test_E9_1_the_offset_is_minimised_over_too(fit_svr):
    X, y = noisy_sine(7, 20)
    f = fit_svr(linear(), X, y + 3, 1.0, 0.1, slack=2)

    def value(b):
        return svr.primal_value(f.K, y + 3, f.beta, b, 1.0, 0.1, 2)

    assert value(f.b) < min(value(f.b - 0.01), value(f.b + 0.01))
    assert value(f.b) < value(0.0) - 0.1  # (9.1) minimises over w and xi only


@covers("first_encounter E9.2")
@slacks
def test_E9_2_at_most_one_multiplier_is_positive_and_it_follows(slack):
    """Both active would mean 0 = 2 eps + xi + xi^: impossible, so nothing is added by hand."""
    X, y = noisy_sine(8, 30)
    s = run(svr.svr(kernels.gaussian(X, X), y, 1.0, 0.1, slack=slack))
    assert np.max(s["alpha"] * s["alpha_hat"]) < 1e-6  # only the programme's own conditions
    r = y - kernels.gaussian(X, X) @ s["beta"] - s["b"]
    above, below = r - 0.1, -r - 0.1  # the two constraints' values before slack
    assert np.allclose(above + below, -0.2)
    assert not ((above > -1e-6) & (below > -1e-6)).any()


@covers("first_encounter E9.5")
def test_E9_5_the_slack_is_vertical_not_orthogonal():
    x, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-3.0, 1.0, 3.0])
    s = run(svr.svr(x @ x.T, y, 10.0, 0.1))
    w = float(x[:, 0] @ s["beta"])
    i = int(np.argmax(s["xi"]))
    assert s["xi"][i] > 0.1
    vertical = abs(y[i] - w * x[i, 0] - s["b"]) - 0.1
    assert np.isclose(s["xi"][i], vertical, atol=1e-6)
    orthogonal = vertical / np.sqrt(1 + w**2)  # distance to the tube's edge in the (x, y) plane
    assert orthogonal < 0.6 * s["xi"][i]
    fast = kg.SVR(kernel="linear", C=10.0, epsilon=0.1, tol=1e-9).fit(x, y)
    assert np.isclose(np.maximum(np.abs(y - fast.predict(x)) - 0.1, 0)[i], s["xi"][i], atol=1e-4)


@covers("first_encounter E9.6")
@svr_sides
def test_E9_6_the_surface_is_a_regression_function(fit_svr):
    X, y = noisy_sine(9, 30)
    f = fit_svr(gaussian(1.0), X, y, 1.0, 0.1).predict(X)
    assert np.corrcoef(f, y)[0, 1] > 0.8  # values to predict, no boundary between classes
    assert len(np.unique(np.round(f, 6))) > 20


@covers("first_encounter E9.7")
def test_E9_7_the_absolute_value_has_a_kink_that_splitting_removes():
    X, y = noisy_sine(10, 20)
    K = kernels.gaussian(X, X)
    s = run(svr.svr(K, y, 1.0, 0.3))
    i = int(np.argmin(np.abs(s["beta"])))
    assert abs(s["beta"][i]) < 1e-6

    def along(t):
        step = s["beta"].copy()
        step[i] += t
        return svr.dual_value(K, y, step, 0.3)

    right, left = (along(1e-5) - along(0)) / 1e-5, (along(0) - along(-1e-5)) / 1e-5
    assert np.isclose(left - right, 0.6, atol=1e-2)  # 2 epsilon: no derivative there
    split = s["alpha_hat"] - s["alpha"]
    assert np.allclose(split, s["beta"], atol=1e-6)
