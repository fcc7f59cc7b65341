"""Cookbook C.3: leave-one-out of kernel ridge regression in closed form."""

from __future__ import annotations

import numpy as np
from book_checks import covers, gaussian, kernel_ridge_sides, noisy_sine
from sklearn.base import clone

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels
from kilogram.textbook.state import run


def brute_force(fit, X, y, lam, *, offset: bool = False):
    """Leave-one-out residuals by refitting N times; with `offset` each fit centres its targets."""
    residuals = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        mean = y[rest].mean() if offset else 0.0
        fitted = fit(gaussian(1.0), X[rest], y[rest] - mean, lam)
        residuals.append(y[i] - mean - fitted.predict(X[i : i + 1])[0])
    return np.array(residuals)


@covers("cookbook TC.1", "cookbook MC.3")
@kernel_ridge_sides
def test_TC_1_closed_form_equals_brute_force(fit_kernel_ridge):
    X, y = noisy_sine(0, 25)
    K = kernels.gaussian(X, X)
    for lam in (1e-3, 0.1, 5.0):
        brute = brute_force(fit_kernel_ridge, X, y, lam)
        S = K @ np.linalg.inv(K + lam * np.eye(25))
        direct = (y - S @ y) / (1 - np.diag(S))
        spectral = run(kernel_ridge.leave_one_out(K, y, np.array([lam])))["left_out"]
        assert np.allclose(direct, brute, atol=1e-8)
        assert np.allclose(spectral, brute, atol=1e-8)


@covers("cookbook MC.3")
def test_MC_3_the_whole_path_from_one_decomposition():
    X, y = noisy_sine(1, 40)
    lambdas = 10.0 ** np.linspace(-4, 2, 25)
    s = run(kernel_ridge.leave_one_out(kernels.gaussian(X, X), y, lambdas))
    assert s["errors"].shape == (25,)
    assert np.isclose(s["errors"].min(), s.objective)
    fast = kg.KernelRidgeCV(alphas=lambdas, kernel=kg.Gaussian(sigma=1.0)).fit(X, y)
    assert np.isclose(fast.alpha_, s["lam"])


@covers("cookbook EC.5")
@kernel_ridge_sides
def test_EC_5_the_formula_leaves_out_refits_of_the_mean(fit_kernel_ridge):
    X, y = noisy_sine(2, 12)
    y = y + 5
    lam = 0.5
    K = kernels.gaussian(X, X)
    with_offset = brute_force(fit_kernel_ridge, X, y, lam, offset=True)
    centred_once = run(kernel_ridge.leave_one_out(K, y - y.mean(), np.array([lam])))["left_out"]
    assert np.abs(centred_once - with_offset).max() > 0.01  # the mean had seen the left-out point
    # with its own offset the estimator accounts for the refit
    model = kg.KernelRidge(alpha=lam, kernel=kg.Gaussian(sigma=1.0), fit_intercept=True)
    refits = [
        y[i] - clone(model).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0]
        for i in range(12)
    ]
    path = kg.KernelRidgeCV(
        alphas=[lam], kernel=kg.Gaussian(sigma=1.0), fit_intercept=True, store_cv_results=True
    ).fit(X, y)
    assert np.allclose(np.ravel(path.cv_results_), np.square(refits))
    without = run(kernel_ridge.leave_one_out(K, y, np.array([lam])))["left_out"]
    assert np.allclose(without, brute_force(fit_kernel_ridge, X, y, lam), atol=1e-8)
