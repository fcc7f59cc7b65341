"""The blocked Cholesky factor in place against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram import native

TYPES = [np.float32, np.float64]


def positive(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, n + 3))
    return (X @ X.T / max(1, n) + np.eye(n)).astype(dtype)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 63, 257, 600, 1100])
def test_factor(n, dtype):
    A = positive(n, dtype)
    L = A.copy()
    L[np.triu_indices(n, 1)] = np.nan  # neither read nor written
    assert native.cholesky_inplace(L) == 0
    assert np.isnan(L[np.triu_indices(n, 1)]).all()
    exact = np.linalg.cholesky(A.astype(np.float64))
    np.testing.assert_allclose(np.tril(L), exact, atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", [1, 2, 256, 257, 400, 700])
def test_order_of_the_failing_minor(order, dtype):
    A = positive(700, dtype)
    A[order - 1, order - 1] = -1
    assert native.cholesky_inplace(A) == order


def test_nan_is_not_positive():
    A = positive(300, np.float64)
    A[280, 10] = np.nan
    assert native.cholesky_inplace(A) == 281


def test_threads_do_not_change_the_factor():
    A = positive(1500, np.float64)
    one, two = A.copy(), A.copy()
    with threadpool_limits(1):
        native.cholesky_inplace(one)
    native.cholesky_inplace(two)
    np.testing.assert_array_equal(one, two)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="square"):
        native.cholesky_inplace(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="in place"):
        native.cholesky_inplace(np.zeros((4, 4))[::2, ::2])
    frozen = np.eye(3)
    frozen.setflags(write=False)
    with pytest.raises(ValueError, match="in place"):
        native.cholesky_inplace(frozen)
