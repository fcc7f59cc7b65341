"""Summary sections 2 (least squares, ridge, cross-validation) and 4.1."""

from __future__ import annotations

import numpy as np
from book_checks import (
    cloud,
    covers,
    gaussian,
    kernel_ridge_sides,
    noisy_sine,
    ridge_sides,
)
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels, ridge, ridge_solvers, roots
from kilogram.textbook.errata import errata
from kilogram.textbook.state import run


def rbf_features(x, centres, width=1.0):
    """(1, phi_1(x), ..., phi_N(x)): a bump at every data point and a constant."""
    return np.column_stack([np.ones(len(x)), kernels.gaussian(x, centres, width)])


def problem(seed: int, n: int = 40, d: int = 3):
    X = cloud(seed, n, d)
    return X, X @ np.arange(1.0, d + 1) + np.random.default_rng(seed).standard_normal(n)


@covers("summary A2.1", "summary A2.5")
@ridge_sides
def test_A2_5_the_normal_equations_hold(fit_ridge):
    X, y = problem(0)
    X, y = X - X.mean(axis=0), y - y.mean()
    beta = fit_ridge(X, y, 0.0).W
    assert np.allclose(X.T @ (y - X @ beta), 0, atol=1e-9)
    assert np.allclose(beta, np.linalg.lstsq(X, y, rcond=None)[0])


@covers("summary A2.2", "summary A2.6", "summary A2.4")
@ridge_sides
def test_A2_6_quadratic_features_recover_a_parabola(fit_ridge):
    x = np.linspace(-2, 3, 12)
    fitted = fit_ridge(np.column_stack([x, x**2]), 1 - 2 * x + 0.5 * x**2, 0.0)
    assert np.allclose(fitted.b, 1)
    assert np.allclose(fitted.W, [-2, 0.5])
    # any list of functions will do: x, e^-x, cos x
    free = fit_ridge(np.column_stack([x, np.exp(-x), np.cos(x)]), 3 * np.exp(-x) - np.cos(x), 0.0)
    assert np.allclose(free.W, [0, 3, -1], atol=1e-9)


@covers("summary A2.7")
def test_A2_7_the_sum_of_squares_is_not_its_mean():
    X, y = problem(1)
    s = run(ridge.ridge(X, y, 0.0))
    residual = y - X @ s["W"] - s["b"]
    assert np.isclose(s.objective, np.sum(residual**2))
    assert np.isclose(s.objective, 40 * np.mean(residual**2))
    assert not np.isclose(s.objective, np.mean(residual**2))


@covers("summary A2.8")
def test_A2_8_a_row_is_not_a_column():
    X, y = problem(2)
    beta = np.ones((3, 1))
    row = (y[:, None] - X @ beta).T @ X
    column = X.T @ y[:, None] - X.T @ X @ beta
    assert row.shape != column.shape
    assert np.allclose(row.T, column)
    fitted = kg.LinearRegression(fit_intercept=False).fit(X, y)
    assert np.allclose(X.T @ (y - X @ fitted.coef_), 0, atol=1e-8)  # the column, at its zero


@covers("summary A2.9", "summary A2.3")
@kernel_ridge_sides
def test_A2_9_bumps_and_a_constant_are_too_many_for_least_squares(fit_kernel_ridge):
    x = np.linspace(0, 3, 10)[:, None]
    y = np.sin(x[:, 0])
    Phi = rbf_features(x, x)
    assert Phi.shape == (10, 11)
    assert np.linalg.matrix_rank(Phi.T @ Phi) < 11  # always: 11 columns, 10 rows
    try:
        printed = np.linalg.inv(Phi.T @ Phi) @ Phi.T @ y
        worst = np.abs(Phi @ printed - y).max()
    except np.linalg.LinAlgError:
        worst = np.inf
    assert worst > 1e-3  # the plain inverse misses data it could interpolate
    beta = run(ridge_solvers.by_qr(Phi, y, 1e-6))["beta"]
    assert np.abs(Phi @ beta - y).max() < 1e-2
    assert np.isfinite(fit_kernel_ridge(gaussian(1.0), x, y, 1e-6).alpha).all()


@covers("summary A2.10", "summary A2.12")
def test_A2_10_every_coefficient_is_penalised_unless_exempt():
    X, y = problem(3)
    with_ones = np.column_stack([np.ones(40), X])
    penalised = run(ridge_solvers.by_cholesky(with_ones, y, 5.0))["beta"]
    assert np.allclose(
        penalised, np.linalg.solve(with_ones.T @ with_ones + 5 * np.eye(4), with_ones.T @ y)
    )
    exempt = run(ridge.ridge(X, y, 5.0))
    assert not np.isclose(penalised[0], exempt["b"], rtol=0.01)
    assert np.isclose(kg.Ridge(alpha=5.0).fit(X, y).intercept_, exempt["b"])
    same = kg.Ridge(alpha=5.0, fit_intercept=False).fit(with_ones, y).coef_
    assert np.allclose(same, penalised)  # the sum form: lambda is not multiplied by N


@covers("summary A2.11")
def test_A2_11_a_difference_penalty_makes_coefficients_smooth():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 12))
    y = X @ np.sin(np.linspace(0, 3, 12)) + rng.standard_normal(30)
    D = np.diff(np.eye(12), axis=0)  # first differences
    s = run(ridge_solvers.by_tikhonov(X, y, 10 * D))
    assert np.allclose(s["beta"], np.linalg.solve(X.T @ X + 100 * D.T @ D, X.T @ y))
    fast = kg.Ridge(alpha=100.0, penalty_matrix=D, fit_intercept=False).fit(X, y)
    assert np.allclose(fast.coef_, s["beta"])
    plain = run(ridge_solvers.by_qr(X, y, 100.0))["beta"]

    def roughness(beta) -> float:
        return np.sum(np.diff(beta) ** 2) / np.sum(beta**2)

    assert roughness(s["beta"]) < 0.2 * roughness(plain)


@covers("summary A2.14")
@ridge_sides
def test_A2_14_from_least_squares_to_zero(fit_ridge):
    X, y = problem(5)
    lambdas = [1e-10, 0.1, 1.0, 10.0, 1e3, 1e12]
    fits = [fit_ridge(X, y, lam) for lam in lambdas]
    assert (np.diff([np.linalg.norm(f.W) for f in fits]) < 0).all()
    assert (np.diff([np.sum((y - f.predict(X)) ** 2) for f in fits]) > -1e-9).all()
    assert np.allclose(fits[0].W, fit_ridge(X, y, 0.0).W)
    assert np.allclose(fits[-1].W, 0, atol=1e-8)


@covers("summary A2.15")
@ridge_sides
def test_A2_15_ridge_is_least_squares_on_stacked_rows(fit_ridge):
    X, y = problem(6)
    X, y = X - X.mean(axis=0), y - y.mean()
    lam = 2.0
    stacked, target = np.vstack([X, np.sqrt(lam) * np.eye(3)]), np.append(y, np.zeros(3))
    beta = fit_ridge(X, y, lam).W
    assert np.allclose(beta, np.linalg.lstsq(stacked, target, rcond=None)[0])
    assert np.allclose(-2 * X.T @ (y - X @ beta) + 2 * lam * beta, 0, atol=1e-8)


@covers("summary A2.16", "first_encounter C.1")
def test_A2_16_half_and_half_shows_overfitting():
    X, y = noisy_sine(7, 60, noise=0.4)
    first, second = np.arange(0, 60, 2), np.arange(1, 60, 2)
    train, validation = [], []
    for lam in 10.0 ** np.arange(-8.0, 5.0):
        Phi = rbf_features(X[first], X[first], 0.5)
        beta = run(ridge_solvers.by_svd(Phi, y[first], lam))["beta"]
        train.append(np.sum((y[first] - Phi @ beta) ** 2))
        away = rbf_features(X[second], X[first], 0.5)
        validation.append(np.sum((y[second] - away @ beta) ** 2))
    assert (np.diff(train) > -1e-6).all()  # training error only rises with lambda
    best = int(np.argmin(validation))
    assert 0 < best < 12  # validation error has its minimum inside
    assert validation[0] > 1.3 * validation[best]


@covers("summary A2.17", "summary A2.19")
def test_A2_19_a_fold_error_is_divided_once():
    """Step 3 says mean, step 4 divides by the fold's size again: the fold error must be a sum."""
    X, y = problem(8)
    folds = np.array_split(np.random.default_rng(8).permutation(40), 5)
    sums, means = [], []
    for fold in folds:
        rest = np.setdiff1d(np.arange(40), fold)
        s = run(ridge.ridge(X[rest], y[rest], 1.0))
        squared = (y[fold] - X[fold] @ s["W"] - s["b"]) ** 2
        sums.append(squared.sum())
        means.append(squared.mean())
    right = np.mean([total / 8 for total in sums])
    printed = np.mean([mean / 8 for mean in means])
    assert np.isclose(right, np.sum(sums) / 40)  # the mean squared error of all 40
    assert np.isclose(printed, right / 8)


@covers("summary A2.20")
def test_A2_20_unequal_folds_make_two_averages():
    squared = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0])
    folds = np.array_split(np.arange(7), 2)  # sizes 4 and 3
    assert [len(f) for f in folds] == [4, 3]
    of_folds = np.mean([squared[f].mean() for f in folds])
    pooled = squared.mean()
    assert abs(of_folds - pooled) > 1
    even = np.array_split(np.arange(6), 2)
    assert np.isclose(np.mean([squared[f].mean() for f in even]), squared[:6].mean())
    # RidgeCV averages over the folds, as scikit-learn does; over the rows it is another number
    X, y = problem(3, n=7)
    alphas = [0.1, 10.0]
    model = kg.RidgeCV(alphas, cv=KFold(2), scoring="neg_mean_squared_error").fit(X, y)
    errors = [
        [mean_squared_error(y[test], kg.Ridge(a).fit(X[rest], y[rest]).predict(X[test]))
         for rest, test in KFold(2).split(X)]
        for a in alphas
    ]  # fmt: skip
    assert np.isclose(-model.best_score_, np.mean(errors, axis=1).min())
    assert abs(model.best_score_ + (np.array(errors) @ [4 / 7, 3 / 7]).min()) > 0.5


@covers("summary A2.18")
def test_A2_18_coarse_then_fine():
    X, y = noisy_sine(9, 40)
    K = kernels.gaussian(X, X)
    coarse = run(kernel_ridge.leave_one_out(K, y, 10.0 ** np.arange(-6.0, 4.0)))
    centre = np.log10(float(coarse["lam"]))
    fine = run(kernel_ridge.leave_one_out(K, y, 10.0 ** np.linspace(centre - 1, centre + 1, 21)))
    assert fine.objective < coarse.objective
    assert abs(np.log10(float(fine["lam"])) - centre) < 1


@covers("summary A2.21")
def test_A2_21_leave_one_out_is_the_hat_matrix():
    X, y = problem(10, n=20)
    s = run(ridge.leave_one_out(X, y, 2.0))
    squared = []
    for i in range(20):
        rest = np.arange(20) != i
        fit = run(ridge.ridge(X[rest], y[rest], 2.0))
        squared.append((y[i] - X[i] @ fit["W"] - fit["b"]) ** 2)
    assert np.isclose(s.objective, np.mean(squared))
    fast = kg.RidgeCV(alphas=[2.0], store_cv_results=True).fit(X, y)
    assert np.allclose(np.ravel(fast.cv_results_), squared)


@covers("summary A4.12")
def test_A4_12_newton_finds_a_root():
    s = run(roots.newton_root(lambda x: x**2 - 2, lambda x: 2 * x, 1.0))
    found = kg.newton_root(lambda x: x**2 - 2, 1.0, lambda x: 2 * x)
    assert np.isclose(s["x"], np.sqrt(2), rtol=1e-15)
    assert np.isclose(found.x, s["x"], rtol=1e-15)


@covers("summary A4.13", "summary A4.12")
def test_A4_13_one_newton_step_solves_least_squares():
    X, y = problem(11)
    start = np.random.default_rng(11).standard_normal(3)
    H = 2 * (X.T @ X + 0.5 * np.eye(3))
    step = start - np.linalg.solve(H, ridge.gradient(X, y, start, 0.5))
    assert np.allclose(step, run(ridge_solvers.by_cholesky(X, y, 0.5))["beta"])


@covers("summary D")
def test_D_the_traps_of_these_sections_are_registered():
    known = {erratum.id for erratum in errata()}
    assert {f"summary {number}" for number in ("A2.19", "A6.3", "A7.3", "A7.6", "A7.7")} <= known
