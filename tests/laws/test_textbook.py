"""Law: the fast version agrees with the book's telling."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import TELLINGS, run
from kilogram.textbook.kernel_pca import project, train
from kilogram.textbook.kernel_ridge import kernel_ridge, leave_one_out
from kilogram.textbook.pca import pca
from kilogram.textbook.random_kitchen_sinks import cosine_sine, kitchen_sinks, predict
from kilogram.textbook.ridge import ridge
from tests.laws.cases import ESTIMATORS, assert_same, data, laws

X, y = data(50, 4)
NEW, _ = data(12, 4, seed=5)
GAUSS = kg.Gaussian(sigma=1.5)


def test_every_estimator_is_told():
    told = {name for page in TELLINGS.values() for name in page.explains}
    for name in ESTIMATORS:
        assert name in told or isinstance(laws(name).textbook, str), name


def test_tellings_explain_public_names():
    for page in TELLINGS.values():
        assert all(hasattr(kg, name) for name in page.explains), page.title


@pytest.mark.parametrize("lam", [0.0, 0.3, 40.0])
def test_ridge(lam):
    book = run(ridge(X, y, lam))
    fast = kg.Ridge(alpha=lam).fit(X, y)
    np.testing.assert_allclose(fast.coef_, book["W"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fast.intercept_, book["b"], rtol=1e-8, atol=1e-10)


def test_kernel_ridge():
    book = run(kernel_ridge(GAUSS(X), y, 0.3))
    fast = kg.KernelRidge(alpha=0.3, kernel=GAUSS).fit(X, y)
    np.testing.assert_allclose(fast.dual_coef_, np.ravel(book["alpha"]), rtol=1e-7, atol=1e-9)


def test_kernel_ridge_path():
    lambdas = np.logspace(-2, 2, 7)
    book = run(leave_one_out(GAUSS(X), y, lambdas))
    fast = kg.KernelRidgeCV(alphas=lambdas, kernel=GAUSS).fit(X, y)
    assert fast.alpha_ == pytest.approx(float(lambdas[np.argmin(book["errors"])]))


def test_pca():
    book = run(pca(X, 3))
    fast = kg.PCA(3).fit(X)
    assert_same(fast, fast.transform(X), book["X_hat"], 1e-9)


def test_kernel_pca():
    K = GAUSS(X)
    book = run(train(K, 3))
    fast = kg.KernelPCA(3, kernel=GAUSS).fit(X)
    assert_same(fast, fast.transform(X), book["X_hat"], 1e-7)
    new = run(project(GAUSS(NEW, X), K, book["A"]))["X_hat"]
    assert_same(fast, fast.transform(NEW), new, 1e-7)


def test_kitchen_sinks_converge_to_the_same_function():
    """Two draws of many features differ by their noise only."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], 4000)) / 1.5
    book = run(kitchen_sinks(X, y, W, 0.5, features=cosine_sine))
    want = np.ravel(predict(NEW, W, book["a"], features=cosine_sine))
    fast = kg.KitchenSinksRegressor(
        n_components=8000, kernel=GAUSS, alpha=0.5, fit_intercept=False, random_state=0
    )
    got = fast.fit(X, y).predict(NEW)
    assert np.sqrt(np.mean((got - want) ** 2)) < 0.1 * np.std(want)
