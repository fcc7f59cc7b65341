"""Lecture notes L13, L14: few columns, and functions that are not linear in their parameters."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from book_checks import cloud, covers

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.textbook import nonlinear, sparse_regression
from kilogram.textbook.state import run


def problem(seed: int, n: int = 50, d: int = 7):
    X = cloud(seed, n, d)
    X = X - X.mean(axis=0)
    X = X / np.linalg.norm(X, axis=0)
    rng = np.random.default_rng(seed)
    y = X @ (5 * rng.standard_normal(d)) + 0.5 * rng.standard_normal(n)
    return X, y - y.mean()


@covers("lecture_notes L13.M1", "lecture_notes L13.T3")
def test_L13_T3_matching_pursuit_by_reflections_is_the_plain_one():
    X, y = problem(0)
    plain = list(sparse_regression.matching_pursuit(X, y, 5))
    turned = list(sparse_regression.matching_pursuit_qr(X, y, 5))
    for a, b in zip(plain[1:], turned[1:], strict=True):
        assert np.allclose(a["beta"], b["beta"])
        assert np.isclose(a.objective, b.objective)
        assert np.allclose(X[:, a["active"]].T @ a["r"], 0, atol=1e-9)
    fast = kg.orthogonal_mp(X, y, n_nonzero_coefs=5, return_path=True)
    assert np.allclose(fast.T, [s["beta"] for s in plain[1:]])
    assert (np.diff([s.objective for s in plain]) <= 0).all()


@covers("lecture_notes L13.M1")
def test_L13_M1_dependent_columns_end_the_pursuit():
    X, y = problem(2)
    twice = np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2], np.zeros(len(y))])
    want = np.linalg.lstsq(X, y, rcond=None)[0]
    for pursue in (sparse_regression.matching_pursuit, sparse_regression.matching_pursuit_qr):
        found = run(pursue(twice, y, 10))
        assert np.count_nonzero(found["beta"]) <= 7  # as many as are independent
        assert np.abs(found["beta"]).max() < 100 * np.abs(want).max()
        assert np.allclose(twice @ found["beta"], X @ want)
        nothing = run(pursue(np.zeros((5, 2)), np.ones(5), 2))
        assert (nothing["beta"] == 0).all()
    with pytest.warns(RuntimeWarning, match="ended after 7 features"):
        fast = kg.orthogonal_mp(twice, y, n_nonzero_coefs=10)
    assert np.allclose(twice @ fast, X @ want)


@covers("lecture_notes L13.M2")
def test_L13_M2_a_column_of_zeros_has_the_coefficient_zero():
    X, y = problem(3)
    padded = np.insert(X, 2, 0.0, axis=1)
    for lam, ridge in ((0.5, 0.0), (0.0, 0.0), (0.5, 0.3)):
        beta = run(sparse_regression.lasso(padded, y, lam, ridge=ridge))["beta"]
        alone = run(sparse_regression.lasso(X, y, lam, ridge=ridge))["beta"]
        assert beta[2] == 0
        assert np.allclose(np.delete(beta, 2), alone)
    fast = kg.Lasso(0.5 / len(y), fit_intercept=False, tol=1e-13, max_iter=10_000).fit(padded, y)
    beta = run(sparse_regression.lasso(padded, y, 0.5))["beta"]
    assert np.allclose(fast.coef_, beta, atol=1e-6)
    for bad in ({"lam": -1.0}, {"lam": 1.0, "ridge": -1.0}):
        with pytest.raises(ValueError, match="must not be negative"):
            run(sparse_regression.lasso(X, y, **bad))


@covers("lecture_notes L13.X1")
def test_L13_X1_correlation_is_a_product():
    """|r' - X_j| is no correlation; nor is r'X_j with the residual and columns of two frames."""
    X, y = problem(1)
    y = 10 * X[:, 3]
    printed = int(np.argmax([np.linalg.norm(y - X[:, j]) for j in range(7)]))
    right = int(np.argmax(np.abs(X.T @ y)))
    assert right == 3 != printed
    s = list(sparse_regression.matching_pursuit_qr(X, X[:, 3] + 0.5 * X[:, 5], 1))[-1]
    A, z = s["R"], s["z"]
    r = X[:, 3] + 0.5 * X[:, 5]
    r = r - X[:, 3] * (X[:, 3] @ r)
    order = [3, 1, 2, 0, 4, 5, 6]  # column 3 came first
    mixed = A[:, 1:].T @ r
    one_frame = A[1:, 1:].T @ z[1:]
    assert np.allclose(one_frame, (X[:, order].T @ r)[1:])
    assert not np.allclose(mixed, one_frame, atol=1e-3)


@covers("lecture_notes L13.M2", "lecture_notes L13.T1", "lecture_notes L13.T2")
def test_L13_T1_the_lasso_path():
    X, y = problem(2)
    s = run(sparse_regression.lars(X, y))
    knots, lambdas = s["knots"], s["lambdas"]
    assert np.allclose(knots[-1], np.linalg.lstsq(X, y, rcond=None)[0])
    assert (np.diff(lambdas) < 0).all()
    alphas, _, fast = kg.lars_path(X, y, method="lasso")
    assert np.allclose(alphas * len(y), lambdas, atol=1e-9)
    assert np.allclose(fast.T, knots)
    for k in range(len(lambdas) - 1):
        for fraction in (0.0, 0.3, 0.8):
            lam = (1 - fraction) * lambdas[k] + fraction * lambdas[k + 1]
            between = (1 - fraction) * knots[k] + fraction * knots[k + 1]
            assert np.allclose(run(sparse_regression.lasso(X, y, lam))["beta"], between, atol=1e-8)
            _, coefs, _ = kg.lasso_path(X, y, alphas=[lam / len(y)], tol=1e-14, max_iter=100_000)
            assert np.allclose(coefs[:, 0], between, atol=1e-5)


@covers("lecture_notes L13.T5", "lecture_notes L13.X2", "lecture_notes L13.E2")
def test_L13_T5_a_column_can_leave_the_path():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 5)) + 2 * rng.standard_normal((12, 1))
        y = rng.standard_normal(12)
        states = list(sparse_regression.lars(X, y))
        if any("leaves" in s.step for s in states):
            break
    assert any("leaves" in s.step for s in states)
    assert len(states) > 6  # more than d + 1 events, although the notes loop to d
    at = next(i for i, s in enumerate(states) if "leaves" in s.step)
    gone = int(states[at].step.split()[0])
    alphas, _, coefs = kg.lars_path(X, y, method="lasso")
    assert np.allclose(alphas * len(y), states[-1]["lambdas"], atol=1e-9)
    assert np.allclose(coefs.T, states[-1]["knots"])
    before, knot = states[at - 1]["knots"][-1], states[at]["knots"][-1]
    assert before[gone] != 0 == knot[gone]
    # the one whose sign would change first, and only that one
    active = (before != 0) & (np.arange(5) != gone)
    assert (np.sign(before[active]) == np.sign(knot[active])).all()
    lam = 0.5 * (states[at]["lambdas"][-1] + states[at + 1]["lambdas"][-1])
    assert run(sparse_regression.lasso(X, y, lam))["beta"][gone] == 0
    # matching pursuit never gives a column back; ridge never has a zero
    chosen = [set(s["active"]) for s in sparse_regression.matching_pursuit(X, y, 5)]
    assert all(a <= b for a, b in pairwise(chosen))
    path = [kg.Ridge(a, fit_intercept=False).fit(X, y).coef_ for a in (0.01, 1.0, 100.0)]
    assert (np.array(path) != 0).all()


@covers("lecture_notes L13.M3", "lecture_notes L13.E1")
def test_L13_E1_topics_of_a_document():
    """Words tree, leaf, deer, key; topics biology and algorithms: a tree belongs to both."""
    X = np.array([[0.4, 0.5], [0.3, 0.1], [0.3, 0.0], [0.0, 0.4]])
    document = 100 * X[:, 0]
    s = run(sparse_regression.matching_pursuit(X, document, 2, positive=True))
    assert list(np.nonzero(s["beta"])[0]) == [0]
    both = 60 * X[:, 0] + 40 * X[:, 1]
    s = run(sparse_regression.matching_pursuit(X, both, 2, positive=True))
    assert np.allclose(s["beta"], [60, 40])
    fast = kg.LinearRegression(positive=True, fit_intercept=False).fit(X, both)
    assert np.allclose(fast.coef_, [60, 40])
    pursuit = {"n_nonzero_coefs": 2, "positive": True}
    assert np.allclose(kg.orthogonal_mp(X, both, **pursuit), [60, 40])
    # a word that speaks against a topic: plain pursuit takes a negative fraction
    odd = X[:, 0] - 0.3 * X[:, 1]
    assert run(sparse_regression.matching_pursuit(X, odd, 2))["beta"].min() < -0.2
    assert run(sparse_regression.matching_pursuit(X, odd, 2, positive=True))["beta"].min() >= 0
    assert kg.orthogonal_mp(X, odd, n_nonzero_coefs=2).min() < -0.2
    assert kg.orthogonal_mp(X, odd, **pursuit).min() >= 0


@covers("lecture_notes L13.M4")
def test_L13_M4_elastic_net():
    X, y = problem(3)
    both = run(sparse_regression.elastic_net(X, y, 0.5, 2.0))["beta"]
    g = 2 * X.T @ (y - X @ both) - 2 * 0.5 * both
    assert np.allclose(g[both != 0], 2.0 * np.sign(both[both != 0]), atol=1e-8)
    assert (np.abs(g[both == 0]) <= 2.0 + 1e-8).all()
    ridge = kg.Ridge(0.5, fit_intercept=False).fit(X, y).coef_
    assert np.allclose(run(sparse_regression.elastic_net(X, y, 0.5, 0.0))["beta"], ridge)
    lasso = run(sparse_regression.lasso(X, y, 1.0))["beta"]
    assert np.allclose(run(sparse_regression.elastic_net(X, y, 0.0, 2.0))["beta"], lasso)


@covers("lecture_notes L13.M5")
def test_L13_M5_group_lasso():
    X, y = problem(4)
    groups = [[0, 1, 2], [3, 4], [5, 6]]
    alone = run(sparse_regression.group_lasso(X, y, [[j] for j in range(7)], 0.7))["beta"]
    assert np.allclose(alone, run(sparse_regression.lasso(X, y, 0.7))["beta"], atol=1e-8)
    for lam in (0.5, 1.5, 3.0):
        beta = run(sparse_regression.group_lasso(X, y, groups, lam))["beta"]
        how = {"alpha": lam / len(y), "fit_intercept": False, "tol": 1e-13, "max_iter": 10**4}
        assert np.allclose(kg.GroupLasso(groups, **how).fit(X, y).coef_, beta, atol=1e-5)
        for g in groups:
            pull = X[:, g].T @ (y - X @ beta)
            if np.any(beta[g]):
                want = lam * np.sqrt(len(g)) * beta[g] / np.linalg.norm(beta[g])
                assert np.allclose(pull, want, atol=1e-6)
                assert (beta[g] != 0).all()  # a group enters as a whole
            else:
                assert np.linalg.norm(pull) <= lam * np.sqrt(len(g)) + 1e-8


@covers("lecture_notes L13.T4")
def test_L13_T4_matching_pursuit_is_not_the_best_subset():
    """One column is most like y, yet two others give it exactly."""
    a, b = np.eye(3)[0], np.eye(3)[1]
    decoy = (a + b) / np.sqrt(2) + 0.1 * np.eye(3)[2]
    X = np.column_stack([a, b, decoy / np.linalg.norm(decoy)])
    y = a + b
    assert run(sparse_regression.matching_pursuit(X, y, 2)).objective > 1e-3
    best = min(
        np.sum((y - X[:, c] @ np.linalg.lstsq(X[:, c], y, rcond=None)[0]) ** 2)
        for c in map(list, combinations(range(3), 2))
    )
    assert best < 1e-20
    # incoherent columns without noise: it finds them
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((40, 12)))[0]
    s = run(sparse_regression.matching_pursuit(Q, Q[:, [2, 7, 9]] @ [3.0, -1.0, 2.0], 3))
    assert sorted(s["active"]) == [2, 7, 9]


def decay(x):
    def model(beta):
        e = np.exp(-beta[1] * x)
        return beta[0] * e, np.column_stack([e, -beta[0] * x * e])

    return model


@covers(
    "lecture_notes L13.M6", "lecture_notes L14.E2", "lecture_notes L14.M3", "lecture_notes L14.M4"
)
def test_L14_E2_gauss_newton_and_levenberg_marquardt():
    x = np.linspace(0, 4, 30)
    truth = np.array([5.0, 1.3])
    model = decay(x)
    y = model(truth)[0]
    near = run(nonlinear.gauss_newton(model, y, np.array([4.0, 1.0]), 20))
    assert np.allclose(near["beta"], truth)
    far = np.array([1.0, 12.0])
    with np.errstate(all="ignore"):
        lost = [s.objective for s in nonlinear.gauss_newton(model, y, far, 3)]
    assert not max(lost) < 10 * lost[0]  # it flies off
    states = list(nonlinear.levenberg_marquardt(model, y, far, 500))
    assert np.allclose(states[-1]["beta"], truth, atol=1e-6)


@covers("lecture_notes L14.T4", "lecture_notes L14.M1", "lecture_notes L14.M2")
def test_L14_T4_between_gauss_newton_and_the_gradient():
    x = np.linspace(0, 4, 30)
    model = decay(x)
    y = model(np.array([5.0, 1.3]))[0]
    beta = np.array([3.0, 0.8])
    f, J = model(beta)
    gradient = J.T @ (y - f)
    newton = np.linalg.lstsq(J, y - f, rcond=None)[0]
    assert np.allclose(nonlinear.damped_step(J, y - f, 1e-12, scaled=True), newton)
    small = nonlinear.damped_step(J, y - f, 1e12, scaled=False)
    assert np.isclose(small @ gradient, np.linalg.norm(small) * np.linalg.norm(gradient))
    assert np.sum((y - model(beta + 1e-3 * gradient)[0]) ** 2) < np.sum((y - f) ** 2)
    kept = [s for s in nonlinear.levenberg_marquardt(model, y, beta, 60) if "undone" not in s.step]
    assert (np.diff([s.objective for s in kept]) < 0).all()
    for method in ("lm", "levenberg", "gauss-newton"):
        fast = kg.NonlinearRegression(lambda x, a, b: a * np.exp(-b * x), beta, method=method)
        assert np.allclose(fast.fit(x[:, None], y).params_, [5.0, 1.3])
        sums = [np.sum((y - f) ** 2)]
        for steps in (1, 2, 3):
            with pytest.warns(ConvergenceWarning):
                sums.append(fast.set_params(max_iter=steps).fit(x[:, None], y).objective_)
        assert (np.diff(sums) < 0).all()


@covers("lecture_notes L14.T5")
@pytest.mark.parametrize("scaled", [True, False])
def test_L14_T5_units_of_a_parameter(scaled):
    """Marquardt's damping does not see them, Levenberg's does."""
    x = np.linspace(0, 4, 30)
    model = decay(x)
    y = model(np.array([5.0, 1.3]))[0]

    def other(beta):
        f, J = model(beta * [1.0, 1e3])
        return f, J * [1.0, 1e3]

    start = np.array([3.0, 0.8])
    first = list(nonlinear.levenberg_marquardt(model, y, start, 3, scaled=scaled))
    second = list(nonlinear.levenberg_marquardt(other, y, start / [1.0, 1e3], 3, scaled=scaled))
    same = np.allclose(first[-1]["beta"], second[-1]["beta"] * [1.0, 1e3], rtol=1e-6)
    assert same == scaled


def arc(rng, angle, n=60, sigma=0.1):
    t = rng.uniform(0, angle, n)
    return (
        3 * np.column_stack([np.cos(t), np.sin(t)]) + [1, 2] + sigma * rng.standard_normal((n, 2))
    )


def both_fits(P):
    algebraic = run(nonlinear.circle_algebraic(P))
    start = P.mean(axis=0)
    size = float(np.linalg.norm(P - start, axis=1).mean())
    geometric = run(nonlinear.circle_geometric(P, start, size, 400))
    return algebraic, geometric


@covers(
    "lecture_notes L14.M8",
    "lecture_notes L14.M7",
    "lecture_notes L14.E1",
    "lecture_notes L14.T1",
    "lecture_notes L14.T2",
)
def test_L14_T2_circles_and_arcs():
    rng = np.random.default_rng(6)
    P = arc(rng, 2 * np.pi, sigma=0.0)
    exact, distances = both_fits(P)
    assert np.allclose([*exact["c"], exact["r"]], [1, 2, 3])
    assert np.allclose([*distances["c"], distances["r"]], [1, 2, 3], atol=1e-6)
    # a change of variables, then least squares: the public estimator does the same
    fast = kg.LinearRegression().fit(P, np.sum(P**2, axis=1))
    assert np.allclose(fast.coef_ / 2, [1, 2])
    assert np.isclose(np.sqrt(fast.intercept_ + np.sum((fast.coef_ / 2) ** 2)), 3)
    radii = np.array(
        [[f["r"] for f in both_fits(arc(rng, np.pi / 2))] for _ in range(60)], dtype=float
    )
    algebraic, geometric = np.median(radii, axis=0)
    assert 2.5 < algebraic < 2.85  # biased down on a quarter of a circle
    assert abs(geometric - 3) < 0.12


@covers("lecture_notes L14.X1")
def test_L14_X1_the_update_is_transposed():
    x = np.linspace(0, 4, 30)
    f, J = decay(x)(np.array([3.0, 0.8]))
    r = np.ones(30) - f
    assert (J.T @ r).shape == (2,)
    with pytest.raises(ValueError, match="mismatch"):
        J @ r  # as printed
    # distances are from the centre c, the parameter; there is no l
    P = arc(np.random.default_rng(7), 2 * np.pi)
    s = both_fits(P)[1]
    assert np.isclose(s.objective, np.sum((np.linalg.norm(P - s["c"], axis=1) - s["r"]) ** 2))


@covers("lecture_notes L14.X2")
def test_L14_X2_the_algebraic_circle_is_not_robust():
    rng = np.random.default_rng(8)
    truth, errors = np.array([1.0, 2.0, 3.0]), []
    for _ in range(40):
        P = arc(rng, 2 * np.pi)
        P[:6] = rng.uniform([-5, -4], [7, 8], size=(6, 2))
        errors.append([np.abs(np.append(f["c"], f["r"]) - truth).max() for f in both_fits(P)])
    algebraic, geometric = np.median(errors, axis=0)
    assert algebraic > 0.3
    assert algebraic > 1.5 * geometric
