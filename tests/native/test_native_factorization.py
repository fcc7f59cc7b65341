"""The native passes of matrix factors against their plain textbook versions, at awkward sizes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.native.factorization import (
    HalfUpdateRule,
    extrapolate,
    factor_gram,
    factor_pass,
    factor_sparse,
    factor_sweep,
    pad_rows,
    sparse_times,
)
from kilogram.native.simd import set_simd_level, simd_level, simd_levels
from kilogram.solvers.factorization.fast_ica import Contrast, plain_sums
from kilogram.solvers.factorization.nmf_half_updates import Parts, plain_half
from kilogram.solvers.factorization.nmf_tables import improve_components

SHAPES = [(1, 1, 1), (7, 3, 2), (64, 9, 5), (65, 33, 6), (200, 70, 13)]
RULES = [
    HalfUpdateRule("cd", 3, l1=0.1, l2=0.2),
    HalfUpdateRule("mu", 2, l1=0.1, l2=0.2),
    HalfUpdateRule("poisson", 2, l1=0.1, l2=0.2, floor=1e-12),
]


def rows(n, d, k, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, 0.0, 3 * rng.random((n, d)))
    W, H, s = rng.random((n, k)), rng.random((k, d)), rng.random(n) + 0.1
    W[: n // 2, 0] = 0.0
    return [a.astype(dtype) for a in (X, W, H, s)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", RULES, ids=[r.update for r in RULES])
@pytest.mark.parametrize("missing", [False, True])
def test_a_pass_over_dense_rows(shape, rule, dtype, missing):
    X, W, H, s = rows(*shape, dtype)
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    parts = Parts.of(H, rule)
    for order in (np.ascontiguousarray, np.asfortranarray):
        got = W.copy()
        A, gram = np.empty_like(H), np.empty((len(H), len(H) + 1))
        terms = factor_pass(
            order(X), got, H, parts.B, parts.c, rule, s=s, missing=missing, A=A, gram=gram
        )
        wide = [a.astype(np.float64) for a in (X, W, H)]
        want = plain_half(wide[0], wide[1], s, Parts.of(wide[2], rule), rule, missing)
        tol = 1e-9 if dtype == np.float64 else 2e-3
        np.testing.assert_allclose(got, want.W[0], rtol=tol, atol=tol)
        np.testing.assert_allclose(A, want.A, rtol=10 * tol, atol=10 * tol)
        np.testing.assert_allclose(gram, want.gram, rtol=10 * tol, atol=10 * tol)
        if rule.update == "cd":  # the others tell the largest relative change of a tile
            assert terms.violation == pytest.approx(want.violation, rel=20 * tol, abs=20 * tol)
        if rule.update != "poisson" or missing:
            measured = want.loss if rule.update != "poisson" else terms.loss
            assert terms.loss == pytest.approx(measured, rel=20 * tol, abs=20 * tol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("rule", RULES, ids=[r.update for r in RULES])
def test_a_pass_over_sparse_rows(rule, index, dtype):
    for shape in SHAPES:
        X, W, H, _ = rows(*shape, dtype)
        parts, C = Parts.of(H, rule), sp.csr_array(X)
        C.indices, C.indptr = C.indices.astype(index), C.indptr.astype(index)
        got = pad_rows(W)
        terms = factor_sparse(C, got, pad_rows(H.T), parts.B, parts.c, rule)
        want = plain_half(X, W, None, parts, rule)
        tol = 1e-9 if dtype == np.float64 else 5e-3
        np.testing.assert_allclose(got[:, : len(H)], want.W[0], rtol=tol, atol=tol)
        assert (got[:, len(H) :] == 0).all()
        if rule.update == "cd":
            assert terms.violation == pytest.approx(want.violation, rel=20 * tol, abs=20 * tol)


def test_measured_losses_are_of_the_factors_as_they_came():
    X, W, H, s = rows(70, 11, 3, np.float64)
    for rule, loss in (
        (RULES[0], ((X - W @ H) ** 2).sum(axis=1)),
        (
            RULES[2],
            (np.where(X > 0, X * np.log(np.where(X > 0, X, 1) / (W @ H)), 0) - X + W @ H).sum(1),
        ),
    ):
        parts = Parts.of(H, rule)
        got = factor_pass(X, W.copy(), H, parts.B, parts.c, rule, s=s, measure=True)
        assert got.loss == pytest.approx(float(s @ loss), rel=1e-10)


def test_sweeps_over_components():
    X, W, H, _ = rows(50, 130, 4, np.float64)
    A, B, got = W.T @ X, W.T @ W, H.copy()
    terms = factor_sweep(got, A, B, 2, 0.3)
    want = H.copy()
    for _ in range(2):
        for j in range(4):
            want[j] = np.maximum(0, want[j] - (B[j] @ want - A[j] + 0.3) / B[j, j])
    np.testing.assert_allclose(got, want, rtol=1e-10)
    value = 0.5 * np.sum(want * (B @ want)) - np.sum(A * want) + 0.3 * want.sum()
    assert terms.loss == pytest.approx(value)
    again, _, reached = improve_components(
        H, A, np.c_[B, W.sum(axis=0)], HalfUpdateRule("cd", 2, l1=0.3)
    )
    np.testing.assert_allclose(again, want, rtol=1e-10)
    assert reached == pytest.approx(value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_contrasts(fun, dtype):
    rng = np.random.default_rng(0)
    for n, d, k in ((1, 1, 1), (64, 3, 2), (131, 9, 9)):
        Z, M = (rng.standard_normal(shape).astype(dtype) for shape in ((n, d), (k, d)))
        contrast = Contrast(fun, 1.5 if fun == "logcosh" else 1.0)
        got, want = contrast.sums(Z, M), plain_sums(contrast, Z.astype(float), M)
        tol = 1e-9 if dtype == np.float64 else 2e-3
        for name in ("G", "slope", "value"):
            np.testing.assert_allclose(
                getattr(got, name), getattr(want, name), rtol=tol, atol=tol * n
            )


def test_every_instruction_set_agrees():
    X, W, H, s = rows(150, 37, 6, np.float64)
    before, found = simd_level(), []
    try:
        for level in simd_levels():
            set_simd_level(level)
            got, parts = W.copy(), Parts.of(H, RULES[0])
            A = np.empty_like(H)
            factor_pass(X, got, H, parts.B, parts.c, RULES[0], s=s, A=A)
            sums = Contrast("logcosh").sums(X, H)
            found.append((got, A, sums.G, sums.slope))
    finally:
        set_simd_level(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_misfits_are_refused():
    X, W, H, _ = rows(10, 4, 2, np.float64)
    parts = Parts.of(H, RULES[0])
    with pytest.raises((ValueError, TypeError)):
        factor_pass(X, W[:5].copy(), H, parts.B, parts.c, RULES[0])
    with pytest.raises((ValueError, TypeError)):
        factor_pass(X[:, :3], W, H, parts.B, parts.c, RULES[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_begin_elsewhere_are_left_as_they_are(dtype):
    for rule in RULES:
        X, W, H, _ = rows(130, 40, 7, dtype)
        parts, C = Parts.of(H, rule), sp.csr_array(X)
        here, F = pad_rows(W), pad_rows(H.T)
        start, there = here.copy(), np.full_like(here, 0.5)
        there[:, 7:] = 0.0
        a = factor_sparse(C, here, F, parts.B, parts.c, rule)
        b = factor_sparse(C, there, F, parts.B, parts.c, rule, start=start, value=False)
        np.testing.assert_array_equal(there, here)
        np.testing.assert_array_equal(start, pad_rows(W))
        assert a.violation == b.violation
        assert b.loss == 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 11, 20, 37, 70])
def test_products_of_padded_rows(dtype, k):
    """Squares beside sums, products with sparse rows, a run ahead: as NumPy does."""
    rng = np.random.default_rng(k)
    tol = 1e-12 if dtype == np.float64 else 1e-5
    for n in (1, 2, 127, 129, 1000):
        F, s = rng.random((n, k)).astype(dtype), rng.random(n).astype(dtype)
        wide = F.astype(np.float64)
        for by in (None, s):
            sF = wide if by is None else wide * s[:, None].astype(float)
            want = np.c_[sF.T @ wide, sF.sum(axis=0)]
            np.testing.assert_allclose(factor_gram(pad_rows(F), k, by), want, rtol=10 * tol)
        X = sp.csr_array(np.where(rng.random((9, n)) < 0.3, rng.random((9, n)), 0.0).astype(dtype))
        buffer = pad_rows(np.ones((9, k), dtype))
        got = sparse_times(X, pad_rows(F), buffer)[:, :k]
        np.testing.assert_allclose(got, X.toarray() @ F, rtol=30 * tol, atol=tol)
        before = pad_rows(rng.random((n, k)).astype(dtype))
        want = np.maximum(0, F + 0.7 * (F - before[:, :k]))
        np.testing.assert_allclose(
            extrapolate(pad_rows(F), before, 0.7, before)[:, :k], want, rtol=30 * tol, atol=tol
        )


def test_misfits_of_padded_rows_are_refused():
    X, F = sp.csr_array(np.eye(4)), pad_rows(np.ones((4, 3)))
    with pytest.raises((ValueError, TypeError)):
        sparse_times(X, F, np.empty((3, F.shape[1])))
    with pytest.raises((ValueError, TypeError)):
        factor_gram(F, F.shape[1] + 1)
    with pytest.raises((ValueError, TypeError)):
        extrapolate(F, F[:2].copy(), 0.5, F.copy())
