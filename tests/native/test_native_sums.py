"""Scatter sums and Fourier features against plain NumPy, at awkward sizes."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram import native

TYPES = [np.float32, np.float64]
SHAPES = [(0, 3), (1, 1), (5, 0), (257, 1), (1000, 7), (3000, 64), (900, 450), (300, 900)]


def oracle(X, Y, w, shift_x, shift_y):
    X, Y = X.astype(np.float64) - shift_x, Y.astype(np.float64) - shift_y
    WX, WY = X * w[:, None], Y * w[:, None]
    return X.T @ WX, X.T @ WY, Y.T @ WY, WX.sum(0), WY.sum(0)


def assert_agree(found, exact, dtype, n):
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == np.float64
        assert a.shape == b.shape
        scale = max(1.0, n, np.abs(b).max(initial=0))
        tol = (2e-6 if dtype == np.float32 else 1e-14) * scale
        np.testing.assert_allclose(a, b, rtol=0, atol=tol)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("order", "full"), [("C", False), ("C", True), ("F", True)])
def test_scatter(shape, dtype, order, full):
    rng = np.random.default_rng(sum(shape))
    (n, d), t = shape, 2
    X, Y = rng.normal(size=(n, d)).astype(dtype, order), rng.normal(size=(n, t)).astype(dtype)
    X.setflags(write=False)
    w = rng.uniform(size=n) if full else None
    cx, cy = (rng.normal(size=k) if full else None for k in (d, t))
    exact = oracle(
        X,
        Y,
        np.ones(n) if w is None else w,
        0 if cx is None else cx.astype(dtype),
        0 if cy is None else cy.astype(dtype),
    )
    S, s = native.scatter(X, w, cx)
    assert_agree((S, s), (exact[0], exact[3]), dtype, n)
    np.testing.assert_array_equal(S, S.T)
    assert_agree(native.scatter_pair(X, Y, w, cx, cy), exact, dtype, n)


@pytest.mark.usefixtures("level")
def test_scatter_of_strided_rows():
    big = np.random.default_rng(0).normal(size=(100, 30))
    X = big[::3, 1::2]
    np.testing.assert_allclose(native.scatter(X)[0], X.T @ X, atol=1e-12)


def test_scatter_keeps_nan_in_its_column():
    X = np.random.default_rng(0).normal(size=(500, 5))
    X[3, 2] = np.nan
    S, s = native.scatter(X)
    assert np.isnan(s[2])
    assert np.isnan(S[2]).all()
    assert np.isfinite(np.delete(np.delete(S, 2, 0), 2, 1)).all()


def test_float32_sums_keep_float64_digits():
    """Half a million ones: a float32 sum of squares would stop growing at 2^24."""
    X = np.full((500_000, 2), 7.0, dtype=np.float32)
    S, s = native.scatter(X)
    np.testing.assert_array_equal(S, 500_000 * 49.0)
    np.testing.assert_array_equal(s, 500_000 * 7.0)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0, 3, 5), (1, 1, 1), (3, 0, 4), (300, 7, 513), (1000, 5, 40)])
def test_fourier_block(shape, dtype):
    n, d, D = shape
    rng = np.random.default_rng(n + D)
    X, W = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(d, D)).astype(dtype)
    b = rng.uniform(0, 2 * np.pi, D).astype(dtype)
    exact = 0.5 * np.cos(X.astype(np.float64) @ W + b)
    tol = 1e-5 if dtype == np.float32 else 1e-14
    found = native.fourier_block(X, W, b, 0.5)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact, rtol=0, atol=tol)
    np.testing.assert_array_equal(native.fourier_block(np.asfortranarray(X), W, b, 0.5), found)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0, 3, 5), (1, 1, 1), (700, 7, 613), (1000, 5, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_fourier_scatter(shape, dtype, weighted):
    n, d, D = shape
    rng = np.random.default_rng(n + D)
    X, W = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(d, D)).astype(dtype)
    b, Y = rng.uniform(0, 2 * np.pi, D).astype(dtype), rng.normal(size=(n, 2)).astype(dtype)
    w = rng.uniform(size=n) if weighted else None
    phi = 0.5 * np.cos(X.astype(np.float64) @ W + b)
    exact = oracle(phi, Y, np.ones(n) if w is None else w, 0, 0)
    assert_agree(native.fourier_scatter(X, W, b, 0.5, Y, w), exact, dtype, n)


def test_threads_do_not_change_the_sums():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20_000, 30)), rng.normal(size=(20_000, 2))
    W, b = rng.normal(size=(30, 500)), rng.uniform(0, 6, 500)

    def all_of_it():
        return [
            *native.scatter_pair(X, Y),
            *native.fourier_scatter(X[:4000], W, b, 0.1, Y[:4000]),
            native.fourier_block(X, W, b, 0.1),
        ]

    with threadpool_limits(1):
        one = all_of_it()
    for a, b_ in zip(one, all_of_it(), strict=True):
        np.testing.assert_array_equal(a, b_)


def test_wrong_arguments():
    X = np.zeros((4, 3))
    with pytest.raises(ValueError, match="4 rows and Y has 5"):
        native.scatter_pair(X, np.zeros((5, 1)))
    with pytest.raises(ValueError, match="w has shape"):
        native.scatter(X, np.ones(3))
    with pytest.raises(ValueError, match="W has shape"):
        native.fourier_block(X, np.zeros((4, 2)), np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="b has shape"):
        native.fourier_block(X, np.zeros((3, 2)), np.zeros(3), 1.0)
