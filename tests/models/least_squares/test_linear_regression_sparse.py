"""LinearRegression of sparse rows and of operators: X is multiplied, not written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.linear_model import LinearRegression as SklearnRegression

import kilogram as kg
from kilogram.solvers.least_squares import least_squares as solvers


def data(n=90, d=6, t=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t)) + 5.0
    return X, Y, rng.random(n) + 0.1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(80, 12), (20, 50)])
@pytest.mark.parametrize("solver", ["direct", "products"])
def test_sparse(fit_intercept, shape, solver, monkeypatch):
    if solver == "products":
        monkeypatch.setattr(solvers, "DIRECT", 5)
    X = sp.random_array(shape, density=0.3, format="csr", rng=np.random.default_rng(0))
    _, Y, w = data(*shape)
    got = kg.LinearRegression(fit_intercept=fit_intercept, tol=1e-13).fit(X, Y, w)
    want = kg.LinearRegression(fit_intercept=fit_intercept).fit(X.toarray(), Y, w)
    assert (got.solver_ == "lsqr") == (solver == "products")
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.predict(X), want.predict(X.toarray()), atol=1e-7)


def test_sparse_with_empty_columns_stays_on_the_cheap_solver():
    X = sp.random_array((500, 40), density=0.2, format="lil", rng=np.random.default_rng(0))
    X[:, [3, 17]] = 0.0
    X, y = X.tocsr(), data(500)[1][:, 0]
    model = kg.LinearRegression().fit(X, y)
    assert (model.solver_, model.rank_) == ("cholesky", 38)
    np.testing.assert_allclose(
        model.coef_, SklearnRegression().fit(X.toarray(), y).coef_, atol=1e-9
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_operator(fit_intercept):
    """X known by its products only."""
    X, Y, w = data(60, 8)
    want = kg.LinearRegression(fit_intercept=fit_intercept).fit(X, Y, w)
    model = kg.LinearRegression(fit_intercept=fit_intercept, tol=1e-12)
    got = model.fit(aslinearoperator(X), Y, w)
    assert (got.solver_, got.n_features_in_) == ("lsqr", 8)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-8)
    np.testing.assert_allclose(got.predict(aslinearoperator(X)), want.predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(aslinearoperator(X), Y[:-1])
    with pytest.raises(ValueError, match="only multiplied"):
        kg.LinearRegression(solver="qr").fit(aslinearoperator(X), Y)


def test_a_long_sparse_table_is_solved_by_the_quicker_solver():
    """LSQR as long as X'X would take: well-conditioned columns end there, others do not."""
    rng = np.random.default_rng(0)
    X = sp.random_array((30_000, 100), density=0.15, format="csr", rng=rng)
    y = X @ rng.standard_normal(100) + rng.standard_normal(30_000)
    quick = kg.LinearRegression().fit(X, y)
    exact = kg.LinearRegression(solver="cholesky").fit(X, y)
    assert (quick.solver_, exact.solver_) == ("lsqr", "cholesky")
    np.testing.assert_allclose(quick.coef_, exact.coef_, atol=1e-7)
    units = sp.diags_array(10.0 ** rng.uniform(-5, 5, 100))
    slow = kg.LinearRegression().fit((X @ units).tocsr(), y)
    assert slow.solver_ == "cholesky"
    np.testing.assert_allclose(units @ slow.coef_, exact.coef_, rtol=1e-7)


def test_fitted_on_a_device_array_used_on_sparse_rows():
    xp = pytest.importorskip("array_api_strict")
    X, Y, _ = data()
    for model in (kg.LinearRegression(), kg.TotalLeastSquares(), kg.Ridge()):
        for y in (Y, Y[:, 0]):
            want = model.fit(X, y).predict(X)
            there = model.fit(xp.asarray(X), xp.asarray(np.ascontiguousarray(y)))
            for rows in (sp.csr_array(X), sp.csc_matrix(X)):
                got = there.predict(rows)
                assert isinstance(got, np.ndarray)
                np.testing.assert_allclose(got, want, rtol=1e-9)
