"""Cookbook chapter 23, kernel ridge regression and Gaussian processes, and figure 6.1."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    all_subsets,
    cloud,
    covers,
    gaussian,
    kernel_ridge_sides,
    linear,
    noisy_sine,
    polynomial,
)
from sklearn.svm import SVC

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels, ridge_solvers
from kilogram.textbook.gaussian_process import gaussian_process, sample_functions
from kilogram.textbook.state import run


def reference_process(X, y, new, sigma=1.0, lam=1e-3):
    s = run(
        gaussian_process(
            kernels.gaussian(X, X, sigma),
            kernels.gaussian(new, X, sigma),
            kernels.gaussian(new, new, sigma),
            y,
            lam,
        )
    )
    return {letter: s[letter] for letter in ("mu", "Sigma", "sd", "sd_observation")}


def fast_process(X, y, new, sigma=1.0, lam=1e-3):
    kernel = kg.Gaussian(sigma=sigma)
    model = kg.GaussianProcessRegressor(kernel, alpha=lam, optimizer=None).fit(X, y)
    mu, Sigma = model.predict(new, return_cov=True)
    sd, sd_y = (model.predict(new, return_std=True, noise=noise)[1] for noise in (False, True))
    return {"mu": mu, "Sigma": Sigma, "sd": sd, "sd_observation": sd_y}


process_sides = pytest.mark.parametrize(
    "process", [reference_process, fast_process], ids=["textbook", "kilogram"]
)


def cosine_with_gaps():
    """Figure 23.1: a few points of cos(x) with gaps between them."""
    X = np.array([0.0, 0.4, 0.8, 1.2, 6.0, 6.4, 6.8, 14.0])[:, None]
    return X, np.cos(X[:, 0])


@covers("cookbook M23.1")
@pytest.mark.parametrize(
    "kernel", [linear(), gaussian(1.5), polynomial(3, 1.0), all_subsets()], ids=lambda k: k.name
)
@kernel_ridge_sides
def test_M23_1_dual_coefficients_solve_the_regularised_system(fit_kernel_ridge, kernel):
    X, new = cloud(0, 30, 3) / 3, cloud(1, 10, 3) / 3
    y = np.random.default_rng(0).standard_normal(30)
    fitted = fit_kernel_ridge(kernel, X, y, 0.5)
    K = kernel.reference(X, X)
    scale = np.abs(K).max() * np.abs(fitted.alpha).max()
    assert np.abs((K + 0.5 * np.eye(30)) @ fitted.alpha - y).max() < 1e-9 * scale
    expected = kernel.reference(new, X) @ fitted.alpha
    assert np.allclose(fitted.predict(new), expected, atol=1e-9 * scale)


@covers("cookbook M23.1")
@kernel_ridge_sides
def test_M23_1_the_solution_minimises_the_objective(fit_kernel_ridge):
    X = cloud(2, 25, 2)
    y = np.sin(X[:, 0])
    K, lam = kernels.gaussian(X, X, 2.0), 0.3
    alpha = fit_kernel_ridge(gaussian(2.0), X, y, lam).alpha

    def cost(a):
        return np.sum((y - K @ a) ** 2) + lam * a @ K @ a

    reference = run(kernel_ridge.kernel_ridge(K, y, lam))
    assert np.isclose(cost(alpha), reference.objective)
    rng = np.random.default_rng(2)
    assert all(cost(alpha + 0.05 * rng.standard_normal(25)) > cost(alpha) for _ in range(100))


@covers("cookbook T23.1", "cookbook M23.1")
@kernel_ridge_sides
def test_T23_1_linear_kernel_is_ridge(fit_kernel_ridge):
    X, new = cloud(3), cloud(4)
    y = X @ np.arange(5.0) + 1
    beta = run(ridge_solvers.by_svd(X, y, 2.0))["beta"]
    assert np.allclose(fit_kernel_ridge(linear(), X, y, 2.0).predict(new), new @ beta)


@covers("cookbook T23.2", "cookbook M23.2")
@process_sides
@kernel_ridge_sides
def test_T23_2_the_process_mean_is_kernel_ridge(fit_kernel_ridge, process):
    X, y = noisy_sine(0)
    new = np.linspace(0, 7, 50)[:, None]
    s = process(X, y, new, 1.0, 0.09)
    assert np.allclose(fit_kernel_ridge(gaussian(1.0), X, y, 0.09).predict(new), s["mu"])


@covers("cookbook T23.3")
@process_sides
def test_T23_3_variance_between_nothing_and_the_prior(process):
    X, y = cosine_with_gaps()
    new = np.linspace(-5, 20, 200)[:, None]
    assert (process(X, y, new)["sd"] ** 2 <= 1 + 1e-12).all()
    at_data = [process(X, y, X, lam=lam)["sd"].max() for lam in (1e-1, 1e-3, 1e-6)]
    assert (np.diff(at_data) < 0).all()
    assert at_data[-1] < 2e-3
    assert np.isclose(process(X, y, np.array([[100.0]]))["sd"][0], 1)


@covers("cookbook T23.4")
@kernel_ridge_sides
def test_T23_4_no_coefficient_is_zero(fit_kernel_ridge):
    X, y = noisy_sine(1, 30)
    alpha = fit_kernel_ridge(gaussian(1.0), X, y, 0.1).alpha
    assert (np.abs(alpha) > 1e-8).all()


@covers("cookbook T23.5")
@kernel_ridge_sides
def test_T23_5_one_column_of_coefficients_per_output(fit_kernel_ridge):
    X, y = noisy_sine(2, 30)
    Y = np.column_stack([y, y**2])
    together = fit_kernel_ridge(gaussian(1.0), X, Y, 0.1)
    assert together.alpha.shape == (30, 2)
    for j in range(2):
        alone = fit_kernel_ridge(gaussian(1.0), X, Y[:, j], 0.1)
        assert np.allclose(together.alpha[:, j], alone.alpha)


@covers("cookbook T23.6", "cookbook X23.1", "cookbook M23.3")
@process_sides
def test_X23_1_the_band_is_narrow_at_data_and_wide_in_gaps(process):
    """Figures 23.1 and 23.2, sigma = 1, lambda = 1e-3; the truth lies within two deviations."""
    X, y = cosine_with_gaps()
    new = np.linspace(-1, 15, 300)[:, None]
    s = process(X, y, new)
    assert process(X, y, X)["sd"].max() < 0.04
    far = np.min(np.abs(new - X.T), axis=1) > 3
    assert s["sd"][far].min() > 0.95
    assert np.linalg.eigvalsh(s["Sigma"]).min() > -1e-10
    assert (np.abs(np.cos(new[:, 0]) - s["mu"]) <= 2 * s["sd"]).all()


@covers("cookbook M23.4")
def test_M23_4_sampled_functions_have_the_mean_and_covariance():
    X, y = cosine_with_gaps()
    new = np.linspace(0, 8, 25)[:, None]
    s = reference_process(X, y, new)
    rng = np.random.default_rng(0)
    reference = run(sample_functions(s["mu"], s["Sigma"], 20_000, rng))["f"]
    model = kg.GaussianProcessRegressor(kg.Gaussian(sigma=1.0), alpha=1e-3, optimizer=None)
    fast = model.fit(X, y).sample_y(new, n_samples=20_000, random_state=0).T
    for f in (reference, fast):
        assert np.allclose(f.mean(axis=0), s["mu"], atol=0.04)
        assert np.allclose(np.cov(f.T), s["Sigma"], atol=0.05)


@covers("cookbook M23.5", "cookbook H23.1")
def test_M23_5_lambda_by_closed_form_leave_one_out_width_by_comparison():
    X, y = noisy_sine(3, 40)
    lambdas = 10.0 ** np.arange(-6.0, 3.0)
    found = {
        sigma: run(kernel_ridge.leave_one_out(kernels.gaussian(X, X, sigma), y, lambdas))
        for sigma in (0.05, 1.0, 20.0)
    }
    sigma = min(found, key=lambda width: found[width].objective)
    assert sigma == 1.0
    assert 1e-3 < found[sigma]["lam"] < 10
    fast = kg.KernelRidgeCV(alphas=lambdas, kernel=kg.Gaussian(sigma=1.0)).fit(X, y)
    assert np.isclose(fast.alpha_, found[1.0]["lam"])


@covers("cookbook H23.2")
def test_H23_2_memory_is_what_stops_at_a_few_thousand_points():
    """The textbook version keeps K and its factor, N^2 numbers each: 16 GB at N = 32 000."""
    X, y = noisy_sine(9, 100)
    s = run(kernel_ridge.kernel_ridge(kernels.gaussian(X, X), y, 1.0))
    assert s["K"].size == s["L"].size == 100**2
    model = kg.KernelRidge(kernel=kg.Gaussian(sigma=1.0))
    small, twice = (kg.estimate(model, n, 5) for n in (2000, 4000))
    assert 3.5 < twice.bytes / small.bytes < 4.5  # said before the work, and it is the square


@covers("cookbook E23.1")
@process_sides
def test_E23_1_one_ridge_not_two(process):
    """The box takes lambda and uses kappa: left apart, alpha and Sigma are of two models."""
    X, y = cosine_with_gaps()
    new = np.array([[0.2], [3.0]])
    right = process(X, y, new, lam=0.1)
    mixed = process(X, y, new, lam=1e-6)  # kappa at some default, lambda as passed
    assert np.abs(right["sd"] - mixed["sd"]).max() > 0.05
    # the joint Gaussian of (y, f) conditioned on y has one noise variance in both formulas
    K = kernels.gaussian(np.vstack([X, new]), np.vstack([X, new]), 1.0)
    inverse = np.linalg.inv(K[:8, :8] + 0.1 * np.eye(8))
    assert np.allclose(right["mu"], K[8:, :8] @ inverse @ y)
    assert np.allclose(right["Sigma"], K[8:, 8:] - K[8:, :8] @ inverse @ K[:8, 8:])


@covers("cookbook E23.2")
@kernel_ridge_sides
def test_E23_2_one_target_per_training_point(fit_kernel_ridge):
    """Targets declared in R^U: there must be N of them."""
    X, y = noisy_sine(4)
    assert fit_kernel_ridge(gaussian(1.0), X, y, 0.1).alpha.shape == (len(X),)
    with pytest.raises(ValueError):
        fit_kernel_ridge(gaussian(1.0), X, y[:-1], 0.1)


@covers("cookbook E23.3")
@process_sides
def test_E23_3_observations_are_wider_than_the_function(process):
    rng = np.random.default_rng(5)
    lam = 0.25
    X = rng.uniform(0, 10, (150, 1))
    y = np.sin(X[:, 0]) + np.sqrt(lam) * rng.standard_normal(150)
    new = rng.uniform(0, 10, (2000, 1))
    y_new = np.sin(new[:, 0]) + np.sqrt(lam) * rng.standard_normal(2000)
    s = process(X, y, new, 1.0, lam)
    inside = np.mean(np.abs(y_new - s["mu"]) < 2 * s["sd"])
    inside_right = np.mean(np.abs(y_new - s["mu"]) < 2 * s["sd_observation"])
    assert inside < 0.7
    assert 0.93 < inside_right < 0.98


@covers("cookbook E23.4")
@kernel_ridge_sides
def test_E23_4_without_an_offset_far_points_are_predicted_as_zero(fit_kernel_ridge):
    X, y = noisy_sine(6)
    y = y + 100
    far = np.array([[1000.0]])
    printed = fit_kernel_ridge(gaussian(1.0), X, y, 0.1).predict(far)
    assert np.allclose(printed, 0)
    centred = fit_kernel_ridge(gaussian(1.0), X, y - y.mean(), 0.1).predict(far) + y.mean()
    assert np.allclose(centred, y.mean())


@covers("cookbook E23.5")
def test_E23_5_the_printed_solution_is_the_linear_case_and_C_3_speeds_up_only_lambda():
    X, y = noisy_sine(7, 60, noise=0.0)
    new = np.linspace(1, 5, 40)[:, None]
    truth = np.sin(new[:, 0])
    linear_case = new @ run(ridge_solvers.by_cholesky(X, y, 1e-3))["beta"]
    alpha = run(kernel_ridge.kernel_ridge(kernels.gaussian(X, X), y, 1e-3))["alpha"]
    assert np.mean((linear_case - truth) ** 2) > 0.1
    assert np.mean((kernels.gaussian(new, X) @ alpha - truth) ** 2) < 1e-4
    # what C.3 gives: one eigendecomposition serves every lambda; the width needs a new one
    K = kernels.gaussian(X, X)
    states = list(kernel_ridge.leave_one_out(K, y, np.array([0.1, 1.0, 10.0])))
    assert all(s["U"] is states[0]["U"] for s in states)
    assert not np.allclose(np.linalg.eigvalsh(kernels.gaussian(X, X, 2.0)), np.linalg.eigvalsh(K))


@covers("cookbook E23.6")
@kernel_ridge_sides
def test_E23_6_as_powerful_as_an_svm_is_no_theorem(fit_kernel_ridge):
    """Points far on the right side spoil the squared loss and leave the hinge loss alone."""
    x = np.array([-1.0, -0.8, -0.6, 0.6, 200.0, 220.0, 240.0])[:, None]
    y = np.sign(x[:, 0])
    features = np.column_stack([x, np.ones(7)])  # the offset as a feature
    squared = np.sign(fit_kernel_ridge(linear(), features, y, 1e-3).predict(features))
    hinge = SVC(kernel="linear", C=1000.0).fit(x, y).predict(x)
    assert np.mean(hinge == y) == 1
    assert np.mean(squared == y) < 1


@covers("cookbook X6.1", "cookbook XA.1", "first_encounter X10.a", "lecture_notes L15.E1")
@kernel_ridge_sides
def test_X6_1_a_narrow_kernel_follows_the_noise(fit_kernel_ridge):
    """Figure 6.1: sin(x), 15 noisy points; figure A.1 and its likes are the same picture."""
    X, y = noisy_sine(8)
    new = np.linspace(X.min(), X.max(), 200)[:, None]
    truth = np.sin(new[:, 0])

    def errors(sigma, lam):
        fitted = fit_kernel_ridge(gaussian(sigma), X, y, lam)
        return np.mean((y - fitted.predict(X)) ** 2), np.mean((truth - fitted.predict(new)) ** 2)

    train_narrow, true_narrow = errors(0.1, 1e-6)
    train_smooth, true_smooth = errors(1.0, 0.1)
    _, true_wide = errors(50.0, 0.1)
    assert train_narrow < 1e-6 < train_smooth
    assert true_smooth < 0.1
    assert true_narrow > 3 * true_smooth
    assert true_wide > 3 * true_smooth
