"""Multi-task lasso and elastic net by cross-validation against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peers

import kilogram as kg
from tests.models.sparse.test_elastic_net import data
from tests.models.sparse.test_group_lasso import targets

SETTING = {"alphas": 15, "tol": 1e-10, "max_iter": 10**5, "cv": 4}


@pytest.mark.parametrize("shape", [(60, 8), (40, 70)])
@pytest.mark.parametrize("intercept", [True, False])
def test_elastic_net_equals_scikit_learn(shape, intercept):
    X, _ = data(*shape)
    Y = targets(X)
    how = {**SETTING, "l1_ratio": [0.3, 0.9], "fit_intercept": intercept}
    ours = kg.MultiTaskElasticNetCV(**how).fit(X, Y)
    theirs = peers.MultiTaskElasticNetCV(**how).fit(X, Y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
    # the sum of squared deviations of predictions is at most 2 n times the duality gap
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert (ours.alpha_, ours.l1_ratio_) == (pytest.approx(theirs.alpha_), theirs.l1_ratio_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == ((3,) if intercept else ())


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_lasso_equals_scikit_learn(container):
    X, _ = data(60, 8)
    Y = targets(X)
    ours = kg.MultiTaskLassoCV(**SETTING).fit(container(X), Y)
    theirs = peers.MultiTaskLassoCV(**SETTING).fit(X, Y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_the_refit_is_the_model_of_the_chosen_penalty():
    X, _ = data(60, 8)
    Y, w = targets(X), np.random.default_rng(1).integers(0, 3, size=60).astype(float)
    chosen = kg.MultiTaskElasticNetCV(l1_ratio=0.6, **SETTING).fit(X, Y, w)
    model = kg.MultiTaskElasticNet(chosen.alpha_, l1_ratio=0.6, tol=1e-10, max_iter=10**5)
    model.fit(X, Y, w)
    np.testing.assert_allclose(chosen.coef_, model.coef_, atol=1e-10)
    assert chosen.objective(X, Y, w) == pytest.approx(model.objective_, rel=1e-9)


def test_weights_are_repeated_rows_within_the_same_folds():
    X, _ = data(40, 6)
    Y, w = targets(X), np.arange(40) % 3
    fold = np.arange(40) // 10
    repeated = np.repeat(np.arange(40), w)
    cuts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]
    again = [
        (np.flatnonzero(fold[repeated] != k), np.flatnonzero(fold[repeated] == k)) for k in range(4)
    ]
    how = {**SETTING, "alphas": [1.0, 0.3, 0.1]}
    weighted = kg.MultiTaskLassoCV(**{**how, "cv": cuts}).fit(X, Y, w)
    plain = kg.MultiTaskLassoCV(**{**how, "cv": again}).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighted.mse_path_, plain.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-4)


def test_one_target_is_the_lasso():
    X, y = data(50, 6)
    lasso = kg.LassoCV(**SETTING).fit(X, y)
    flat = kg.MultiTaskLassoCV(**SETTING).fit(X, y)
    column = kg.MultiTaskLassoCV(**SETTING).fit(X, y[:, None])
    np.testing.assert_allclose(flat.mse_path_, lasso.mse_path_, rtol=1e-4)
    assert flat.alpha_ == pytest.approx(lasso.alpha_)
    np.testing.assert_allclose(flat.coef_, lasso.coef_, atol=1e-4)
    assert column.coef_.shape == (1, 6)
    assert column.predict(X).shape == (50, 1)
