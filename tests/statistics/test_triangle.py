import pickle

import numpy as np
import pytest
import scipy.sparse

from kilogram.arrays.rows import reduce_rows
from kilogram.statistics import Moments, Triangle
from tests.arrays.containers import strict
from tests.optional import torch

SHAPES = [(1, 1), (2, 5), (7, 3), (9001, 4)]


def data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 1.0, rng.normal(size=(n, 2)), rng.random(n)


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("block_rows", [None, 1000, 3])
def test_the_gram_matrix_of_the_columns(n, d, block_rows):
    X, Y, w = data(min(n, 500) if block_rows == 3 else n, d)
    found = reduce_rows(Triangle.of, X, w, block_rows=block_rows)
    assert found.R.shape == (min(X.shape), d)
    assert found.weight == pytest.approx(w.sum())
    np.testing.assert_array_equal(found.R, np.triu(found.R))
    assert (np.diag(found.R) >= 0).all()
    np.testing.assert_allclose(found.R.T @ found.R, (w * X.T) @ X, atol=1e-9 * len(X))
    joint = reduce_rows(Triangle.joint, X, Y, w, block_rows=block_rows)
    A = np.hstack([X, Y])
    np.testing.assert_allclose(joint.R.T @ joint.R, (w * A.T) @ A, atol=1e-9 * len(X))


def test_least_squares_without_squaring_the_condition():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(300, 5)))[0], np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = U * np.logspace(0, -9, 5) @ V
    b = np.arange(1.0, 6.0)
    R = sum(Triangle.joint(X[i : i + 50], (X @ b)[i : i + 50]) for i in range(0, 300, 50)).R
    np.testing.assert_allclose(np.linalg.solve(R[:5, :5], R[:5, 5]), b, rtol=1e-5)
    S = Moments.of(X)  # the moments cannot: the square of 1e-9 is below their rounding
    assert np.linalg.cond(S.scatter) > 1e15


@pytest.mark.parametrize("move", [torch.asarray, strict, scipy.sparse.csr_array])
def test_other_kinds_of_rows(move):
    X, _, w = data(60, 4)
    v = w if move is scipy.sparse.csr_array else move(w)
    found = Triangle.of(move(X), v) + Triangle.of(move(X), v)
    np.testing.assert_allclose(
        np.asarray(found.R), (Triangle.of(X, w) + Triangle.of(X, w)).R, atol=1e-10
    )


def test_an_integer_weight_repeats_the_row_and_float32_is_summed_in_double():
    X, _, _ = data(30, 3)
    k = np.random.default_rng(1).integers(0, 4, size=30)
    np.testing.assert_allclose(Triangle.of(X, k).R, Triangle.of(np.repeat(X, k, axis=0)).R)
    assert Triangle.of(X.astype(np.float32)).R.dtype == np.float64


def test_it_travels_and_adds_only_to_its_kind():
    one = Triangle.of(np.eye(3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).R, one.R)
    assert 0 + one is one
    with pytest.raises(TypeError):
        one + 1
