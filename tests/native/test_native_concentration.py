"""Concentration steps against a plain NumPy loop."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram.native.concentration import determinant_steps


def plain(X, h, m, C, steps):
    kept = np.zeros(len(X), dtype=bool)
    for _ in range(steps):
        Z = X - m
        D = (np.linalg.solve(C, Z.T).T * Z).sum(axis=1)
        now = np.zeros(len(X), dtype=bool)
        now[np.argsort(D, kind="stable")[:h]] = True
        if (now == kept).all():
            break
        kept, m = now, X[now].mean(axis=0)
        C = np.cov(X[now].T, bias=True).reshape(C.shape)
    return m, C, kept


@pytest.mark.parametrize(("n", "d"), [(7, 1), (30, 2), (101, 5), (64, 8)])
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_equals_the_plain_loop(n, d, steps):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[: n // 4] += 10.0
    h = (n + d + 2) // 2
    starts = [X[rng.choice(n, d + 3, replace=False)] for _ in range(6)]
    m = np.array([part.mean(axis=0) for part in starts])
    C = np.array([np.cov(part.T, bias=True).reshape(d, d) for part in starts])
    before = m.copy()
    means, covariances, kept, logdet = determinant_steps(X.T, h, m, C, steps=steps)
    np.testing.assert_array_equal(m, before)
    for k in range(6):
        mean, covariance, mask = plain(X, h, m[k], C[k], steps)
        np.testing.assert_array_equal(kept[k], mask)
        np.testing.assert_allclose(means[k], mean, atol=1e-10)
        np.testing.assert_allclose(covariances[k], covariance, atol=1e-9)
        np.testing.assert_allclose(logdet[k], np.linalg.slogdet(covariance)[1], atol=1e-8)


def test_equal_rows_have_a_singular_covariance_and_overflow_is_no_smallest_one():
    X = np.vstack([np.ones((8, 2)), np.random.default_rng(0).normal(size=(4, 2))])
    m, C = np.ones((1, 2)), np.zeros((1, 2, 2))
    means, _, kept, logdet = determinant_steps(X.T, 7, m, C, steps=5)
    assert kept[0, :8].sum() == 7  # the first of those at the same distance
    np.testing.assert_allclose(means[0], 1.0)
    assert logdet[0] == -np.inf
    far = np.vstack([X, [[1e300, -1e300]]])
    _, _, kept, _ = determinant_steps(far.T, 9, m, np.eye(2)[None], steps=5)
    assert not kept[0, -1]
    _, _, _, logdet = determinant_steps(far.T, 13, m, np.eye(2)[None], steps=1)
    assert logdet[0] == np.inf


def test_refuses_other_shapes():
    with pytest.raises(ValueError, match="h must be"):
        determinant_steps(np.ones((2, 5)), 6, np.ones((1, 2)), np.ones((1, 2, 2)), steps=1)
    with pytest.raises(ValueError, match="h must be"):
        determinant_steps(np.ones((2, 5)), 3, np.ones((1, 3)), np.ones((1, 2, 2)), steps=1)
