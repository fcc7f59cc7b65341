"""Leading eigenpairs: right, orthonormal, with multiplicity, in every library, stopped in time."""

import time

import numpy as np
import pytest

from kilogram.arrays.namespace import to_numpy
from kilogram.solvers.eigen import eigenpairs, full, leading, prefers_full, subspace_iteration


def decaying(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = 1.0 / np.arange(1, n + 1) ** power
    return (Q * values) @ Q.T, values, Q


class ProductOnly:
    """An operator that gives nothing but products, and counts them."""

    def __init__(self, A):
        self.A, self.products = A, 0

    @property
    def shape(self):
        return self.A.shape

    def __matmul__(self, V):
        self.products += 1
        return self.A @ V


SIZES = [(1, 1), (2, 1), (7, 3), (40, 40), (60, 7), (300, 10), (600, 40)]


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_leading_pairs(n, k):
    A, values, Q = decaying(n)
    found = leading(A, k)
    theta, V = found.value
    assert found.converged
    assert V.shape == (n, k)
    np.testing.assert_allclose(theta, values[:k], rtol=1e-10)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(V * Q[:, :k], axis=0)), 1, atol=1e-9)
    assert found.objective == pytest.approx(values[:k].sum())


def test_only_products_are_needed_and_few():
    A, values, _ = decaying(2000, power=1.5)
    operator = ProductOnly(A)
    theta, _ = leading(operator, 10).value
    np.testing.assert_allclose(theta, values[:10], rtol=1e-10)
    assert operator.products <= 15


def test_multiple_eigenvalues_come_with_their_multiplicity():
    A = np.diag([3.0] * 40 + [1.0] * 200)
    np.testing.assert_allclose(leading(A, 45).value[0], [3.0] * 40 + [1.0] * 5, rtol=1e-12)


@pytest.mark.parametrize("A", [np.zeros((50, 50)), np.eye(50), np.diag([5.0, 1.0] + [0.0] * 60)])
def test_low_rank(A):
    found = leading(A, 4)
    assert found.converged
    theta, V = found.value
    np.testing.assert_allclose(theta, np.sort(np.diag(A))[::-1][:4], atol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)


def test_largest_not_largest_in_size():
    A = np.diag(np.concatenate([[-1000.0], np.linspace(0, 1, 300) ** 4]))
    np.testing.assert_allclose(leading(A, 3).value[0], np.sort(np.diag(A))[::-1][:3], rtol=1e-9)


def test_restarts_of_a_flat_spectrum():
    rng = np.random.default_rng(1)
    B = rng.standard_normal((700, 700))
    A = B @ B.T
    found = leading(A, 5)
    assert found.n_iter > 10  # the basis was full before
    np.testing.assert_allclose(found.value[0], np.linalg.eigvalsh(A)[::-1][:5], rtol=1e-11)


def test_float32_stays_float32():
    A, values, _ = decaying(400)
    theta, V = leading(A.astype(np.float32), 5).value
    assert theta.dtype == V.dtype == np.float32
    np.testing.assert_allclose(theta, values[:5], rtol=1e-5)


@pytest.mark.parametrize("which", ["torch", "array_api_strict"])
def test_other_libraries(which):
    xp = pytest.importorskip(which)
    A, values, _ = decaying(150)
    theta, V = leading(xp.asarray(A), 4).value
    assert type(theta).__module__.split(".")[0] == which
    np.testing.assert_allclose(to_numpy(theta), values[:4], rtol=1e-10)
    assert V.shape == (150, 4)


def test_same_random_numbers_same_result():
    A, _, _ = decaying(400)
    one, two = (leading(A, 3, rng=np.random.default_rng(5)).value[1] for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_good_start_saves_steps():
    A, _, Q = decaying(1000)
    assert leading(A, 8, start=Q[:, :8]).n_iter < leading(A, 8).n_iter


def test_max_iter_leaves_pairs_and_says_how_far_they_are():
    A, values, _ = decaying(1000)
    found = leading(A, 5, max_iter=2)
    assert not found.converged
    assert "max_iter=2" in found.message
    assert "residual" in found.message
    np.testing.assert_allclose(found.value[0], values[:5], rtol=0.5)


def test_deadline_and_callback_stop():
    A, _, _ = decaying(1000)
    late = leading(A, 40, deadline=time.perf_counter() - 1)
    assert not late.converged
    assert late.value[1].shape == (1000, 40)  # as many steps as 40 directions take
    seen = []

    def callback(step, value):
        seen.append((step, value))
        return step == 3

    found = leading(A, 5, callback=callback)
    assert not found.converged
    assert [step for step, _ in seen] == [1, 2, 3]
    assert seen[0][1] <= seen[1][1] <= seen[2][1] + 1e-12  # Ritz values never fall


@pytest.mark.parametrize("normaliser", ["auto", "QR", "LU", "none"])
def test_subspace_iteration(normaliser):
    A, values, _ = decaying(500, power=1.0)
    operator = ProductOnly(A)
    found = subspace_iteration(operator, 5, n_iter=7, normaliser=normaliser)
    assert operator.products == 9
    np.testing.assert_allclose(found.value[0], values[:5], rtol=1e-5)
    np.testing.assert_allclose(found.value[1].T @ found.value[1], np.eye(5), atol=1e-12)


def test_subspace_iteration_stops():
    A, _, _ = decaying(300)
    found = subspace_iteration(A, 3, deadline=time.perf_counter() - 1)
    assert not found.converged
    assert "0 of 4" in found.message
    assert found.value[1].shape == (300, 3)


@pytest.mark.parametrize("k", [None, 3, 150])
def test_both_solvers_of_eigenpairs(k):
    A, values, _ = decaying(260)
    np.testing.assert_allclose(eigenpairs(A, k).value[0], values[:k], rtol=1e-9)
    np.testing.assert_allclose(full(A, k).value[0], values[:k], rtol=1e-9)


def test_choice_of_solver():
    assert prefers_full(64, 10)
    assert prefers_full(5000, None)
    assert prefers_full(1000, 500)
    assert not prefers_full(5000, 10)


@pytest.mark.parametrize("block", [8, 16])
def test_low_rank_keeps_the_basis_orthonormal(block):
    """Once the rank is used up, what is left of a block is rounding: it must not enter as it is."""
    X = np.repeat(np.random.default_rng(0).normal(size=(31, 5)), 30, axis=0)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    found = leading(K, 3, block=block, max_iter=40)
    assert found.converged
    assert found.n_iter < 20
    values, vectors = found.value
    np.testing.assert_allclose(values, np.linalg.eigvalsh(K)[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


def test_nothing_but_rounding_is_soon_found():
    """Of a matrix that is zero up to the rounding of its products, no pair need be refined."""
    noise = np.random.default_rng(1).normal(size=(600, 600)) * 1e-16
    found = leading(noise + noise.T, 3, block=8, floor=1e-12, max_iter=50)
    assert found.converged
    assert found.n_iter <= 3


def test_equal_eigenvalues_are_all_found():
    """199 equal eigenvalues: LAPACK's ?syevr returns none of the two that are asked for."""
    n = 200
    B = np.full((n, n), -0.5 / n)
    B[np.diag_indices(n)] += 0.5
    values, vectors = full(B, 2).value
    np.testing.assert_allclose(values, 0.5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-12)
