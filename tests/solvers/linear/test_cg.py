"""Conjugate gradients, on a matrix and on least squares, and the Nystroem preconditioner."""

import itertools
import time

import numpy as np
import pytest

from kilogram.arrays.namespace import to_numpy
from kilogram.kernels import Gaussian
from kilogram.operators import Gram, Shifted
from kilogram.solvers.linear.cg import cg
from kilogram.solvers.linear.cgls import cgls
from kilogram.solvers.linear.kernel_cg import solve_by_cg
from kilogram.solvers.linear.nystroem_preconditioner import NystroemPreconditioner
from kilogram.solvers.solution import Solution


def spd(n=40, *, cond=1e3, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (Q * np.geomspace(1.0, cond, n)) @ Q.T


def columns(n=40, t=3, seed=1):
    return np.random.default_rng(seed).standard_normal((n, t))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_solves_in_every_library(library):
    xp = pytest.importorskip(library)
    A, B = spd(), columns()
    found = cg(xp.asarray(A), xp.asarray(B), tol=1e-12)
    assert found.converged
    assert type(found.value).__module__.split(".")[0] == library
    np.testing.assert_allclose(to_numpy(found.value), np.linalg.solve(A, B), rtol=1e-8)


def test_one_column_keeps_its_shape():
    A, b = spd(), columns()[:, 0]
    found = cg(A, b, tol=1e-12)
    assert found.value.shape == (40,)
    np.testing.assert_allclose(found.value, np.linalg.solve(A, b), rtol=1e-8)


def test_columns_are_independent():
    A, B = spd(), columns()
    B[:, 1] = 0.0
    B[:, 2] *= 1e12
    found = cg(A, B, tol=1e-10)
    assert np.all(found.value[:, 1] == 0)
    alone = cg(A, B[:, 2], tol=1e-10).value
    np.testing.assert_allclose(found.value[:, 2], alone, rtol=1e-6)


def test_starts_at_the_given_point():
    A, b = spd(), columns()[:, 0]
    exact = np.linalg.solve(A, b)
    assert cg(A, b, x0=exact, tol=1e-8).n_iter == 0


def test_objective_is_that_of_the_value_also_when_stopped():
    A, B = spd(), columns()
    for limit in (0, 1, 7, 400):
        found = cg(A, B, tol=1e-12, max_iter=limit)
        X = found.value
        want = 0.5 * np.sum(X * (A @ X)) - np.sum(B * X)
        assert found.objective == pytest.approx(want, rel=1e-8, abs=1e-10)
        assert found.converged == (limit == 400)


def test_objective_never_rises():
    seen = []
    cg(spd(), columns(), tol=1e-10, callback=lambda step, value: seen.append(value))
    assert len(seen) > 10
    assert all(b <= a + 1e-12 * abs(a) for a, b in itertools.pairwise(seen))


def test_stops_say_why():
    A, B = spd(), columns()
    assert "max_iter=3" in cg(A, B, tol=1e-12, max_iter=3).message
    asked = cg(A, B, tol=1e-12, callback=lambda step, value: step == 2)
    assert asked.n_iter == 2
    assert "callback" in asked.message
    late = cg(A, B, tol=1e-12, deadline=time.perf_counter() - 1.0)
    assert "time" in late.message
    assert "residual" in late.message


def test_indefinite_matrix_is_named():
    found = cg(np.diag([1.0, -1.0]), np.ones(2), tol=1e-12)
    assert not found.converged
    assert "not positive definite" in found.message


def test_preconditioner_saves_steps():
    A, B = spd(cond=1e6), columns()
    plain = cg(A, B, tol=1e-8)
    helped = cg(A, B, tol=1e-8, preconditioner=np.linalg.inv(A + 1e-3 * np.eye(40)))
    assert helped.n_iter < plain.n_iter / 4


@pytest.mark.parametrize("scaled", [False, True])
def test_cgls_is_ridge(scaled):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 12)) * np.geomspace(1, 1e3, 12)
    B, alpha = rng.standard_normal((60, 2)), np.array([0.5, 30.0])
    diagonal = np.sum(A * A, axis=0) if scaled else None
    found = cgls(A, B, alpha, squared_columns=diagonal, tol=1e-12)
    for j in range(2):
        want = np.linalg.solve(A.T @ A + alpha[j] * np.eye(12), A.T @ B[:, j])
        np.testing.assert_allclose(found.value[:, j], want, rtol=1e-6)
    R = B - A @ found.value
    want = np.sum(R**2) + np.sum(alpha * np.sum(found.value**2, axis=0))
    assert found.objective == pytest.approx(want, rel=1e-10)
    stopped = cgls(A, B, alpha, tol=1e-14, max_iter=2)
    assert not stopped.converged
    assert "gradient" in stopped.message


def gram(n=300, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X, Gaussian(1.5)(X)


def test_nystroem_inverts_the_leading_part():
    _, K = gram()
    alpha = 1e-3
    rng = np.random.default_rng(0)
    chosen = rng.choice(300, 80, replace=False)
    M = NystroemPreconditioner.from_columns(K[:, chosen], K[np.ix_(chosen, chosen)], alpha)
    A = K + alpha * np.eye(300)
    product = M @ A
    eigenvalues = np.linalg.eigvals(product).real
    assert eigenvalues.max() / eigenvalues.min() < 1e-2 * np.linalg.cond(A)
    b = rng.standard_normal(300)
    helped = cg(A, b[:, None], preconditioner=M, tol=1e-10)
    assert helped.converged
    assert helped.n_iter < cg(A, b[:, None], tol=1e-10).n_iter / 3


@pytest.mark.parametrize("store", [True, False])
def test_kernel_system_with_weights_and_penalties(store):
    X, K = gram()
    rng = np.random.default_rng(1)
    s, B = rng.random(300), rng.standard_normal((300, 2))
    alpha = [0.1, 2.0]
    found = solve_by_cg(Gram(Gaussian(1.5), X, store=store), B, alpha, scale=s, rng=rng, tol=1e-12)
    for j, a in enumerate(alpha):
        want = np.linalg.solve(s[:, None] * K * s + a * np.eye(300), B[:, j])
        np.testing.assert_allclose(found.value[:, j], want, rtol=1e-7, atol=1e-9)


def test_ridged_takes_one_penalty_per_column():
    V = columns()
    got = Shifted(spd(), np.array([1.0, 2.0, 3.0])) @ V
    np.testing.assert_allclose(got, spd() @ V + V * [1.0, 2.0, 3.0])


def test_solution_is_frozen():
    with pytest.raises(AttributeError):
        Solution(1.0).value = 2.0


def test_a_preconditioner_of_rows_without_weight_is_left_out():
    X, B = np.random.default_rng(0).standard_normal((30, 2)), columns(30, 2)
    scale = np.zeros(30)
    scale[:3] = 1.0
    A = scale[:, None] * Gaussian(1.0)(X) * scale + 0.5 * np.eye(30)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        K = Gram(Gaussian(1.0), X)
        found = solve_by_cg(K, B, [0.5, 0.5], scale=scale, rank=1, rng=rng, tol=1e-10)
        np.testing.assert_allclose(found.value, np.linalg.solve(A, B), atol=1e-8)
