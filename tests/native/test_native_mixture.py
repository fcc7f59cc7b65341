"""The pass of a Gaussian mixture against plain NumPy, at awkward sizes, in both types."""

import numpy as np
import pytest

from kilogram.native.mixture import mixture_pass

SIZES = [(1, 1, 1), (7, 3, 2), (100, 5, 9), (600, 20, 10), (301, 13, 4), (200, 64, 5), (2000, 2, 3)]


def plain(X, means, F, constants, w):
    """log p(x, c), log p(x), p(c | x), the sums, and the weighted log-likelihood."""
    X, diagonal = X.astype(float), F.ndim == 2
    z = X[:, None] - means[None]
    y = z * F if diagonal else np.einsum("kij,nkj->nki", F, z)
    joint = constants - 0.5 * (y**2).sum(axis=2)
    norms = np.logaddexp.reduce(joint, axis=1)
    responsibilities = np.exp(joint - norms[:, None])
    r = responsibilities * w[:, None]
    first = np.einsum("nk,nkd->kd", r, z)
    if diagonal:
        second = np.einsum("nk,nkd->kd", r, z**2)
    else:
        second = np.einsum("nk,nki,nkj->kij", r, z, z).reshape(len(means), -1)
    return joint, norms, responsibilities, np.c_[r.sum(axis=0), first, second], float(w @ norms)


def mixture(n, d, k, dtype, diagonal, apart):
    rng = np.random.default_rng(n)
    means = apart * rng.standard_normal((k, d))
    X = means[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    F = 1 + rng.random((k, d))
    if not diagonal:
        F = np.tril(rng.standard_normal((k, d, d))) / np.sqrt(d) + np.eye(d)
    c, w = rng.standard_normal(k), rng.random(n)
    return [a.astype(dtype) for a in (X, means, F, c, w)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
@pytest.mark.parametrize("apart", [1.0, 8.0])
def test_pass(machine, size, dtype, diagonal, apart):
    X, means, F, c, w = mixture(*size, dtype, diagonal, apart)
    joint, norms, responsibilities, sums, loglik = plain(X, means, F, c, w)
    tol = 1e-10 if dtype == np.float64 else 2e-4
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        got = mixture_pass(x, means, F, c, w, sums=True, norms=True)
        assert got.loglik == pytest.approx(loglik, rel=tol)
        np.testing.assert_allclose(got.norms, norms, rtol=tol, atol=tol * np.abs(norms).max())
        np.testing.assert_allclose(got.sums, sums, rtol=0, atol=tol * np.abs(sums).max())
        asked = mixture_pass(x, means, F, c, responsibilities=True).responsibilities
        np.testing.assert_allclose(asked, responsibilities, rtol=0, atol=50 * tol)
        logs = mixture_pass(x, means, F, c, joint=True).responsibilities
        np.testing.assert_allclose(logs, joint, rtol=0, atol=tol * np.abs(joint).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_from_the_origin(machine, dtype):
    """Sums about the means cost no digits, however far the rows lie."""
    X, means, F, c, w = mixture(500, 4, 3, dtype, False, 4.0)
    far = np.full(4, 4096.0, dtype)
    X, means = (X * 64).round() / 64, (means * 64).round() / 64  # so that the sum is exact
    near = mixture_pass(X, means, F, c, w, sums=True)
    moved = mixture_pass(X + far, means + far, F, c, w, sums=True)
    np.testing.assert_allclose(moved.sums, near.sums, rtol=0, atol=1e-4 * np.abs(near.sums).max())


def test_result_does_not_depend_on_threads(monkeypatch):
    from threadpoolctl import threadpool_limits

    from kilogram.native import buffers

    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    X, means, F, c, w = mixture(5000, 9, 6, np.float64, False, 2.0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(mixture_pass(X, means, F, c, w, sums=True))
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].loglik == found[1].loglik


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_at_the_end_of_the_numbers_stay_finite(machine, dtype):
    """Where every density underflows, its logarithm stops at the last number; no NaN."""
    far = 1e200 if dtype == np.float64 else 1e25
    X = np.array([[far, 0.0], [0.0, 0.0]], dtype)
    got = mixture_pass(X, np.zeros((2, 2)), np.stack([np.eye(2)] * 2), np.log([1.0, 1e-300]))
    assert np.isfinite(got.loglik)
    dead = mixture_pass(
        X[1:], np.zeros((2, 2)), np.ones((2, 2)), np.array([0.0, -np.inf]), responsibilities=True
    )
    np.testing.assert_array_equal(dead.responsibilities, [[1.0, 0.0]])


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="fit together"):
        mixture_pass(np.zeros((3, 2)), np.zeros((2, 3)), np.ones((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="not both"):
        mixture_pass(
            np.zeros((3, 2)),
            np.zeros((2, 2)),
            np.ones((2, 2)),
            np.zeros(2),
            responsibilities=True,
            sums=True,
        )
