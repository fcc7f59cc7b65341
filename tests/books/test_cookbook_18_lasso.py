"""Cookbook, chapter 18: the lasso, online and at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from book_checks import covers
from scipy.optimize import minimize

import kilogram as kg
from kilogram.models.sparse import elastic_net as fast_module
from kilogram.textbook import online_lasso, sparse_regression
from kilogram.textbook.state import run

LAM = 0.3
TRUE = np.array([1.5, -1.0, 0.0, 0.0])


def problem(seed, n=200, truth=TRUE, noise=1.0):
    """Standard normal features, few of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(truth)))
    return X, X @ truth + noise * rng.standard_normal(n)


def fast(X, y, lam, **how):
    return kg.Lasso(lam, tol=1e-13, max_iter=100_000, **how).fit(X, y)


def at_once(X, y, lam):
    """Textbook coordinate descent; its objective is N times that of the page."""
    return run(sparse_regression.lasso(X, y, lam * len(y)))["beta"]


def online(X, y, lam, passes, seed=0, **how):
    return run(online_lasso.online_lasso(X, y, lam, passes, np.random.default_rng(seed), **how))


@covers("cookbook M18.1")
def test_M18_1_the_objective_has_one_over_two_N():
    X, y = problem(0)
    model = fast(X, y, LAM, fit_intercept=False)
    w = at_once(X, y, LAM)
    assert np.allclose(model.coef_, w, atol=1e-8)
    lowest = online_lasso.cost(X, y, w, LAM)
    assert np.isclose(model.objective_, lowest)
    assert np.isclose(lowest, np.mean((y - X @ w) ** 2) / 2 + LAM * np.abs(w).sum())
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert online_lasso.cost(X, y, w + 0.01 * rng.standard_normal(4), LAM) > lowest
    # without the 1/N the same lambda is another, far weaker penalty
    assert not np.allclose(run(sparse_regression.lasso(X, y, LAM))["beta"], w, atol=0.1)


@covers("cookbook M18.2", "cookbook T18.5")
@pytest.mark.parametrize("form", ["persistent", "proximal"])
def test_T18_5_the_online_lasso_comes_close_to_coordinate_descent(form):
    X, y = problem(1)
    y = y + 2.0  # the offset is not penalised
    states = list(
        online_lasso.online_lasso(X, y, LAM, 25, np.random.default_rng(0), form=form, theta=0.02)
    )
    best = fast(X, y, LAM)
    found = states[-1]
    start = states[0].objective - best.objective_
    assert 0 <= found.objective - best.objective_ < 1e-3 * start
    assert np.allclose(found["w"], best.coef_, atol=0.05)
    assert np.isclose(found["b"], best.intercept_, atol=0.05)
    assert np.array_equal(found["w"] != 0, best.coef_ != 0)  # theta, once, at the end
    assert (states[-2]["w"] != 0).sum() > (found["w"] != 0).sum()


@covers("cookbook M18.2")
def test_M18_2_u_and_v_are_the_two_halves_of_w():
    rng = np.random.default_rng(2)
    w, g = rng.standard_normal(6), rng.standard_normal(6)
    u, v = np.maximum(w, 0), np.maximum(-w, 0)
    assert np.allclose(u - v, w)
    u, v = online_lasso.split_step(u, v, g, 0.1, 0.5)
    assert (u >= 0).all()
    assert (v >= 0).all()
    # where |w| is large the step is that of the objective's gradient
    far = np.array([5.0, -5.0])
    u, v = online_lasso.split_step(np.maximum(far, 0), np.maximum(-far, 0), g[:2], 3.0, 0.1)
    assert np.allclose(u - v, far - 0.1 * (g[:2] + 3.0 * np.sign(far)))


@covers("cookbook M18.3", "cookbook X18.1", "cookbook T18.4")
def test_M18_3_the_path_is_piecewise_linear_from_least_squares_to_zero():
    X, y = problem(3, truth=np.array([3.0, -2.0, 1.0, 0.5, -0.2]))
    N = len(y)
    book = run(sparse_regression.lars(X, y))
    knots, lambdas = book["knots"], book["lambdas"] / N
    assert np.allclose(knots[0], 0)
    assert np.allclose(knots[-1], np.linalg.lstsq(X, y, rcond=None)[0])
    alphas, coefs, _ = kg.lasso_path(X, y, alphas=lambdas[:-1], tol=1e-13)
    assert np.allclose(alphas, lambdas[:-1])
    assert np.allclose(coefs.T, knots[:-1], atol=1e-6)
    # between two knots the coefficients lie on the straight line
    for (a, low), (b, high) in pairwise(zip(lambdas, knots, strict=True)):
        for fraction in (0.25, 0.5, 0.75):
            lam = (1 - fraction) * a + fraction * b
            model = fast(X, y, lam, fit_intercept=False)
            assert np.allclose(model.coef_, (1 - fraction) * low + fraction * high, atol=1e-6)
    # on nearly uncorrelated columns none that is in leaves again
    _, coefs, _ = kg.lasso_path(X, y, eps=1e-3, n_alphas=40, tol=1e-12)
    counts = (coefs != 0).sum(axis=0)
    assert counts[0] == 0
    assert counts[-1] == 5
    assert (np.diff(counts) >= 0).all()


@covers("cookbook P18")
def test_P18_least_angles_find_the_whole_path_at_once():
    X, y = problem(3, truth=np.array([3.0, -2.0, 1.0, 0.5, -0.2]))
    book = run(sparse_regression.lars(X, y))
    model = kg.LassoLars(alpha=0.0, fit_intercept=False).fit(X, y)
    assert np.allclose(model.alphas_, book["lambdas"] / len(y))
    assert np.allclose(model.coef_path_.T, book["knots"])


@covers("cookbook M18.4")
def test_M18_4_steps_fall_as_a_power():
    assert online_lasso.step_size(0.4, 1, 0.7) == 0.4
    assert np.isclose(online_lasso.step_size(0.4, 100, 0.5), 0.04)
    assert online_lasso.step_size(0.4, 100, 0.0) == 0.4
    X, y = problem(4, n=50)
    s = online(X, y, LAM, 3, eta_0=0.2, alpha=0.8)
    assert np.isclose(s["eta"], 0.2 * 150**-0.8)


@covers("cookbook H18.1")
def test_H18_1_what_is_to_be_chosen():
    X, y = problem(5, n=60, truth=np.r_[1.0, np.zeros(11)])
    model = kg.LassoCV(cv=5, tol=1e-10).fit(X, y)
    assert model.alphas_[-1] < model.alpha_ < model.alphas_[0]
    rest = slice(1, None)
    least_squares = kg.LinearRegression().fit(X, y)
    assert np.abs(model.coef_[rest]).sum() < 0.5 * np.abs(least_squares.coef_[rest]).sum()
    book = at_once(X - X.mean(axis=0), y - y.mean(), model.alpha_)
    assert np.allclose(fast(X, y, model.alpha_).coef_, book, atol=1e-7)
    for bad in ({"alpha": 1.5}, {"alpha": -0.1}, {"eta_0": 0.0}, {"theta": -1.0}, {"form": "old"}):
        with pytest.raises(ValueError, match="must"):
            online(X, y, LAM, 1, **bad)
    with pytest.raises(ValueError, match="must not be negative"):
        online(X, y, -1.0, 1)
    # a constant step follows data that drift, a decreasing one lags behind
    X, y = problem(6, n=2000, truth=np.array([2.0, 0.0]), noise=0.1)
    turned = np.r_[y[:1000], -y[1000:]]
    still = type("InOrder", (), {"permutation": staticmethod(np.arange)})()
    last = {
        alpha: run(online_lasso.online_lasso(X, turned, 0.01, 1, still, eta_0=0.05, alpha=alpha))[
            "w_last"
        ]
        for alpha in (0.0, 1.0)
    }
    assert np.isclose(last[0.0][0], -2, atol=0.1)
    assert last[1.0][0] > -1


@covers("cookbook T18.1")
@pytest.mark.parametrize("side", [at_once, lambda *a: fast(*a, fit_intercept=False).coef_])
def test_T18_1_correlations_with_the_residual_are_at_most_lambda(side):
    X, y = problem(7, truth=np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0]))
    for lam in (0.05, 0.3, 1.0):
        w = side(X, y, lam)
        c = X.T @ (y - X @ w) / len(y)
        assert (np.abs(c) <= lam * (1 + 1e-6)).all()
        assert np.allclose(c[w != 0], lam * np.sign(w[w != 0]), rtol=1e-5)
        assert (w == 0).any()
        assert (w != 0).any()


@covers("cookbook T18.2")
def test_T18_2_from_lambda_max_on_all_is_zero():
    X, y = problem(8)
    top = np.abs(X.T @ y).max() / len(y)
    for side in (at_once, lambda *a: fast(*a, fit_intercept=False).coef_):
        assert (side(X, y, 1.0001 * top) == 0).all()
        assert (side(X, y, 0.99 * top) != 0).sum() == 1
    assert np.isclose(kg.lasso_path(X, y)[0][0], top)
    centred = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    model = fast(X, y, 1.0001 * centred)
    assert (model.coef_ == 0).all()
    assert np.isclose(model.intercept_, y.mean())


@covers("cookbook T18.3")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_T18_3_without_a_penalty_it_is_least_squares():
    X, y = problem(9)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.allclose(at_once(X, y, 0.0), best, atol=1e-8)
    assert np.allclose(fast(X, y, 0.0, fit_intercept=False).coef_, best, atol=1e-5)
    assert np.allclose(online(X, y, 0.0, 20, offset=False)["w"], best, atol=0.05)


@covers("cookbook T18.6")
def test_T18_6_orthonormal_columns_are_soft_thresholded():
    X, y = problem(10, n=80, truth=np.array([2.0, -1.0, 0.3, 0.1, 0.0]))
    Q = np.sqrt(80) * np.linalg.qr(X)[0]  # Q'Q / N = I
    want = online_lasso.soft_threshold(Q.T @ y / 80, LAM)
    assert (want == 0).any()
    assert (want != 0).any()
    assert np.allclose(at_once(Q, y, LAM), want)
    assert np.allclose(fast(Q, y, LAM, fit_intercept=False).coef_, want, atol=1e-8)


@covers("cookbook E18.1")
def test_E18_1_splitting_anew_at_every_point_is_biased():
    X, y = problem(11, n=400, truth=np.array([1.5, -1.0]))
    best = fast(X, y, LAM, fit_intercept=False)
    setting = {"alpha": 0.0, "offset": False}

    def found(form, eta):
        return online(X, y, LAM, 20, form=form, eta_0=eta, **setting)

    gap = {
        (form, eta): np.linalg.norm(found(form, eta)["w"] - best.coef_)
        for form in online_lasso.FORMS
        for eta in (0.05, 0.01)
    }
    assert all(gap["printed", eta] > 0.1 for eta in (0.05, 0.01))  # a fifth of the step: no help
    assert all(gap[form, 0.01] < 0.03 for form in ("persistent", "proximal"))
    assert found("printed", 0.01).objective > best.objective_ + 1e-3
    # with the gradient of all points the printed form is exact
    w = np.zeros(2)
    for _ in range(2000):
        gradient = -X.T @ (y - X @ w) / len(y)
        u, v = online_lasso.split_step(np.maximum(w, 0), np.maximum(-w, 0), gradient, LAM, 0.1)
        w = u - v
    assert np.allclose(w, best.coef_, atol=1e-8)


@covers("cookbook E18.2")
def test_E18_2_constant_steps_do_not_settle():
    X, y = problem(12)
    best = fast(X, y, LAM)

    def spread(alpha):
        """Mean distance of the last iterates of ten runs from the optimum."""
        return np.mean([
            np.linalg.norm(online(X, y, LAM, 5, seed, alpha=alpha)["w_last"] - best.coef_)
            for seed in range(10)
        ])  # fmt: skip

    assert spread(0.75) < 0.5 * spread(0.0)

    def squares(alpha, T):
        return sum(online_lasso.step_size(1.0, t, alpha) ** 2 for t in range(1, T + 1))

    # Robbins and Monro ask for a finite sum of squares: 1/2 still grows by log 10 per decade
    assert squares(0.5, 10_000) - squares(0.5, 1000) > 2
    assert squares(0.75, 10_000) - squares(0.75, 1000) < 0.05


@covers("cookbook E18.3")
def test_E18_3_a_threshold_at_every_step_holds_coefficients_at_zero():
    X, y = problem(13, n=200, truth=np.array([1.5, -1.0]), noise=0.5)
    best = fast(X, y, 0.05, fit_intercept=False).coef_
    theta, eta = 0.1, 0.002
    assert eta * (np.abs(y[:, None] * X).max() + 0.05) < theta
    u, v, w = np.zeros(2), np.zeros(2), np.zeros(2)
    for i in np.tile(np.arange(200), 10):  # as printed: |w_i| < theta is 0 after every point
        u, v = online_lasso.split_step(u, v, -(y[i] - w @ X[i]) * X[i], 0.05, eta)
        w = np.where(np.abs(u - v) < theta, 0.0, u - v)
        u, v = np.maximum(w, 0), np.maximum(-w, 0)
    assert (w == 0).all()  # steps of eta |e x| < theta never leave 0
    assert (np.abs(best) > 0.5).all()
    late = online(X, y, 0.05, 10, theta=theta, offset=False)["w"]
    assert np.allclose(late, best, atol=0.1)


@covers("cookbook E18.4")
def test_E18_4_there_is_no_offset_on_the_page():
    X, y = problem(14, noise=0.1)
    y = y + 5.0
    with_offset, without = (online(X, y, 0.05, 10, offset=offset) for offset in (True, False))
    error = [np.mean((y - X @ s["w"] - s["b"]) ** 2) for s in (with_offset, without)]
    assert error[0] < 0.1
    assert error[1] > 10
    model = fast(X, y, 0.05)
    assert np.isclose(with_offset["b"], model.intercept_, atol=0.05)
    assert np.isclose(model.intercept_, y.mean() - X.mean(axis=0) @ model.coef_)


@covers("cookbook E18.5")
def test_E18_5_a_penalty_is_not_a_constraint():
    X, y = problem(15, truth=np.array([1.5, -1.0]))
    w = fast(X, y, LAM, fit_intercept=False).coef_
    assert np.allclose(w, at_once(X, y, LAM), atol=1e-8)

    def constrained(t):
        """min |y - X w|^2 / 2N over |w|_1 <= t, with w = u - v."""
        found = minimize(
            lambda z: online_lasso.cost(X, y, z[:2] - z[2:], 0.0), np.zeros(4),
            bounds=[(0, None)] * 4, constraints={"type": "ineq", "fun": lambda z: t - z.sum()},
            tol=1e-12,
        ).x  # fmt: skip
        return found[:2] - found[2:]

    # the bound t = |w|_1 belongs to this lambda; lambda itself as the bound is another model
    assert np.allclose(constrained(np.abs(w).sum()), w, atol=1e-4)
    assert not np.allclose(constrained(LAM), w, atol=0.3)
    assert np.ndim(y[0]) == 0  # and the target of a point is one number


@covers("cookbook E18.6")
def test_E18_6_the_lasso_is_of_1996():
    for module in (online_lasso, fast_module):
        assert "Tibshirani 1996" in module.__doc__
        assert "1994" not in module.__doc__
