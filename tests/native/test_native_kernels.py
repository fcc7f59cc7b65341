"""Kernel tiles and products with them against plain NumPy, at awkward sizes."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram import native

KERNELS = {
    "linear": (),
    "polynomial": (0.3, 1.5, 3),
    "gaussian": (0.2,),
    "laplacian": (0.2,),
    "matern12": (1.3,),
    "matern32": (1.3,),
    "matern52": (1.3,),
    "rational_quadratic": (1.3, 0.7),
    "chi2": (0.4,),
    "allsubsets": (),
}
SHAPES = [(0, 3, 2), (3, 0, 2), (1, 1, 1), (2, 3, 0), (129, 257, 1), (300, 513, 7), (40, 30, 1100)]
TYPES = [np.float32, np.float64]


def oracle(kind, X, Y, p):
    """K(X, Y) in float64, one formula a line."""
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    D = X[:, None, :] - Y[None, :, :]
    t = (D**2).sum(-1)
    r = np.sqrt(t)
    if kind == "linear":
        return X @ Y.T
    if kind == "polynomial":
        return (p[0] * X @ Y.T + p[1]) ** p[2]
    if kind == "gaussian":
        return np.exp(-p[0] * t)
    if kind == "laplacian":
        return np.exp(-p[0] * np.abs(D).sum(-1))
    if kind.startswith("matern"):
        s = np.sqrt(int(kind[-2])) * r / p[0]
        factor = {"12": 1, "32": 1 + s, "52": 1 + s + s**2 / 3}[kind[-2:]]
        return factor * np.exp(-s)
    if kind == "rational_quadratic":
        return (1 + t / (2 * p[1] * p[0] ** 2)) ** -p[1]
    if kind == "chi2":
        S = X[:, None, :] + Y[None, :, :]
        return np.exp(-p[0] * np.where(S == 0, 0, D**2 / np.where(S == 0, 1, S)).sum(-1))
    return (1 + X[:, None, :] * Y[None, :, :]).prod(-1)


def data(n, m, d, dtype, kind="gaussian", offset=0.0):
    rng = np.random.default_rng(n + m + d)
    X, Y = (rng.normal(size=(k, d)) / max(1, d) ** 0.5 + offset for k in (n, m))
    if kind == "chi2":  # non-negative data, with exact zeros in common
        X, Y = (np.maximum(A, 0) for A in (X, Y))
    return X.astype(dtype), Y.astype(dtype)


def assert_close(found, exact, dtype, loose=1.0):
    assert found.dtype == dtype
    scale = max(1.0, np.abs(exact).max(initial=0))
    tol = (4e-6 if dtype == np.float32 else 1e-13) * loose * scale
    np.testing.assert_allclose(found, exact, rtol=0, atol=tol)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KERNELS)
def test_block(kind, dtype):
    for shape in SHAPES:
        check_block(kind, shape, dtype)


def check_block(kind, shape, dtype):
    X, Y = data(*shape, dtype, kind)
    # a square root near 0 halves the digits; a product of 1100 factors loses some
    loose = {"matern12": 300, "allsubsets": 10}.get(kind, 1)
    assert_close(
        native.kernel_block(kind, X, Y, KERNELS[kind]),
        oracle(kind, X, Y, KERNELS[kind]),
        dtype,
        loose,
    )


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("n", [0, 1, 128, 300])
def test_symmetric_block(kind, n, dtype):
    X, _ = data(n, 1, 5, dtype, kind)
    K = native.kernel_block(kind, X, X, KERNELS[kind])
    loose = 300 if kind == "matern12" else 1
    assert_close(K, oracle(kind, X, X, KERNELS[kind]), dtype, loose)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K, native.kernel_block(kind, X, None, KERNELS[kind]))
    if kind not in ("linear", "polynomial", "allsubsets"):
        np.testing.assert_array_equal(np.diag(K), 1)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("degree", [0, 1, 2, 4, 5, 9, 2.5, -1])
def test_polynomial_degrees(degree):
    X, Y = data(20, 30, 4, np.float64)
    K = native.kernel_block("polynomial", X, Y, (0.1, 2.0, degree))
    np.testing.assert_allclose(K, (0.1 * X @ Y.T + 2.0) ** degree, rtol=1e-13)


@pytest.mark.usefixtures("level")
def test_rational_quadratic_of_whole_alpha():
    X, Y = data(20, 30, 4, np.float64)
    for alpha in (1.0, 2.0):
        K = native.kernel_block("rational_quadratic", X, Y, (0.8, alpha))
        np.testing.assert_allclose(K, oracle("rational_quadratic", X, Y, (0.8, alpha)), rtol=1e-13)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize(
    ("shape", "t"),
    [((0, 3, 2), 1), ((3, 0, 2), 2), ((1, 1, 1), None), ((129, 900, 3), None), ((2300, 40, 3), 3)],
)
def test_matmul(kind, shape, dtype, t):
    X, Y = data(*shape, dtype, kind)
    V = np.random.default_rng(0).normal(size=(shape[1],) if t is None else (shape[1], t))
    V = V.astype(dtype)
    found = native.kernel_matmul(kind, X, Y, KERNELS[kind], V)
    exact = oracle(kind, X, Y, KERNELS[kind]) @ V
    assert_close(found, exact, dtype, 300 if kind == "matern12" else 10)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["gaussian", "linear", "laplacian"])
@pytest.mark.parametrize(
    ("n", "t"), [(0, 2), (1, 16), (300, 2), (1100, 2), (301, 16), (301, 48), (119, 80)]
)
def test_symmetric_matmul(kind, n, t, dtype):
    """Widths of whole vectors take the thin product, the others BLAS."""
    X, _ = data(n, 1, 3, dtype, kind)
    V = np.random.default_rng(0).normal(size=(n, t)).astype(dtype)
    found = native.kernel_matmul(kind, X, X, KERNELS[kind], V)
    assert_close(found, oracle(kind, X, X, KERNELS[kind]) @ V, dtype, 10)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (1, 1, 1), (1000, 300, 3)])
@pytest.mark.parametrize(("t", "weighted"), [(None, False), (None, True), (3, True), (1, False)])
def test_normal_matmul(shape, dtype, t, weighted):
    X, C = data(*shape, dtype)
    rng = np.random.default_rng(0)
    V = rng.normal(size=(shape[1],) if t is None else (shape[1], t)).astype(dtype)
    w = rng.uniform(size=shape[0]).astype(dtype) if weighted else None
    K = oracle("gaussian", X, C, (0.2,))
    U = K @ V
    exact = K.T @ (U if w is None else (U.T * w).T)
    assert_close(native.kernel_normal_matmul("gaussian", X, C, (0.2,), V, w), exact, dtype, 10)
    assert_close(native.normal_matmul(K.astype(dtype), V, w), exact, dtype, 10)


def test_threads_do_not_change_the_result(monkeypatch):
    from threadpoolctl import threadpool_limits

    X, Y = data(2000, 900, 6, np.float64)
    V = Y[:, :2].copy()

    def all_of_it():
        return [
            native.kernel_block("gaussian", X, Y, (0.2,)),
            native.kernel_matmul("gaussian", X, Y, (0.2,), V),
            native.kernel_matmul("gaussian", X, X, (0.2,), X),
            native.kernel_normal_matmul("gaussian", X, Y, (0.2,), V),
        ]

    with threadpool_limits(1):
        one = all_of_it()
    for a, b in zip(one, all_of_it(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("kind", KERNELS)
def test_strides_and_read_only(kind):
    X, Y = data(150, 140, 6, np.float64, kind)
    K = native.kernel_block(kind, X, Y, KERNELS[kind])
    wide = np.zeros((300, 12))
    wide[::2, ::2] = X
    frozen = np.asfortranarray(Y)
    frozen.setflags(write=False)
    np.testing.assert_allclose(
        native.kernel_block(kind, wide[::2, ::2], frozen, KERNELS[kind]), K, rtol=1e-13
    )
    np.testing.assert_allclose(
        native.kernel_block(kind, X[::-1], Y, KERNELS[kind]), K[::-1], rtol=1e-13
    )


def test_unaligned_rows_are_copied():
    raw = np.zeros(8 * 20 + 1, dtype=np.uint8)
    X = raw[1:].view(np.float64).reshape(10, 2)
    X[...] = np.arange(20).reshape(10, 2)
    np.testing.assert_array_equal(native.kernel_block("linear", X, X, ()), X @ X.T)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("kind", KERNELS)
def test_nan_stays_in_its_row(kind):
    X, Y = data(40, 50, 3, np.float64, kind)
    X[7, 1], Y[9, 2] = np.nan, np.inf if kind in ("linear", "gaussian") else np.nan
    K = native.kernel_block(kind, X, Y, KERNELS[kind])
    assert np.isnan(K[7]).all()
    K[7], K[:, 9] = 0, 0
    assert np.isfinite(K).all()
    S = native.kernel_block(kind, X, X, KERNELS[kind])
    assert np.isnan(S[7]).all()
    assert np.isnan(S[:, 7]).all()


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", TYPES)
def test_far_from_the_origin(dtype):
    """The common shift keeps |x|^2 - 2<x,y> + |y|^2 from cancelling."""
    X, Y = data(60, 70, 4, np.float64)
    offset = 1e4 if dtype == np.float64 else 64.0  # exact in float32 after rounding to a grid
    grid = 2.0**-12
    X, Y = (np.round(A / grid) * grid for A in (X, Y))
    K = native.kernel_block(
        "gaussian", (X + offset).astype(dtype), (Y + offset).astype(dtype), (0.5,)
    )
    assert_close(K, oracle("gaussian", X, Y, (0.5,)), dtype)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("kind", ["linear", "gaussian", "laplacian", "chi2"])
def test_more_than_65535_columns(kind):
    X, Y = data(3, 4, 70_001, np.float64, kind)
    assert_close(
        native.kernel_block(kind, X, Y, KERNELS[kind]),
        oracle(kind, X, Y, KERNELS[kind]),
        np.float64,
    )


def test_out_is_filled():
    X, Y = data(10, 12, 3, np.float64)
    out = np.empty((10, 12))
    assert native.kernel_block("linear", X, Y, (), out=out) is out
    np.testing.assert_allclose(out, X @ Y.T, atol=1e-14)
    with pytest.raises(ValueError, match="C-contiguous"):
        native.kernel_block("linear", X, Y, (), out=np.empty((12, 10)).T)


def test_wrong_arguments():
    X = np.zeros((3, 2))
    with pytest.raises(TypeError, match="float32 or float64, not int64"):
        native.kernel_block("linear", X.astype(int), X, ())
    with pytest.raises(TypeError, match="not list"):
        native.kernel_block("linear", [[1.0]], X, ())
    with pytest.raises(TypeError, match="float32 where the other argument is float64"):
        native.kernel_block("linear", X, X.astype(np.float32), ())
    with pytest.raises(ValueError, match="2 columns and Y has 3"):
        native.kernel_block("linear", X, np.zeros((4, 3)), ())
    with pytest.raises(ValueError, match="no native kernel"):
        native.kernel_block("cubic", X, X, ())
    with pytest.raises(ValueError, match="takes 1 parameters, not 0"):
        native.kernel_block("gaussian", X, X, ())
    with pytest.raises(ValueError, match="two dimensions"):
        native.kernel_block("linear", X[0], X, ())
    with pytest.raises(ValueError, match="V has shape"):
        native.kernel_matmul("linear", X, X, (), np.zeros(4))
    with pytest.raises(ValueError, match="double the memory"):
        native.normal_matmul(np.zeros((4, 3)).T, np.zeros(4))
