"""LSQR, CGLS and multi-shift conjugate gradients, against dense solutions."""

import numpy as np
import pytest

from kilogram.solvers.linear.cgls import cgls
from kilogram.solvers.linear.lsqr import lsqr
from kilogram.solvers.linear.multishift_cg import shifted

rng = np.random.default_rng(0)
A, B = rng.standard_normal((60, 20)), rng.standard_normal((60, 3))


def test_lsqr_ends_at_the_least_squares_solution():
    found = lsqr(A, B, tol=1e-12)
    want = np.linalg.lstsq(A, B, rcond=None)[0]
    np.testing.assert_allclose(found.value.X, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.value.residuals, np.linalg.norm(B - A @ want, axis=0))
    assert found.converged


def test_lsqr_takes_the_solution_of_smallest_norm():
    found = lsqr(A.T, B[:20], tol=1e-12)
    np.testing.assert_allclose(found.value.X, np.linalg.pinv(A.T) @ B[:20], atol=1e-10)


@pytest.mark.parametrize("preconditioned", [True, False])
def test_cgls_ends_at_the_ridge_solution_of_each_target(preconditioned):
    alpha = np.array([0.1, 1.0, 10.0])
    squares = (A**2).sum(axis=0)
    found = cgls(A, B, alpha, squared_columns=squares, preconditioned=preconditioned, tol=1e-12)
    for t, a in enumerate(alpha):
        want = np.linalg.solve(A.T @ A + a * np.eye(20), A.T @ B[:, t])
        np.testing.assert_allclose(found.value[:, t], want, rtol=1e-8, atol=1e-12)


def test_all_shifts_are_solved_at_once(monkeypatch):
    monkeypatch.setattr("kilogram.solvers.linear.multishift_cg.TOLERANCE", 1e-12)
    shifts = np.array([0.5, 5.0, 50.0])
    found = shifted(lambda V: A @ (A.T @ V), B, shifts)
    for X, shift in zip(found, shifts, strict=True):
        want = np.linalg.solve(A @ A.T + shift * np.eye(60), B)
        np.testing.assert_allclose(X, want, rtol=1e-6, atol=1e-9)
