"""Products with a symmetric matrix of which only the lower half is stored."""

import numpy as np
import pytest

from kilogram.native import half_matmul, half_size, kernel_block, kernel_half
from kilogram.native.half import bands


def packed(A):
    half = np.full(half_size(len(A)), np.nan, dtype=A.dtype)
    for start, stop, at in bands(len(A)):
        band = half[at : at + (stop - start) * stop].reshape(stop - start, stop)
        band[...] = np.where(np.tri(stop - start, stop, start, dtype=bool), A[start:stop, :stop], 0)
    return half


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("t", [1, 3, 4, 8, 9, 17])
@pytest.mark.parametrize("n", [1, 2, 5, 59, 60, 61, 479, 480, 481, 1203])
def test_half_matmul_is_the_product(n, t, dtype):
    rng = np.random.default_rng(n + t)
    A = rng.standard_normal((n, n))
    A = (A + A.T).astype(dtype)
    V = rng.standard_normal((n, t)).astype(dtype)
    want = A.astype("f8") @ V.astype("f8")
    got = half_matmul(packed(A), V)
    assert got.dtype == A.dtype
    np.testing.assert_allclose(got, want, atol=40 * np.sqrt(n) * np.finfo(dtype).eps, rtol=1e-5)
    np.testing.assert_array_equal(
        half_matmul(packed(A), V[:, 0]), half_matmul(packed(A), V[:, :1])[:, 0]
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 480, 700])
def test_kernel_half_is_the_kernel(n, dtype):
    X = np.random.default_rng(0).standard_normal((n, 6)).astype(dtype)
    V = np.random.default_rng(1).standard_normal((n, 2)).astype(dtype)
    K = kernel_block("gaussian", X.astype("f8"), None, (0.1,))
    got = half_matmul(kernel_half("gaussian", X, (0.1,)), V)
    np.testing.assert_allclose(
        got, K @ V, rtol=2e-4 if dtype == "f4" else 1e-11, atol=1e-4 if dtype == "f4" else 1e-11
    )


def test_half_of_another_size_is_refused():
    with pytest.raises(ValueError, match="belongs to 5 rows"):
        half_matmul(np.zeros(10), np.zeros(5))
