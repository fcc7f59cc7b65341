"""Logistic and softmax passes, quadratic models and online steps beside their NumPy twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.functions.online_losses import LOSSES
from kilogram.native.logistic import (
    OnlineMean,
    OnlineRows,
    elastic_step,
    logistic_pass,
    logistic_sparse,
    online_pass,
    softmax_inplace,
    softmax_rows,
    softmax_sparse,
)

SHAPES = [(1, 1), (7, 3), (161, 5), (2050, 17)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_logistic_pass(machine, shape, dtype, order):
    rng = np.random.default_rng(0)
    n, d = shape
    X = rng.standard_normal((2 * n, d)).astype(dtype)[::2] if order == "strided" else None
    X = np.asarray(rng.standard_normal(shape), dtype=dtype, order=order) if X is None else X
    y, c = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.uniform(0, 3, n)
    w, b = 3 * rng.standard_normal(d), 0.3
    found = logistic_pass(X, y, c, w, b, curvatures=True)
    z = X.astype(float) @ w.astype(dtype) + b
    q = 1 / (1 + np.exp(y * z))
    r = -c * y * q
    tol = 1e-11 if dtype == "float64" else 2e-4
    np.testing.assert_allclose(found.loss, c @ np.logaddexp(0, -y * z), rtol=tol)
    np.testing.assert_allclose(found.pulled, X.T.astype(float) @ r, atol=tol * n)
    np.testing.assert_allclose(found.pull, r.sum(), atol=tol * n)
    np.testing.assert_allclose(found.h, c * q * (1 - q), atol=tol)


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (161, 50), (2050, 17)])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_passes_equal_dense(machine, shape, dtype, index):
    rng = np.random.default_rng(3)
    n, d = shape
    X = rng.standard_normal(shape).astype(dtype) * (rng.random(shape) < 0.2)
    X[n // 3 : n // 2] = 0  # rows without entries
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    c, w, tol = rng.uniform(0, 3, n), rng.standard_normal(d), 1e-11 if dtype == "float64" else 2e-4
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    for weights in (c, None):
        found = logistic_sparse(S, y, weights, w, 0.3, curvatures=True)
        plain = logistic_pass(X, y, weights, w, 0.3, curvatures=True)
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol * n)
    W, b, codes = rng.standard_normal((3, d)), rng.standard_normal(3), rng.integers(3, size=n)
    found, plain = softmax_sparse(S, codes, c, W, b), softmax_rows(X, codes, c, W, b)
    for p, q in zip(found, plain, strict=True):
        np.testing.assert_allclose(p, q, rtol=tol, atol=tol * n)


@pytest.mark.parametrize("t", [2, 3, 10])
@pytest.mark.parametrize("n", [1, 65, 3000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softmax(machine, n, t, dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 4)).astype(dtype)
    W, b = rng.standard_normal((t, 4)), rng.standard_normal(t)
    y, c = rng.integers(t, size=n), rng.uniform(0, 2, n)
    Z = X.astype(float) @ W.T + b
    logs = Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))
    R = c[:, None] * (np.exp(logs) - np.eye(t)[y])
    loss, pulled, total = softmax_rows(X, y, c, W, b)
    tol = 1e-11 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(loss, -c @ logs[np.arange(n), y], rtol=tol)
    np.testing.assert_allclose(pulled, R.T @ X, atol=tol * n)
    np.testing.assert_allclose(total, R.sum(axis=0), atol=tol * n)
    inplace = np.ascontiguousarray(Z.astype(dtype))
    assert np.isclose(softmax_inplace(inplace, y, c), loss, rtol=tol)
    np.testing.assert_allclose(inplace, R, atol=10 * tol)


def test_margins_of_any_size_are_survived():
    found = logistic_pass(np.array([[1e300], [-1e300]]), np.ones(2), None, np.ones(1), 0.0)
    assert found.loss == 1e300
    Z = np.array([[1e308, -1e308, 0.0]])
    assert softmax_inplace(Z, np.array([0]), None) == 0


def test_codes_beyond_the_classes_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        softmax_inplace(np.zeros((2, 2)), np.array([0, 2]), None)


def test_elastic_step_meets_its_conditions():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((40, 8))
    H, g, w = A.T @ A, 5 * rng.standard_normal(8), 0.3 * rng.standard_normal(8)
    mu = np.full(8, 30.0)
    mu[-1] = 0.0
    d = elastic_step(H, g, w, mu, tol=1e-12)
    slope, new = g + H @ d, w + d
    on = new != 0
    assert 0 < on.sum() < 8
    np.testing.assert_allclose(slope[on], -mu[on] * np.sign(new[on]), atol=1e-9)
    assert np.all(np.abs(slope[~on]) <= mu[~on] + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("t", [1, 3])
def test_online_pass(loss, t):
    rng = np.random.default_rng(3)
    X, codes = rng.standard_normal((50, 4)), rng.integers(max(t, 2), size=50)
    c, order = rng.uniform(0, 2, 50), rng.permutation(50)
    W, b = np.zeros((t, 4)), np.zeros(t)
    mean = OnlineMean(np.zeros((t, 4)), np.zeros(t))
    pace = np.array([0.1, 20.0, 0.6, 0.01])
    rows = OnlineRows(X.ravel(), None, None, codes)
    total, _ = online_pass(rows, c, order, loss, pace, True, (W, b), mean, 0.0)
    V, a, iterates, want = np.zeros((t, 4)), np.zeros(t), [], 0.0
    for step, i in enumerate(order):
        y = np.where(codes[i] == (1 if t == 1 else np.arange(t)), 1.0, -1.0)
        f = V @ X[i] + a
        eta = 0.1 / (1 + step / 20.0) ** 0.6
        want += c[i] * float(np.sum(LOSSES[loss].value(y, f)))
        size = min(eta * c[i], 1 / (X[i] @ X[i] + 1)) if loss == "squared" else eta * c[i]
        move = -size * LOSSES[loss].slope(y, f)
        V, a = V * (1 - 0.01 * eta) + np.outer(move, X[i]), a + move
        iterates.append(V.copy())
    np.testing.assert_allclose(W, V, rtol=1e-9)
    np.testing.assert_allclose(b, a, rtol=1e-9)
    np.testing.assert_allclose(W - mean.W / 50, np.mean(iterates, axis=0), rtol=1e-8, atol=1e-12)
    assert np.isclose(total, want)
