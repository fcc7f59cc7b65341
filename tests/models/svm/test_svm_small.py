"""All binary problems in one call equal block SMO; slow or interruptible ones are left to it."""

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.models.svm import svc_solver
from kilogram.native.svm import BinaryProblems, solve_binary_problems
from kilogram.solvers.smo import BlockOptions, StoredRows, certify, soft_margin, solve_block


def data(n=120, k=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return (rng.standard_normal((n, 4)) + 0.9 * y[:, None]).astype(dtype), y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("slack", [1, 2])
def test_binary_problems_equal_block_smo(slack, dtype):
    X, y = data(150, 3)
    K = kg.Gaussian(1.5)(X).astype(dtype)
    C = np.random.default_rng(1).uniform(0.2, 5.0, 150)
    ats = [np.flatnonzero(y != 0), np.arange(150)[::-1].copy(), np.array([3, 4])]
    signs = [np.where(y[at] == 1, 1.0, -1.0) for at in ats]
    signs[2] = np.array([1.0, -1.0])
    start = np.concatenate([[0], np.cumsum([len(a) for a in ats])])
    at = np.concatenate(ats)
    problems = BinaryProblems(at, start, np.concatenate(signs), C[at])
    b, results = solve_binary_problems(K, problems, slack=slack, tol=1e-8, visits=1000)
    for k, (rows, sign) in enumerate(zip(ats, signs, strict=True)):
        square = K[np.ix_(rows, rows)].astype(float)
        P = soft_margin(sign, C[rows], slack=slack)
        mine = b[start[k] : start[k + 1]]
        assert abs(mine.sum()) < 1e-10
        assert ((mine >= P.lower) & (mine <= P.upper)).all()
        want = certify(P, mine, square @ mine)
        steps, bias, objective, gap, violation = results[k]
        np.testing.assert_allclose([bias, objective, gap], want[:3], rtol=1e-7, atol=1e-8)
        assert violation <= 1e-8
        assert violation == pytest.approx(want.violation, abs=1e-10)
        assert steps > 0
        found = solve_block(StoredRows(square), P, BlockOptions(tol=1e-8))
        best = certify(P, *found.value)
        assert objective == pytest.approx(best.objective, rel=1e-6)
        assert bias == pytest.approx(best.bias, abs=1e-5)


@pytest.mark.parametrize("params", [
    {}, {"kernel": "linear"}, {"slack": 2}, {"multi_class": "ovr"}, {"kernel": "precomputed"},
    {"class_weight": "balanced"}, {"kernel": "callable"}, {"kernel": "poly", "C": 0.01},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [3, 4])
def test_models_equal_those_of_block_smo(k, dtype, params, monkeypatch):
    X, y = data(90, k, dtype)
    w = np.random.default_rng(2).integers(0, 3, 90).astype(float)
    if params.get("kernel") == "callable":
        params = {**params, "kernel": lambda A, B: np.exp(-0.1 * np.abs(A[:, None] - B).sum(-1))}
    if params.get("kernel") == "precomputed":
        X = (X @ X.T + 1.0).astype(dtype)
    calls = []
    solve = svc_solver.fit_at_once
    monkeypatch.setattr(svc_solver, "fit_at_once", lambda *a: calls.append(1) or solve(*a))
    small = kg.SVC(tol=1e-5, **params).fit(X, y, w)
    assert calls
    monkeypatch.setattr(svc_solver, "fit_at_once", lambda *a: None)
    block = kg.SVC(tol=1e-5, **params).fit(X, y, w)
    assert small.objective_ == pytest.approx(block.objective_, rel=1e-4)
    assert vars(small).keys() == vars(block).keys()
    for name in ("dual_coef_", "intercept_", "support_", "n_iter_"):
        assert getattr(small, name).dtype == getattr(block, name).dtype
    f, g = small.decision_function(X), block.decision_function(X)
    np.testing.assert_allclose(f, g, atol=2e-3)


def test_sparse_rows_and_warm_starts():
    X, y = data()
    dense, sparse = kg.SVC().fit(X, y), kg.SVC().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(X), atol=1e-3)
    warm = kg.SVC(warm_start=True, tol=1e-6).fit(X, y)
    again = warm.n_iter_.sum()
    assert warm.fit(X, y).n_iter_.sum() < 0.2 * again


def test_slow_interruptible_and_hard_margin_fits_use_block_smo(monkeypatch):
    X, y = data(80, 3, seed=3)
    want = kg.SVC(tol=1e-6, C=100.0).fit(X, y)
    monkeypatch.setattr(svc_solver, "VISITS", 0)
    slow = kg.SVC(tol=1e-6, C=100.0).fit(X, y)
    assert slow.objective_ == pytest.approx(want.objective_, rel=1e-5)
    problems = "solve_binary_problems"
    monkeypatch.setattr(svc_solver, problems, lambda *a, **k: pytest.fail("not for this"))
    kg.SVC(max_time=60.0).fit(X, y)
    kg.SVC().fit(X[y < 2], y[y < 2])  # one problem needs no call for several
    with pytest.warns(UserWarning, match="max_iter"):
        kg.SVC(max_iter=5).fit(X, y)
    kg.SVC(C=np.inf).fit(np.array([[0.0], [1.0], [3.0], [4.0], [7.0]]), [0, 0, 1, 1, 2])
