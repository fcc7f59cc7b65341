"""A kernel matrix held by its lower half is the matrix."""

import numpy as np
import pytest

from kilogram.kernels import Gaussian, Matern
from kilogram.operators import Centred, Gram, HalfGram


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(1.5)])
@pytest.mark.parametrize("n", [1, 61, 500])
def test_half_gram_is_gram(n, kernel, dtype):
    X = np.random.default_rng(0).standard_normal((n, 5)).astype(dtype)
    V = np.random.default_rng(1).standard_normal((n, 3)).astype(dtype)
    half, whole = HalfGram(kernel, X), Gram(kernel, X)
    tol = {"rtol": 1e-3, "atol": 1e-4} if dtype == "f4" else {"rtol": 1e-10, "atol": 1e-11}
    assert half.shape == whole.shape
    assert half.T is half
    np.testing.assert_allclose(half @ V, whole @ V, **tol)
    np.testing.assert_allclose(half.rows([0, n - 1]), whole.rows([0, n - 1]), **tol)
    np.testing.assert_allclose(half.diag(), whole.diag(), **tol)
    np.testing.assert_allclose(half.dense(), whole.dense(), **tol)
    np.testing.assert_allclose(Centred(half) @ V, Centred(whole) @ V, **tol)


def test_kernels_without_a_loop_are_refused():
    with pytest.raises(ValueError, match="no compiled loop"):
        HalfGram(Gaussian(1.0) + Gaussian(2.0), np.zeros((3, 2)))
