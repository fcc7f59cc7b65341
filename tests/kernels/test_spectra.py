"""Exact feature maps, and spectra whose random features tend to the kernel."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy import stats

from kilogram.kernels import (
    AllSubsets,
    Chi2,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    RationalQuadratic,
)
from kilogram.kernels.random_directions import normal_draws
from tests.optional import torch

X = np.random.default_rng(0).standard_normal((25, 4))
Y = np.random.default_rng(1).standard_normal((10, 4))

EXACT = [
    Linear(),
    Cosine(),
    Polynomial(1),
    Polynomial(2),
    Polynomial(2, gamma=0.3, coef0=0.0),
    Polynomial(3, gamma=0.3, coef0=2.0),
    Polynomial(5),
    AllSubsets(),
    Linear() + Polynomial(2),
    Linear() * Polynomial(2),
    3.0 * AllSubsets(),
    OnColumns(Polynomial(2), [1, 3]) * OnColumns(Linear(), [0]),
]


@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_features_have_the_kernels_inner_products(kernel):
    assert kernel.has_features
    assert_allclose(kernel.features(X) @ kernel.features(Y).T, kernel(X, Y), rtol=1e-9, atol=1e-9)
    sparse = kernel.features(scipy.sparse.csr_array(X))
    sparse = sparse.toarray() if scipy.sparse.issparse(sparse) else sparse
    assert_allclose(sparse, kernel.features(X), rtol=1e-12)


@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_features_in_every_library(kernel, library):
    got = kernel.features(library.asarray(X))
    assert type(got) is type(library.asarray(X))
    assert_allclose(np.asarray(got), kernel.features(X), rtol=1e-12)


def test_features_that_do_not_exist_or_are_too_many():
    with pytest.raises(ValueError, match="no finite feature map"):
        Gaussian(1.0).features(X)
    assert not (Gaussian(1.0) + Linear()).has_features
    with pytest.raises(ValueError, match="work with the kernel itself"):
        Polynomial(6).features(np.ones((1, 100)))
    with pytest.raises(ValueError, match="work with the kernel itself"):
        AllSubsets().features(np.ones((1, 40)))


SPECTRAL = [
    Gaussian(1.5),
    Gaussian(gamma=0.2),
    Gaussian(),
    Laplacian(gamma=0.2),
    Matern(0.5, 2.0),
    Matern(1.5, 2.0),
    Matern(2.5, 2.0),
    RationalQuadratic(1.5, 0.7),
    Gaussian(2.0) + Laplacian(5.0),
    3.0 * Gaussian(2.0) + Matern(0.5),
    Gaussian(2.0) * Matern(1.5, 3.0),
    OnColumns(Gaussian(1.0), [0, 2]) * OnColumns(Laplacian(3.0), [1, -1]),
]
ROTATIONAL = [k for k in SPECTRAL if "Laplacian" not in repr(k)]


def estimate(kernel, rng, D, **how):
    """The kernel of the rows of X from D random frequencies: mean of cos(w (x - y))."""
    A = X @ kernel.spectrum(rng, 4, D, **how)
    return kernel.at_zero * (np.cos(A) @ np.cos(A).T + np.sin(A) @ np.sin(A).T) / D


@pytest.mark.parametrize("kernel", SPECTRAL, ids=repr)
def test_spectrum_is_the_kernels_fourier_transform(kernel):
    assert kernel.has_spectrum
    error = np.abs(estimate(kernel, np.random.default_rng(0), 8_000) - kernel(X))
    assert error.max() < 0.06 * kernel.at_zero


@pytest.mark.parametrize("kernel", ROTATIONAL, ids=repr)
def test_orthogonal_draws_have_the_same_mean(kernel):
    error = np.abs(estimate(kernel, np.random.default_rng(0), 8_000, orthogonal=True) - kernel(X))
    assert error.max() < 0.06 * kernel.at_zero


def test_orthogonal_draws_err_less_on_average():
    kernel, plain, orthogonal = Gaussian(2.0), [], []
    for seed in range(30):
        for errors, how in ((plain, False), (orthogonal, True)):
            rng = np.random.default_rng(seed)
            found = estimate(kernel, rng, 8, orthogonal=how) - kernel(X)
            errors.append(np.mean(found**2))
    assert np.mean(orthogonal) < 0.8 * np.mean(plain)


def test_marginals_of_the_draws():
    rng = np.random.default_rng(0)
    w = Gaussian(0.5).spectrum(rng, 2, 5000)[0]
    assert stats.kstest(w, stats.norm(scale=2.0).cdf).pvalue > 1e-3
    w = Laplacian(gamma=0.3).spectrum(rng, 2, 5000)[1]
    assert stats.kstest(w, stats.cauchy(scale=0.3).cdf).pvalue > 1e-3
    w = Matern(1.5, 2.0).spectrum(rng, 2, 5000)[0]
    assert stats.kstest(w, stats.t(3, scale=0.5).cdf).pvalue > 1e-3
    w = normal_draws(rng, 3, 6000, orthogonal=True)[0]
    assert stats.kstest(w, stats.norm.cdf).pvalue > 1e-3


def test_orthogonal_blocks_are_orthogonal():
    W = normal_draws(np.random.default_rng(0), 5, 12, orthogonal=True)
    assert W.shape == (5, 12)
    G = W[:, :5].T @ W[:, :5]
    assert_allclose(G - np.diag(np.diag(G)), np.zeros((5, 5)), atol=1e-12)


def test_kernels_without_a_spectrum_say_what_to_use():
    with pytest.raises(ValueError, match="Nystroem"):
        Linear().spectrum(np.random.default_rng(0), 4, 10)
    with pytest.raises(ValueError, match="rotation-invariant"):
        Laplacian(1.0).spectrum(np.random.default_rng(0), 4, 10, orthogonal=True)
    with pytest.raises(ValueError, match="not stationary"):
        _ = Polynomial(2).at_zero
    assert not Chi2().stationary
    assert not (Gaussian(1.0) * Linear()).stationary
    assert not (Gaussian(1.0) * Linear()).has_spectrum
