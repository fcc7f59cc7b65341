"""Falkon: the minimum on centres, stored or streamed, with weights and an offset."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.kernels import Gaussian
from kilogram.solvers.linear.falkon import StoredColumns, StreamedColumns, falkon

KERNEL, N, M, ALPHA = Gaussian(1.5), 200, 25, 0.3


def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    Y = np.sin(X[:, :2]) + 0.1 * rng.standard_normal((N, 2)) + 1.0
    return X, X[:M], Y, rng.integers(0, 4, N).astype(float)


def minimum(X, Z, Y, w, fit_intercept):
    """c and b of the normal equations, written out."""
    w = np.ones(len(X)) if w is None else w
    K, K_mm = KERNEL(X, Z), KERNEL(Z)
    mean_k = w @ K / w.sum() if fit_intercept else np.zeros(len(Z))
    mean_y = w @ Y / w.sum() if fit_intercept else np.zeros(Y.shape[1])
    K = K - mean_k
    c = np.linalg.solve(K.T @ (w[:, None] * K) + ALPHA * K_mm, K.T @ (w[:, None] * (Y - mean_y)))
    return c, mean_y - mean_k @ c


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["stored", "streamed", "sparse", "torch"])
def test_reaches_the_minimum_on_the_centres(fit_intercept, weighted, form):
    X, Z, Y, w = problem()
    w = w if weighted else None
    c, b = minimum(X, Z, Y, w, fit_intercept)
    if form == "stored":
        columns, K_mm = StoredColumns(KERNEL(X, Z), w), KERNEL(Z)
    elif form == "streamed":
        columns, K_mm = StreamedColumns(KERNEL, X, Z, w), KERNEL(Z)
    elif form == "sparse":
        columns, K_mm = StreamedColumns(KERNEL, sp.csr_array(X), sp.csr_array(Z), w), KERNEL(Z)
    else:
        torch = pytest.importorskip("torch")
        X, Z, Y = torch.asarray(X), torch.asarray(Z), torch.asarray(Y)
        w = None if w is None else torch.asarray(w)
        columns, K_mm = StreamedColumns(KERNEL, X, Z, w), KERNEL(Z)
    found = falkon(columns, K_mm, Y, w, ALPHA, fit_intercept=fit_intercept, tol=1e-12)
    assert found.converged
    got_c, got_b = (np.asarray(v.tolist()) for v in found.value)
    K = KERNEL(*(np.asarray(v.tolist()) if form == "torch" else v for v in (X, Z)))
    np.testing.assert_allclose(K @ got_c + got_b, K @ c + b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("limit", [2, 100])
def test_objective_also_when_stopped(limit):
    X, Z, Y, w = problem()
    K, K_mm = KERNEL(X, Z), KERNEL(Z)
    found = falkon(
        StoredColumns(K, w), K_mm, Y, w, ALPHA, fit_intercept=True, tol=1e-10, max_iter=limit
    )
    c, b = found.value
    loss = np.sum(w[:, None] * (Y - K @ c - b) ** 2)
    want = loss + ALPHA * np.sum(c * (K_mm @ c))
    if limit == 2:
        assert not found.converged
        # the offset is the best one for these c, as in the objective that is minimised
        assert found.objective == pytest.approx(want, rel=1e-8)
    else:
        assert found.objective == pytest.approx(want, rel=1e-8)


def test_float32_columns_are_close():
    X, Z, Y, w = problem()
    exact = falkon(StoredColumns(KERNEL(X, Z), w), KERNEL(Z), Y, w, ALPHA, fit_intercept=False)
    K = KERNEL(X.astype("f4"), Z.astype("f4"))
    single = falkon(StoredColumns(K, w.astype("f4")), KERNEL(Z), Y, w, ALPHA, fit_intercept=False)
    K, K_mm = KERNEL(X, Z), KERNEL(Z)
    objectives = []
    for c in (exact.value[0], single.value[0]):
        r = Y - K @ c
        objectives.append(np.sum(w[:, None] * r * r) + ALPHA * np.sum(c * (K_mm @ c)))
    # rounding of K moves c where the centres are almost dependent, not the objective
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-3)


def test_time_is_kept():
    X, Z, Y, w = problem()
    found = falkon(
        StoredColumns(KERNEL(X, Z), w),
        KERNEL(Z),
        Y,
        w,
        ALPHA,
        fit_intercept=True,
        deadline=time.perf_counter() - 1.0,
    )
    assert not found.converged
    assert np.isfinite(found.value[0]).all()
