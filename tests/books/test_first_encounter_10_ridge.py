"""A First Encounter, chapter 10: ridge, the identity that swaps spaces, and kernel ridge."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    cloud,
    covers,
    gaussian,
    kernel_ridge_sides,
    linear,
    noisy_sine,
    polynomial,
    ridge_sides,
)

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels, ridge, ridge_solvers
from kilogram.textbook.state import run


def dual_value(K, y, B, lam, alpha):
    """The dual of min sum xi^2 s.t. |w| <= B, after alpha = beta / (2 lambda)."""
    return float(
        -(lam**2) * alpha @ alpha + 2 * lam * alpha @ y - lam * alpha @ K @ alpha - lam * B**2
    )


@covers("first_encounter FE10.1", "first_encounter FE10.2")
@kernel_ridge_sides
def test_FE10_2_two_points_by_hand(fit_kernel_ridge):
    """x = -1, 1 and y = -1, 1: w = 2 / (2 + lambda)."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    for lam in (0.5, 1.0, 8.0):
        fitted = fit_kernel_ridge(linear(), X, y, lam)
        assert np.isclose(fitted.predict(np.array([[1.0]]))[0], 2 / (2 + lam))
        assert np.allclose(run(ridge_solvers.by_cholesky(X, y, lam))["beta"], 2 / (2 + lam))
        assert np.allclose(kg.Ridge(alpha=lam).fit(X, y).coef_, 2 / (2 + lam))


@covers("first_encounter T10.1", "first_encounter X10.b", "first_encounter D.8")
@kernel_ridge_sides
def test_T10_1_primal_and_dual_predict_the_same(fit_kernel_ridge):
    X, new = cloud(0, 12, 50), cloud(1, 5, 50)
    y = np.arange(12.0)
    primal = new @ run(ridge_solvers.by_cholesky(X, y, 0.3))["beta"]
    assert np.allclose(fit_kernel_ridge(linear(), X, y, 0.3).predict(new), primal)


@covers("first_encounter T10.2", "first_encounter FE10.3")
def test_T10_2_the_identity_that_swaps_spaces():
    """(P^-1 + B'R^-1 B)^-1 B'R^-1 = P B' (B P B' + R)^-1 for symmetric positive P and R."""
    rng = np.random.default_rng(2)
    B = rng.standard_normal((7, 4))
    P, R = (M @ M.T + np.eye(len(M)) for M in (rng.standard_normal((k, k)) for k in (4, 7)))
    inv = np.linalg.inv
    left = inv(inv(P) + B.T @ inv(R) @ B) @ B.T @ inv(R)
    assert np.allclose(left, P @ B.T @ inv(B @ P @ B.T + R))
    y = rng.standard_normal(7)  # P = I, R = alpha I: ridge regression in both spaces
    primal = kg.Ridge(0.5, fit_intercept=False).fit(B, y).coef_
    dual = kg.KernelRidge(0.5, kernel="linear").fit(B, y).dual_coef_
    assert np.allclose(primal, B.T @ dual)
    assert np.allclose(primal, B.T @ inv(B @ B.T + 0.5 * np.eye(7)) @ y)


@covers("first_encounter T10.3")
@ridge_sides
def test_T10_3_norm_falls_and_training_error_rises(fit_ridge):
    X = cloud(3)
    y = np.random.default_rng(3).standard_normal(60) + X[:, 0]
    fits = [fit_ridge(X, y, lam) for lam in (0.0, 0.1, 1.0, 10.0, 1000.0)]
    assert (np.diff([np.linalg.norm(f.W) for f in fits]) < 0).all()
    assert (np.diff([np.sum((y - f.predict(X)) ** 2) for f in fits]) > 0).all()


@covers("first_encounter T10.4", "first_encounter FE10.6")
def test_T10_4_the_best_lambda_of_the_dual_meets_the_norm():
    X, y = noisy_sine(4, 20)
    K = kernels.gaussian(X, X, 0.3)
    s = run(kernel_ridge.norm_constrained(K, y, 1.5))
    alpha, lam = s["alpha"], float(s["lam"])
    assert np.isclose(s["norm"], 1.5)
    primal = np.sum((y - K @ alpha) ** 2)
    assert np.isclose(dual_value(K, y, 1.5, lam, alpha), primal)
    for factor in (0.8, 0.95, 1.05, 1.25):
        other = np.linalg.solve(K + factor * lam * np.eye(20), y)
        assert dual_value(K, y, 1.5, factor * lam, other) < primal


@covers("first_encounter T10.5")
def test_T10_5_no_eigenvalue_below_lambda():
    X = cloud(5, 6, 20)
    assert np.linalg.eigvalsh(X.T @ X).min() < 1e-8
    A = X.T @ X + 0.7 * np.eye(20)
    assert np.linalg.eigvalsh(A).min() > 0.7 - 1e-10
    y = X[:, 0] - X[:, 1]  # so one solution, although there are fewer rows than columns
    fitted = kg.Ridge(0.7, fit_intercept=False).fit(X, y)
    assert np.allclose(fitted.coef_, np.linalg.solve(A, X.T @ y))


@covers("first_encounter T10.6", "first_encounter FE10.4")
@ridge_sides
def test_T10_6_weights_lie_in_the_span_of_the_data(fit_ridge):
    X = cloud(6, 8, 30)
    centred = X - X.mean(axis=0)
    W = fit_ridge(X, np.arange(8.0), 0.4).W
    in_span = centred.T @ np.linalg.lstsq(centred.T, W, rcond=None)[0]
    assert np.allclose(in_span, W)
    outside = W - 0.1 * np.linalg.svd(centred)[2][-1]
    assert not np.allclose(centred.T @ np.linalg.lstsq(centred.T, outside, rcond=None)[0], outside)


@covers("first_encounter T10.7", "first_encounter X10.e")
@kernel_ridge_sides
def test_T10_7_kernel_ridge_is_not_sparse(fit_kernel_ridge):
    X, y = noisy_sine(7, 40)
    assert (np.abs(fit_kernel_ridge(gaussian(1.0), X, y, 0.1).alpha) > 1e-8).all()


@covers("first_encounter T10.8", "first_encounter FE10.7")
@kernel_ridge_sides
def test_T10_8_leave_one_out_is_alpha_over_the_inverse_diagonal(fit_kernel_ridge):
    X, y = noisy_sine(8, 20)
    lam = 0.2
    inverse = np.linalg.inv(kernels.gaussian(X, X) + lam * np.eye(20))
    closed = fit_kernel_ridge(gaussian(1.0), X, y, lam).alpha / np.diag(inverse)
    brute = []
    for i in range(20):
        rest = np.arange(20) != i
        fitted = fit_kernel_ridge(gaussian(1.0), X[rest], y[rest], lam)
        brute.append(y[i] - fitted.predict(X[[i]])[0])
    assert np.allclose(closed, brute, atol=1e-8)


@covers("first_encounter X10.c")
def test_X10_c_lambda_bounds_the_condition_number():
    X, _ = noisy_sine(9, 40)
    K = kernels.gaussian(X, X, 2.0)
    conditions = [np.linalg.cond(K + lam * np.eye(40)) for lam in (1e-8, 1e-4, 1.0)]
    assert (np.diff(conditions) < 0).all()
    largest = np.linalg.eigvalsh(K)[-1]
    assert np.isclose(conditions[1], 1 + largest / 1e-4, rtol=1e-3)


@covers("first_encounter X10.d", "first_encounter E10.7", "first_encounter FE10.5")
@ridge_sides
def test_E10_7_the_constant_feature_shrinks_the_bias(fit_ridge):
    """Targets of mean 100, lambda = 100, 40 points: the story is not unchanged."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((40, 3))
    X -= X.mean(axis=0)
    y = 100 + X @ [1.0, 2.0, 3.0]
    # Phi_0 = 1 adds 1 to every kernel value, at training and for new points
    K = kernels.linear(X, X) + 1
    alpha = run(kernel_ridge.kernel_ridge(K, y, 100.0))["alpha"]
    printed = alpha.sum()
    assert np.isclose(printed, 100 * 40 / (40 + 100))
    assert np.isclose(fit_ridge(X, y, 100.0).b, 100)
    plus_one = kg.Polynomial(degree=1, gamma=1.0, coef0=1.0)  # x'y + 1
    by_kernel = kg.KernelRidge(alpha=100.0, kernel=plus_one).fit(X, y)
    assert np.isclose(by_kernel.predict(np.zeros((1, 3)))[0], printed)


@covers("first_encounter E10.1")
def test_E10_1_the_targets_are_a_row_in_the_prediction():
    X, y = noisy_sine(11)
    K = kernels.gaussian(X, X)
    kappa = kernels.gaussian(X[:1], X)[0]
    column = y[:, None]
    inverse = np.linalg.inv(K + 0.1 * np.eye(15))
    with pytest.raises(ValueError, match="mismatch"):
        column @ inverse @ kappa[:, None]
    right = column.T @ inverse @ kappa[:, None]
    reference = run(kernel_ridge.kernel_ridge(K, y, 0.1))["alpha"] @ kappa
    assert np.isclose(right[0, 0], reference)


@covers("first_encounter E10.2")
def test_E10_2_bx_is_the_vector_x_not_a_product():
    X = cloud(12)
    y, lam = X[:, 0] ** 2, 1.0

    def solution(b):
        bX = b * X
        return np.linalg.solve(lam * np.eye(5) + sum(np.outer(x, x) for x in bX), bX.T @ y)

    reference = run(ridge_solvers.by_cholesky(X, y, lam))["beta"]
    assert np.allclose(solution(1.0), reference)
    assert not np.allclose(solution(2.0), reference, rtol=0.1)


@covers("first_encounter E10.3")
def test_E10_3_the_model_gives_one_output_per_case():
    X = cloud(13, 6, 2)
    Phi = np.column_stack([np.ones(6), X])  # Phi_0 = 1
    w = np.array([1.0, 2.0, 3.0])
    outputs = Phi @ w  # y_i = sum_a w_a Phi_ai + w_0: the i belongs on both sides
    assert outputs.shape == (6,)
    assert np.unique(outputs).size == 6  # no single y could stand on the left
    assert np.allclose(outputs, X @ w[1:] + w[0])
    assert np.allclose(kg.LinearRegression().fit(X, outputs).predict(X), outputs)


@covers("first_encounter E10.4")
def test_E10_4_a_norm_bound_is_a_quadratic_constraint():
    """A quadratic programme has linear constraints; and the multiplier is of the squared norm."""
    X = cloud(14, 20, 3)
    y = X @ [1.0, -1.0, 2.0]
    s = run(kernel_ridge.norm_constrained(X @ X.T + 1e-9 * np.eye(20), y, 1.0))
    w, lam = X.T @ s["alpha"], float(s["lam"])
    # strictly convex ball: the middle of two points of the boundary is inside, on no face
    a, b = w, -w + [0.1, 0.0, 0.0]
    b = b / np.linalg.norm(b)
    assert np.linalg.norm((a + b) / 2) < 0.99
    pull = 2 * X.T @ (y - X @ w)  # minus the gradient of the squares
    assert np.allclose(pull, 2 * lam * w, atol=1e-3 * np.linalg.norm(pull))  # of |w|^2 - B^2
    assert not np.allclose(pull, lam * w / np.linalg.norm(w), rtol=0.1)  # of |w| - B, same lambda


@covers("first_encounter E10.5")
def test_E10_5_the_missing_half_cancels_only_if_it_is_missing_twice():
    X = cloud(15, 20, 3)
    y = X[:, 0] ** 2
    lam = 2.0
    both = np.linalg.solve(X.T @ X + lam * np.eye(3), X.T @ y)  # halves on both terms, or none
    for scale in (0.5, 1.0):
        gradient = scale * 2 * (X.T @ (X @ both - y) + lam * both)
        assert np.allclose(gradient, 0, atol=1e-8)
    one_half = 2 * X.T @ (X @ both - y) + lam * both  # sum xi^2 + (lambda/2) |w|^2
    assert np.linalg.norm(one_half) > 0.1
    dual = np.linalg.solve(X @ X.T + lam * np.eye(20), y)
    assert np.allclose(X.T @ dual, both)
    assert np.allclose(kg.Ridge(lam, fit_intercept=False).fit(X, y).coef_, both)
    assert np.allclose(kg.KernelRidge(lam, kernel="linear").fit(X, y).dual_coef_, dual)


@covers("first_encounter E10.6")
@kernel_ridge_sides
def test_E10_6_the_solution_is_a_vector(fit_kernel_ridge):
    X, y = noisy_sine(16)
    alpha = fit_kernel_ridge(gaussian(1.0), X, y, 0.1).alpha
    assert alpha.shape == (15,)
    K = kernels.gaussian(X, X) + 0.1 * np.eye(15)
    assert np.allclose(K @ alpha, y)
    assert not np.allclose(alpha, y / np.diag(K), rtol=0.1)  # entry by entry it does not hold


@covers("first_encounter E10.8")
def test_E10_8_an_inactive_constraint_has_no_multiplier():
    X, y = noisy_sine(17, 10)
    K = kernels.gaussian(X, X, 0.2)
    free = np.sqrt(y @ np.linalg.solve(K, y))
    sleeping = run(kernel_ridge.norm_constrained(K, y, 1.1 * free))
    active = run(kernel_ridge.norm_constrained(K, y, 0.5 * free))
    assert sleeping["lam"] == 0
    assert sleeping["norm"] < 1.1 * free
    assert active["lam"] > 0
    assert np.isclose(active["norm"], 0.5 * free)
    # the equalities xi_i = y_i - f(x_i) are always active: no alpha_i vanishes
    assert (np.abs(active["alpha"]) > 1e-8).all()


@covers("first_encounter FE10.4", "first_encounter FE10.2")
@pytest.mark.parametrize("kernel", [gaussian(2.0), polynomial(2, 1.0)], ids=lambda k: k.name)
@kernel_ridge_sides
def test_FE10_4_weights_and_kernel_give_one_prediction(fit_kernel_ridge, kernel):
    X, new = cloud(18, 15, 2) / 2, cloud(19, 5, 2) / 2
    y = X[:, 0]
    fitted = fit_kernel_ridge(kernel, X, y, 0.5)
    direct = kernel.reference(new, X) @ np.linalg.solve(
        kernel.reference(X, X) + 0.5 * np.eye(15), y
    )
    assert np.allclose(fitted.predict(new), direct)
    if kernel.name.startswith("polynomial"):  # there are explicit features: ridge on them
        w = run(ridge_solvers.by_cholesky(kernels.polynomial_map(X, 2, 1.0), y, 0.5))["beta"]
        assert np.allclose(fitted.predict(new), kernels.polynomial_map(new, 2, 1.0) @ w)


@covers("first_encounter FE10.7")
def test_FE10_7_ridge_leave_one_out_with_its_offset():
    X = cloud(20, 15, 3)
    y = X @ [1.0, 2.0, 0.0] + np.random.default_rng(20).standard_normal(15)
    left_out = run(ridge.leave_one_out(X, y, 0.7))["left_out"]
    for i in range(15):
        rest = np.arange(15) != i
        s = run(ridge.ridge(X[rest], y[rest], 0.7))
        assert np.isclose(left_out[i], y[i] - X[i] @ s["W"] - s["b"])
