"""Lecture notes L15: dual ridge, kernels, kernel regression."""

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
    numerical_gradient,
    polynomial,
)

import kilogram as kg
from kilogram import kernels as fast_kernels
from kilogram.textbook import kernel_ridge, kernels, ridge_solvers
from kilogram.textbook.kernel_regression import kernel_regression
from kilogram.textbook.state import run


def dual_loss(K, y, tau, alpha):
    """tau [ -alpha'(K + tau I) alpha + 2 alpha'Y ]."""
    return float(tau * (-alpha @ (K + tau * np.eye(len(K))) @ alpha + 2 * alpha @ y))


def dual_problem(seed: int):
    X = cloud(seed, 25, 3)
    return X, X @ [1.0, -2.0, 0.5] + np.random.default_rng(seed).standard_normal(25), 0.8


@covers("lecture_notes L15.T1", "lecture_notes L15.M1", "lecture_notes L15.E2")
@kernel_ridge_sides
def test_L15_T1_primal_and_dual_meet_at_the_optimum(fit_kernel_ridge):
    X, y, tau = dual_problem(0)
    alpha = fit_kernel_ridge(linear(), X, y, tau).alpha
    beta = X.T @ alpha
    assert np.allclose(beta, run(ridge_solvers.by_cholesky(X, y, tau))["beta"])
    assert np.allclose(y - X @ beta, tau * alpha)  # the residual is tau alpha
    primal = np.sum((y - X @ beta) ** 2) + tau * beta @ beta
    K = X @ X.T
    assert np.isclose(dual_loss(K, y, tau, alpha), primal)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 0.1, 1.0):  # weak duality: every other alpha is a lower bound
        assert dual_loss(K, y, tau, alpha + scale * rng.standard_normal(25)) < primal


@covers("lecture_notes L15.T2", "lecture_notes L15.G1", "lecture_notes L15.X2")
def test_L15_X2_the_quadratic_map_has_six_components():
    X = cloud(1, 12, 2)
    x1, x2 = X.T
    root = np.sqrt(2)
    six = np.column_stack([x1**2, x2**2, root * x1 * x2, root * x1, root * x2, np.ones(12)])
    K = kernels.polynomial(X, X, 2, 1.0)
    assert np.allclose(six @ six.T, K)
    for left_out in range(6):  # any five of them are not enough
        five = np.delete(six, left_out, axis=1)
        assert not np.allclose(five @ five.T, K, atol=0.1)
    assert np.allclose(kg.Polynomial(degree=2, gamma=1.0, coef0=1.0)(X), K)


@covers("lecture_notes L15.T3", "lecture_notes L15.G1", "summary A7.4", "summary A7.1")
def test_L15_T3_the_checker_knows_a_mercer_kernel():
    X = cloud(2, 30, 3)
    for K in (kernels.polynomial(X, X, 3, 1.0), kernels.gaussian(X, X, 2.0)):
        assert np.linalg.eigvalsh(K).min() > -1e-8 * np.abs(K).max()
        assert fast_kernels.is_psd(K)
    distance = -np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=2))  # symmetric, not Mercer
    assert np.linalg.eigvalsh(distance).min() < -1
    assert not fast_kernels.is_psd(distance)
    with pytest.raises(ValueError):
        fast_kernels.check_psd(distance)


@covers("lecture_notes L15.T4", "lecture_notes L15.M3")
@kernel_ridge_sides
def test_L15_T4_limits_of_the_bandwidth(fit_kernel_ridge):
    X, y = noisy_sine(3, 20)
    new = np.linspace(0.05, 6.2, 37)[:, None]
    nearest = y[np.argmin(np.abs(new - X.T), axis=1)]

    def smooth(h: float):
        # a constant in the exponent cancels in the weights and keeps them from underflowing
        squared = (new - X.T) ** 2
        K_t = np.exp(-(squared - squared.min(axis=1, keepdims=True)) / (2 * h**2))
        return run(kernel_regression(K_t, y))["f"]

    assert np.allclose(smooth(1e-4), nearest)
    assert np.allclose(smooth(1e4), y.mean(), atol=1e-4)
    tau = 0.5
    narrow = fit_kernel_ridge(gaussian(1e-3), X, y, tau)
    gap = np.min(np.abs(new - X.T), axis=1) > 0.02
    assert np.allclose(narrow.predict(X), y / (1 + tau), atol=1e-6)
    assert np.allclose(narrow.predict(new[gap]), 0)


@covers("lecture_notes L15.G2")
def test_L15_G2_penalty_and_width_are_tuned_and_many_features_take_ridge():
    X, y = noisy_sine(4, 60)
    new = np.linspace(0.2, 6, 100)[:, None]
    widths, alphas = (0.01, 0.1, 1.0, 30.0), (1e-6, 1e-3, 0.1, 10.0, 1000.0)
    tuned = kg.KernelRidgeCV(alphas, kernels=[kg.Gaussian(h) for h in widths]).fit(X, y)

    def error(model):
        return np.mean((model.predict(new) - np.sin(new[:, 0])) ** 2)

    errors = [error(kg.KernelRidge(a, kernel=kg.Gaussian(h)).fit(X, y))
              for h in widths for a in alphas]  # fmt: skip
    assert error(tuned) < 2 * min(errors) < 0.2 * np.median(errors)
    # more features than rows: least squares without a penalty fits the noise
    rng = np.random.default_rng(0)
    wide, beta = rng.standard_normal((260, 80)), rng.standard_normal(80)
    target = wide @ beta + 4 * rng.standard_normal(260)
    few, rest = slice(0, 60), slice(60, None)
    ridge = kg.RidgeCV(np.geomspace(1e-3, 1e3, 13)).fit(wide[few], target[few])
    plain = kg.LinearRegression().fit(wide[few], target[few])
    assert ridge.score(wide[rest], target[rest]) > plain.score(wide[rest], target[rest]) + 0.05


@covers("lecture_notes L15.M2")
@kernel_ridge_sides
def test_L15_M2_kernel_ridge_beats_the_line_on_a_sine(fit_kernel_ridge):
    X, y = noisy_sine(4, 60)
    new = np.linspace(0.2, 6, 100)[:, None]
    truth = np.sin(new[:, 0])
    error = {
        kernel.name: np.mean((fit_kernel_ridge(kernel, X, y, 0.1).predict(new) - truth) ** 2)
        for kernel in (linear(), gaussian(1.0), polynomial(5, 1.0))
    }
    assert error["gaussian 1.0"] < 0.05
    assert error["polynomial 5 1.0"] < 0.05
    assert error["linear"] > 0.2


@covers("lecture_notes L15.M4")
def test_L15_M4_far_points_may_be_left_out():
    X = np.random.default_rng(5).uniform(0, 100, (500, 1))
    y = np.sin(X[:, 0])
    new = np.linspace(5, 95, 50)[:, None]
    h = 1.0
    full = kernels.gaussian(new, X, h)
    near = np.where(np.abs(new - X.T) < 6 * h, full, 0.0)
    assert np.mean(near > 0) < 0.15  # most of the work is gone
    assert np.allclose(
        run(kernel_regression(near, y))["f"], run(kernel_regression(full, y))["f"], atol=1e-6
    )


@covers("lecture_notes L15.X1")
def test_L15_X1_the_gaussian_needs_its_minus():
    X = cloud(6, 10, 2)
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    printed = np.exp(squared / (2 * 2.0**2))
    assert np.linalg.eigvalsh(printed).min() < -1  # not a kernel; it grows with the distance
    assert printed.max() > 1
    right = kernels.gaussian(X, X, 2.0)
    assert np.linalg.eigvalsh(right).min() > -1e-12
    assert np.allclose(right * printed, 1)


@covers("lecture_notes L15.X3")
def test_L15_X3_the_gradient_of_the_dual():
    X, y, tau = dual_problem(7)
    K = X @ X.T
    alpha = np.random.default_rng(7).standard_normal(25)
    numerical = numerical_gradient(lambda a: dual_loss(K, y, tau, a), alpha, h=1e-5)
    right = -2 * tau * ((K + tau * np.eye(25)) @ alpha - y)
    assert np.allclose(right, numerical, rtol=1e-5, atol=1e-3)
    assert not np.allclose(-right, numerical, rtol=0.1)
    # the linear term holds the targets, and the penalty is on the squared norm
    best = run(kernel_ridge.kernel_ridge(K, y, tau))
    beta = X.T @ best["alpha"]
    assert np.isclose(best.objective, dual_loss(K, y, tau, best["alpha"]))
    unsquared = np.sum((y - X @ beta) ** 2) + tau * np.linalg.norm(beta)
    assert not np.isclose(unsquared, dual_loss(K, y, tau, best["alpha"]))
    with_inputs = tau * (-best["alpha"] @ (K @ best["alpha"] + tau * best["alpha"])) + (
        2 * tau * best["alpha"] @ X[:, 0]
    )
    assert not np.isclose(with_inputs, best.objective)


@covers("lecture_notes L15.X4")
def test_L15_X4_kernel_regression_averages_targets():
    X, y = noisy_sine(8, 20)
    y = y + 5
    K_t = kernels.gaussian(np.array([[1.0], [4.0]]), X, 0.5)
    s = run(kernel_regression(K_t, y))
    assert np.allclose(s["f"], (K_t @ y) / K_t.sum(axis=1))  # the notes' first form
    printed = np.sum(s["w"] * K_t, axis=1)
    assert not np.allclose(printed, s["f"], rtol=0.5)
    assert np.allclose(s["w"].sum(axis=1), 1)
    assert (s["f"] >= y.min()).all()
    assert (s["f"] <= y.max()).all()
