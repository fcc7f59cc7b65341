"""(S K S + alpha I) Z = B: three solvers, one answer, and what happens when a solver is closed."""

import numpy as np
import pytest

from kilogram.arrays.namespace import to_numpy
from kilogram.kernels import FromCallable, Gaussian, Linear, Matern, Precomputed, Sigmoid
from kilogram.solvers.linear import float32_cg as single_cg
from kilogram.solvers.linear import positive_definite as positive
from kilogram.solvers.linear import ridged_gram as kernel_forms
from kilogram.solvers.linear.positive_definite import solve_positive
from kilogram.solvers.linear.ridged_gram import HalfStored, Recomputed, add_diagonal

SOLVERS = ["double", "mixed", "lean"]


def problem(n=230, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, rng.standard_normal((n, t)), rng.random(n)


def residual(K, s, Z, B, alpha):
    s = np.ones(len(K)) if s is None else s
    R = B - (s[:, None] * K * s) @ Z - Z * np.asarray(alpha)
    return np.linalg.norm(R) / np.linalg.norm(B)


@pytest.fixture
def small_panels(monkeypatch):
    """Several panels also at the size of a test."""
    monkeypatch.setattr(kernel_forms, "PANEL", 64)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(1.5), Gaussian(1.0) + 0.5 * Linear()])
@pytest.mark.usefixtures("small_panels")
def test_solvers_reach_float64(solver, weighted, kernel):
    X, B, w = problem()
    s = np.sqrt(w) if weighted else None
    found = solve_positive(kernel, X, B, [0.1, 0.1], scale=s, precision=solver)
    assert found.converged
    assert found.message == ""
    assert residual(kernel(X), s, found.value, B, 0.1) < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.usefixtures("small_panels")
def test_one_penalty_per_column(solver):
    X, B, _ = problem(t=3)
    alpha = [2.0, 0.1, 2.0]
    found = solve_positive(Gaussian(2.0), X, B, alpha, precision=solver)
    assert residual(Gaussian(2.0)(X), None, found.value, B, alpha) < 1e-12


def test_many_penalties_from_one_decomposition():
    X, B, _ = problem(t=15)
    alpha = list(np.geomspace(0.01, 10, 15))
    found = solve_positive(Gaussian(2.0), X, B, alpha)
    assert "decomposition" in found.message
    assert residual(Gaussian(2.0)(X), None, found.value, B, alpha) < 1e-11


@pytest.mark.parametrize("solver", ["mixed", "lean"])
def test_what_float32_cannot_do_is_done_in_float64(solver):
    X, B, _ = problem()
    found = solve_positive(Gaussian(5.0), X, B, [1e-10] * 2, precision=solver)
    assert "float32" in found.message
    assert "solved in float64" in found.message
    K = Gaussian(5.0)(X)
    R = B - K @ found.value - 1e-10 * found.value
    # as small as rounding of a solution of this size lets any residual be
    assert np.abs(R).max() < 1e-14 * np.abs(K).sum(axis=1).max() * np.abs(found.value).max()


def test_rows_far_from_the_origin_keep_their_digits_in_float32():
    X, B, _ = problem()
    found = solve_positive(Gaussian(2.0), X + 1e4, B, [0.1] * 2, precision="lean")
    assert found.message == ""
    assert residual(Gaussian(2.0)(X + 1e4), None, found.value, B, 0.1) < 1e-12


def test_singular_matrix_is_solved_by_least_squares():
    X, B, _ = problem(n=20)
    X = np.vstack([X, X[:5]])
    B = np.vstack([B, B[:5]])
    found = solve_positive(Linear(), X, B, [0.0] * 2)
    assert "least squares" in found.message
    want = np.linalg.pinv(X @ X.T) @ B
    np.testing.assert_allclose(found.value, want, rtol=1e-6, atol=1e-9)


def test_function_that_is_no_kernel():
    X, B, _ = problem(n=50)
    kernel = Sigmoid(gamma=0.5, coef0=-1.0)
    found = solve_positive(kernel, X, B, [0.1] * 2)
    assert residual(kernel(X), None, found.value, B, 0.1) < 1e-10


@pytest.mark.parametrize("solver", ["double", "mixed"])
def test_a_given_matrix_is_left_alone(solver):
    X, B, w = problem()
    K = Gaussian(2.0)(X)
    before = K.copy()
    for kernel in (Precomputed(), FromCallable(lambda A, C: K, on="blocks")):
        if solver == "mixed" and isinstance(kernel, FromCallable):
            continue  # asked for panels, a constant function cannot answer
        solve_positive(kernel, K, B, [0.1] * 2, scale=np.sqrt(w), precision=solver)
        np.testing.assert_array_equal(K, before)


def test_automatic_choice_follows_the_size(monkeypatch):
    X, B, _ = problem()
    assert solve_positive(Gaussian(2.0), X, B, [0.1] * 2).n_iter == 1
    monkeypatch.setattr(positive, "MIXED_FROM", 100)
    assert solve_positive(Gaussian(2.0), X, B, [0.1] * 2).n_iter > 1
    single = solve_positive(Gaussian(2.0), X.astype("f4"), B.astype("f4"), [0.1] * 2)
    assert single.n_iter == 1
    assert single.value.dtype == np.float32


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(library):
    xp = pytest.importorskip(library)
    X, B, w = problem(n=60)
    s = np.sqrt(w)
    found = solve_positive(
        Gaussian(2.0), xp.asarray(X), xp.asarray(B), [0.1] * 2, scale=xp.asarray(s)
    )
    Z = to_numpy(found.value)
    assert residual(Gaussian(2.0)(X), s, Z, B, 0.1) < 1e-12


@pytest.mark.parametrize("n", [1, 63, 64, 65, 230])
@pytest.mark.usefixtures("small_panels")
def test_half_stored_is_the_matrix(n):
    X, _, w = problem(n=n)
    K = np.sqrt(w)[:, None] * Gaussian(2.0)(X) * np.sqrt(w)
    half = HalfStored.of(Gaussian(2.0), X, np.sqrt(w))
    V = np.random.default_rng(2).standard_normal((n, 3))
    np.testing.assert_allclose(half @ V, K @ V, rtol=1e-12, atol=1e-13)
    # exp(-t) of float32 distances: some eps32 (1 + t), with t up to 7
    np.testing.assert_allclose(np.tril(half.single()), np.tril(K).astype("f4"), rtol=4e-6)
    assert sum(P.size for P in half.panels) <= n * (n + 64)
    again = Recomputed(Gaussian(2.0), X, np.sqrt(w))
    np.testing.assert_allclose(again @ V, K @ V, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(again.single(), K, rtol=2e-5)


@pytest.fixture
def early(monkeypatch):
    """Conjugate gradients on the float32 matrix tried at the size of a test."""
    monkeypatch.setattr(single_cg, "ITERATED_FROM", 1)
    monkeypatch.setattr(single_cg, "STEPS", 0.2)


@pytest.mark.parametrize("solver", ["mixed", "lean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [60, 230, 401])
@pytest.mark.usefixtures("early")
def test_iteration_reaches_float64_without_a_factor(solver, weighted, n):
    X, B, w = problem(n=n)
    s = np.sqrt(w) if weighted else None
    found = solve_positive(Gaussian(2.0), X, B, [0.5, 0.5], scale=s, precision=solver)
    assert found.method == "cg"
    assert found.message == ""
    assert residual(Gaussian(2.0)(X), s, found.value, B, 0.5) < 2e-13


@pytest.mark.usefixtures("early")
def test_slow_iteration_gives_way_to_the_factor():
    X, B, _ = problem()
    for alpha in (1e-4, 0.0):
        found = solve_positive(Matern(0.5), X, B, [alpha] * 2, precision="lean")
        assert found.method == ""
        assert residual(Matern(0.5)(X), None, found.value, B, alpha) < 1e-12


@pytest.mark.usefixtures("early")
def test_function_that_is_no_kernel_gives_way_too():
    X, B, _ = problem(n=150)
    kernel = Sigmoid(gamma=0.5, coef0=-1.0)
    found = solve_positive(kernel, X, B, [0.1] * 2, precision="lean")
    assert residual(kernel(X), None, found.value, B, 0.1) < 1e-10


@pytest.mark.usefixtures("early")
def test_columns_of_any_size_and_a_column_of_zeros():
    X, B, _ = problem(t=3)
    B = B * np.array([1e-30, 0.0, 1e30])
    found = solve_positive(Gaussian(2.0), X, B, [0.5] * 3, precision="lean")
    assert found.method == "cg"
    R = B - Gaussian(2.0)(X) @ found.value - 0.5 * found.value
    assert np.all(np.linalg.norm(R, axis=0) <= 2e-13 * np.linalg.norm(B, axis=0))
    assert not found.value[:, 1].any()


@pytest.mark.usefixtures("early")
def test_a_factor_is_used_where_it_is_asked_for():
    X, B, _ = problem()
    found = solve_positive(Gaussian(2.0), X, B, [0.5] * 2, precision="lean", iterate=False)
    assert found.method == ""
    assert residual(Gaussian(2.0)(X), None, found.value, B, 0.5) < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equal_rows_under_a_tiny_penalty_give_the_mean(dtype):
    """The factor succeeds, but its solution is 1e15 where it must cancel to a few digits."""
    X, y = np.ones((1000, 3), dtype=dtype), np.arange(1000, dtype=dtype)[:, None]
    found = solve_positive(Gaussian(1.0), X, y, [1e-13 if dtype == "float64" else 1e-4])
    assert "working precision" in found.message
    f = Gaussian(1.0)(X) @ found.value
    np.testing.assert_allclose(f, np.full_like(f, 499.5), rtol=1e-4 if dtype == "float32" else 1e-8)


def test_an_indefinite_matrix_is_solved_without_its_eigenvectors(monkeypatch):
    monkeypatch.setattr(positive, "eigh", lambda A: pytest.fail("eigenvectors were computed"))
    X, B, w = problem()
    kernel = Sigmoid(gamma=0.2, coef0=1.0)
    found = solve_positive(kernel, X, B, [0.1] * 2, scale=np.sqrt(w))
    assert "not positive definite" in found.message
    assert residual(kernel(X), np.sqrt(w), found.value, B, 0.1) < 1e-11


@pytest.mark.parametrize("order", ["C", "F"])
def test_add_diagonal_in_every_memory_order(order):
    K = np.array(np.arange(9.0).reshape(3, 3), order=order)
    want = K + 2.0 * np.eye(3)
    found = add_diagonal(K, 2.0)
    np.testing.assert_array_equal(found, want)
    assert found is K
