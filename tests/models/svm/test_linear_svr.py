"""LinearSVR: beside scikit-learn and its kernel twin."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

from kilogram.models.svm.linear_svr import LinearSVR
from kilogram.models.svm.svr import SVR

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def rows(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    return X, X @ rng.standard_normal(d) + 2.0 + 0.5 * rng.standard_normal(n)


def objective(model, X, y):
    xi = np.maximum(0.0, np.abs(y - X @ model.coef_ - model.intercept_[0]) - model.epsilon)
    w = np.append(model.coef_, model.intercept_[0])
    return 0.5 * w @ w + model.C * np.sum(xi if model.loss == LOSSES[0] else xi**2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_reaches_scikit_learns_optimum(loss, epsilon, C):
    X, y = rows()
    params = {"loss": loss, "epsilon": epsilon, "C": C, "tol": 1e-6}
    ours = LinearSVR(**params).fit(X, y)
    theirs = sklearn.svm.LinearSVR(**params, max_iter=500_000, dual=loss == LOSSES[0]).fit(X, y)
    assert ours.objective_ <= objective(theirs, X, y) * (1 + 1e-6)
    assert ours.objective_ == pytest.approx(objective(ours, X, y), rel=1e-9)
    assert ours.objective(X, y) == pytest.approx(ours.objective_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=0.05)


@pytest.mark.parametrize("loss", LOSSES)
def test_all_solvers_meet(loss):
    X, y = rows()
    params = {"loss": loss, "epsilon": 0.1, "tol": 1e-5}
    want = LinearSVR(**params).fit(X, y)
    for table in (X, sp.csr_array(X), X.astype(np.float32)):
        dual = LinearSVR(**params, dual=True, max_iter=200_000).fit(table, y)
        assert dual.objective_ == pytest.approx(want.objective_, rel=1e-5)
    lazy = LinearSVR(**params).fit(da.from_array(X, chunks=(70, 5)), da.from_array(y, chunks=70))
    assert lazy.objective_ == pytest.approx(want.objective_, rel=1e-5)


def test_with_a_free_intercept_it_is_the_kernel_machine():
    X, y = rows()
    linear = LinearSVR(epsilon=0.2, penalize_intercept=False, tol=1e-9).fit(X, y + 50)
    kernel = SVR(kernel="linear", epsilon=0.2, tol=1e-8).fit(X, y + 50)
    np.testing.assert_allclose(linear.predict(X), kernel.predict(X), atol=2e-3)


def test_scale_of_the_targets():
    X, y = rows()
    one = LinearSVR(epsilon=0.1, C=1.0, tol=1e-8).fit(X, y)
    big = LinearSVR(epsilon=1e4, C=1e5, tol=1e-8).fit(X, 1e5 * y)
    small = LinearSVR(epsilon=0.1 * 1e5, C=1.0 * 1e5, tol=1e-8).fit(X, 1e5 * y)
    np.testing.assert_allclose(small.coef_, 1e5 * one.coef_, rtol=1e-3)
    np.testing.assert_allclose(big.coef_, small.coef_, rtol=1e-5)


@pytest.mark.parametrize(
    ("params", "match"),
    [({"epsilon": -1}, "epsilon"), ({"loss": "huber"}, "loss"), ({"C": 0}, "C")],
)
def test_bad_parameters(params, match):
    X, y = rows(20)
    with pytest.raises(ValueError, match=match):
        LinearSVR(**params).fit(X, y)
