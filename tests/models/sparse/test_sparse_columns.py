"""Sparse designs whose columns are read themselves: empty columns, weights, few and all columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.models.sparse.problem import from_rows
from kilogram.solvers.coordinate.design_columns import design_columns


def data(weights):
    rng = np.random.default_rng(0)
    X = sp.random_array((90, 30), density=0.15, rng=rng, format="csc").tolil()
    for j in (0, 7, 29):  # empty columns at both ends and between
        X[:, j] = 0
    X = sp.csc_array(X)
    w = rng.uniform(0.5, 2, size=90) if weights else None
    return X, X @ rng.standard_normal(30) + rng.standard_normal(90), w


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_norms_residuals_and_gradients_are_those_of_dense_columns(weights, intercept):
    X, y, w = data(weights)
    thin, _ = from_rows(X, y, w, intercept)
    thick, _ = from_rows(X.toarray(), y, w, intercept)
    np.testing.assert_allclose(thin.norms, thick.norms, rtol=1e-12, atol=1e-14)
    for columns in ([np.arange(30)], [np.array([4, 2]), np.array([7, 11, 20])]):
        store = design_columns(thin)
        for new in columns:
            store.append(new)
        chosen = np.concatenate(columns)
        b = np.random.default_rng(1).standard_normal(len(chosen))
        found = store.gradient(b, store.residual(b))
        want = thick.X[:, chosen].T @ (thick.y - thick.X[:, chosen] @ b)
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weights", [False, True])
def test_the_lasso_of_sparse_columns_is_that_of_dense_ones(weights):
    X, y, w = data(weights)
    for alpha in (1e-3, 1e-2):
        thin = kg.Lasso(alpha, tol=1e-12).fit(X, y, w)
        thick = kg.Lasso(alpha, tol=1e-12).fit(X.toarray(), y, w)
        np.testing.assert_allclose(thin.coef_, thick.coef_, atol=1e-5)
        assert thin.objective_ == pytest.approx(thick.objective_, rel=1e-10)
