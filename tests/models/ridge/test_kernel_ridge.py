"""KernelRidge: scikit-learn's answers, the offset, and the twin."""

import pickle
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GridSearchCV

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import ConvergenceWarning


def data(n=80, d=4, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) + 0.5
    Y = np.sin(3 * X[:, :t]) + 0.1 * rng.standard_normal((n, t)) + 2.0
    return X, Y, rng.integers(0, 4, n).astype(float)


NEW = data(30, seed=7)[0]
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "poly", "degree": 2, "coef0": 0.5},
    {"kernel": "laplacian", "gamma": 0.3},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": "cosine"},
    {"kernel": "chi2", "gamma": 0.4},
    {"kernel": lambda x, y: float((x @ y + 1) ** 2)},
]


@pytest.mark.parametrize("params", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, [0.1, 3.0]])
def test_equals_sklearn(params, weighted, alpha):
    X, Y, w = data()
    w = w if weighted else None
    want = SklearnKernelRidge(alpha=alpha, **params).fit(X, Y, w)
    got = kg.KernelRidge(alpha=alpha, **params).fit(X, Y, w)
    np.testing.assert_allclose(got.predict(NEW), want.predict(NEW), rtol=1e-7, atol=1e-9)
    assert got.dual_coef_.shape == want.dual_coef_.shape
    np.testing.assert_allclose(got.dual_coef_, want.dual_coef_, rtol=1e-4, atol=1e-7)
    assert got.objective(X, Y, w) == pytest.approx(got.objective_, rel=1e-7)


def test_shapes():
    X, Y, _ = data()
    for y in (Y, Y[:, 0], Y[:, :1]):
        want = SklearnKernelRidge(kernel="rbf").fit(X, y)
        got = kg.KernelRidge(kernel="rbf").fit(X, y)
        assert got.dual_coef_.shape == want.dual_coef_.shape
        assert got.predict(NEW).shape == want.predict(NEW).shape
    np.testing.assert_array_equal(got.X_fit_, X)


@pytest.mark.parametrize("weighted", [False, True])
def test_precomputed(weighted):
    X, Y, w = data()
    w = w if weighted else None
    k = kg.Gaussian(1.0)
    K, K_new = k(X), k(NEW, X)
    before = K.copy()
    want = kg.KernelRidge(kernel=k, fit_intercept=True).fit(X, Y, w)
    for kernel in ("precomputed", kg.Precomputed()):
        got = kg.KernelRidge(kernel=kernel, fit_intercept=True).fit(K, Y, w)
        np.testing.assert_array_equal(K, before)
        np.testing.assert_allclose(got.predict(K_new), want.predict(NEW), rtol=1e-8)
    by_cg = kg.KernelRidge(kernel="precomputed", solver="cg", tol=1e-12, fit_intercept=True)
    np.testing.assert_allclose(by_cg.fit(K, Y, w).predict(K_new), want.predict(NEW), rtol=1e-7)
    with pytest.raises(ValueError, match="column"):
        kg.KernelRidge(kernel="precomputed").fit(K[:, :10], Y)


def test_precomputed_in_a_search():
    X, Y, _ = data()
    grid = {"alpha": [0.01, 1.0]}
    one = GridSearchCV(kg.KernelRidge(kernel="precomputed"), grid, cv=3).fit(kg.Gaussian(1.0)(X), Y)
    two = GridSearchCV(kg.KernelRidge(kernel=kg.Gaussian(1.0)), grid, cv=3).fit(X, Y)
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_kernel_parameters_in_a_search():
    X, Y, _ = data()
    grid = {"kernel__sigma": [0.01, 1.0]}
    found = GridSearchCV(kg.KernelRidge(0.1, kernel=kg.Gaussian(1.0)), grid, cv=3).fit(X, Y)
    assert found.best_params_ == {"kernel__sigma": 1.0}


@pytest.mark.parametrize("shape", [(60, 5), (12, 30)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_twin_off_centre(shape, weighted, shift, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) + shift
    Y, w = rng.standard_normal((shape[0], 3)) + 100.0, rng.integers(0, 3, shape[0]).astype(float)
    w = w if weighted else None
    new = rng.standard_normal((7, shape[1])) + shift
    alpha = [0.1, 1.0, 10.0]
    want = kg.Ridge(alpha).fit(X, Y, w)
    got = kg.KernelRidge(
        alpha, kernel=kg.Linear(), fit_intercept=True, solver=solver, tol=1e-12
    ).fit(X, Y, w)
    np.testing.assert_allclose(got.predict(new), want.predict(new), rtol=1e-6)
    assert got.objective_ == pytest.approx(want.objective_, rel=1e-6)


@pytest.mark.parametrize("kernel", [kg.Gaussian(0.7), kg.Polynomial(2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_offset_solves_the_bordered_system(kernel, weighted):
    X, Y, w = data()
    w = np.ones(len(X)) if not weighted else w + 0.5
    K, n = kernel(X), len(X)
    A = np.block([[K + 0.3 * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    want = np.linalg.solve(A, np.vstack([Y, np.zeros((1, 2))]))
    got = kg.KernelRidge(0.3, kernel=kernel, fit_intercept=True).fit(X, Y, w)
    np.testing.assert_allclose(got.dual_coef_, want[:-1], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(got.intercept_, want[-1], rtol=1e-6)
    np.testing.assert_allclose(got.dual_coef_.sum(axis=0), 0.0, atol=1e-8)


def test_offset_follows_the_targets():
    X, Y, _ = data()
    model = kg.KernelRidge(10.0, kernel="rbf", fit_intercept=True)
    here, there = model.fit(X, Y).predict(NEW), model.fit(X, Y + 1e5).predict(NEW)
    np.testing.assert_allclose(there - 1e5, here, rtol=1e-6)
    heavy = kg.KernelRidge(1e9, kernel="rbf", fit_intercept=True).fit(X, Y)
    np.testing.assert_allclose(heavy.predict(NEW), np.tile(Y.mean(axis=0), (30, 1)), rtol=1e-5)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_sparse(form):
    X, Y, w = data()
    X = np.where(X > 1.0, X, 0.0)
    for params in ({"kernel": "rbf"}, {"kernel": "linear", "fit_intercept": True}):
        for solver in ("cholesky", "cg", "falkon"):
            model = kg.KernelRidge(0.5, **params, solver=solver, tol=1e-12, n_components=80)
            want = kg.KernelRidge(0.5, **params).fit(X, Y, w).predict(X)
            got = model.fit(form(X), Y, w)
            np.testing.assert_allclose(got.predict(form(X)), want, rtol=1e-6)
            np.testing.assert_allclose(got.predict(X), want, rtol=1e-6)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("solver", ["cholesky", "cg", "falkon"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_other_libraries(library, solver, fit_intercept):
    xp = pytest.importorskip(library)
    X, Y, w = data()
    params = {"kernel": "rbf", "alpha": [0.1, 2.0], "fit_intercept": fit_intercept}
    want = kg.KernelRidge(**params).fit(X, Y, w).predict(NEW)
    model = kg.KernelRidge(**params, solver=solver, tol=1e-12, n_components=80)
    got = model.fit(xp.asarray(X), xp.asarray(Y), xp.asarray(w)).predict(xp.asarray(NEW))
    assert type(got).__module__.split(".")[0] == library
    np.testing.assert_allclose(to_numpy(got), want, rtol=1e-6)


def test_model_of_arrays_predicts_for_other_libraries():
    torch = pytest.importorskip("torch")
    X, Y, _ = data()
    model = kg.KernelRidge(kernel="rbf").fit(X, Y)
    got = model.predict(torch.asarray(NEW))
    np.testing.assert_allclose(to_numpy(got), model.predict(NEW), rtol=1e-10)


def test_float32():
    X, Y, _ = data()
    want = kg.KernelRidge(0.1, kernel="rbf").fit(X, Y).predict(NEW)
    got = kg.KernelRidge(0.1, kernel="rbf").fit(X.astype("f4"), Y.astype("f4"))
    assert got.dual_coef_.dtype == np.float32
    assert got.predict(NEW.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(got.predict(NEW.astype("f4")), want, rtol=1e-3)


def test_singular_matrix_is_announced():
    X, Y, _ = data(20)
    X = np.vstack([X, X])
    Y = np.vstack([Y, Y])
    with pytest.warns(LinAlgWarning, match="least squares"):
        model = kg.KernelRidge(0.0, kernel="linear").fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = SklearnKernelRidge(alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), want.predict(X), rtol=1e-6)


def test_exact_fit_of_a_dask_table():
    X, Y, w = data()
    want = kg.KernelRidge(0.1, kernel="rbf").fit(X, Y, w)
    lazy = [da.from_array(a, chunks=(17, -1) if a.ndim == 2 else 17) for a in (X, Y, w)]
    got = kg.KernelRidge(0.1, kernel="rbf").fit(*lazy)
    np.testing.assert_allclose(got.dual_coef_, want.dual_coef_, rtol=1e-9)
    assert isinstance(got.predict(lazy[0]), da.Array)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": [1.0] * 5}, "penalties"),
        ({"kernel": "rbg"}, "unknown kernel"),
        ({"solver": "lu"}, "solver must be"),
        ({"approximation": "magic"}, "approximation must be"),
        ({"n_components": 0}, "n_components"),
        ({"kernel": "precomputed", "solver": "falkon"}, "precomputed"),
    ],
)
def test_errors(params, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.KernelRidge(**params).fit(kg.Gaussian(1.0)(X) if "kernel" in params else X, Y)


def test_not_finite_rows_in_blocks():
    X, Y, _ = data()
    X[3, 1] = np.nan
    for params in ({}, {"approximation": "nystroem"}, {"approximation": "fourier"}):
        with pytest.raises(ValueError, match="NaN"):
            kg.KernelRidge(kernel="rbf", **params, random_state=0).fit([(X[:40], Y[:40])])


@pytest.mark.parametrize("value", [1e200, -1e200])
def test_rows_whose_squares_overflow_are_refused(value):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[3, 1] = value
    with pytest.raises(ValueError, match="squares overflow"):
        kg.KernelRidge(kernel="rbf").fit(X, X[:, 0] * 0)
    with pytest.raises(ValueError, match="squares overflow"):
        kg.KernelPCA(2, kernel="rbf").fit(X)


def test_memory_order_of_a_precomputed_kernel():
    X, Y, _ = data()
    K = kg.Gaussian(1.5)(X)
    want = kg.KernelRidge(0.1, kernel="precomputed").fit(K, Y).dual_coef_
    strided = np.zeros((2 * len(K), 2 * len(K)))[::2, ::2]
    strided[:] = K
    for other in (np.asfortranarray(K), K.T, strided, pd.DataFrame(K)):
        got = kg.KernelRidge(0.1, kernel="precomputed").fit(other, Y).dual_coef_
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_white_noise_depends_on_the_call_only():
    """Predictions for the training rows, a copy of them, and after pickling are the same."""
    X, Y, _ = data()
    kernel = kg.Gaussian(1.5) + kg.White(0.5)
    model = kg.KernelRidge(0.1, kernel=kernel).fit(X, Y)
    want = kg.Gaussian(1.5)(X) @ model.dual_coef_
    again = pickle.loads(pickle.dumps(model))
    for f in (
        model.predict(X),
        model.predict(X.copy()),
        again.predict(X),
        model.predict(model.X_fit_),
    ):
        np.testing.assert_allclose(f, want, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_time_leaves_a_usable_model(fit_intercept):
    """The kernel matrix itself is not computed any more: the model is the constant one."""
    X, Y, _ = data()
    model = kg.KernelRidge(
        0.1, kernel="rbf", solver="cg", max_time=1e-9, fit_intercept=fit_intercept
    )
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, Y)
    want = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])
    np.testing.assert_allclose(model.predict(X), np.broadcast_to(want, Y.shape), atol=1e-12)
    assert model.objective(X, Y) == pytest.approx(model.objective_)


def test_float32_features_keep_the_precision_of_the_targets():
    X, Y, _ = data()
    seconds = 1.7e9 + 3600.0 * Y
    want = kg.KernelRidge(1e-3, kernel="rbf", fit_intercept=True).fit(X, seconds).predict(X)
    small = X.astype(np.float32)
    model = kg.KernelRidge(1e-3, kernel="rbf", fit_intercept=True).fit(small, seconds)
    assert model.predict(small).dtype == np.float64
    assert np.abs(model.predict(small) - want).max() < 1e-3
