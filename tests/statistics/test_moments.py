import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse

from kilogram.statistics import JointMoments, Moments
from tests.arrays.containers import strict
from tests.optional import torch

SHAPES = [(1, 1), (2, 5), (7, 3), (257, 4), (1000, 1)]
FIELDS = ("weight", "mean", "scatter", "mean_y", "cross", "scatter_y")


def data(n, d, t=2, seed=0, mean=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 3, d) + mean
    return X, rng.normal(size=(n, t)) + X[:, :1], rng.random(n)


def direct(X, Y, w):
    """The definitions, in two passes."""
    W = w.sum()
    m, k = w @ X / W, w @ Y / W
    A, B = X - m, Y - k
    return JointMoments(W, m, (w * A.T) @ A, k, (w * A.T) @ B, (w * B.T) @ B)


def assert_same(found, wanted, rtol=1e-10):
    for field in FIELDS:
        if hasattr(found, field):
            a, b = np.asarray(getattr(found, field)), np.asarray(getattr(wanted, field))
            scale = np.abs(b).max() + 1e-300
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=field)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_the_definition(n, d):
    X, Y, w = data(n, d)
    wanted = direct(X, Y, w)
    assert_same(JointMoments.of(X, Y, w), wanted)
    assert_same(Moments.of(X, w), wanted)
    assert_same(JointMoments.of(X, Y), direct(X, Y, np.ones(n)))
    if n > d:
        np.testing.assert_allclose(
            Moments.of(X, w).covariance(), np.cov(X.T, aweights=w, ddof=0).reshape(d, d)
        )
        np.testing.assert_allclose(Moments.of(X).variance(1), X.var(axis=0, ddof=1))


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_sums_of_blocks(n, d, size):
    X, Y, w = data(n, d)
    cuts = range(0, n, size)
    blocks = [JointMoments.of(X[i : i + size], Y[i : i + size], w[i : i + size]) for i in cuts]
    assert_same(sum(blocks), JointMoments.of(X, Y, w))
    assert_same(sum(b.x for b in reversed(blocks)), Moments.of(X, w))
    while len(blocks) > 1:  # a tree of sums, as on a cluster
        blocks = [sum(blocks[i : i + 2]) for i in range(0, len(blocks), 2)]
    assert_same(blocks[0], JointMoments.of(X, Y, w))


def test_an_integer_weight_repeats_the_row():
    X, Y, _ = data(50, 3)
    k = np.random.default_rng(1).integers(0, 4, size=50)
    repeated = JointMoments.of(np.repeat(X, k, axis=0), np.repeat(Y, k, axis=0))
    assert_same(JointMoments.of(X, Y, k), repeated)


@pytest.mark.parametrize("block", [1000, 37, 1])
def test_a_large_mean_costs_no_digits(block):
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(1000, 3)) * 2**10) / 2**10  # Z + 1e8 is exact in float64
    wanted = Moments.of(Z)
    parts = [Moments.of(Z[i : i + block] + 1e8) for i in range(0, 1000, block)]
    found = sum(parts)
    np.testing.assert_allclose(found.covariance(), wanted.covariance(), rtol=1e-6, atol=1e-6)
    # every merged mean is rounded to the 1.5e-8 between floats near 1e8
    np.testing.assert_allclose(found.mean - 1e8, wanted.mean, atol=1e-6)


def test_a_drifting_mean_costs_few_digits():
    # the pilot is the mean of the first rows, which here is far from that of the last
    X = np.linspace(0, 1e6, 10_000)[:, None] + np.random.default_rng(0).normal(size=(10_000, 1))
    np.testing.assert_allclose(Moments.of(X).variance(), X.var(axis=0), rtol=1e-12)


def test_single_precision_is_summed_in_double():
    X, Y, w = (a.astype(np.float32) for a in data(20_000, 3, mean=50.0))
    found = JointMoments.of(X, Y, w)
    assert found.scatter.dtype == found.mean.dtype == found.cross.dtype == np.float64
    assert_same(found, direct(*(a.astype(np.float64) for a in (X, Y, w))), rtol=2e-6)


def test_integers_and_targets_of_one_column():
    X = np.random.default_rng(0).integers(-100, 100, size=(60, 3)).astype(np.int8)
    y = np.arange(60)
    found = JointMoments.of(X, y)
    assert_same(found, direct(X.astype(float), y[:, None].astype(float), np.ones(60)))
    assert found.cross.shape == (3, 1)


@pytest.mark.parametrize("move", [torch.asarray, strict])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_libraries(move, dtype):
    X, Y, w = (a.astype(dtype) for a in data(100, 3, mean=5.0))
    found = JointMoments.of(move(X), move(Y), move(w))
    assert type(found.scatter) is type(move(X))
    rtol = 1e-10 if dtype == np.float64 else 1e-6
    assert_same(found, JointMoments.of(X, Y, w), rtol=rtol)
    halves = [JointMoments.of(move(X[s]), move(Y[s]), move(w[s])) for s in (slice(9), slice(9, 99))]
    assert_same(sum(halves), JointMoments.of(X[:99], Y[:99], w[:99]), rtol=rtol)
    assert_same(Moments.of(move(X)), Moments.of(X), rtol=rtol)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_rows(make):
    X, Y, w = data(80, 6)
    X[np.abs(X) < 1] = 0
    for v in (None, w):
        wanted = JointMoments.of(X, Y, v)
        assert_same(JointMoments.of(make(X), Y, v), wanted)
        assert_same(JointMoments.of(X, make(Y), v), wanted)
        assert_same(JointMoments.of(make(X), make(Y), v), wanted)
        assert_same(Moments.of(make(X), v), wanted)
    assert isinstance(Moments.of(make(X)).scatter, np.ndarray)


def test_rows_taken_away_again():
    X, Y, w = data(90, 4, mean=10.0)
    whole = JointMoments.of(X, Y, w)
    fold = JointMoments.of(X[:30], Y[:30], w[:30])
    assert_same(whole - fold, JointMoments.of(X[30:], Y[30:], w[30:]))
    nothing = whole - whole
    assert nothing.weight == 0
    assert not nothing.scatter.any()
    assert_same(nothing + fold, fold)
    with pytest.raises(ValueError, match="cannot take rows of weight"):
        fold - whole


def test_rows_without_weight_do_not_count():
    X, Y, w = data(20, 3)
    w[:10] = 0
    half = JointMoments.of(X[:10], Y[:10], w[:10])
    assert half.weight == 0
    assert_same(half + JointMoments.of(X[10:], Y[10:], w[10:]), JointMoments.of(X, Y, w))
    assert_same(JointMoments.of(X[10:], Y[10:], w[10:]) + half, JointMoments.of(X, Y, w))


def test_values_are_frozen_and_travel():
    X, Y, w = data(20, 3)
    joint = JointMoments.of(X, Y, w)
    assert_same(pickle.loads(pickle.dumps(joint)), joint)
    with pytest.raises(FrozenInstanceError):
        joint.weight = 1.0
    with pytest.raises(TypeError):
        joint + 3
    with pytest.raises(TypeError):
        joint + joint.x
