"""Every kernel: its formula, diagonal, symmetry, positivity, products, types and libraries."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import pairwise

from kilogram.kernels import (
    AllSubsets,
    Chi2,
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    White,
    as_kernel,
    check_psd,
    check_symmetric,
    is_psd,
)
from tests.kernels.zoo import ALL, FORMULAS, naive, rows
from tests.optional import torch

every = pytest.mark.parametrize("name", ALL)


@every
def test_formula_equals_two_loops(name):
    kernel, formula = ALL[name]
    X, Y = rows(name, 23), rows(name, 17, seed=1)
    assert_allclose(kernel(X, Y), naive(formula, X, Y), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(X), naive(formula, X, X), rtol=1e-12, atol=1e-12)


@every
def test_gram_is_symmetric_with_exact_diagonal(name):
    kernel, _ = ALL[name]
    X = rows(name, 31)
    K = kernel(X)
    check_symmetric(K, tol=0.0 if kernel.stationary else None)
    assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-13, atol=1e-13)
    if kernel.stationary:
        assert np.all(np.diag(K) == kernel.at_zero)


@pytest.mark.parametrize("name", FORMULAS)
def test_gram_is_positive_semidefinite(name):
    kernel, _ = FORMULAS[name]
    for seed in range(3):
        check_psd(kernel(rows(name, 40, seed=seed)))


@pytest.mark.parametrize(
    "wrap", [lambda k: k + k, lambda k: k * k, lambda k: 3 * k, lambda k: k * 0]
)
@pytest.mark.parametrize("name", FORMULAS)
def test_algebra_keeps_positivity(name, wrap):
    kernel, _ = FORMULAS[name]
    check_psd(wrap(kernel)(rows(name, 25)))


@every
@pytest.mark.parametrize("shape", [(), (1,), (5,)])
def test_matmul_equals_gram_times_vector(name, shape):
    kernel, _ = ALL[name]
    X, Y = rows(name, 40), rows(name, 27, seed=1)
    V = np.random.default_rng(2).standard_normal((27, *shape))
    U = np.random.default_rng(3).standard_normal((40, *shape))
    assert_allclose(kernel.matmul(X, Y, V), kernel(X, Y) @ V, rtol=1e-10, atol=1e-10)
    assert_allclose(kernel.matmul(X, None, U), kernel(X) @ U, rtol=1e-10, atol=1e-10)


@every
def test_blocks_of_rows_give_the_same_product(name, monkeypatch):
    kernel, _ = ALL[name]
    X, Y = torch.asarray(rows(name, 40)), torch.asarray(rows(name, 27, seed=1))
    V = torch.asarray(np.random.default_rng(2).standard_normal((27, 3)))
    monkeypatch.setattr("kilogram.kernels.row_pairs.BLOCK_ENTRIES", 100)
    assert_allclose(kernel.matmul(X, Y, V), kernel(X, Y) @ V, rtol=1e-10, atol=1e-10)


@every
@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_library_agrees_with_numpy(name, library, dtype):
    kernel, _ = ALL[name]
    X, Y = rows(name, 12).astype(dtype), rows(name, 9, seed=1).astype(dtype)
    A, B = library.asarray(X), library.asarray(Y)
    tol = 1e-11 if dtype == "float64" else 2e-5
    for got, want in [
        (kernel(A, B), kernel(X, Y)),
        (kernel(A), kernel(X)),
        (kernel.diag(A), kernel.diag(X)),
        (kernel.matmul(A, B, B), kernel.matmul(X, Y, Y)),
    ]:
        assert type(got) is type(A)
        assert got.dtype == A.dtype
        assert_allclose(np.asarray(got), want, rtol=tol, atol=tol)


@every
def test_float32_stays_float32(name):
    kernel, formula = ALL[name]
    X = rows(name, 20).astype(np.float32)
    K = kernel(X)
    assert K.dtype == np.float32
    assert kernel.diag(X).dtype == np.float32
    assert_allclose(K, naive(formula, X.astype(float), X.astype(float)), rtol=2e-5, atol=2e-5)


@every
@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_sparse_equals_dense(name, make):
    kernel, _ = ALL[name]
    X, Y = rows(name, 15, d=6), rows(name, 11, d=6, seed=1)
    X[np.abs(X) < 0.7] = 0.0
    Y[np.abs(Y) < 0.7] = 0.0
    tol = {"rtol": 1e-11, "atol": 1e-11}
    X[0, 0] = Y[0, 0] = 1.0
    assert_allclose(kernel(make(X), make(Y)), kernel(X, Y), **tol)
    assert_allclose(kernel(make(X)), kernel(X), **tol)
    assert_allclose(kernel(make(X), Y), kernel(X, Y), **tol)
    assert_allclose(kernel.diag(make(X)), kernel.diag(X), **tol)
    assert_allclose(kernel.matmul(make(X), make(Y), Y), kernel.matmul(X, Y, Y), **tol)


@every
def test_awkward_layouts(name):
    kernel, _ = ALL[name]
    X = rows(name, 20, d=8)
    assert_allclose(kernel(np.asfortranarray(X)), kernel(X), rtol=1e-12)
    assert_allclose(kernel(X[::3]), kernel(np.ascontiguousarray(X[::3])), rtol=1e-12)
    assert_allclose(kernel(X[:1]), kernel(X)[:1, :1], rtol=1e-12)
    assert kernel(X[:0], X).shape == (0, 20)


@every
def test_kernels_are_values(name):
    kernel, _ = ALL[name]
    assert clone(kernel) == kernel
    assert clone(kernel) is not kernel
    assert kernel != Gaussian(17.0)
    assert type(kernel).__name__ in repr(kernel)


@pytest.mark.parametrize("name", [n for n, (k, _) in ALL.items() if k.stationary])
def test_stationary_kernels_ignore_a_shift(name):
    kernel, _ = ALL[name]
    X, Y = rows(name, 12), rows(name, 9, seed=1)
    assert_allclose(kernel(X + 1e4, Y + 1e4), kernel(X, Y), rtol=0, atol=1e-10)
    A, B = torch.asarray(X + 1e4), torch.asarray(Y + 1e4)
    assert_allclose(kernel(A, B), kernel(X, Y), rtol=0, atol=1e-10)


def test_near_points_do_not_become_nan():
    X = np.full((3, 5), 0.1) + np.asarray([[0.0], [1e-9], [1e-8]])
    for kernel in (Gaussian(1e-8), Matern(0.5, 1e-8), RationalQuadratic(1e-8)):
        K = kernel(X)
        assert np.isfinite(K).all()
        assert (K >= 0).all()
        assert (K <= 1).all()


def test_two_rows_give_a_number():
    assert Linear()([1.0, 2.0], [3.0, 4.0]) == 11.0
    assert isinstance(Gaussian(1.0)([0.0], [1.0]), float)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("linear", {}),
        ("rbf", {}),
        ("rbf", {"gamma": 0.3}),
        ("poly", {"gamma": 0.3, "degree": 2, "coef0": 0.5}),
        ("polynomial", {}),
        ("laplacian", {"gamma": 0.2}),
        ("laplacian", {}),
        ("sigmoid", {"gamma": 0.2, "coef0": 0.1}),
        ("cosine", {}),
        ("chi2", {"gamma": 0.4}),
        ("additive_chi2", {}),
    ],
)
def test_names_mean_what_scikit_learn_means(name, params):
    X, Y = np.abs(rows(name, 14)), np.abs(rows(name, 10, seed=1))
    want = pairwise.pairwise_kernels(X, Y, metric=name, filter_params=True, **params)
    assert_allclose(as_kernel(name, **params)(X, Y), want, rtol=1e-10)


def test_as_kernel_takes_objects_functions_and_refuses_the_rest():
    kernel = Gaussian(2.0)
    assert as_kernel(kernel) is kernel
    assert isinstance(as_kernel(np.dot), FromCallable)
    assert as_kernel("matern", params={"nu": 0.5}) == Matern(0.5)
    with pytest.raises(ValueError, match="unknown kernel 'rbff'"):
        as_kernel("rbff")
    with pytest.raises(ValueError, match="on the kernel itself"):
        as_kernel(kernel, gamma=2.0)
    with pytest.raises(TypeError, match="kernel must be"):
        as_kernel(3)


def test_precomputed_is_the_table_itself():
    K = Gaussian(1.0)(rows("x", 6))
    assert_allclose(Precomputed()(K), K)
    assert_allclose(Precomputed()(K[:2], K), K[:2])
    assert_allclose(Precomputed().diag(K), np.ones(6))
    with pytest.raises(ValueError, match="one column per training row"):
        Precomputed()(K[:2])


def test_callables_of_rows_and_of_blocks():
    X = rows("x", 7)
    calls = []

    def k(x, y, power=1):
        calls.append(1)
        return (x @ y) ** power

    assert_allclose(FromCallable(k, params={"power": 2})(X), (X @ X.T) ** 2)
    assert len(calls) == 28  # pairs i <= j
    blocks = FromCallable(lambda A, B: A @ B.T, on="blocks")
    assert_allclose(blocks(X), X @ X.T)
    assert_allclose(blocks.diag(X), (X * X).sum(axis=1))
    with pytest.raises(ValueError, match="'rows' or 'blocks'"):
        FromCallable(k, on="cells")(X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(1.0, gamma=1.0), "not both"),
        (Gaussian(-1.0), "sigma must be"),
        (Gaussian([1.0, 2.0, 3.0]), "Stretched"),
        (Gaussian(gamma=float("nan")), "gamma must be"),
        (Gaussian("median"), "resolve"),
        (Gaussian(gamma="scale"), "resolve"),
        (Laplacian(0.0), "sigma must be"),
        (Matern(2.0), "nu in"),
        (Matern(1.5, -1.0), "length_scale"),
        (RationalQuadratic(alpha=0.0), "alpha"),
        (Polynomial(2, coef0=-1.0), "coef0"),
        (Polynomial(2.5), "integer"),
        (Linear() * -2.0, "factor >= 0"),
        (OnColumns(Linear(), [9]), "columns must name"),
        (OnColumns(Linear(), []), "columns must name"),
        (Chi2(), "entries >= 0"),
    ],
)
def test_wrong_parameters_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(rows("x", 5))


def test_rows_of_different_length_are_refused():
    with pytest.raises(ValueError, match="one length"):
        Gaussian(1.0)(np.ones((2, 3)), np.ones((2, 4)))


def test_checks_of_gram_matrices():
    K = Gaussian(1.0)(rows("x", 10))
    assert is_psd(K)
    assert not is_psd(-K)
    lopsided = K.copy()
    lopsided[2, 7] += 1.0
    with pytest.raises(ValueError, match=r"\(2, 7\)"):
        check_symmetric(lopsided)
    with pytest.raises(ValueError, match="square"):
        check_symmetric(K[:4])
    with pytest.raises(ValueError, match="smallest eigenvalue"):
        check_psd(K - np.eye(10))
    assert is_psd(torch.asarray(K))


def test_all_subsets_overflow_is_infinite_not_nan():
    K = AllSubsets()(np.full((2, 400), 10.0))
    assert np.isinf(K).all()


@every
def test_results_stay_on_the_device(name):
    device = array_api_strict.Device("device1")
    kernel, _ = ALL[name]
    X, Y = rows(name, 8), rows(name, 5, seed=1)
    A, B = array_api_strict.asarray(X, device=device), array_api_strict.asarray(Y, device=device)
    for got in (kernel(A, B), kernel(A), kernel.diag(A), kernel.matmul(A, B, B)):
        assert got.device == device
    if kernel.has_features:
        assert kernel.features(A).device == device


def test_white_noise_is_that_of_one_table():
    """k(X) has noise, k(X, Y) none, whether Y is X itself or a copy."""
    X = rows("gaussian", 20)
    kernel = White(0.5) + Gaussian(1.0)
    np.testing.assert_allclose(kernel(X) - Gaussian(1.0)(X), 0.5 * np.eye(len(X)), atol=1e-12)
    V = X[:, :2]
    for Y in (X, X.copy()):
        np.testing.assert_allclose(kernel(X, Y), Gaussian(1.0)(X, Y), atol=1e-12)
        np.testing.assert_allclose(kernel.matmul(X, Y, V), Gaussian(1.0)(X) @ V, atol=1e-9)
