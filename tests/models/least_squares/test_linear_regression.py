"""LinearRegression: scikit-learn's answers on every solver, and what scikit-learn lacks."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression as SklearnRegression
from sklearn.model_selection import cross_val_score

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import ConvergenceWarning
from kilogram.solvers.linear.lsqr import lsqr


def data(n=90, d=6, t=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t)) + 5.0
    return X, Y, rng.random(n) + 0.1


SOLVERS = ["auto", "cholesky", "qr", "svd", "lsqr"]


@pytest.mark.parametrize("shape", [(90, 6), (12, 40), (30, 30), (31, 30), (1, 3)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_sklearn(shape, fit_intercept, solver, weighted):
    X, Y, w = data(*shape)
    w = w if weighted else None
    want = SklearnRegression(fit_intercept=fit_intercept, tol=1e-14).fit(X, Y, w)
    got = kg.LinearRegression(fit_intercept=fit_intercept, solver=solver, tol=1e-13).fit(X, Y, w)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got.intercept_, want.intercept_, rtol=1e-7, atol=1e-8)
    assert got.objective(X, Y, w) == pytest.approx(got.objective_, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("shape", [(90,), (90, 1), (90, 2)])
def test_shapes_are_sklearns(shape):
    X, Y, _ = data()
    y = Y[:, 0] if len(shape) == 1 else Y[:, : shape[1]]
    want, got = SklearnRegression().fit(X, y), kg.LinearRegression().fit(X, y)
    assert got.predict(X).shape == want.predict(X).shape
    assert np.shape(got.coef_) == np.shape(want.coef_)
    assert np.shape(got.intercept_) == np.shape(want.intercept_)


def test_solver_rank_and_condition_are_reported():
    X, Y, _ = data(2000, 40)
    model = kg.LinearRegression().fit(X, Y)
    assert (model.solver_, model.rank_) == ("cholesky", 40)
    Xc = X - X.mean(axis=0)
    exact = np.linalg.cond(Xc / np.linalg.norm(Xc, axis=0))
    assert 0.5 * exact < model.condition_ < 1.01 * exact
    near = np.column_stack([X, X[:, 0] + 1e-5 * Y[:, 0]])
    model = kg.LinearRegression().fit(near, Y)
    assert (model.solver_, model.rank_) == ("qr", 41)
    assert model.condition_ > 1e4
    twice = np.column_stack([X, X[:, 0] - 3 * X[:, 1]])
    model = kg.LinearRegression().fit(twice, Y)
    assert (model.solver_, model.rank_) == ("svd", 40)


@pytest.mark.parametrize("how", ["array", "blocks", "partial_fit", "sparse", "torch"])
def test_smallest_norm(how):
    """Dependent columns of very different units, and constant ones: the defined answer."""
    Z, Y, _ = data()
    M = np.hstack([np.eye(6), 1e5 * np.eye(6)[:, :2], np.eye(6)[:, :1] + np.eye(6)[:, 1:2]])
    M[2, 2] = 1e-6
    X, y = np.hstack([Z @ M, np.full((90, 1), 0.1)]), Y[:, 0]
    # X = Z M with Z of full rank: W is the smallest with M W = the coefficients of Z
    of_Z = np.linalg.lstsq(Z - Z.mean(axis=0), y - y.mean(), rcond=None)[0]
    want = np.append(M.T @ np.linalg.solve(M @ M.T, of_Z), 0.0)
    model = kg.LinearRegression()
    if how == "array":
        model.fit(X, y)
    elif how == "sparse":
        model.fit(sp.csr_array(X), y)
    elif how == "torch":
        torch = pytest.importorskip("torch")
        model.fit(torch.asarray(X), torch.asarray(y))
    else:
        blocks = [(X[i : i + 17], y[i : i + 17]) for i in range(0, 90, 17)]
        if how == "blocks":
            model.fit(blocks)
        for block in blocks if how == "partial_fit" else ():
            model.partial_fit(*block)
    loose = 1e-5 if how == "partial_fit" else 1e-8  # moments alone keep half the digits
    assert model.rank_ == 6
    units = np.maximum(np.abs(M).max(axis=0), 1e-9)
    effect = want[:-1] * units  # judged in the units of Z
    np.testing.assert_allclose(to_numpy(model.coef_)[:-1] * units, effect, atol=loose)
    np.testing.assert_allclose(to_numpy(model.coef_)[-1], 0.0, atol=1e-12)


def test_units_do_not_matter():
    X, Y, _ = data()
    want = kg.LinearRegression().fit(X, Y)
    units = 10.0 ** np.array([-9, 9, 0, -3, 6, -12])
    for solver in ("auto", "cholesky", "qr", "svd"):
        got = kg.LinearRegression(solver=solver).fit(X * units, Y)
        np.testing.assert_allclose(got.coef_ * units, want.coef_, rtol=1e-10)
        assert got.rank_ == 6


def test_offsets_cost_no_digits():
    X, Y, _ = data(3000, 10)
    want = kg.LinearRegression().fit(X, Y)
    got = kg.LinearRegression().fit(X + 1e7, Y - 1e7)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-7)


@pytest.mark.parametrize("shape", [(60, 7), (9, 20)])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "qr", "svd"])
def test_weights_are_repetitions(shape, solver):
    X, Y, _ = data(*shape)
    counts = np.arange(shape[0]) % 4
    want = kg.LinearRegression(solver=solver).fit(
        np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)
    )
    got = kg.LinearRegression(solver=solver).fit(X, Y, counts)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-10, atol=1e-11)
    assert got.rank_ == want.rank_


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_forget_is_the_inverse_of_partial_fit(fit_intercept):
    X, Y, w = data()
    model = kg.LinearRegression(fit_intercept=fit_intercept)
    for a in (0, 30, 60):
        model.partial_fit(X[a : a + 30], Y[a : a + 30], w[a : a + 30])
    model.forget(X[10:50], Y[10:50], w[10:50])
    left = np.r_[0:10, 50:90]
    want = kg.LinearRegression(fit_intercept=fit_intercept).fit(X[left], Y[left], w[left])
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, want.intercept_, rtol=1e-9)
    assert model.moments_.weight == pytest.approx(w[left].sum())


def test_errors_of_forget():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="forget removes"):
        kg.LinearRegression().fit(X, Y).forget(X[:3], Y[:3])
    model = kg.LinearRegression().partial_fit(X, Y)
    with pytest.raises(ValueError, match="none would remain"):
        model.forget(X, Y)
    with pytest.warns(UserWarning, match="starts again"):
        kg.LinearRegression().fit(X, Y).partial_fit(X, Y)


@pytest.mark.parametrize("how", ["fit", "partial_fit", "blocks"])
def test_positive(how):
    X, Y, w = data()
    want = SklearnRegression(positive=True).fit(X, Y, w)
    model = kg.LinearRegression(positive=True)
    if how == "partial_fit":
        model.partial_fit(X[:40], Y[:40], w[:40]).partial_fit(X[40:], Y[40:], w[40:])
    else:
        rows = [(X[:40], Y[:40], w[:40]), (X[40:], Y[40:], w[40:])] if how == "blocks" else None
        model.fit(rows) if rows else model.fit(X, Y, w)
    np.testing.assert_allclose(model.coef_, want.coef_, atol=1e-8)
    assert model.coef_.min() >= 0
    assert model.solver_ == "positive"
    assert (model.coef_ == 0).any()


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("shape", [(90, 6), (12, 40), (2000, 30)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_other_libraries(library, shape, solver):
    xp = pytest.importorskip(library)
    X, Y, w = data(*shape)
    want = kg.LinearRegression(solver=solver, tol=1e-12).fit(X, Y, w)
    model = kg.LinearRegression(solver=solver, tol=1e-12)
    got = model.fit(xp.asarray(X), xp.asarray(Y), xp.asarray(w))
    assert type(got.coef_).__module__.split(".")[0] == library
    assert got.solver_ == want.solver_
    np.testing.assert_allclose(to_numpy(got.predict(xp.asarray(X))), want.predict(X), rtol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "qr", "svd"])
def test_single_precision_rows_are_summed_in_double(solver):
    X, Y, _ = data(500, 8)
    got = kg.LinearRegression(solver=solver).fit(X.astype("f4"), Y.astype("f4"))
    want = kg.LinearRegression().fit(X.astype("f4").astype("f8"), Y.astype("f4").astype("f8"))
    assert got.coef_.dtype == np.float32
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=2e-6)


def test_dask_of_dependent_columns():
    X, Y, w = data()
    X = np.hstack([X, X[:, :1]])
    want = kg.LinearRegression().fit(X, Y, w)
    chunks = da.from_array(X, chunks=(25, 3))
    got = kg.LinearRegression().fit(
        chunks, da.from_array(Y, chunks=31), da.from_array(w, chunks=40)
    )
    assert got.rank_ == 6
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-10)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"solver": "newton"}, "solver must be one of"),
        ({"solver": "svd", "positive": True}, "positive"),
    ],
)
def test_errors(params, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.LinearRegression(**params).fit(X, Y)


def test_errors_of_rows():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="in memory"):
        kg.LinearRegression(solver="lsqr").fit([(X, Y)])
    with pytest.raises(ValueError, match="zero"):
        kg.LinearRegression().fit(X, Y, np.zeros(90))
    with pytest.raises(ValueError, match="requires y"):
        kg.LinearRegression().fit(X)


def test_unfinished_products_say_so():
    X, Y, _ = data(200, 50)
    found = lsqr(X, Y, tol=1e-14, max_iter=3)
    assert not found.converged
    assert "residual" in found.message
    exact = lsqr(X, Y, tol=1e-14)
    np.testing.assert_allclose(exact.value.X, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-10)
    assert exact.n_iter <= 80  # 50 in exact arithmetic
    assert exact.objective == pytest.approx(np.sum((Y - X @ exact.value.X) ** 2))
    assert issubclass(ConvergenceWarning, UserWarning)


def test_threads_and_copies():
    X, Y, _ = data(10, 30)
    before = X.copy()
    want = kg.LinearRegression(n_jobs=1).fit(X, Y).coef_
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(kg.LinearRegression(copy_X=False, n_jobs=-1).fit(X, Y).coef_, want)


def test_estimate():
    assert kg.estimate(kg.LinearRegression(), n=100_000, d=50).fits
    assert "rows" in kg.estimate(kg.LinearRegression(), n=10, d=500).method


@pytest.mark.parametrize("dependent", [False, True])
def test_an_iterator_is_read_once(dependent):
    X, Y, _ = data()
    X = np.hstack([X, X[:, :1]]) if dependent else X
    want = kg.LinearRegression().fit(X, Y)
    got = kg.LinearRegression().fit((X[i : i + 20], Y[i : i + 20]) for i in range(0, 90, 20))
    assert got.rank_ == want.rank_ == 6
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6)


def test_tol_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1e-9, 1.0, 1e9]
    model = kg.LinearRegression().fit(X, X @ [1e9, 1.0, 1e-9])
    np.testing.assert_allclose(model.coef_, [1e9, 1.0, 1e-9], rtol=1e-9)
    assert model.rank_ == 3


def test_lsqr_warns_where_its_tolerance_determines_nothing():
    """Powers of x = 0 ... 20, as in NIST's Wampler data."""
    x = np.arange(21.0)
    X = np.column_stack([x**k for k in range(1, 6)])
    with pytest.warns(ConvergenceWarning, match="condition number"):
        kg.LinearRegression(solver="lsqr").fit(X, 1.0 + X.sum(axis=1))


@pytest.mark.parametrize("model", [kg.LinearRegression(), kg.GeneralizedLeastSquares()])
def test_coefficients_that_overflow_are_an_error(model):
    X = 1e-310 * np.random.default_rng(0).standard_normal((3, 5))
    with pytest.raises(ValueError, match="coefficients overflow"), np.errstate(all="ignore"):
        model.fit(X, np.arange(3.0))


def test_tol_cuts_small_singular_values():
    """A polynomial of degree 15: cut at 1e-6 it predicts, not cut it does not."""
    rng = np.random.default_rng(1)
    x = rng.uniform(size=30)
    y = np.cos(1.5 * np.pi * x) + 0.1 * rng.standard_normal(30)
    X = np.column_stack([x**k for k in range(1, 16)])
    cut, whole = kg.LinearRegression(), kg.LinearRegression(tol=0.0)
    assert -cross_val_score(cut, X, y, scoring="neg_mean_squared_error", cv=10).mean() < 1.0
    assert -cross_val_score(whole, X, y, scoring="neg_mean_squared_error", cv=10).mean() > 1e3
    assert cut.fit(X, y).rank_ < 15
    assert whole.fit(X, y).rank_ == 15
