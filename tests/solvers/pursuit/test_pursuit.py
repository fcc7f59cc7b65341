"""Least angles and matching pursuit, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import lars_path, orthogonal_mp

from kilogram.solvers.coordinate.designs import DenseDesign
from kilogram.solvers.pursuit.lars import LarsOptions, least_angles
from kilogram.solvers.pursuit.matching_pursuit import matching_pursuit

rng = np.random.default_rng(0)
X = np.asfortranarray(rng.standard_normal((50, 12)))
X /= np.linalg.norm(X, axis=0)
y = X[:, :4] @ np.array([4.0, -3.0, 2.0, 1.0]) + 0.3 * rng.standard_normal(50)


@pytest.mark.parametrize("method", ["lasso", "lar"])
def test_the_knots_are_those_of_scikit_learn(method):
    alphas, _, coefs = lars_path(X, y, method=method)
    found = least_angles(DenseDesign(X, y), LarsOptions(method == "lasso"))
    np.testing.assert_allclose(found.alphas, alphas * len(y), atol=1e-8)
    np.testing.assert_allclose(np.array(found.coefs).T, coefs, atol=1e-8)


def test_the_knots_of_the_positive_lasso_satisfy_its_conditions():
    """No correlation exceeds lambda, and those of positive coefficients equal it."""
    found = least_angles(DenseDesign(X, y), LarsOptions(positive=True))
    for strength, b in zip(found.alphas, found.coefs, strict=True):
        c = X.T @ (y - X @ b)
        assert (b >= 0).all()
        assert (c <= strength + 1e-10).all()
        np.testing.assert_allclose(c[b > 0], strength, atol=1e-10)


@pytest.mark.parametrize("most", [1, 3, 12])
def test_matching_pursuit_chooses_the_columns_of_scikit_learn(most):
    found = matching_pursuit(DenseDesign(X, y), most)
    want = orthogonal_mp(X, y, n_nonzero_coefs=most)
    np.testing.assert_allclose(found.coef(12), want, atol=1e-10)
    assert found.rr == pytest.approx(np.sum((y - X @ want) ** 2))


def test_matching_pursuit_ends_at_its_tolerance():
    found = matching_pursuit(DenseDesign(X, y), 12, tol=6.0)
    sizes = [np.sum((y - X @ found.coef(12, step)) ** 2) for step in range(len(found.steps) + 1)]
    assert sizes[-1] <= 6.0 < sizes[-2]
