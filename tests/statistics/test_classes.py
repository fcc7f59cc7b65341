"""Moments by class: against ten plain lines, far apart, merged, weighted, in other libraries."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from kilogram.statistics.classes import ClassMoments


def plain(X, codes, w, K):
    W = np.array([w[codes == c].sum() for c in range(K)])
    M = np.stack([w[codes == c] @ X[codes == c] / W[c] for c in range(K)])
    R = X - M[codes]
    return W, M, (R * w[:, None]).T @ R


def rows(n=97, d=4, K=3, apart=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % K
    centres = apart * rng.standard_normal((K, d))
    return (
        centres[codes] + rng.standard_normal((n, d)) + 5,
        codes,
        rng.integers(1, 4, n).astype(float),
    )


@pytest.mark.parametrize("apart", [0.0, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("weighted", [False, True])
def test_plain(apart, weighted):
    X, codes, w = rows(apart=apart)
    W, M, S = plain(X, codes, w if weighted else np.ones(len(X)), 3)
    found = ClassMoments.of(X, codes, w if weighted else None, n_classes=3)
    np.testing.assert_allclose(found.weights, W)
    np.testing.assert_allclose(found.means, M, rtol=1e-9, atol=1e-12 * (1 + apart))
    np.testing.assert_allclose(found.within, S, rtol=1e-6, atol=1e-5 * np.abs(S).max())


def test_sum_of_parts():
    X, codes, w = rows()
    whole = ClassMoments.of(X, codes, w, n_classes=3)
    cuts = [0, 1, 2, 40, 97]  # the first parts lack some classes
    parts = [
        ClassMoments.of(X[a:b], codes[a:b], w[a:b], n_classes=3)
        for a, b in itertools.pairwise(cuts)
    ]
    total = sum(parts)
    for name in ("weights", "means", "within", "mean", "between"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), atol=1e-9)


def test_total_is_within_plus_between():
    X, codes, _ = rows()
    found = ClassMoments.of(X, codes, n_classes=3)
    centred = X - X.mean(0)
    np.testing.assert_allclose(found.within + found.between, centred.T @ centred, atol=1e-9)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_libraries(library):
    xp = pytest.importorskip(library)
    X, codes, w = rows()
    want = ClassMoments.of(X, codes, w, n_classes=3)
    found = ClassMoments.of(xp.asarray(X), codes, xp.asarray(w), n_classes=3)
    np.testing.assert_allclose(np.asarray(found.within), want.within, atol=1e-9)


def test_sparse():
    X, codes, w = rows()
    found = ClassMoments.of(sp.csr_array(X), codes, w, n_classes=3)
    want = ClassMoments.of(X, codes, w, n_classes=3)
    np.testing.assert_allclose(found.within, want.within, atol=1e-8)
    np.testing.assert_allclose(found.means, want.means)
