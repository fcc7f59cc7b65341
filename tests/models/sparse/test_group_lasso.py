"""Multi-task and group lasso against the textbook version, scikit-learn and optimality."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peers

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.textbook import run, sparse_regression
from tests.models.sparse.test_elastic_net import data


def targets(X, t=3, seed=0):
    rng = np.random.default_rng(seed)
    B = np.zeros((X.shape[1], t))
    B[:4] = rng.normal(size=(min(4, len(B)), t))
    return X @ B + rng.normal(size=(len(X), t)) + 2.0


@pytest.mark.parametrize("shape", [(60, 8), (40, 120), (7, 600)])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_multi_task_equals_scikit_learn(shape, ratio):
    X, _ = data(*shape)
    Y = targets(X)
    setting = {"alpha": 0.3, "l1_ratio": ratio, "tol": 1e-12, "max_iter": 10**5}
    ours = kg.MultiTaskElasticNet(**setting).fit(X, Y)
    theirs = peers.MultiTaskElasticNet(**setting).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.dual_gap_ <= ours.eps_ * 1.01
    assert ours.objective(X, Y) == pytest.approx(ours.objective_, rel=1e-9)


def test_multi_task_of_one_target_is_the_lasso():
    X, y = data(50, 90)
    one = kg.MultiTaskLasso(alpha=0.2, tol=1e-12, max_iter=10**4).fit(X, y[:, None])
    assert one.coef_.shape == (1, 90)
    assert one.predict(X).shape == (50, 1)
    lasso = kg.Lasso(alpha=0.2, tol=1e-12, max_iter=10**4).fit(X, y)
    np.testing.assert_allclose(one.coef_[0], lasso.coef_, atol=1e-6)


@pytest.mark.parametrize("groups", [3, [2, 4, 6], [[0, 11, 5], [1, 2, 3, 4], [6, 7, 8, 9, 10]]])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_group_lasso_equals_the_textbook_version(groups, container):
    X, y = data(60, 12)
    lists = {
        int: lambda: [list(range(i, i + 3)) for i in range(0, 12, 3)],
        list: lambda: (
            groups if isinstance(groups[0], list) else [[0, 1], [2, 3, 4, 5], [*range(6, 12)]]
        ),
    }[type(groups)]()
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for alpha in (0.05, 0.5):
        book = run(sparse_regression.group_lasso(Xc, yc, lists, alpha * len(y), steps=50_000))
        fast = kg.GroupLasso(groups, alpha=alpha, tol=1e-13, max_iter=10**5).fit(container(X), y)
        np.testing.assert_allclose(fast.coef_, book["beta"], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_group_lasso_of_many_groups_is_optimal(dtype):
    X, y = data(80, 300, correlation=1.0)
    Z = X.astype(dtype)
    model = kg.GroupLasso(5, alpha=0.1, tol=1e-6 if dtype == np.float32 else 1e-10, max_iter=10**4)
    b = model.fit(Z, y).coef_.reshape(60, 5)
    r = y - X @ model.coef_ - model.intercept_
    c = (X.T @ r / len(y)).reshape(60, 5)
    limit = 0.1 * np.sqrt(5)
    slack = 0.05 if dtype == np.float32 else 1e-3
    on = np.linalg.norm(b, axis=1) > 0
    assert 0 < on.sum() < 60
    assert np.linalg.norm(c[~on], axis=1).max() <= limit * (1 + slack)
    direction = b[on] / np.linalg.norm(b[on], axis=1, keepdims=True)
    np.testing.assert_allclose(c[on], limit * direction, atol=limit * slack)


def test_groups_without_penalty_and_degenerate_input():
    X, y = data(50, 6)
    X[:, 2] = 3.0
    X[:, 5] = X[:, 4]
    model = kg.GroupLasso([2, 2, 2], alpha=1e6, weights=[0.0, 1.0, 1.0], tol=1e-12).fit(X, y)
    free = kg.LinearRegression().fit(X[:, :2], y)
    np.testing.assert_allclose(model.coef_[:2], free.coef_, atol=1e-4)
    assert not model.coef_[2:].any()
    flat = kg.GroupLasso(2, alpha=0.1).fit(X, np.full(50, 4.0))
    assert not flat.coef_.any()
    assert flat.intercept_ == pytest.approx(4.0)
    assert np.isfinite(kg.GroupLasso(2, alpha=0.0, max_iter=5000).fit(X, y).coef_).all()
    for bad, message in (
        ({"groups": 4}, "groups must divide"),
        ({"groups": [[0, 1], [1, 2, 3, 4, 5]]}, "each of the 6 features once"),
        ({"groups": 2, "weights": [1.0]}, "weights must be 3 numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            kg.GroupLasso(**bad).fit(X, y)


def test_warm_start_streams_and_too_few_epochs():
    X, y = data(400, 9)
    blocks = [(X[i : i + 90], y[i : i + 90]) for i in range(0, 400, 90)]
    model = kg.GroupLasso(3, alpha=0.05, tol=1e-12, max_iter=10**4, warm_start=True).fit(X, y)
    streamed = kg.GroupLasso(3, alpha=0.05, tol=1e-12, max_iter=10**4).fit(blocks)
    np.testing.assert_allclose(streamed.coef_, model.coef_, atol=1e-6)
    cold = model.n_iter_
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        kg.GroupLasso(1, alpha=1e-3, tol=1e-14, max_time=1e-9).fit(*data(100, 80, correlation=5.0))
    assert model.fit(X, y).n_iter_ <= cold
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        kg.GroupLasso(1, alpha=1e-3, max_iter=1, tol=1e-12).fit(*data(100, 80, correlation=5.0))
