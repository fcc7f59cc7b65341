"""Cookbook chapter 17, least squares and ridge regression, item by item."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers, ridge_sides
from sklearn.datasets import load_diabetes

import kilogram as kg
from kilogram.textbook import kernel_ridge, pca, ridge, ridge_solvers
from kilogram.textbook.state import run


def problem(seed: int, n: int = 50, d: int = 4, noise: float = 0.5):
    X = cloud(seed, n, d)
    rng = np.random.default_rng(seed + 100)
    return X, X @ rng.standard_normal(d) + 7 + noise * rng.standard_normal(n)


def printed_ridge(X, Y, lam):
    """Algorithm 16 as printed: lambda on the row of ones too. Returns offset, weights."""
    X1 = np.column_stack([np.ones(len(X)), X])
    W = np.linalg.solve(X1.T @ X1 + lam * np.eye(X1.shape[1]), X1.T @ Y)
    return W[0], W[1:]


@covers("cookbook M17.1", "cookbook T17.1")
@ridge_sides
def test_T17_1_residuals_are_orthogonal_to_the_features(fit_ridge):
    X, y = problem(0)
    fitted = fit_ridge(X, y, 0.0)
    residual = y - fitted.predict(X)
    assert np.allclose(X.T @ residual, 0, atol=1e-9)
    assert np.isclose(residual.sum(), 0, atol=1e-9)
    exact = np.linalg.lstsq(np.column_stack([np.ones(50), X]), y, rcond=None)[0]
    assert np.allclose(fitted.W, exact[1:])


@covers("cookbook M17.2")
@ridge_sides
def test_M17_2_ridge_on_real_data_solves_the_centred_normal_equations(fit_ridge):
    data = load_diabetes()
    X, y, lam = data.data, data.target, 0.1
    fitted = fit_ridge(X, y, lam)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    W = np.linalg.solve(Xc.T @ Xc + lam * np.eye(10), Xc.T @ yc)
    assert np.allclose(fitted.W, W)
    assert np.isclose(fitted.b, y.mean() - X.mean(axis=0) @ W)


@covers("cookbook M17.3")
def test_M17_3_features_by_hand_and_principal_component_regression():
    x = np.linspace(-2, 2, 40)
    y = 1 - x + 0.5 * x**3
    by_hand = run(ridge.ridge(np.column_stack([x, x**2, x**3]), y, 0.0))
    assert np.allclose(by_hand["W"], [-1, 0, 0.5])
    # principal-component regression: all components are least squares, few are a low-rank fit
    X, y = problem(1)
    scores = run(pca.pca(X))["X_hat"]
    full = run(ridge.ridge(scores, y, 0.0))
    assert np.isclose(full.objective, run(ridge.ridge(X, y, 0.0)).objective)
    assert run(ridge.ridge(scores[:, :2], y, 0.0)).objective > full.objective


@covers("cookbook H17.1")
def test_H17_1_lambda_by_leave_one_out():
    X, y = problem(2, n=15, d=10, noise=4.0)
    lambdas = 10.0 ** np.arange(-4, 5)
    errors = [run(ridge.leave_one_out(X, y, lam)).objective for lam in lambdas]
    best = lambdas[int(np.argmin(errors))]
    assert best > 1e-3  # some shrinkage helps on 15 noisy points in 10 dimensions
    fast = kg.RidgeCV(alphas=lambdas).fit(X, y)
    assert np.isclose(fast.alpha_, best)


@covers("cookbook T17.2")
@ridge_sides
def test_T17_2_lambda_to_zero_is_least_squares_of_smallest_norm(fit_ridge):
    X, y = problem(3)
    assert np.allclose(fit_ridge(X, y, 1e-9).W, fit_ridge(X, y, 0.0).W, atol=1e-6)
    twice = np.column_stack([X, X[:, 0]])  # singular
    Xc = twice - twice.mean(axis=0)
    smallest = np.linalg.pinv(Xc) @ (y - y.mean())
    assert np.allclose(fit_ridge(twice, y, 1e-7).W, smallest, atol=1e-5)


@covers("cookbook T17.3", "cookbook X17.1")
@ridge_sides
def test_T17_3_weights_shrink_as_lambda_grows(fit_ridge):
    """Also figure 17.1: the slope of a line for three lambdas."""
    X, y = problem(4)
    norms = [np.linalg.norm(fit_ridge(X, y, lam).W) for lam in (0.0, 0.1, 1, 10, 100, 1e4)]
    assert (np.diff(norms) < 0).all()
    x = np.linspace(-1, 1, 20)[:, None]
    slopes = [fit_ridge(x, 3 * x[:, 0] + 1, lam).W[0] for lam in (0.0, 5.0, 50.0)]
    assert np.isclose(slopes[0], 3)
    assert slopes[0] > slopes[1] > slopes[2] > 0


@covers("cookbook T17.4", "cookbook TA.3")
@pytest.mark.parametrize("shape", [(30, 5), (8, 40)])
def test_T17_4_primal_is_dual(shape):
    X = cloud(5, *shape)
    y = np.random.default_rng(5).standard_normal(shape[0])
    primal = run(ridge_solvers.by_cholesky(X, y, 0.7))["beta"]
    alpha = run(kernel_ridge.kernel_ridge(X @ X.T, y, 0.7))["alpha"]
    assert np.allclose(X.T @ alpha, primal)
    fast = kg.KernelRidge(alpha=0.7, kernel=kg.Linear()).fit(X, y)
    assert np.allclose(X.T @ fast.dual_coef_, primal)
    assert np.allclose(kg.Ridge(alpha=0.7, fit_intercept=False).fit(X, y).coef_, primal)


@covers("cookbook T17.5", "summary A2.13")
@ridge_sides
def test_T17_5_a_penalty_makes_few_points_enough(fit_ridge):
    X = cloud(6, 6, 20)
    y = np.arange(6.0)
    scatter = X.T @ X
    assert np.linalg.matrix_rank(scatter) <= 6
    assert np.linalg.matrix_rank(scatter + 0.1 * np.eye(20)) == 20
    assert np.isfinite(fit_ridge(X, y, 0.1).W).all()
    assert np.isfinite(fit_ridge(np.repeat(X, 2, axis=1), y, 0.1).W).all()  # columns repeat


@covers("cookbook T17.6")
@ridge_sides
def test_T17_6_one_outlier_dominates_the_squared_loss(fit_ridge):
    x = np.linspace(0, 1, 30)[:, None]
    y = 2 * x[:, 0]
    spoilt = y.copy()
    spoilt[-1] = -1000.0
    assert np.isclose(fit_ridge(x, y, 0.0).W[0], 2)
    fitted = fit_ridge(x, spoilt, 0.0)
    assert fitted.W[0] < -50
    fraction = (spoilt - fitted.predict(x)) ** 2
    assert fraction[-1] > 0.8 * fraction.sum()


@covers("cookbook T17.7")
@ridge_sides
def test_T17_7_many_outputs_are_many_fits(fit_ridge):
    X, y = problem(7)
    Y = np.column_stack([y, -2 * y + X[:, 0] ** 2, np.sin(y)])
    together = fit_ridge(X, Y, 0.5)
    for j in range(3):
        alone = fit_ridge(X, Y[:, j], 0.5)
        assert np.allclose(together.W[:, j], alone.W)
        assert np.isclose(together.b[j], alone.b)


@covers("cookbook E17.1")
@ridge_sides
def test_E17_1_a_penalised_offset_pulls_predictions_to_zero(fit_ridge):
    x = np.linspace(-1, 1, 40)[:, None]
    y = 5 + 2 * x[:, 0]
    offset, slope = printed_ridge(x, y, 1e6)
    assert abs(offset + slope @ [0.0]) < 0.01
    fitted = fit_ridge(x, y, 1e6)
    assert np.isclose(fitted.b, y.mean())
    assert np.allclose(fitted.predict(x), 5, atol=0.01)


@covers("cookbook E17.2")
def test_E17_2_the_norm_is_frobenius_and_the_mean_is_a_sum():
    X, y = problem(8)
    Y = np.column_stack([y, X[:, 0] ** 2])
    s = run(ridge.ridge(X, Y, 0.0))
    residual = Y - X @ s["W"] - s["b"]
    assert np.isclose(s.objective, np.sum(residual**2))
    assert np.isclose(s.objective, np.linalg.norm(residual, "fro") ** 2)
    assert not np.isclose(s.objective, np.linalg.norm(residual, 2) ** 2)  # the bare matrix norm
    assert not np.isclose(s.objective, np.mean(residual**2))
    parts = [run(ridge.ridge(X, Y[:, j], 0.0)).objective for j in range(2)]
    assert np.isclose(s.objective, sum(parts))


@covers("cookbook E17.3")
def test_E17_3_the_pseudo_inverse_is_transposed():
    """In the page's columns X is D x N and Y is D_Y x N: W = pinv(X)' Y', not pinv(X) Y."""
    rows, y = problem(9)
    X, Y = rows.T, y[None, :]
    with pytest.raises(ValueError, match="mismatch"):
        np.linalg.pinv(X) @ Y
    right = np.linalg.pinv(X).T @ Y.T
    assert np.allclose(right, np.linalg.solve(X @ X.T, X @ Y.T))
    fitted = kg.LinearRegression(fit_intercept=False).fit(rows, y)
    assert np.allclose(right[:, 0], fitted.coef_)


@covers("cookbook E17.4")
@ridge_sides
def test_E17_4_large_lambda_makes_weights_small_not_equal(fit_ridge):
    X, y = problem(10)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    lam = 1e9
    W = fit_ridge(X, y, lam).W
    assert np.allclose(lam * W, Xc.T @ yc, rtol=1e-4)
    assert np.ptp(W) > 0.5 * np.abs(W).max()  # "similar for all dimensions" they are not


@covers("cookbook E17.5", "cookbook TB.3")
def test_E17_5_a_squared_norm_and_the_whole_X():
    """B.3 prints (y - w'X)^2, which is a row of numbers, and xy', which has one point."""
    X, y = problem(11)
    w = np.random.default_rng(11).standard_normal(4)
    assert np.shape((y - X @ w) ** 2) == (50,)
    assert np.isclose(ridge.cost(X, y, w, 0.0), (y - X @ w) @ (y - X @ w))
    least_squares = np.linalg.solve(X.T @ X, X.T @ y)
    one_point = np.linalg.solve(X.T @ X, X[0] * y[0])
    assert np.allclose(ridge.gradient(X, y, least_squares, 0.0), 0, atol=1e-8)
    assert np.linalg.norm(ridge.gradient(X, y, one_point, 0.0)) > 1


@covers("cookbook E17.6")
@ridge_sides
def test_E17_6_solve_do_not_invert(fit_ridge):
    losses = []
    for seed in range(20):  # on a single problem the rounding errors may happen to be kind
        X, y = problem(seed)
        # nearly dependent columns: the inverse of the normal matrix loses what a solver keeps
        close = np.column_stack([X, X[:, 0] + 1e-8 * X[:, 1]])
        centred, yc = close - close.mean(axis=0), y - y.mean()
        best = np.linalg.norm(centred @ np.linalg.lstsq(centred, yc, rcond=None)[0] - yc)
        try:
            inverted = np.linalg.inv(centred.T @ centred) @ centred.T @ yc
            losses.append(np.linalg.norm(centred @ inverted - yc) / best)
        except np.linalg.LinAlgError:
            losses.append(np.inf)
        fitted = fit_ridge(close, y, 0.0)
        assert np.linalg.norm(y - fitted.predict(close)) < 1.001 * best
    assert max(losses) > 1.05
