"""Ridge: scikit-learn's answers on every solver, and what scikit-learn lacks."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge as SklearnRidge

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import ConvergenceWarning
from kilogram.solvers.least_squares import normal_equations as primal
from kilogram.solvers.least_squares import ridge as solvers


def data(n=90, d=6, t=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t)) + 5.0
    return X, Y, rng.random(n)


SHAPES = [(90, 6), (12, 40), (30, 30), (1, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"alpha": [0.1, 1.0, 50.0]}])
@pytest.mark.parametrize("solver", ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_sklearn(shape, params, solver, weighted):
    X, Y, w = data(*shape)
    w = w if weighted else None
    exact = "svd" if solver in ("sag", "saga") else solver
    want = SklearnRidge(**params, solver=exact, tol=1e-12).fit(X, Y, w)
    got = kg.Ridge(**params, solver=solver, tol=1e-12).fit(X, Y, w)
    assert got.coef_.shape == want.coef_.shape
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.intercept_, want.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.predict(X), want.predict(X), rtol=1e-7)
    assert got.objective(X, Y, w) == pytest.approx(got.objective_, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("shape", [(90,), (90, 1), (90, 2)])
def test_shapes_are_sklearns(shape):
    X, Y, _ = data()
    y = Y[:, 0] if len(shape) == 1 else Y[:, : shape[1]]
    want, got = SklearnRidge().fit(X, y), kg.Ridge().fit(X, y)
    assert got.coef_.shape == want.coef_.shape
    assert np.shape(got.intercept_) == np.shape(want.intercept_)
    assert got.predict(X).shape == want.predict(X).shape


def test_hand_solved():
    """x = +-1, y = +-1: w = 2 / (2 + alpha)."""
    for alpha in (0.0, 1.0, 3.0):
        model = kg.Ridge(alpha).fit([[-1.0], [1.0]], [-1.0, 1.0])
        assert model.coef_[0] == pytest.approx(2 / (2 + alpha))


@pytest.mark.parametrize("positive", [False, True])
def test_least_squares_of_smallest_norm(positive):
    X, Y, _ = data()
    X = np.hstack([X, X[:, :2], np.ones((90, 1))])  # dependent columns, and a constant one
    got = kg.Ridge(alpha=0.0, positive=positive).fit(X, Y[:, 0])
    if positive:
        assert got.coef_.min() >= 0
        return
    Xc, yc = X - X.mean(axis=0), Y[:, 0] - Y[:, 0].mean()
    np.testing.assert_allclose(got.coef_, np.linalg.pinv(Xc) @ yc, atol=1e-9)
    assert got.solver_ == "svd"


def test_near_dependent_columns_keep_their_digits():
    """Moments square the condition number; the triangle does not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X = np.column_stack([X, X[:, 0] + 1e-6 * rng.standard_normal(200)])
    truth = np.array([1.0, -2.0, 3.0, 4.0])
    got = kg.Ridge(alpha=0.0).fit(X, X @ truth)
    assert got.solver_ == "svd"
    np.testing.assert_allclose(got.coef_, truth, rtol=1e-7)
    moments, _ = solvers.joint_moments(solvers.RegressionData(X, (X @ truth)[:, None], None, True))
    with pytest.raises(primal.NotPositiveDefinite):
        primal.from_moments(primal.Normal.of(moments, True), [0.0])


def test_partial_fit_of_dependent_columns():
    X, Y, _ = data()
    X = np.hstack([X, X[:, :1]])
    model = kg.Ridge(alpha=0.0)
    for i in range(0, 90, 30):
        model.partial_fit(X[i : i + 30], Y[i : i + 30])
    want = kg.Ridge(alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), want.predict(X), rtol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(90, 6), (20, 40)])
def test_positive(fit_intercept, shape):
    X, Y, w = data(*shape)
    params = {"positive": True, "fit_intercept": fit_intercept, "alpha": [0.1, 1.0, 10.0]}
    got = kg.Ridge(**params).fit(X, Y, w)
    want = SklearnRidge(**params, tol=1e-12).fit(X, Y, w)
    assert got.coef_.min() >= 0
    assert got.solver_ == "lbfgs"
    assert got.objective_ <= got.objective_ * (1 + 1e-9)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=2e-5)
    # exact on its support: the gradient of the kept coefficients is zero
    W = got.coef_.T
    Xc = X - (w @ X / w.sum() if fit_intercept else 0.0)
    Yc = Y - (w @ Y / w.sum() if fit_intercept else 0.0)
    G = Xc.T @ (w[:, None] * (Yc - Xc @ W)) - W * np.array([0.1, 1.0, 10.0])
    assert np.abs(G[W > 0]).max() < 1e-8 * np.abs(Xc.T @ Yc).max()
    assert G[W == 0].max(initial=0.0) < 1e-8 * np.abs(Xc.T @ Yc).max()


@pytest.mark.parametrize("shape", [(150, 20), (30, 80)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["direct", "products"])
def test_sparse(shape, fit_intercept, solver, monkeypatch):
    if solver == "products":
        monkeypatch.setattr(solvers, "DIRECT", 5)
    n = shape[0]
    X = sp.random_array(shape, density=0.2, format="csr", rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    Y, w = rng.standard_normal((n, 2)), rng.random(n)
    got = kg.Ridge(alpha=0.5, fit_intercept=fit_intercept, tol=1e-10).fit(X, Y, w)
    want = kg.Ridge(alpha=0.5, fit_intercept=fit_intercept).fit(X.toarray(), Y, w)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.predict(X), want.predict(X.toarray()), rtol=1e-6, atol=1e-8)
    assert got.solver_ == ("sparse_cg" if solver == "products" else "cholesky")


def test_large_sparse_table_is_never_dense():
    """d x d or n x n would take 80 GB here."""
    n = d = 100_000
    X = sp.random_array((n, d), density=3e-5, format="csr", rng=np.random.default_rng(0))
    y = np.asarray(X.sum(axis=1)).ravel() + 3.0
    model = kg.Ridge(alpha=0.1, tol=1e-6).fit(X, y)
    assert model.solver_ == "sparse_cg"
    assert model.score(X, y) > 0.9


def test_unfinished_fit_says_so():
    X, Y, _ = data(200, 50)
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.Ridge(solver="sparse_cg", alpha=0.0, max_iter=1, tol=1e-12).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert model.objective(X, Y) == pytest.approx(model.objective_)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("shape", [(90, 6), (12, 40)])
@pytest.mark.parametrize("solver", ["auto", "svd", "sparse_cg"])
def test_other_libraries(library, shape, solver):
    xp = pytest.importorskip(library)
    X, Y, w = data(*shape)
    params = {"solver": solver, "tol": 1e-12, "alpha": [0.1, 1.0, 2.0]}
    want = kg.Ridge(**params).fit(X, Y, w)
    got = kg.Ridge(**params).fit(xp.asarray(X), xp.asarray(Y), xp.asarray(w))
    assert type(got.coef_).__module__.split(".")[0] == library
    np.testing.assert_allclose(to_numpy(got.predict(xp.asarray(X))), want.predict(X), rtol=1e-8)


def test_dask_targets_weights_and_chunks():
    X, Y, w = data()
    want = kg.Ridge(alpha=0.3).fit(X, Y, w)
    got = kg.Ridge(alpha=0.3).fit(
        da.from_array(X, chunks=(25, 2)), da.from_array(Y, chunks=31), da.from_array(w, chunks=40)
    )
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-10)
    assert isinstance(got.predict(da.from_array(X, chunks=20)), da.Array)


def test_dependent_columns_in_blocks():
    X, Y, _ = data()
    X = np.hstack([X, X[:, :1]])
    blocks = [(X[i : i + 20], Y[i : i + 20]) for i in range(0, 90, 20)]
    got = kg.Ridge(alpha=0.0).fit(blocks)
    np.testing.assert_allclose(got.coef_, kg.Ridge(alpha=0.0).fit(X, Y).coef_, atol=1e-8)


def test_partial_fit_after_fit_begins_anew_and_says_so():
    X, Y, _ = data()
    model = kg.Ridge().fit(X, Y)
    with pytest.warns(UserWarning, match="starts again"):
        model.partial_fit(X[:40], Y[:40])
    np.testing.assert_allclose(model.coef_, kg.Ridge().fit(X[:40], Y[:40]).coef_)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], Y)


def test_overwrites_only_when_allowed():
    X, Y, _ = data(10, 30)
    before = X.copy()
    want = kg.Ridge().fit(X, Y).coef_
    np.testing.assert_array_equal(X, before)
    got = kg.Ridge(copy_X=False).fit(X, Y).coef_
    np.testing.assert_allclose(got, want)
    assert not np.array_equal(X, before)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": np.nan}, "alpha must be"),
        ({"alpha": [1.0, 2.0]}, "penalties"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"solver": "lbfgs"}, "positive=True"),
        ({"solver": "svd", "positive": True}, "positive"),
    ],
)
def test_errors(params, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.Ridge(**params).fit(X, Y)


def test_errors_of_containers():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="dense"):
        kg.Ridge(solver="svd").fit(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match="in memory"):
        kg.Ridge(solver="lsqr").fit([(X, Y)])
    with pytest.raises(ValueError, match="requires y"):
        kg.Ridge().fit(X)
    X[3, 2] = np.inf
    with np.errstate(invalid="ignore"):
        for rows in (X, sp.csr_array(X), [(X[:50], Y[:50]), (X[50:], Y[50:])]):
            with pytest.raises(ValueError, match=r"(?i)inf|nan"):
                kg.Ridge().fit(rows, None if isinstance(rows, list) else Y)


def test_large_offsets_cost_no_digits():
    X, Y, _ = data()
    want = kg.Ridge().fit(X, Y)
    got = kg.Ridge().fit(X + 1e6, Y - 1e6)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-7)


def test_estimate():
    cost = kg.estimate(kg.Ridge(), n=100_000, d=50)
    assert cost.fits
    assert 0 < cost.seconds < 60
    assert "rows" in kg.estimate(kg.Ridge(), n=10, d=500).method


def test_wide_csc_equals_dense():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 50)), rng.standard_normal(20)
    X[np.abs(X) < 0.8] = 0.0
    want = kg.Ridge(0.5, fit_intercept=False).fit(X, y).coef_
    for form in (sp.csc_array, sp.csr_array):
        got = kg.Ridge(0.5, fit_intercept=False).fit(form(X), y).coef_
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["sparse_cg", "lsqr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_penalty_gives_the_smallest_norm(solver, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 40)) * np.geomspace(0.1, 10.0, 40), rng.standard_normal(15)
    model = kg.Ridge(0.0, solver=solver, fit_intercept=fit_intercept, tol=1e-12, max_iter=5000)
    model.fit(X, y)
    m, c = (X.mean(axis=0), y.mean()) if fit_intercept else (0.0, 0.0)
    want = np.linalg.pinv(X - m) @ (y - c)
    np.testing.assert_allclose(model.coef_, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 5), (8, 30)])
def test_float32_features_keep_the_precision_of_the_targets(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape).astype(np.float32)
    y = 1.7e9 + 3600.0 * rng.standard_normal(shape[0])
    for model in (kg.Ridge(1e-3), kg.RidgeCV([1e-3, 1e-2]), kg.LinearRegression()):
        want = clone(model).fit(X.astype(np.float64), y).predict(X.astype(np.float64))
        got = model.fit(X, y).predict(X)
        assert got.dtype == np.float64
        assert np.abs(got - want).max() < 1e-2
