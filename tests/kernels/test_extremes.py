"""Widths at the ends of the floats: a point is like itself, far points are not, nothing is NaN."""

import numpy as np
import pytest

import kilogram as kg

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
