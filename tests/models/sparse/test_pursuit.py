"""Matching pursuit and least angles against the textbook versions, scikit-learn and the lasso."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peers

import kilogram as kg
from kilogram.textbook import run, sparse_regression
from tests.models.sparse.test_elastic_net import data


@pytest.mark.parametrize("shape", [(60, 8), (40, 120), (7, 30)])
@pytest.mark.parametrize("positive", [False, True])
def test_pursuit_equals_the_textbook_version(shape, positive):
    X, y = data(*shape)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    book = run(sparse_regression.matching_pursuit(Xc, yc, 4, positive=positive))
    fast = kg.OrthogonalMatchingPursuit(n_nonzero_coefs=4, positive=positive).fit(X, y)
    np.testing.assert_allclose(fast.coef_, book["beta"], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("setting", [{"n_nonzero_coefs": 5}, {"tol": 30.0}, {}])
def test_pursuit_equals_scikit_learn(container, setting):
    X, y = data(80, 150, seed=1)
    Y = np.column_stack([y, -2 * y + X[:, 7]])
    X = X * (X > 1.5)
    ours = kg.OrthogonalMatchingPursuit(**setting).fit(container(X), Y)
    theirs = peers.OrthogonalMatchingPursuit(**setting).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    assert ours.n_nonzero_coefs_ == theirs.n_nonzero_coefs_


def test_pursuit_functions_equal_scikit_learn():
    X, y = data(50, 20)
    Y = np.column_stack([y, X[:, 3]])
    for setting in ({"n_nonzero_coefs": 3}, {"n_nonzero_coefs": 3, "return_path": True}):
        np.testing.assert_allclose(
            kg.orthogonal_mp(X, y, **setting), peers.orthogonal_mp(X, y, **setting), atol=1e-8
        )
        np.testing.assert_allclose(
            kg.orthogonal_mp_gram(X.T @ X, X.T @ Y[:, :1], **setting),
            kg.orthogonal_mp(X, Y[:, :1], **setting),
            atol=1e-7,
        )
    coef, counts = kg.orthogonal_mp(X, Y, tol=1e-8, return_n_iter=True)
    assert counts[1] == 1
    assert coef[3, 1] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="norms_squared"):
        kg.orthogonal_mp_gram(X.T @ X, X.T @ y, tol=1.0)


def test_pursuit_passes_over_dependent_columns():
    X, y = data(40, 5)
    X = np.column_stack([X, X[:, :1], np.zeros(40), X[:, 1] + X[:, 2]])
    with pytest.warns(RuntimeWarning, match="ended after 5 features"):
        model = kg.OrthogonalMatchingPursuit(n_nonzero_coefs=8).fit(X, y)
    expected = kg.LinearRegression().fit(X[:, :5], y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X[:, :5]), atol=1e-8)
    with pytest.raises(ValueError, match="n_nonzero_coefs must be an integer of at most"):
        kg.OrthogonalMatchingPursuit(n_nonzero_coefs=9).fit(X, y)


def test_pursuit_cv_chooses_as_scikit_learn():
    X, y = data(120, 30, seed=3)
    ours = kg.OrthogonalMatchingPursuitCV().fit(X, y)
    theirs = peers.OrthogonalMatchingPursuitCV().fit(X, y)
    assert ours.n_nonzero_coefs_ == theirs.n_nonzero_coefs_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


@pytest.mark.parametrize("shape", [(60, 8), (30, 60), (442, 10)])
@pytest.mark.parametrize("positive", [False, True])
def test_every_knot_is_a_lasso_solution(shape, positive):
    X, y = data(*shape)
    X, y = X - X.mean(axis=0), y - y.mean()
    alphas, active, coefs = kg.lars_path(X, y, method="lasso", positive=positive)
    assert (np.diff(alphas) < 0).all()
    for k in range(0, len(alphas) - 1, 3):
        c, b = X.T @ (y - X @ coefs[:, k]) / len(y), coefs[:, k]
        excess = np.where(b == 0, (c if positive else np.abs(c)) - alphas[k], 0.0)
        assert excess.max() < 1e-8 * alphas[0]
        np.testing.assert_allclose(c[b != 0], alphas[k] * np.sign(b[b != 0]), atol=1e-8 * alphas[0])
        assert not positive or b.min() >= 0
    assert set(active) == set(np.flatnonzero(coefs[:, -1]))


def test_paths_equal_the_textbook_version_and_scikit_learn():
    X, y = data(60, 9)
    X, y = X - X.mean(axis=0), y - y.mean()
    book = run(sparse_regression.lars(X, y))
    alphas, _, coefs = kg.lars_path(X, y, method="lasso")
    np.testing.assert_allclose(alphas, book["lambdas"] / len(y), atol=1e-10)
    np.testing.assert_allclose(coefs.T, book["knots"], atol=1e-8)
    for method in ("lar", "lasso"):
        ours, theirs = (lib.lars_path(X, y, method=method) for lib in (kg, peers))
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-10)
        assert ours[1] == list(theirs[1])
        np.testing.assert_allclose(ours[2], theirs[2], atol=1e-8)


def test_least_angles_with_dependent_columns_end_at_least_squares():
    X, y = data(40, 6)
    wide = np.column_stack([X, X[:, 2], np.ones(40), X[:, 0] - X[:, 1]])
    expected = kg.LinearRegression().fit(X, y).predict(X)
    for model in (kg.Lars(), kg.LassoLars(alpha=0.0)):
        np.testing.assert_allclose(model.fit(wide, y).predict(wide), expected, atol=1e-7)
    assert not kg.LassoLars(alpha=1e6).fit(X, y).coef_.any()
    assert not kg.Lars().fit(X, np.full(40, 3.0)).coef_.any()


def test_lars_estimators_equal_scikit_learn():
    X, y = data(80, 12, seed=2)
    Y = np.column_stack([y, X[:, 3] - y])
    for ours, theirs in [
        (kg.Lars(n_nonzero_coefs=4), peers.Lars(n_nonzero_coefs=4)),
        (kg.LassoLars(alpha=0.05), peers.LassoLars(alpha=0.05)),
    ]:
        np.testing.assert_allclose(ours.fit(X, Y).coef_, theirs.fit(X, Y).coef_, atol=1e-8)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
        np.testing.assert_allclose(ours.alphas_[1], theirs.alphas_[1], atol=1e-8)
        np.testing.assert_allclose(ours.coef_path_[0], theirs.coef_path_[0], atol=1e-8)
    ours = kg.LassoLars(alpha=0.05, positive=True).fit(X, Y)  # where scikit-learn stops too early
    exact = kg.Lasso(alpha=0.05, positive=True, tol=1e-13, max_iter=10**5).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, exact.coef_, atol=1e-6)
    for name in ("LarsCV", "LassoLarsCV", "LassoLarsIC"):
        ours, theirs = (getattr(lib, name)().fit(X, y) for lib in (kg, peers))
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-6)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    ours, theirs = (lib.LassoLarsIC("bic").fit(X, y) for lib in (kg, peers))
    np.testing.assert_allclose(ours.criterion_, theirs.criterion_, rtol=1e-8)


def test_jitter_and_too_few_rows():
    X, y = data(30, 4)
    plain = kg.Lars().fit(X, y)
    noisy = kg.Lars(jitter=1e-3, random_state=0).fit(X, y)
    assert 0 < np.abs(plain.coef_ - noisy.coef_).max() < 1e-2
    with pytest.raises(ValueError, match="noise variance"):
        kg.LassoLarsIC().fit(*data(10, 20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_are_those_of_the_data(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)).astype(dtype)
    y = (X[:, 0] + 2.0).astype(dtype)
    alphas, _, coefs = kg.lars_path(X, y)
    assert alphas.dtype == coefs.dtype == dtype
    assert kg.lars_path(X, y.astype(np.float64))[2].dtype == np.float64
    for model in (kg.OrthogonalMatchingPursuit(), kg.LassoLars(0.1), kg.Lasso(0.1), kg.Ridge()):
        model.fit(X, y)
        assert type(model.intercept_) is dtype
        assert model.coef_.dtype == dtype


def test_paths_have_the_float_type_of_the_data():
    X, y = data(60, 8)
    X, y = X.astype(np.float32), y.astype(np.float32)
    for model in (kg.Lars(), kg.LassoLars(0.01), kg.LarsCV(), kg.LassoLarsCV()):
        model.fit(X, y)
        assert model.coef_path_.dtype == model.alphas_.dtype == np.float32
    X, y = X.astype(float), y.astype(float)
    chosen = kg.LassoLarsIC().fit(X, y, copy_X=False)
    np.testing.assert_array_equal(chosen.coef_, kg.LassoLarsIC().fit(X, y).coef_)
    with pytest.raises(ValueError, match="must be given"):
        kg.lars_path(None, y)


def test_pursuit_cv_takes_the_fewest_features_of_those_without_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    X /= np.linalg.norm(X, axis=0)
    y = X[:, :4] @ np.array([3.0, -2.0, 1.5, 2.5])
    model = kg.OrthogonalMatchingPursuitCV(fit_intercept=False, max_iter=10).fit(X, y)
    assert model.n_nonzero_coefs_ == 4
