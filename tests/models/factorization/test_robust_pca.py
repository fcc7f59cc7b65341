"""RobustPCA: recovery, agreement with the textbook, new rows, float32, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.solvers.factorization import principal_component_pursuit as pursuit
from kilogram.solvers.factorization.principal_component_pursuit import absolute_scores, shrunk, soft


def rows(n=80, d=50, rank=3, fraction=0.05, seed=0):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return L, np.where(rng.random((n, d)) < fraction, 20 * rng.standard_normal((n, d)), 0.0)


L, S = rows()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wide", [False, True])
def test_low_rank_and_errors_are_recovered(dtype, wide):
    low, errors = (L.T, S.T) if wide else (L, S)
    model = kg.RobustPCA().fit((low + errors).astype(dtype))
    tol = 1e-3 if dtype == np.float64 else 0.05
    np.testing.assert_allclose(model.low_rank_, low, atol=tol)
    np.testing.assert_allclose(model.sparse_, errors, atol=tol)
    assert model.low_rank_.dtype == dtype
    if dtype == np.float64:
        assert model.n_components_ == 3
    sizes = np.linalg.svd(low, compute_uv=False)[:3]
    np.testing.assert_allclose(model.singular_values_[:3], sizes, rtol=1e-3)


def test_many_columns_ask_for_leading_axes_only(monkeypatch):
    monkeypatch.setattr(pursuit, "WIDE", 60)
    low, errors = rows(150, 90, 4, 0.03)
    model = kg.RobustPCA().fit(low + errors)
    assert model.n_components_ == 4
    assert np.abs(model.low_rank_ - low).max() < 1e-2


def test_new_rows_do_not_feel_their_errors():
    model = kg.RobustPCA().fit(L + S)
    rng = np.random.default_rng(1)
    fresh = (
        rng.standard_normal((20, 3))
        @ np.linalg.lstsq(np.eye(3), np.linalg.svd(L, full_matrices=False)[2][:3], rcond=None)[0]
    )
    dirty = fresh + np.where(rng.random(fresh.shape) < 0.1, 5.0, 0.0)
    np.testing.assert_allclose(model.denoise(dirty), fresh, atol=2e-3)
    plain = kg.PCA(3).fit(L)
    assert np.abs(plain.denoise(dirty) - fresh).max() > 0.3
    # a row does not depend on its neighbours
    np.testing.assert_allclose(model.transform(dirty[:1]), model.transform(dirty)[:1], atol=1e-3)


def test_the_penalty_on_errors():
    dear, cheap = (kg.RobustPCA(lam=lam).fit(L + S) for lam in (1.0, 0.02))
    assert (np.abs(dear.sparse_) > 1e-6).sum() < (np.abs(cheap.sparse_) > 1e-6).sum()
    assert dear.n_components_ > cheap.n_components_


def test_the_parts_of_a_step():
    M = L + S
    got, left = shrunk(M, 5.0, 3)
    U, sizes, Vt = np.linalg.svd(M, full_matrices=False)
    np.testing.assert_allclose(got, (U * np.maximum(sizes - 5.0, 0)) @ Vt, atol=1e-8)
    np.testing.assert_allclose(left, sizes[sizes > 5] - 5, atol=1e-8)
    np.testing.assert_array_equal(soft(np.array([-3.0, 0.5, 2.0]), 1.0), [-2.0, 0.0, 1.0])
    V = np.ones((1, 5)) / np.sqrt(5)
    z = absolute_scores(np.array([[1.0, 1.0, 1.0, 1.0, 100.0]]), V)
    assert z[0, 0] == pytest.approx(np.sqrt(5), abs=1e-2)  # the median, not the mean


def test_zeros_time_and_torch():
    zeros = kg.RobustPCA().fit(np.zeros((5, 4)))
    assert zeros.n_components_ == 0
    assert zeros.transform(np.ones((3, 4))).shape == (3, 0)
    with pytest.warns(ConvergenceWarning, match="usable"):
        early = kg.RobustPCA(max_time=1e-9).fit(L + S)
    assert np.isfinite(early.low_rank_).all()
    torch = pytest.importorskip("torch")
    there = kg.RobustPCA().fit(torch.asarray(L + S))
    np.testing.assert_allclose(np.asarray(there.low_rank_), L, atol=1e-3)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"lam": 0.0}, "lam"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.RobustPCA(**params).fit(L)


def test_bad_rows():
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        kg.RobustPCA().fit(sp.csr_array(L))
    with pytest.raises(TypeError, match="memory"):
        kg.RobustPCA().fit([L[:10], L[10:]])
    with pytest.raises(ValueError, match="scores"):
        kg.RobustPCA().fit(L + S).inverse_transform(np.ones((2, 7)))
    with pytest.raises(ValueError, match=r"1 sample|minimum of 2"):
        kg.RobustPCA().fit(L[:1])
