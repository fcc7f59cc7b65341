"""Quadratic programmes and the KKT check: the textbook version, known answers, bad input."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import quadratic_program as book
from kilogram.textbook.state import run


def random_problem(n, m, k, seed, rank=None):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, rank or n))
    inner = rng.standard_normal(n)
    G = rng.standard_normal((m, n))
    A = rng.standard_normal((k, n))
    return M @ M.T, rng.standard_normal(n), G, G @ inner + rng.uniform(0, 1, m), A, A @ inner


@pytest.mark.parametrize(("n", "m", "k"), [(3, 4, 1), (10, 25, 3), (40, 60, 0), (1, 2, 0)])
def test_agrees_with_the_textbook_version(n, m, k):
    problem = random_problem(n, m, k, seed=n)
    found = kg.solve_quadratic_program(*problem)
    s = run(book.quadratic_program(*problem))
    np.testing.assert_allclose(found.x, s["x"], rtol=1e-5, atol=1e-6)
    want = book.residuals(*problem, found.x, found.z, found.v)
    assert vars(found.kkt) == pytest.approx(want)
    assert found.kkt.largest < 1e-6
    assert found.objective == pytest.approx(s.objective, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("seed", range(40, 44))
def test_textbook_version_is_exact_where_the_active_rows_dominate(seed):
    """z / s grows to 1e13 there: a system that multiplies it out is singular to rounding."""
    problem = random_problem(40, 60, 0, seed)
    states = list(book.quadratic_program(*problem))
    assert len(states) < 30
    s = states[-1]
    kkt = book.residuals(*problem, s["x"], s["z"], s["v"])
    assert max(kkt.values()) < 1e-10 * (1 + np.abs(s["z"]).max())


def test_flat_directions_and_linear_programmes():
    P, q, G, h, *_ = random_problem(12, 30, 0, seed=5, rank=4)
    box = np.vstack([np.eye(12), -np.eye(12)])
    G, h = np.vstack([G, box]), np.append(h, np.full(24, 5.0))
    assert kg.solve_quadratic_program(P, q, G, h).kkt.largest < 1e-5
    corner = kg.solve_quadratic_program(np.zeros((12, 12)), q, box, np.ones(24))
    np.testing.assert_allclose(corner.x, -np.sign(q), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_scales_and_degenerate_corners(seed):
    """P, q and x of different sizes, constraints that touch the solution without force."""
    P, q, G, h, A, b = random_problem(12, 20, 3, seed, rank=6)
    big = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, 2)
    G = np.vstack([G, np.eye(12), -np.eye(12), G[:5]])
    h = np.concatenate([h, np.full(24, 100.0), h[:5]])
    found = kg.solve_quadratic_program(big[0] * P, big[1] * q, G, h, A, b, tol=1e-7)
    size = 1 + np.abs(big[0] * P @ found.x).max() + np.abs(found.z).max() + np.abs(found.v).max()
    assert found.kkt.stationarity < 1e-5 * size
    assert max(found.kkt.inequalities, found.kkt.equalities) < 1e-4
    assert found.kkt.slackness <= 1e-7 * (1 + abs(found.objective))


def test_without_inequalities_is_one_linear_system():
    P, q, *_, A, b = random_problem(6, 0, 2, seed=2)
    found = kg.solve_quadratic_program(P, q, A=A, b=b)
    system = np.block([[P, A.T], [A, np.zeros((2, 2))]])
    want = np.linalg.solve(system, np.append(-q, b))
    np.testing.assert_allclose(np.append(found.x, found.v), want, rtol=1e-6)
    np.testing.assert_allclose(
        kg.solve_quadratic_program(P, q).x, -np.linalg.solve(P, q), rtol=1e-6
    )
    assert found.z.shape == (0,)


def test_equations_may_repeat():
    P, q, G, h, A, b = random_problem(6, 8, 2, seed=3)
    twice = kg.solve_quadratic_program(P, q, G, h, np.vstack([A, 2 * A]), np.append(b, 2 * b))
    np.testing.assert_allclose(twice.x, kg.solve_quadratic_program(P, q, G, h, A, b).x, atol=1e-6)
    assert twice.v.shape == (4,)
    with pytest.raises(ValueError, match="contradict"):
        kg.solve_quadratic_program(P, q, A=np.vstack([A, A]), b=np.append(b, b + 1))


def test_svm_dual_and_its_reported_violation():
    """min 1/2 a'Qa - 1'a, 0 <= a <= C, y'a = 0: the fitted machine is a solution."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((20, 2)), rng.standard_normal((20, 2)) + 1.5])
    y = np.repeat([-1.0, 1.0], 20)
    Q = (y[:, None] * X) @ (y[:, None] * X).T
    G, h = np.vstack([-np.eye(40), np.eye(40)]), np.append(np.zeros(40), np.full(40, 2.0))
    problem = Q, -np.ones(40), G, h, y[None, :], np.zeros(1)
    model = kg.SVC(kernel="linear", C=2.0, tol=1e-6).fit(X, y)
    a = np.zeros(40)
    a[model.support_] = np.abs(model.dual_coef_[0])
    slope = y * model.decision_function(X) - 1
    z = np.append(np.maximum(slope, 0), np.maximum(-slope, 0))
    report = kg.check_kkt(*problem, x=a, z=z, v=model.intercept_)
    assert report.largest <= 2.0 * model.kkt_violation_ + 1e-8
    found = kg.solve_quadratic_program(*problem)
    assert -found.objective == pytest.approx(model.objective_, rel=1e-5)


def test_svr_dual_and_its_reported_violation():
    """Twice as many multipliers: min 1/2 d'Kd - y'd + eps 1'(a + a*), d = a - a*."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((25, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(25)
    model = kg.SVR(kernel="linear", C=1.5, epsilon=0.2, tol=1e-6).fit(X, y)
    K = X @ X.T
    P, q = np.block([[K, -K], [-K, K]]), np.append(0.2 - y, 0.2 + y)
    G, h = np.vstack([-np.eye(50), np.eye(50)]), np.append(np.zeros(50), np.full(50, 1.5))
    sides = np.append(np.ones(25), -np.ones(25))
    d = np.zeros(25)
    d[model.support_] = model.dual_coef_[0]
    f = model.predict(X)
    slope = np.append(f - y + 0.2, y - f + 0.2)
    z = np.append(np.maximum(slope, 0), np.maximum(-slope, 0))
    a = np.append(np.maximum(d, 0), np.maximum(-d, 0))
    report = kg.check_kkt(P, q, G, h, sides[None, :], [0.0], x=a, z=z, v=model.intercept_)
    assert report.largest <= 1.5 * model.kkt_violation_ + 1e-8
    found = kg.solve_quadratic_program(P, q, G, h, sides[None, :], [0.0])
    assert -found.objective == pytest.approx(model.objective_, rel=1e-5)


BALL = [[1.0, 0.0], [0.0, 1.0]], [-3.0, -2.0]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*BALL, [[1, 0], [-1, 0]], [0, -1]), "No x satisfies the constraints"),
        ((*BALL, [[1, 0]], [0], [[1, 0]], [1]), "No x satisfies the constraints"),
        (([[1, 0], [0, 0]], [0, 1]), "falls without bound"),
        (([[1, 0], [0, 0]], [0, 1], [[0, 1]], [0]), "falls without bound"),
        (([[1, 0], [0, -1]], [0, 1]), "semi-definite"),
        (([[1, 1], [0, 1]], [0, 1]), "symmetric"),
        (([[1, 0, 0]], [0, 1]), "P must have the shape"),
        ((*BALL, [[1, 0]]), "both G and h"),
        ((*BALL, [[1, 0, 0]], [0]), "G must have the shape"),
        ((*BALL, [[np.nan, 0]], [0]), "G must be finite"),
        ((*BALL, [["a", 0]], [0]), "G must be an array of numbers"),
        ((BALL[0], [[1, 2]]), "q must have 1 dimension"),
    ],
)
def test_bad_programmes(args, words):
    with pytest.raises(ValueError, match=words):
        kg.solve_quadratic_program(*args)


def test_bad_options_and_points():
    with pytest.raises(ValueError, match="tol"):
        kg.solve_quadratic_program(*BALL, tol=0)
    with pytest.raises(ValueError, match="max_iter"):
        kg.solve_quadratic_program(*BALL, max_iter=0)
    with pytest.raises(ValueError, match="x must have 2 entries"):
        kg.check_kkt(*BALL, x=[1])
    with pytest.raises(ValueError, match="z must have 1 entries"):
        kg.check_kkt(*BALL, [[1, 0]], [1], x=[1, 2])
    with pytest.raises(RuntimeError, match="after 1 steps"):
        kg.solve_quadratic_program(*BALL, [[1, 0]], [1], max_iter=1)
    assert "stationarity 2.0e+00" in str(kg.check_kkt(*BALL, [[1, 0]], [1], x=[1, 2], z=[0]))
