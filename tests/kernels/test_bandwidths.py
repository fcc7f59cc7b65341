"""Widths given by a rule, and kernels as searchable parameters."""

from __future__ import annotations

import tracemalloc

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kilogram.kernels import (
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Stretched,
)
from tests.optional import torch

X = np.random.default_rng(0).standard_normal((80, 3)) * [1.0, 2.0, 5.0]


def test_median_is_over_distinct_pairs():
    assert Gaussian("median").resolve(X).sigma == pytest.approx(np.median(pdist(X)))
    assert Matern(0.5, "median").resolve(X).length_scale == pytest.approx(np.median(pdist(X)))
    assert RationalQuadratic("median", 2.0).resolve(X) == RationalQuadratic(
        pytest.approx(np.median(pdist(X))), 2.0
    )
    l1 = np.median(pdist(X, "cityblock"))
    assert Laplacian("median").resolve(X).sigma == pytest.approx(l1)


def test_median_of_many_rows_is_taken_on_a_fixed_sample():
    many = np.random.default_rng(1).standard_normal((5000, 4))
    sigma = Gaussian("median").resolve(many).sigma
    assert sigma == Gaussian("median").resolve(many).sigma
    assert sigma == pytest.approx(np.median(pdist(many[:2000])), rel=0.05)


def test_equal_rows_have_no_median_to_give():
    assert Gaussian("median").resolve(np.ones((10, 2))).sigma == 1.0
    assert Gaussian("median").resolve(np.ones((1, 2))).sigma == 1.0
    mostly = np.vstack([np.zeros((9, 1)), [[4.0]]])
    assert Gaussian("median").resolve(mostly).sigma == 4.0


def test_scale_is_the_rule_of_support_vector_machines():
    want = 1.0 / (X.shape[1] * X.var())
    assert Gaussian(gamma="scale").resolve(X).gamma == pytest.approx(want)
    assert Laplacian(gamma="scale").resolve(X).gamma == pytest.approx(want)
    assert Gaussian(gamma="scale").resolve(X + 1e6).gamma == pytest.approx(want, rel=1e-6)
    assert Gaussian(gamma="scale").resolve(np.ones((5, 2))).gamma == 1.0


@pytest.mark.parametrize(
    "wrap",
    [
        torch.asarray,
        scipy.sparse.csr_array,
        lambda A: da.from_array(A, chunks=(20, 3)),
        lambda A: [A[:30], A[30:]],
    ],
    ids=["torch", "sparse", "dask", "blocks"],
)
@pytest.mark.parametrize("kernel", [Gaussian("median"), Gaussian(gamma="scale"), Gaussian()])
def test_rules_read_every_container(wrap, kernel):
    want, got = kernel.resolve(X), kernel.resolve(wrap(X))
    assert_allclose(got.rate(3), want.rate(3), rtol=1e-10)


def test_none_is_one_over_the_number_of_columns():
    assert Gaussian().resolve(X) == Gaussian(gamma=1 / 3)
    assert Laplacian().resolve(X) == Laplacian(gamma=1 / 3)
    assert Polynomial(2).resolve(X) == Polynomial(2, gamma=1 / 3)
    assert Sigmoid().resolve(X) == Sigmoid(gamma=1 / 3)


def test_numbers_resolve_to_themselves():
    for kernel in (Gaussian(2.0), Laplacian(2.0), Matern(), RationalQuadratic(), Linear()):
        assert kernel.resolve(X) is kernel


def test_resolve_reaches_the_parts():
    kernel = 2.0 * (Gaussian("median") + OnColumns(Laplacian(), [0, 2])) * Linear()
    fixed = kernel.resolve(X)
    assert fixed.left.kernel.left.sigma == pytest.approx(np.median(pdist(X)))
    assert fixed.left.kernel.right.kernel == Laplacian(gamma=0.5)
    assert np.isfinite(fixed(X)).all()


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="sigma must be a float or one of"):
        Gaussian("mean").resolve(X)
    with pytest.raises(ValueError, match="gamma must be a float or one of"):
        Laplacian(gamma="auto").resolve(X)
    with pytest.raises(ValueError, match="length_scale must be"):
        Matern(1.5, "scale").resolve(X)


class Smoother(RegressorMixin, BaseEstimator):
    """Kernel ridge in three lines, for searches over its kernel."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.kernel_, self.X_ = self.kernel.resolve(X), X
        self.a_ = np.linalg.solve(self.kernel_(X) + 1e-3 * np.eye(len(X)), y)
        return self

    def predict(self, X):
        return self.kernel_.matmul(X, self.X_, self.a_)


def test_search_over_a_width_and_over_nested_kernels():
    y = np.sin(X[:, 0])
    search = GridSearchCV(Smoother(Gaussian()), {"kernel__sigma": [1e-3, 2.0, "median"]}, cv=3)
    assert search.fit(X, y).best_params_["kernel__sigma"] != 1e-3
    kernel = OnColumns(Gaussian(), [0]) + Linear()
    grid = {"kernel__left__kernel__sigma": [1e-3, 1.0], "kernel__right": [Linear(), Polynomial(2)]}
    best = GridSearchCV(Smoother(kernel), grid, cv=3).fit(X, y).best_params_
    assert best["kernel__left__kernel__sigma"] == 1.0
    assert kernel.left.kernel.sigma is None


def test_set_params_on_the_algebra():
    kernel = 3.0 * (Gaussian(1.0) + Matern())
    copy = clone(kernel).set_params(kernel__left__sigma=5.0, factor=2.0)
    assert copy == 2.0 * (Gaussian(5.0) + Matern())
    assert kernel.kernel.left.sigma == 1.0
    assert repr(copy.kernel) == "Sum(left=Gaussian(sigma=5.0), right=Matern())"


def test_a_kernel_serves_scikit_learns_own_machines():
    y = X[:, 0] > 0
    assert SVC(kernel=Gaussian(2.0), C=10).fit(X, y).score(X, y) > 0.9


def test_kernels_do_not_mix_with_other_things():
    with pytest.raises(TypeError):
        Gaussian(1.0) + 2.0
    with pytest.raises(TypeError):
        Gaussian(1.0) * "a"
    assert Gaussian(1.0) != 3
    assert FromCallable(np.dot) == FromCallable(np.dot)
    assert OnColumns(Linear(), np.arange(2)) == OnColumns(Linear(), [0, 1])
    assert OnColumns(Linear(), np.arange(2)) != OnColumns(Linear(), [0, 2])


def test_wide_sparse_rows_are_not_written_out():
    wide = scipy.sparse.random_array((400, 200_000), density=1e-4, rng=np.random.default_rng(0))
    wide = wide.tocsr()
    tracemalloc.start()
    try:
        gamma = Gaussian(gamma="scale").resolve(wide).gamma
        sigma = Gaussian("median").resolve(wide).sigma
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    mean, squares = wide.sum() / wide.shape[0] / wide.shape[1], wide.multiply(wide).mean()
    assert gamma == pytest.approx(1.0 / (200_000 * (squares - mean**2)))
    assert sigma > 0
    assert peak < 100 * 2**20


@pytest.mark.parametrize("value", [{}, object, [], np.array([1.0, 2.0]), "wide", -1, np.nan, 2j])
@pytest.mark.parametrize(
    "kernel",
    [
        lambda v: Gaussian(v),
        lambda v: Gaussian(gamma=v),
        lambda v: Laplacian(v),
        lambda v: Matern(v),
        lambda v: Matern(1.5, v),
        lambda v: RationalQuadratic(alpha=v),
        lambda v: Polynomial(v),
        lambda v: Polynomial(2, gamma=v),
        lambda v: Stretched(Gaussian(1.0), v),
        lambda v: OnColumns(Linear(), v),
    ],
)
def test_what_is_no_width_is_named(kernel, value):
    """A dict was compared with 0, an array with a string."""
    made = kernel(value)
    with pytest.raises(ValueError, match=r"(must|is one number|has nu|needs)"):
        made.resolve(X)(X)


def test_kernels_are_scaled_by_numbers_of_any_type():
    for factor in (2, 2.0, np.float32(2), np.int64(2)):
        assert_allclose((factor * Gaussian(1.0))(X), 2 * Gaussian(1.0)(X))
