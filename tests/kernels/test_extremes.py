"""Widths at the ends of the floats: a point is like itself, far points are not, nothing is NaN."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.kernels.linear import Sigmoid

TINY = [
    kg.Gaussian(sigma=1e-25),
    kg.Gaussian(sigma=1e-160),
    kg.Gaussian(gamma=1e50),
    kg.Laplacian(gamma=1e50),
    kg.Matern(0.5, 1e-25),
    kg.Matern(1.5, 1e-160),
    kg.Matern(2.5, 1e-25),
    kg.RationalQuadratic(1e-25),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", TINY, ids=repr)
def test_tiny_widths_give_the_identity(kernel, dtype):
    X = np.random.default_rng(0).standard_normal((300, 5)).astype(dtype)
    np.testing.assert_allclose(kernel(X), np.eye(300), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_widths_give_ones(dtype):
    X = np.random.default_rng(0).standard_normal((30, 5)).astype(dtype)
    for kernel in (kg.Gaussian(sigma=1e160), kg.Matern(2.5, 1e150), kg.RationalQuadratic(1e150)):
        np.testing.assert_allclose(kernel(X), np.ones((30, 30)), atol=1e-6)


@pytest.mark.parametrize(
    "kernel", [kg.Gaussian(1.0), kg.Matern(1.5), kg.Linear(), kg.Polynomial(2), Sigmoid()]
)
def test_squares_that_overflow_are_an_error(kernel):
    X = np.array([[1e160, 2e160], [1e160, 2e160], [-3e160, 0.0]])
    for call in (lambda: kernel(X), lambda: kernel(X, X.copy())):
        with pytest.raises(ValueError, match="squares overflow float64"):
            call()
    assert np.isfinite(kernel(X / 1e160)).all()


def test_kernels_without_squares_reach_further():
    X = np.array([[1e160, 2e160], [1e160, 2e160], [-3e160, 0.0]])
    np.testing.assert_array_equal(kg.Laplacian(1.0)(X), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
