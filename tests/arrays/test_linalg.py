"""Linear algebra over NumPy, torch and array-api-strict."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from kilogram.arrays import linalg
from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import to_numpy

rng = np.random.default_rng(0)


def _strict(A):
    return pytest.importorskip("array_api_strict").asarray(A)


def _torch(A):
    return pytest.importorskip("torch").asarray(A)


@pytest.fixture(params=[np.asarray, _torch, _strict], ids=["numpy", "torch", "strict"])
def wrap(request):
    return request.param


def positive(n):
    X = rng.normal(size=(n, n + 2))
    return X @ X.T / n + np.eye(n)


@pytest.mark.parametrize("full", [False, True])
def test_scatter(wrap, full):
    X = rng.normal(size=(50, 4))
    w, c = (rng.uniform(size=50), rng.normal(size=4)) if full else (np.ones(50), np.zeros(4))
    Z = X - c
    S, s = linalg.scatter(wrap(X), *((wrap(w), wrap(c)) if full else (None, None)))
    np.testing.assert_allclose(to_numpy(S), Z.T @ (Z * w[:, None]), atol=1e-12)
    np.testing.assert_allclose(to_numpy(s), w @ Z, atol=1e-12)


@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array]
)
def test_scatter_of_sparse_rows(form):
    X = rng.normal(size=(60, 5)) * (rng.uniform(size=(60, 5)) < 0.3)
    w, c = rng.uniform(size=60), rng.normal(size=5)
    for args in [(), (w,), (w, c), (None, c)]:
        for found, exact in zip(
            linalg.scatter(form(X), *args), linalg.scatter(X, *args), strict=True
        ):
            assert isinstance(found, np.ndarray)
            np.testing.assert_allclose(found, exact, atol=1e-12)


def test_cholesky(wrap):
    A = positive(30)
    L = linalg.cholesky(wrap(A))
    np.testing.assert_allclose(to_numpy(L), np.linalg.cholesky(A), atol=1e-12)
    B = rng.normal(size=(30, 2))
    np.testing.assert_allclose(
        to_numpy(linalg.cholesky_solve(L, wrap(B))), np.linalg.solve(A, B), atol=1e-11
    )
    np.testing.assert_allclose(
        to_numpy(linalg.cholesky_solve(L, wrap(B[:, 0]))), np.linalg.solve(A, B[:, 0]), atol=1e-11
    )
    np.testing.assert_allclose(
        to_numpy(linalg.solve_triangular(L, wrap(B), transposed=True)),
        np.linalg.solve(to_numpy(L).T, B),
        atol=1e-11,
    )


def test_cholesky_overwrites_only_on_request():
    A = positive(300)
    before = A.copy()
    L = linalg.cholesky(A)
    np.testing.assert_array_equal(A, before)
    M = linalg.cholesky(A, overwrite=True)
    assert M is A
    np.testing.assert_array_equal(L, M)
    np.testing.assert_array_equal(np.triu(L, 1), 0)
    frozen = before.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(linalg.cholesky(frozen, overwrite=True), L)


def test_cholesky_of_indefinite(wrap):
    A = positive(20)
    A[11, 11] = -5
    with pytest.raises(NotPositiveDefinite) as caught:
        linalg.cholesky(wrap(A))
    assert caught.value.order in (12, 0)  # 0: the library does not say
    if wrap is np.asarray:
        assert caught.value.order == 12
        assert "order 12" in str(caught.value)


def test_eigh_largest_first(wrap):
    A = positive(25)
    values, vectors = map(to_numpy, linalg.eigh(wrap(A)))
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-11)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (10, 9), (7, 7), (5, 0), (1, 3)])
def test_svd_and_qr(wrap, shape):
    X = rng.normal(size=shape)
    if min(shape) == 0 and wrap is not np.asarray:
        pytest.skip("other libraries refuse empty matrices")
    k = min(shape)
    U, s, Vt = map(to_numpy, linalg.svd(wrap(X)))
    assert U.shape == (shape[0], k)
    assert Vt.shape == (k, shape[1])
    np.testing.assert_allclose(U * s @ Vt, X, atol=1e-12)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(X, compute_uv=False), atol=1e-12)
    Q, R = map(to_numpy, linalg.qr(wrap(X)))
    np.testing.assert_allclose(Q @ R, X, atol=1e-12)
    np.testing.assert_allclose(np.tril(R[:, :k], -1), 0)


def test_float32_stays():
    A = positive(12).astype(np.float32)
    assert linalg.cholesky(A).dtype == np.float32
    assert linalg.eigh(A)[1].dtype == np.float32
    assert linalg.svd(A)[0].dtype == np.float32
    assert linalg.scatter(A)[0].dtype == np.float64


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 57, 200])
def test_solve_symmetric_of_an_indefinite_matrix(n, dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n)).astype(dtype)
    A, B = A + A.T, rng.standard_normal((n, 2)).astype(dtype)
    X = linalg.solve_symmetric(A.copy(), B)
    assert X.dtype == dtype
    far = np.linalg.norm(A @ X - B) / (np.linalg.norm(A) * np.linalg.norm(X))
    assert far < 10 * np.finfo(dtype).eps


def test_solve_symmetric_refuses_singular_matrices():
    A, B = np.ones((5, 5)), np.ones((5, 1))
    assert linalg.solve_symmetric(A.copy(), B) is None
    assert linalg.solve_symmetric(A + 1e-17 * np.diag(range(5)), B) is None
    assert linalg.solve_symmetric(np.zeros((3, 3)), B[:3]) is None
