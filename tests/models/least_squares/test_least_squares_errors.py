"""Least squares whose errors are unequal, correlated, unknown, or in X."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import aslinearoperator

import kilogram as kg
from kilogram.models.least_squares.total_least_squares import NonGeneric


def data(n=60, d=4, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t)) + 5.0
    return X, Y, rng


def covariance(n, rng):
    A = rng.standard_normal((n, n))
    return A @ A.T / n + 0.5 * np.eye(n)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("how", ["matrix", "list", "operator", "sparse", "torch"])
def test_generalised_is_the_weighted_pseudo_inverse(fit_intercept, how):
    X, Y, rng = data()
    S = covariance(60, rng)
    Z = np.column_stack([np.ones(60), X]) if fit_intercept else X
    P = np.linalg.inv(S)
    B = np.linalg.solve(Z.T @ P @ Z, Z.T @ P @ Y)
    model = kg.GeneralizedLeastSquares(fit_intercept=fit_intercept)
    given, rows = S, (X, Y)
    if how == "list":
        given = S.tolist()
    elif how == "operator":
        given = aslinearoperator(S)
    elif how == "sparse":
        rows = (sp.csr_array(X), Y)
    elif how == "torch":
        torch = pytest.importorskip("torch")
        rows, given = (torch.asarray(X), torch.asarray(Y)), torch.asarray(S)
    model.fit(*rows, given)
    W = B[1:] if fit_intercept else B
    np.testing.assert_allclose(np.asarray(model.coef_), W.T, rtol=1e-7, atol=1e-9)
    if fit_intercept:
        np.testing.assert_allclose(np.asarray(model.intercept_), B[0], rtol=1e-7)
    r = Y - Z @ B
    assert model.objective_ == pytest.approx(np.sum(r * (P @ r)), rel=1e-7)
    if how in ("matrix", "operator"):
        assert model.objective(X, Y, given) == pytest.approx(model.objective_, rel=1e-6)


@pytest.mark.parametrize("how", ["array", "blocks", "dask"])
def test_variances_are_inverse_weights(how):
    X, Y, rng = data()
    v = rng.random(60) + 0.1
    want = kg.LinearRegression().fit(X, Y, 1 / v)
    rows = (X, Y)
    if how == "dask":
        rows = (da.from_array(X, chunks=(13, 4)), da.from_array(Y, chunks=(20, 2)))
    elif how == "blocks":
        rows = ([X[:20], X[20:]], Y)
    model = kg.GeneralizedLeastSquares().fit(*rows, covariance=v)
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-10)
    assert model.objective(X, Y, v) == pytest.approx(model.objective_)


def test_generalised_of_single_precision():
    X, Y, rng = data()
    S = covariance(60, rng)
    want = kg.GeneralizedLeastSquares().fit(X, Y, S)
    got = kg.GeneralizedLeastSquares().fit(X.astype("f4"), Y.astype("f4"), S)
    assert got.coef_.dtype == np.float32
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-4, atol=1e-5)


def test_generalised_of_dependent_columns_is_the_smallest():
    X, Y, rng = data()
    S = covariance(60, rng)
    X = np.hstack([X, X[:, :2]])
    model = kg.GeneralizedLeastSquares().fit(X, Y, S)
    assert model.rank_ == 4
    np.testing.assert_allclose(model.coef_[:, 0], model.coef_[:, 4], rtol=1e-8)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (-np.ones(60), "above 0"),
        (np.eye(59), "shape"),
        (np.diag([-1.0] + [1.0] * 59), "positive definite"),
        (np.triu(np.ones((60, 60))), "symmetric"),
    ],
)
def test_bad_covariances(given, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.GeneralizedLeastSquares().fit(X, Y, given)


def test_covariance_needs_rows_in_memory():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="in memory"):
        kg.GeneralizedLeastSquares().fit(
            [(X[:30], Y[:30]), (X[30:], Y[30:])], covariance=np.eye(60)
        )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_reweighted_is_the_maximum_of_the_likelihood(fit_intercept):
    """Held against a general minimiser over all parameters at once."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2)) + 1.0
    y = X @ [2.0, -1.0] + 3.0 * fit_intercept
    y = y + np.exp(0.5 * (0.3 + X @ [0.8, -0.4])) * rng.standard_normal(300)
    model = kg.ReweightedLeastSquares(fit_intercept=fit_intercept, tol=1e-12, max_iter=1000)
    model.fit(X, y)

    def value(theta):
        b, W, g = theta[0] * fit_intercept, theta[1:3], theta[3:]
        logs = g[0] + X @ g[1:]
        return np.sum(logs + (y - X @ W - b) ** 2 * np.exp(-logs))

    best = minimize(value, np.zeros(6), method="BFGS", options={"gtol": 1e-6})
    assert model.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_, best.x[1:3], atol=1e-4)
    np.testing.assert_allclose(model.variance_coef_, best.x[4:], atol=1e-3)
    np.testing.assert_allclose(
        model.predict_variance(X), np.exp(best.x[3] + X @ best.x[4:]), rtol=5e-3
    )


def test_reweighted_by_groups_and_its_errors():
    rng = np.random.default_rng(2)
    X, names = rng.standard_normal((200, 2)), np.repeat(["a", "b"], 100)
    y = X @ [1.0, 1.0] + np.where(names == "a", 0.2, 4.0) * rng.standard_normal(200)
    model = kg.ReweightedLeastSquares().fit(X, y, groups=names)
    assert list(model.groups_) == ["a", "b"]
    np.testing.assert_allclose(np.sqrt(model.group_variances_), [0.2, 4.0], rtol=0.3)
    r = y - model.predict(X)
    assert model.group_variances_[0] == pytest.approx(np.mean(r[:100] ** 2), rel=1e-3)
    assert model.objective(X, y, groups=names) == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(model.predict_variance(X[:1], ["b"]), model.group_variances_[1:])
    for bad in (None, ["c"]):
        with pytest.raises(ValueError, match="among those fitted"):
            model.predict_variance(X[:1], bad)
    with pytest.raises(ValueError, match="one entry per row"):
        kg.ReweightedLeastSquares().fit(X, y, groups=names[:5])
    with pytest.raises(ValueError, match="in memory"):
        kg.ReweightedLeastSquares().fit([(X, y)], groups=names)
    with pytest.raises(ValueError, match="floor"):
        kg.ReweightedLeastSquares(floor=0.0).fit(X, y)


def test_rows_on_a_plane_have_no_variance_to_estimate():
    X, _, _ = data()
    model = kg.ReweightedLeastSquares().fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0, 4.0])


def distances(X, Y, W, b, x_error, y_error, w):
    """Sum of squared corrections, row by row: the oracle writes out the constrained minimum."""
    total = 0.0
    J = np.hstack([-W.T, np.eye(W.shape[1])])
    C = np.diag(np.concatenate([x_error, y_error]) ** 2)
    for x, y, v in zip(X, Y, w, strict=True):
        r = y - x @ W - b
        total += v * r @ np.linalg.solve(J @ C @ J.T, r)
    return total


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scaled", [False, True])
def test_total_least_squares_is_the_smallest_distance(fit_intercept, scaled):
    X, Y, rng = data(n=40, d=3)
    w = rng.random(40) + 0.2
    x_error = np.array([0.5, 2.0, 0.0]) if scaled else np.ones(3)
    y_error = np.array([1.0, 0.3]) if scaled else np.ones(2)
    model = kg.TotalLeastSquares(fit_intercept=fit_intercept, x_error=x_error, y_error=y_error)
    model.fit(X, Y, w)
    W, b = model.coef_.T, model.intercept_ * np.ones(2)
    value = distances(X, Y, W, b, x_error, y_error, w)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.objective(X, Y, w) == pytest.approx(value, rel=1e-9)
    for _ in range(30):  # nothing nearby is nearer
        dW = 1e-3 * rng.standard_normal(W.shape)
        db = 1e-3 * rng.standard_normal(2) * fit_intercept
        assert distances(X, Y, W + dW, b + db, x_error, y_error, w) >= value


def test_exact_columns_alone_are_least_squares():
    X, Y, _ = data()
    got = kg.TotalLeastSquares(x_error=0.0).fit(X, Y)
    np.testing.assert_allclose(got.coef_, kg.LinearRegression().fit(X, Y).coef_, rtol=1e-10)


@pytest.mark.parametrize("how", ["blocks", "dask", "sparse", "torch"])
def test_total_least_squares_of_containers(how):
    X, Y, _ = data()
    want = kg.TotalLeastSquares().fit(X, Y)
    rows = (X, Y)
    if how == "blocks":
        rows = ([(X[:7], Y[:7]), (X[7:], Y[7:])],)
    elif how == "dask":
        rows = (da.from_array(X, chunks=(13, 2)), da.from_array(Y, chunks=(60, 2)))
    elif how == "sparse":
        rows = (sp.csr_array(X), Y)
    else:
        torch = pytest.importorskip("torch")
        rows = (torch.asarray(X), torch.asarray(Y))
    got = kg.TotalLeastSquares().fit(*rows)
    np.testing.assert_allclose(np.asarray(got.coef_), want.coef_, rtol=1e-8)


def test_cases_without_a_total_solution():
    x = np.array([1.0, -1.0, 1.0, -1.0])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    with pytest.raises(NonGeneric, match="equal"):
        kg.TotalLeastSquares().fit(x[:, None], y)
    with pytest.raises(NonGeneric, match="vertical"):
        kg.TotalLeastSquares().fit(x[:, None], 3 * y)
    X, Y, _ = data()
    for params in ({"x_error": -1.0}, {"x_error": [1.0, 2.0]}, {"y_error": 0.0}):
        with pytest.raises(ValueError, match="error must be"):
            kg.TotalLeastSquares(**params).fit(X, Y)
    # dependent and constant columns: the smallest W
    twice = np.column_stack([X, X[:, 0], np.full(60, 0.1)])
    got = kg.TotalLeastSquares().fit(twice, Y)
    np.testing.assert_allclose(got.coef_[:, 0], got.coef_[:, 4], rtol=1e-8)
    np.testing.assert_array_equal(got.coef_[:, 5], 0.0)
    # more columns than rows: an exact plane
    wide = kg.TotalLeastSquares().fit(np.random.default_rng(0).standard_normal((5, 9)), Y[:5])
    assert wide.objective_ < 1e-20


def test_a_sparse_covariance_is_multiplied_with():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    S = sp.diags_array([0.4 * np.ones(39), np.ones(40), 0.4 * np.ones(39)], offsets=[-1, 0, 1])
    want = kg.GeneralizedLeastSquares().fit(X, y, S.toarray())
    for given in (S.tocsr(), sp.csc_matrix(S)):
        got = kg.GeneralizedLeastSquares().fit(X, y, given)
        np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-7)
        np.testing.assert_allclose(got.objective(X, y, given), want.objective_, rtol=1e-7)


def test_tol_of_reweighted_least_squares_is_a_number():
    with pytest.raises(ValueError, match="tol must be a float"):
        kg.ReweightedLeastSquares(tol=None).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize("name", ["x_error", "y_error"])
def test_errors_too_small_for_the_data(name):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match=f"{name} is too small"):
        kg.TotalLeastSquares(**{name: 1e-320}).fit(X, X.sum(axis=1))
