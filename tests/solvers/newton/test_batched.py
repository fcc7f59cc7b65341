"""Batched Newton equals one machine at a time."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.functions.hinge_losses import Hinge, Tube
from kilogram.models.svm import linear_solvers
from kilogram.solvers.newton.batched import minimise_together
from kilogram.solvers.newton.curvature import Task
from kilogram.solvers.newton.design import ArrayDesign
from kilogram.solvers.newton.newton import GapStop, minimise


def problem(loss, dtype, n=150, d=6, t=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(dtype)
    Y = X.astype(float) @ rng.standard_normal((d, t)) + rng.standard_normal((n, t))
    return X, np.where(Y > 0.5, 1.0, -1.0) if isinstance(loss, Hinge) else Y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("loss", [Hinge(), Tube(epsilon=0.1), Tube(epsilon=0.0)], ids=str)
def test_equals_one_machine_at_a_time(loss, intercept, dtype):
    X, Y = problem(loss, dtype)
    c = np.random.default_rng(1).uniform(0.01, 3.0, len(X))
    penalty = np.append(np.ones(6), intercept)
    design, stop = ArrayDesign(X, 1.5), GapStop(1e-10, 200)
    start = np.zeros((4, 7))
    found = minimise_together(design, Y, Task(Y[:, 0], c, penalty, loss), stop, start)
    for j, one in enumerate(found):
        want = minimise(design, Task(np.ascontiguousarray(Y[:, j]), c, penalty, loss), stop)
        assert one.converged
        tol = 1e-4 if dtype == np.float32 else 1e-7  # products of float32 rows are rounded there
        np.testing.assert_allclose(one.value.w, want.value.w, rtol=tol, atol=tol)
        assert one.value.objective == pytest.approx(want.value.objective, rel=1e-6)
        assert one.value.gap <= 1e-9 * one.value.objective
        assert one.n_iter >= 1


def test_stops_at_the_limit_and_reports_the_gap():
    X, Y = problem(Hinge(), np.float64)
    task = Task(Y[:, 0], np.full(150, 10.0), np.ones(7), Hinge())
    found = minimise_together(ArrayDesign(X, 1.0), Y, task, GapStop(1e-12, 1), np.zeros((4, 7)))
    assert all("max_iter" in one.message and not one.converged for one in found)
    stop = GapStop(1e-12, 100, lambda step, value: step >= 2)
    found = minimise_together(ArrayDesign(X, 1.0), Y, task, stop, np.zeros((4, 7)))
    assert all(one.n_iter == 2 and "time" in one.message for one in found)


@pytest.mark.parametrize("k", [2, 3])
def test_linear_svc_of_few_rows_is_batched_with_the_same_solution(k, monkeypatch):
    X, _ = problem(Hinge(), np.float64)
    y = np.digitize(X[:, 0] + X[:, 1], [0.0] if k == 2 else [-0.7, 0.7])
    w = np.random.default_rng(3).integers(0, 3, 150).astype(float)
    few = kg.LinearSVC(tol=1e-9, C=3.0).fit(X, y, w)
    monkeypatch.setattr(linear_solvers, "minimise_together", lambda *a: pytest.fail("few rows"))
    monkeypatch.setattr(linear_solvers, "is_small", lambda X: False)
    many = kg.LinearSVC(tol=1e-9, C=3.0).fit(X, y, w)
    np.testing.assert_allclose(few.coef_, many.coef_, atol=1e-6)
    np.testing.assert_allclose(few.intercept_, many.intercept_, atol=1e-6)
    assert few.objective_ == pytest.approx(many.objective_, rel=1e-9)
