"""Operators against the matrices they stand for."""

from __future__ import annotations

import time

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kilogram.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, White
from kilogram.operators import (
    Centred,
    DiagonallyScaled,
    Gram,
    KernelMeans,
    OutOfTime,
    Shifted,
    centre,
    scaled,
)
from tests.optional import torch

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((30, 4)), rng.standard_normal((18, 4))
w = rng.uniform(0.1, 2.0, size=30)
K = Gaussian(1.2)(X)

H = np.eye(30) - np.full((30, 30), 1 / 30)
Hw = np.eye(30) - np.outer(np.ones(30), w / w.sum())

CASES = {
    "stored": (Gram(Gaussian(1.2), X, store=True), K),
    "blocked": (Gram(Gaussian(1.2), X, store=False), K),
    "cross": (Gram(Gaussian(1.2), X, Y), Gaussian(1.2)(X, Y)),
    "cross_blocked": (Gram(Laplacian(1.2), X, Y, store=False), Laplacian(1.2)(X, Y)),
    "sum": (Gram(Gaussian(1.0) + Linear(), X, store=False), Gaussian(1.0)(X) + X @ X.T),
    "precomputed": (Gram(Precomputed(), K), K),
    "centred": (Centred(Gram(Gaussian(1.2), X)), H @ K @ H),
    "centred_blocked": (Centred(Gram(Gaussian(1.2), X, store=False)), H @ K @ H),
    "centred_weighted": (Centred(Gram(Gaussian(1.2), X), w), Hw @ K @ Hw.T),
    "shifted": (Shifted(Gram(Gaussian(1.2), X), 0.3), K + 0.3 * np.eye(30)),
    "scaled": (DiagonallyScaled(Gram(Gaussian(1.2), X), w), w[:, None] * K * w),
    "all_together": (
        Shifted(Centred(Gram(Linear(), X), w), 0.3),
        Hw @ X @ X.T @ Hw.T + 0.3 * np.eye(30),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_is_its_matrix(name):
    A, want = CASES[name]
    tol = {"rtol": 1e-10, "atol": 1e-11}
    assert A.shape == want.shape
    assert A.dtype == want.dtype
    V = rng.standard_normal((want.shape[1], 3))
    assert_allclose(A @ V, want @ V, **tol)
    assert_allclose(A @ V[:, 0], want @ V[:, 0], **tol)
    assert_allclose(A.dense(), want, **tol)
    assert_allclose(A.rows(slice(3, 7)), want[3:7], **tol)
    assert_allclose(A.rows([5, 2]), want[[5, 2]], **tol)
    U = rng.standard_normal((want.shape[0], 2))
    assert_allclose(A.T @ U, want.T @ U, **tol)
    assert type(A).__name__ in repr(A)
    if want.shape[0] == want.shape[1]:
        assert_allclose(A.diag(), np.diag(want), **tol)


@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
@pytest.mark.parametrize("store", [True, False])
def test_every_library(library, store):
    A, B = library.asarray(X), library.asarray(Y)
    C = Shifted(Centred(Gram(Gaussian(1.2), A, store=store), library.asarray(w)), 0.5)
    V = rng.standard_normal((30, 2))
    want = Hw @ K @ Hw.T + 0.5 * np.eye(30)
    got = C @ library.asarray(V)
    assert type(got) is type(A)
    assert_allclose(np.asarray(got), want @ V, atol=1e-11)
    assert_allclose(np.asarray(C.dense()), want, atol=1e-11)
    assert_allclose(np.asarray(C.rows([4, 1])), want[[4, 1]], atol=1e-11)
    cross = Gram(Gaussian(1.2), B, A, store=store)
    assert_allclose(np.asarray(cross.T @ library.asarray(Y)), Gaussian(1.2)(X, Y) @ Y, atol=1e-11)


def test_float32_stays_float32():
    C = Shifted(Centred(Gram(Gaussian(1.2), X.astype(np.float32))), 0.5)
    V = X.astype(np.float32)
    for got in (C @ V, C.diag(), C.dense(), C.rows([1])):
        assert got.dtype == np.float32


@pytest.mark.parametrize("weights", [None, w])
def test_new_rows_are_centred_with_the_training_means(weights):
    kernel = Polynomial(2, gamma=1.0)
    phi, psi = kernel.features(X), kernel.features(Y)
    mean = np.average(phi, axis=0, weights=weights)
    want = (psi - mean) @ (phi - mean).T
    A = Centred(Gram(kernel, X), weights)
    C = A.cross(Gram(kernel, Y, X, store=False))
    V = rng.standard_normal((30, 3))
    assert C.shape == want.shape
    assert C.dtype == want.dtype
    assert_allclose(C.dense(), want, rtol=1e-8, atol=1e-8)
    assert_allclose(C @ V, want @ V, rtol=1e-8, atol=1e-8)
    assert_allclose(C @ V[:, 0], want @ V[:, 0], rtol=1e-8, atol=1e-8)
    assert_allclose(C.rows([3]), want[[3]], rtol=1e-8, atol=1e-8)
    assert_allclose(A.dense(), (phi - mean) @ (phi - mean).T, rtol=1e-8, atol=1e-8)


def test_training_rows_as_new_rows_give_the_training_matrix():
    A = Centred(Gram(Gaussian(1.2), X))
    assert_allclose(centre(Gaussian(1.2)(X), A.means), A.dense(), atol=1e-14)
    assert_allclose(KernelMeans.of(K).columns, A.means.columns, atol=1e-14)


def test_transposed_keeps_what_is_stored():
    A = Gram(Gaussian(1.2), X, Y)
    A.dense()
    assert_allclose(A.T.dense(), A.dense().T)
    assert Gram(Gaussian(1.2), X).T.shape == (30, 30)


def test_wrong_shapes_are_refused():
    cross = Gram(Gaussian(1.2), X, Y)
    with pytest.raises(ValueError, match="square"):
        Centred(cross)
    with pytest.raises(ValueError, match="square"):
        Shifted(cross, 1.0)
    with pytest.raises(ValueError, match="one alpha"):
        Shifted(Gram(Gaussian(1.2), X), np.ones(18)).dense()
    with pytest.raises(ValueError, match="one column per training row"):
        Centred(Gram(Gaussian(1.2), X)).cross(cross)


def test_every_column_may_have_its_own_shift():
    alpha, V = np.array([0.1, 2.0, 30.0]), X[:, :3]
    assert_allclose(Shifted(Gram(Gaussian(1.2), X), alpha) @ V, K @ V + V * alpha, atol=1e-12)


def test_no_weights_leave_the_operator_as_it_is():
    A = Gram(Gaussian(1.2), X)
    assert scaled(A, None) is A
    assert_allclose(scaled(A, w) @ X, (w[:, None] * K * w) @ X, atol=1e-12)


def test_results_stay_on_the_device():
    device = array_api_strict.Device("device1")
    A = array_api_strict.asarray(X, device=device)
    C = Shifted(Centred(Gram(Gaussian(1.2), A, store=False)), 0.5)
    for got in (C @ A, C.diag(), C.dense(), C.rows([4, 1])):
        assert got.device == device


def test_a_deadline_stops_the_computation_of_the_matrix():
    """Before it the matrix is the same, noise on the diagonal included; after it OutOfTime."""
    kernel = Gaussian(1.2) + White(0.5)
    timed = Gram(kernel, X, deadline=time.perf_counter() + 1e6)
    assert_allclose(timed.dense(), kernel(X), atol=1e-14)
    blocked = Gram(Gaussian(1.2), X, store=False, deadline=time.perf_counter() + 1e6)
    assert_allclose(blocked @ X, K @ X, atol=1e-12)
    for store in (True, False):
        with pytest.raises(OutOfTime):
            Gram(Gaussian(1.2), X, store=store, deadline=time.perf_counter() - 1.0) @ X
