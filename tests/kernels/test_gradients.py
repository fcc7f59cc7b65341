"""Derivatives of kernels by their parameters, against finite differences; white noise."""

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.kernels import (
    Chi2,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    RationalQuadratic,
    Stretched,
    White,
)
from kilogram.kernels import gradients as g
from kilogram.kernels.gradients_diagonal import pull_back_diag
from kilogram.kernels.white import split_diag, without_noise

KERNELS = {
    "gaussian": Gaussian(1.3),
    "gaussian_gamma": Gaussian(gamma=0.4),
    "laplacian": Laplacian(2.0),
    "laplacian_gamma": Laplacian(gamma=0.4),
    "matern12": Matern(0.5, 1.7),
    "matern32": Matern(1.5, 0.9),
    "matern52": Matern(2.5, 1.2),
    "rational_quadratic": RationalQuadratic(1.4, 0.7),
    "polynomial": Polynomial(3, gamma=0.3, coef0=0.8),
    "polynomial_1": Polynomial(1, gamma=0.3, coef0=0.8),
    "constant": Polynomial(1, gamma=0.0, coef0=0.8),
    "chi2": Chi2(0.6),
    "white": White(0.3),
    "sum": 2.0 * Gaussian(1.1) + White(0.2),
    "product": Gaussian(1.1) * Polynomial(2, gamma=0.2, coef0=0.5) * Matern(2.5, 2.0),
    "columns": OnColumns(Gaussian(0.8), [0]) * OnColumns(Gaussian(1.8), [1, 2]),
    "stretched": Stretched(Gaussian(1.0), [0.5, 1.0, 3.0]),
    "stretched_matern12": Stretched(Matern(0.5), [0.5, 1.0, 3.0]),
    "stretched_matern32": 2.0 * Stretched(Matern(1.5), (0.5, 1.0, 3.0)),
    "stretched_matern52": Stretched(Matern(2.5, 1.3), (0.5, 1.0, 3.0)),
    "stretched_quadratic": Stretched(RationalQuadratic(1.0, 0.7), [0.5, 1.0, 3.0]),
    "tree": 1.5 * (Matern(1.5, 0.8) + 0.3 * Linear()) * (Gaussian(2.0) + White(0.4)),
}


def rows(n, seed=0):
    return np.abs(np.random.default_rng(seed).standard_normal((n, 3)))


def differences(function, kernel, step=1e-5):
    """Central differences of function(kernel) by the logarithm of each parameter."""
    found = {}
    for path, value in g.parameters(kernel).items():
        up, down = (
            function(g.with_parameters(kernel, {path: value * np.exp(s)})) for s in (step, -step)
        )
        found[path] = (up - down) / (2 * step)
    return found


def assert_gradient(got, want):
    assert set(got) == set(want)
    for path, value in want.items():
        np.testing.assert_allclose(got[path], value, rtol=1e-6, atol=1e-7, err_msg=path)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tile", [2**18, 64])
def test_pull_back(name, tile, monkeypatch):
    monkeypatch.setattr(g, "TILE_ENTRIES", tile)
    kernel, X, Y = KERNELS[name], rows(150), rows(11, 1)
    M = np.random.default_rng(2).standard_normal((150, 11))
    want = differences(lambda k: np.sum(M * k(X, Y)), kernel)
    assert_gradient(g.pull_back(kernel, X, Y, M), want)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tile", [2**18, 64])
def test_symmetric_reads_the_lower_triangle(name, tile, monkeypatch):
    monkeypatch.setattr(g, "TILE_ENTRIES", tile)
    kernel, X = KERNELS[name], rows(150)
    M = np.random.default_rng(2).standard_normal((150, 150))
    M = M + M.T
    want = differences(lambda k: np.sum(M * k(X)), kernel)
    M[np.triu_indices(150, 1)] = np.nan
    assert_gradient(g.pull_back(kernel, X, None, M), want)


@pytest.mark.parametrize("name", KERNELS)
def test_diagonal(name):
    kernel, X = KERNELS[name], rows(20)
    v = np.random.default_rng(2).standard_normal(20)
    want = differences(lambda k: v @ k.diag(X), kernel)
    assert_gradient(pull_back_diag(kernel, X, v), want)
    want = differences(lambda k: v @ split_diag(k, X)[0], kernel)
    assert_gradient(pull_back_diag(kernel, X, v, latent=True), want)


@pytest.mark.parametrize(
    "name", ["gaussian", "matern32", "polynomial", "tree", "columns", "stretched"]
)
def test_sparse_rows(name):
    kernel, X = KERNELS[name], np.where(rows(30) > 1, rows(30), 0.0)
    M = np.random.default_rng(2).standard_normal((30, 30))
    M = M + M.T
    assert_gradient(g.pull_back(kernel, sp.csr_array(X), None, M), g.pull_back(kernel, X, None, M))


def test_far_from_the_origin():
    kernel, X = Gaussian(0.7), rows(40)
    M = np.random.default_rng(2).standard_normal((40, 40))
    M = M + M.T
    here, there = g.pull_back(kernel, X, None, M), g.pull_back(kernel, X + 1e6, None, M)
    np.testing.assert_allclose(there["sigma"], here["sigma"], rtol=1e-6)


def test_torch_rows():
    torch = pytest.importorskip("torch")
    kernel, X = KERNELS["tree"], rows(30)
    M = np.random.default_rng(2).standard_normal((30, 30))
    M = M + M.T
    got = g.pull_back(kernel, torch.asarray(X), None, torch.asarray(M))
    assert_gradient(got, g.pull_back(kernel, X, None, M))


def test_parameters_are_the_positive_numbers():
    kernel = 2.0 * Gaussian(1.0) + Polynomial(2, gamma=0.5, coef0=0.0) + White(0.1)
    assert g.parameters(kernel) == {
        "left__left__factor": 2.0,
        "left__left__kernel__sigma": 1.0,
        "left__right__gamma": 0.5,
        "right__noise": 0.1,
    }
    assert g.parameters(Linear()) == {} == g.parameters(Gaussian("median"))
    other = g.with_parameters(kernel, {"right__noise": 0.3})
    assert other.right.noise == 0.3
    assert kernel.right.noise == 0.1


def test_white_is_the_row_itself_not_its_place():
    X = rows(5)
    k = White(0.25)
    np.testing.assert_array_equal(k(X), 0.25 * np.eye(5))
    np.testing.assert_array_equal(k(X, X.copy()), np.zeros((5, 5)))
    np.testing.assert_array_equal(k.diag(X), np.full(5, 0.25))
    V = np.arange(10.0).reshape(5, 2)
    np.testing.assert_array_equal(k.matmul(X, None, V), 0.25 * V)
    np.testing.assert_array_equal(k.matmul(X, X[:2], V[:2]), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="noise"):
        White(-1.0)(X)


@pytest.mark.parametrize("name", KERNELS)
def test_noise_apart(name):
    kernel, X = KERNELS[name], rows(12)
    latent, noise = split_diag(kernel, X)
    behind = without_noise(kernel)
    K = np.zeros((12, 12)) if behind is None else behind(X)
    np.testing.assert_allclose(latent, np.diag(K))
    np.testing.assert_allclose(K + np.diag(noise), kernel(X), atol=1e-14)


def test_stretched_is_a_product_of_gaussians():
    X, Y = rows(7), rows(5, 1)
    product = OnColumns(Gaussian(0.5), [0]) * OnColumns(Gaussian(2.0), [1])
    product = product * OnColumns(Gaussian(1.5), [2])
    k = Stretched(Gaussian(1.0), [0.5, 2.0, 1.5])
    np.testing.assert_allclose(k(X, Y), product(X, Y))
    np.testing.assert_allclose(k.matmul(X, None, np.eye(7)), k(X), atol=1e-14)
    np.testing.assert_allclose(k.diag(X), np.ones(7))
    W = k.spectrum(np.random.default_rng(0), 3, 200_000)
    np.testing.assert_allclose(np.std(W, axis=1), [2.0, 0.5, 1 / 1.5], rtol=0.02)


def test_stretched_refuses():
    X = rows(4)
    with pytest.raises(ValueError, match="scales must be 3 numbers"):
        Stretched(Gaussian(1.0), [1.0, 2.0])(X)
    with pytest.raises(ValueError, match="Euclidean"):
        Stretched(Linear(), [1.0, 2.0, 3.0])(X)
