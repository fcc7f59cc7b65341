"""A First Encounter, appendix A: Lagrangians, duals and the conditions at a solution."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import svm_dual
from kilogram.textbook.quadratic_program import quadratic_program, residuals
from kilogram.textbook.state import run

NONE = np.zeros((0, 2)), np.zeros(0)


def wall(target, slope=1.0):
    """A ball at `target` in the plane that may not pass the wall x_0 <= 1."""
    P, q = slope * np.eye(2), -slope * np.asarray(target, float)
    return P, q, np.array([[1.0, 0.0]]), np.ones(1), *NONE


def solve(problem):
    s = run(quadratic_program(*problem))
    return s["x"], s["z"], s["v"]


def dual(P, q, G, h, z):
    """min_x of the Lagrangian for P = c I."""
    x = -np.linalg.solve(P, q + G.T @ z)
    return float(x @ P @ x / 2 + q @ x + z @ (G @ x - h))


@covers("first_encounter FEA.1", "first_encounter FEA.4", "first_encounter FEA.6")
@covers("first_encounter TA.5")
def test_FEA_4_every_residual_is_reported_and_separates_solutions_from_others():
    rng = np.random.default_rng(0)
    for n, m in ((3, 4), (6, 8)):
        M = rng.standard_normal((n, n))
        P, q = M @ M.T + 0.1 * np.eye(n), rng.standard_normal(n)
        G, h = rng.standard_normal((m, n)), rng.uniform(0.1, 1, m)
        A, b = np.ones((1, n)), np.array([0.1])
        x, z, v = solve((P, q, G, h, A, b))
        report = residuals(P, q, G, h, A, b, x, z, v)
        names = {"stationarity", "inequalities", "equalities", "multipliers", "slackness"}
        assert set(report) == names
        assert max(report.values()) < 1e-6
        for _ in range(200):  # sufficient: nothing feasible is lower
            y = x + rng.standard_normal(n) * 0.3
            y += (b - A @ y) / n
            if (G @ y <= h).all():
                assert y @ P @ y / 2 + q @ y >= x @ P @ x / 2 + q @ x - 1e-8
        worse = residuals(P, q, G, h, A, b, x + 1, z - 1, v)
        assert all(worse[name] > 1e-3 for name in names)


@covers("first_encounter XA.b", "first_encounter X8.f", "first_encounter TA.4")
@covers("first_encounter TA.6", "first_encounter EA.1")
def test_XA_b_a_ball_rolls_to_the_wall():
    """Active: f = 0 and a reaction force; inactive: f < 0, strictly, and none."""
    x, z, _ = solve(wall((3.0, 2.0)))
    assert np.allclose(x, [1, 2])
    assert np.isclose(z[0], 2)  # the force that holds it: the slope at the wall
    x, z, _ = solve(wall((-1.0, 2.0)))
    assert np.allclose(x, [-1, 2])
    assert x[0] - 1 < 0
    assert z[0] < 1e-8
    forces = [solve(wall((3.0, 2.0), slope))[1][0] for slope in (0.5, 1.0, 4.0)]
    assert np.allclose(forces, [1, 2, 8])  # steeper, stronger
    # f = 0 belongs to the active side: a ball at rest against the wall leans with no force
    x, z, _ = solve(wall((1.0, 2.0)))
    assert np.isclose(x[0], 1, atol=1e-5)
    assert z[0] < 1e-5


@covers("first_encounter FEA.2", "first_encounter FEA.3", "first_encounter TA.2")
@covers("first_encounter EA.4", "first_encounter EA.6")
def test_TA_2_the_dual_is_below_and_meets_the_primal():
    P, q, G, h, *_ = wall((3.0, 2.0))
    x, z, _ = solve(wall((3.0, 2.0)))
    best = x @ P @ x / 2 + q @ x
    values = [dual(P, q, G, h, np.array([lam])) for lam in np.linspace(0, 6, 61)]
    assert max(values) <= best + 1e-8
    assert np.isclose(dual(P, q, G, h, z), best)  # linear constraints: no gap
    # without an inner point (Slater) and not linear: min x s.t. x^2 <= 0 has no multiplier, though
    # the values meet in the limit: inf_x x + lam x^2 = -1/(4 lam) -> 0
    lams = np.array([1.0, 10.0, 1e4])
    assert (-1 / (4 * lams) < 0).all()
    assert np.isclose((-1 / (4 * lams)).max(), 0, atol=1e-4)
    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    assert kg.SVC(kernel="linear", tol=1e-9).fit(X, y).dual_gap_ < 1e-6


@covers("first_encounter FEA.5", "first_encounter TA.3", "first_encounter EA.5")
def test_FEA_5_the_saddle_point():
    P, q, G, h, *_ = wall((3.0, 2.0))
    x, z, _ = solve(wall((3.0, 2.0)))

    def L(x, z):
        return float(x @ P @ x / 2 + q @ x + z @ (G @ x - h))

    rng = np.random.default_rng(1)
    for _ in range(50):
        assert (
            L(x, rng.uniform(0, 9, 1)) <= L(x, z) + 1e-8 <= L(x + rng.standard_normal(2), z) + 2e-8
        )
    # sup over lam: f0 where feasible, without end elsewhere
    inside, outside = np.array([0.0, 2.0]), np.array([2.0, 2.0])
    assert max(L(inside, np.array([lam])) for lam in (0.0, 10.0, 1e6)) == L(inside, np.zeros(1))
    assert L(outside, np.array([1e6])) > 1e5
    # slackness: at a solution with no gap every term lam_i f_i, non-positive, must vanish
    terms = z * (G @ x - h)
    assert (terms <= 1e-8).all()
    assert abs(terms.sum()) < 1e-6
    weak = np.array([0.5]) * (G @ inside - h)  # feasible but no solution: negative, not zero
    assert weak[0] < 0


@covers("first_encounter TA.1", "first_encounter EA.3", "first_encounter XA.c")
def test_TA_1_the_dual_is_an_infimum_of_lines_and_concave_always():
    """min x^4 - 8x^2 + 3x s.t. x <= -1/2 ... not convex; each x gives a line in lam."""
    x = np.linspace(-3, 3, 2001)
    f0, f1 = x**4 - 8 * x**2 + 3 * x, 0.5 - x  # x >= 1/2: the deeper well is forbidden
    lam = np.linspace(0, 20, 201)
    lines = f0[:, None] + lam * f1[:, None]
    assert np.allclose(np.diff(lines, 2, axis=1), 0, atol=1e-8)  # affine
    d = lines.min(axis=0)
    assert (np.diff(d, 2) <= 1e-9).all()  # concave
    p = f0[f1 <= 0].min()
    assert d.max() < p - 1  # and a gap: the problem is not convex
    with pytest.raises(ValueError, match="positive semi-definite"):
        kg.solve_quadratic_program(np.diag([1.0, -1.0]), np.zeros(2))


@covers("first_encounter XA.a", "first_encounter EA.2")
def test_EA_2_a_jointly_convex_valley_where_the_order_matters():
    t = np.linspace(0, 1, 101)
    valley = np.abs(t[:, None] - t[None, :])  # |x - y|, convex in (x, y)
    assert np.isclose(valley.max(axis=1).min(), 0.5)  # min over x of max over y
    assert np.isclose(valley.min(axis=0).max(), 0.0)  # max over y of min over x
    saddle = t[:, None] ** 2 - t[None, :] ** 2 + t[:, None] * t[None, :]  # convex, concave
    assert np.isclose(saddle.max(axis=1).min(), saddle.min(axis=0).max(), atol=0.02)
    P, q, G, h, *_ = wall([2.0, 1.0])  # the Lagrangian is convex in x, linear in z: one value
    found = kg.solve_quadratic_program(P, q, G=G, h=h)
    at_x = float(found.x @ P @ found.x / 2 + q @ found.x)
    assert np.isclose(at_x, dual(P, q, G, h, found.z))
    best = max(dual(P, q, G, h, np.array([z])) for z in np.linspace(0, 5, 51))
    assert best <= at_x + 1e-6


@covers("first_encounter FEA.6")
def test_FEA_6_the_programme_and_smo_agree():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((25, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(25) > 0, 1.0, -1.0)
    by_qp, by_smo = (run(f(X @ X.T, y, 2.0)).objective for f in (svm_dual.svm, svm_dual.smo))
    assert np.isclose(by_qp, by_smo, rtol=1e-6)
