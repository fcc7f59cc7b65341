"""Cookbook chapter 24, random kitchen sinks, item by item."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from book_checks import cloud, covers, noisy_sine, xor
from scipy.stats import norm

import kilogram as kg
from kilogram.textbook import kernel_ridge, kernels, ridge_solvers
from kilogram.textbook import random_kitchen_sinks as rks
from kilogram.textbook.state import run


def reference_features(X, K, sigma, seed):
    return rks.cosine_sine(X, rks.draw(X.shape[1], K, sigma, np.random.default_rng(seed)))


def fast_features(X, K, sigma, seed):
    return (
        kg.FourierFeatures(kg.Gaussian(sigma=sigma), n_components=K, random_state=seed)
        .fit(X)
        .transform(X)
    )


feature_sides = pytest.mark.parametrize(
    "features", [reference_features, fast_features], ids=["textbook", "kilogram"]
)


def reference_sinks(X, y, K, sigma, lam, seed):
    W = rks.draw(X.shape[1], K, sigma, np.random.default_rng(seed))
    a = run(rks.kitchen_sinks(X, y, W, lam))["a"]
    return lambda new: rks.predict(new, W, a)


def fast_sinks(X, y, K, sigma, lam, seed):
    model = kg.KitchenSinksRegressor(
        kernel=kg.Gaussian(sigma=sigma), n_components=K, alpha=lam, random_state=seed
    )
    return model.fit(X, y).predict


sinks_sides = pytest.mark.parametrize(
    "sinks", [reference_sinks, fast_sinks], ids=["textbook", "kilogram"]
)


@covers("cookbook T24.1")
@feature_sides
def test_T24_1_the_features_approximate_the_kernel_like_one_over_root_K(features):
    X = cloud(0, 40, 3) / 3
    exact = kernels.gaussian(X, X, 1.5)

    def error(K: int) -> float:
        found = [features(X, K, 1.5, seed) for seed in range(8)]
        return np.sqrt(np.mean([np.mean((Z @ Z.T - exact) ** 2) for Z in found]))

    few, many = error(50), error(3200)
    assert many < 0.02
    assert 4 < few / many < 16  # 64 times the features: an eighth of the error


@covers("cookbook M24.2")
def test_M24_2_three_forms_of_one_feature_map():
    X = cloud(1, 30, 2)
    rng = np.random.default_rng(1)
    W = rks.draw(2, 20_000, 2.0, rng)
    b = rng.uniform(0, 2 * np.pi, 20_000)
    exact = kernels.gaussian(X, X, 2.0)
    complex_form = rks.exponential(X, W)
    pair = rks.cosine_sine(X, W)
    single = rks.shifted_cosine(b)(X, W)
    assert np.allclose(np.real(complex_form @ complex_form.conj().T), pair @ pair.T)
    assert np.abs(pair @ pair.T - exact).max() < 0.03
    assert np.abs(single @ single.T - exact).max() < 0.05


@covers("cookbook M24.1")
def test_M24_1_ridge_on_random_features():
    """Real pairs and complex exponentials give the same predictions: one space, two coordinates."""
    X, y = noisy_sine(2, 50)
    W = rks.draw(1, 30, 1.0, np.random.default_rng(2))
    s = run(rks.kitchen_sinks(X, y, W, 0.1, features=rks.cosine_sine))
    beta = run(ridge_solvers.by_svd(s["Z"], y, 0.1))["beta"]
    assert np.allclose(s["a"], beta)
    assert np.isclose(s.objective, np.sum((y - s["Z"] @ beta) ** 2) + 0.1 * np.sum(beta**2))


@covers("cookbook T24.2", "cookbook H24.1")
@sinks_sides
def test_T24_2_many_features_are_kernel_ridge(sinks):
    X, y = noisy_sine(3, 60)
    y = y - y.mean()
    new = np.linspace(0, 6, 80)[:, None]
    alpha = run(kernel_ridge.kernel_ridge(kernels.gaussian(X, X, 1.0), y, 0.5))["alpha"]
    exact = kernels.gaussian(new, X, 1.0) @ alpha
    gaps = {
        K: np.mean([np.abs(sinks(X, y, K, 1.0, 0.5, seed)(new) - exact).max() for seed in range(5)])
        for K in (20, 600)
    }
    assert gaps[600] < 0.1
    assert gaps[600] < 0.4 * gaps[20]


@covers("cookbook X24.1", "cookbook M24.3")
def test_X24_1_xor_with_a_hundred_features():
    """Figure 24.1: w ~ N(0, 1), K = 100, targets +-1, the sign is the class."""
    X, y = xor(4, 200)
    test, truth = xor(5, 400)
    W = rks.draw(2, 100, 1.0, np.random.default_rng(4))
    for features in (rks.exponential, rks.cosine_sine):
        a = run(rks.kitchen_sinks(X, y, W, 1e-2, features=features))["a"]
        assert np.mean(np.sign(rks.predict(X, W, a, features=features)) == y) > 0.99
        assert np.mean(np.sign(rks.predict(test, W, a, features=features)) == truth) > 0.98
    fast = kg.KitchenSinksClassifier(
        kernel=kg.Gaussian(sigma=1.0), n_components=100, random_state=0
    ).fit(X, y)
    assert fast.score(X, y) > 0.99
    assert fast.score(test, truth) > 0.98
    linear = run(ridge_solvers.by_cholesky(X, y, 1e-2))["beta"]
    assert np.mean(np.sign(test @ linear) == truth) < 0.8


@covers("cookbook T24.3")
@sinks_sides
def test_T24_3_memory_without_the_square_of_the_points(sinks):
    X = np.random.default_rng(6).standard_normal((4000, 3))
    tracemalloc.start()
    try:
        sinks(X, X[:, 0], 50, 1.0, 1.0, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * 8 * 4000**2  # a kernel matrix would take 128 MB


@covers("cookbook T24.4")
@sinks_sides
def test_T24_4_a_seed_fixes_the_model_which_keeps_its_directions(sinks):
    X, y = noisy_sine(7, 50)
    one, same, other = (sinks(X, y, 30, 1.0, 0.1, seed) for seed in (1, 1, 2))
    assert np.array_equal(one(X), same(X))
    assert np.array_equal(one(X), one(X))  # prediction draws nothing anew
    assert not np.allclose(one(X), other(X))


@covers("cookbook M24.4")
def test_M24_4_a_subsample_of_the_points_approximates_the_kernel_matrix():
    X = cloud(8, 80, 2)
    kernel = kg.Gaussian(sigma=2.0)
    exact = kernels.gaussian(X, X, 2.0)

    def error(count: int) -> float:
        Z = kg.Nystroem(kernel=kernel, n_components=count, random_state=0).fit(X).transform(X)
        return np.linalg.norm(Z @ Z.T - exact) / np.linalg.norm(exact)

    assert error(80) < 1e-6
    assert error(40) < error(10) < 0.5


@covers("cookbook E24.1")
def test_E24_1_complex_features_need_the_conjugate_transpose():
    X = cloud(9, 40, 2) / 2
    exact = kernels.gaussian(X, X, 1.0)
    error = {}
    for K in (100, 10_000):
        Z = rks.exponential(X, rks.draw(2, K, 1.0, np.random.default_rng(9)))
        error[K, "printed"] = np.abs(Z @ Z.T - exact).max()
        error[K, "right"] = np.abs(Z @ Z.conj().T - exact).max()
    assert error[100, "printed"] > 0.8
    assert error[10_000, "printed"] > 0.8  # more features do not help
    assert error[100, "right"] < 0.5
    assert error[10_000, "right"] < 0.06


@covers("cookbook E24.2")
def test_E24_2_the_directions_come_from_the_transform_the_features_are_waves():
    """Bochner: P is the kernel's normalised Fourier transform; phi itself is not."""
    sigma = 1.7
    lag = np.linspace(-30, 30, 6001)
    k = np.exp(-(lag**2) / (2 * sigma**2))
    omega = np.linspace(-2, 2, 41)
    transform = np.trapezoid(k[None] * np.cos(omega[:, None] * lag), lag, axis=1) / (2 * np.pi)
    assert np.allclose(transform, norm.pdf(omega, scale=1 / sigma), atol=1e-6)
    phi = np.exp(1j * omega)  # constant modulus: no density
    assert np.allclose(np.abs(phi), 1)
    assert not np.allclose(np.abs(phi), transform, atol=0.1)
    W = rks.draw(1, 100_000, sigma, np.random.default_rng(10))
    assert np.isclose(W.std(), 1 / sigma, rtol=0.02)
    # `draw` takes an odd number of rows from a kernel object too
    fast = kg.Gaussian(sigma=sigma).spectrum(np.random.default_rng(10), 1, 100_000)
    assert np.isclose(np.asarray(fast).std(), 1 / sigma, rtol=0.02)


@covers("cookbook E24.3")
def test_E24_3_one_direction_is_a_vector_and_there_is_one_count():
    W = rks.draw(5, 30, 1.0, np.random.default_rng(11))
    assert W[:, 0].shape == (5,)  # w_c in R^D; the page gives it D x K entries
    X = cloud(11, 10, 5)
    s = run(rks.kitchen_sinks(X, X[:, 0], W, 1.0))
    assert s["Z"].shape == (10, 30)
    assert s["a"].shape == (30,)
    with pytest.raises(ValueError, match="mismatch"):
        X @ np.zeros((4, 30))  # C features of the wrong D


@covers("cookbook E24.4")
def test_E24_4_the_bound_falls_as_lambda_grows_but_not_in_proportion():
    X, y = noisy_sine(12, 60)
    W = rks.draw(1, 40, 1.0, np.random.default_rng(12))
    lambdas = np.array([0.01, 0.1, 1.0, 10.0, 100.0])
    rho = [
        np.linalg.norm(run(rks.kitchen_sinks(X, y, W, lam, features=rks.cosine_sine))["a"])
        for lam in lambdas
    ]
    assert (np.diff(rho) < 0).all()
    products = lambdas * rho
    assert products.max() > 10 * products.min()  # inverse proportion would keep this constant


@covers("cookbook E24.5")
def test_E24_5_without_the_root_of_K_the_kernel_grows_with_the_features():
    X, y = noisy_sine(13, 40)
    new = np.linspace(0, 6, 50)[:, None]
    lam = 5.0
    exact = (
        kernels.gaussian(new, X)
        @ run(kernel_ridge.kernel_ridge(kernels.gaussian(X, X), y, lam))["alpha"]
    )
    W = rks.draw(1, 500, 1.0, np.random.default_rng(13))

    def unscaled(X, W):
        return np.hstack([np.cos(X @ W), np.sin(X @ W)])

    Z = unscaled(X, W)
    assert np.allclose(np.sum(Z**2, axis=1), 500)  # k(x, x) must be 1
    a = run(rks.kitchen_sinks(X, y, W, lam, features=rks.cosine_sine))["a"]
    right = np.abs(rks.predict(new, W, a, features=rks.cosine_sine) - exact).max()
    a = run(rks.kitchen_sinks(X, y, W, lam, features=unscaled))["a"]
    printed = np.abs(rks.predict(new, W, a, features=unscaled) - exact).max()
    assert right < 0.1
    assert printed > 0.3
