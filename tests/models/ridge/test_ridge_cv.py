"""RidgeCV: leave-one-out equal to refitting, scikit-learn's parameters, every container."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeCV as SklearnRidgeCV
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.arrays.namespace import to_numpy

ALPHAS = np.logspace(-3, 2, 6)


def data(n=50, d=6, t=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    Y = X[:, :t] + rng.standard_normal((n, t)) + 5.0
    return X, Y, rng.random(n) + 0.1


def left_out(model, X, Y, w):
    """Residuals of rows that were not in the fit, by refitting."""
    w = np.ones(len(X)) if w is None else w
    found = []
    for i in range(len(X)):
        fitted = model.fit(np.delete(X, i, 0), np.delete(Y, i, 0), np.delete(w, i))
        found.append(Y[i] - fitted.predict(X[i : i + 1])[0])
    return np.array(found)


@pytest.mark.parametrize("shape", [(50, 6), (15, 40), (20, 20)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gcv_mode", [None, "svd"])
def test_equals_brute_force(shape, fit_intercept, weighted, gcv_mode):
    X, Y, w = data(*shape)
    model = kg.RidgeCV(
        ALPHAS, fit_intercept=fit_intercept, gcv_mode=gcv_mode, store_cv_results=True
    ).fit(X, Y, w if weighted else None)
    v = w if weighted else np.ones(len(X))
    for a in (1, 4):
        e = left_out(kg.Ridge(ALPHAS[a], fit_intercept=fit_intercept), X, Y, v)
        np.testing.assert_allclose(model.cv_results_[:, :, a], v[:, None] * e**2, rtol=1e-6)
        assert model.scores_[a] == pytest.approx(-np.mean(v[:, None] * e**2))
    refit = kg.Ridge(model.alpha_, fit_intercept=fit_intercept).fit(X, Y, v)
    np.testing.assert_allclose(model.coef_, refit.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, refit.intercept_, rtol=1e-7)
    path = kg.Ridge(ALPHAS[2], fit_intercept=fit_intercept).fit(X, Y, v).coef_
    np.testing.assert_allclose(model.path_[2], path, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(50, 6), (15, 40)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"fit_intercept": False},
        {"scoring": "neg_mean_absolute_error"},
        {"scoring": "r2"},
        {"alpha_per_target": True},
        {"cv": 3},
        {"cv": KFold(4, shuffle=True, random_state=0)},
    ],
)
def test_equals_sklearn(shape, weighted, flat, params):
    X, Y, w = data(*shape)
    y, w = (Y[:, 0] if flat else Y), (w if weighted else None)
    store = {} if "cv" in params else {"store_cv_results": True}
    want = SklearnRidgeCV(ALPHAS, **params, **store).fit(X, y, w)
    got = kg.RidgeCV(ALPHAS, **params, **store).fit(X, y, w)
    np.testing.assert_array_equal(got.alpha_, want.alpha_)
    assert np.shape(got.alpha_) == np.shape(want.alpha_)
    np.testing.assert_allclose(got.best_score_, want.best_score_, rtol=1e-8)
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got.intercept_, want.intercept_, rtol=1e-7)
    if store:
        np.testing.assert_allclose(got.cv_results_, want.cv_results_, rtol=1e-5)


def test_scoring_per_target_of_one_column():
    """A vector of targets with alpha_per_target and a scorer (scikit-learn raises IndexError)."""
    X, Y, _ = data()
    one = kg.RidgeCV(ALPHAS, scoring="r2", alpha_per_target=True).fit(X, Y[:, 0])
    two = kg.RidgeCV(ALPHAS, scoring="r2").fit(X, Y[:, 0])
    assert one.alpha_ == two.alpha_
    assert isinstance(one.best_score_, float)


@pytest.mark.parametrize("shape", [(50, 6), (15, 40)])
def test_rows_of_weight_zero_take_no_part(shape):
    X, Y, w = data(*shape)
    w[::3] = 0.0
    model = kg.RidgeCV(ALPHAS, scoring="r2", store_cv_results=True).fit(X, Y, w)
    on = w > 0
    same = kg.RidgeCV(ALPHAS, scoring="r2", store_cv_results=True).fit(X[on], Y[on], w[on])
    assert model.alpha_ == same.alpha_
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.cv_results_[on], same.cv_results_, rtol=1e-7)
    fit = kg.Ridge(ALPHAS[3]).fit(X, Y, w).predict(X)
    np.testing.assert_allclose(model.cv_results_[~on, :, 3], fit[~on], rtol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_and_dask(weighted):
    X, Y, w = data(83)
    w = w if weighted else None
    want = kg.RidgeCV(ALPHAS).fit(X, Y, w)
    lazy = None if w is None else da.from_array(w, chunks=30)
    got = kg.RidgeCV(ALPHAS).fit(
        da.from_array(X, chunks=(25, 2)), da.from_array(Y, chunks=31), lazy
    )
    blocks = [
        (X[i : i + 20], Y[i : i + 20], *([] if w is None else [w[i : i + 20]]))
        for i in range(0, 83, 20)
    ]
    for model in (got, kg.RidgeCV(ALPHAS).fit(blocks)):
        assert model.alpha_ == want.alpha_
        np.testing.assert_allclose(model.best_score_, want.best_score_, rtol=1e-10)
        np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-8)


@pytest.mark.parametrize("shape", [(60, 12), (20, 50)])
def test_sparse(shape):
    X = sp.random_array(shape, density=0.3, format="csr", rng=np.random.default_rng(0))
    y = np.asarray(X.sum(axis=1)).ravel() + 1.0
    w = np.random.default_rng(1).random(len(y))
    want = kg.RidgeCV(ALPHAS).fit(X.toarray(), y, w)
    got = kg.RidgeCV(ALPHAS).fit(X, y, w)
    assert got.alpha_ == want.alpha_
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("shape", [(50, 6), (15, 40)])
def test_other_libraries(library, shape):
    xp = pytest.importorskip(library)
    X, Y, w = data(*shape)
    w[3] = 0.0
    want = kg.RidgeCV(ALPHAS, scoring="r2").fit(X, Y, w)
    got = kg.RidgeCV(ALPHAS, scoring="r2").fit(xp.asarray(X), xp.asarray(Y), xp.asarray(w))
    assert got.alpha_ == want.alpha_
    np.testing.assert_allclose(to_numpy(got.coef_), want.coef_, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"alphas": [1.0, 0.0]}, "must be > 0"),
        ({"alphas": [1.0, -1.0], "cv": 3}, "must be >= 0"),
        ({"alphas": []}, "empty"),
        ({"gcv_mode": "qr"}, "gcv_mode"),
        ({"cv": 3, "store_cv_results": True}, "incompatible"),
        ({"cv": 3, "alpha_per_target": True}, "incompatible"),
    ],
)
def test_errors(params, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.RidgeCV(**params).fit(X, Y)


def test_blocks_cannot_be_scored_row_by_row():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="in memory"):
        kg.RidgeCV(scoring="r2").fit([(X, Y)])


@pytest.mark.parametrize("model", [kg.RidgeCV(), kg.KernelRidgeCV()])
def test_one_row_cannot_be_left_out(model):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        model.fit([[1.0, 2.0]], [1.0])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_float32_square_data_with_a_tiny_penalty(fit_intercept):
    """n = d and alpha below the rounding of float32 products: as accurate as the data are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 40)).astype(np.float32)
    y = rng.standard_normal(40).astype(np.float32)
    model = kg.RidgeCV([1e-6], fit_intercept=fit_intercept).fit(X, y)
    wide = kg.RidgeCV([1e-6], fit_intercept=fit_intercept).fit(X.astype(float), y.astype(float))
    np.testing.assert_allclose(model.coef_, wide.coef_, rtol=1e-3, atol=1e-5)
    assert model.best_score_ == pytest.approx(wide.best_score_, rel=1e-3)


def test_a_scorer_of_probabilities_is_refused():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    with pytest.raises(ValueError, match=r"neg_log_loss.*predict_proba"):
        kg.RidgeCV(scoring="neg_log_loss").fit(X, y)


@pytest.mark.parametrize("make", [kg.RidgeCV, kg.KernelRidgeCV])
def test_folds_of_another_library(make):
    """Folds are cut on the host: array-api-strict takes no NumPy indices, nor does CuPy."""
    xp = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y, w = X[:, 0] + rng.standard_normal(30), np.linspace(0.5, 2, 30)
    want = make(alphas=[0.1, 10.0], cv=3).fit(X, y, w)
    got = make(alphas=[0.1, 10.0], cv=3).fit(xp.asarray(X), xp.asarray(y), xp.asarray(w))
    assert got.alpha_ == want.alpha_
    predicted = got.predict(xp.asarray(X))
    assert type(predicted) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(predicted), want.predict(X), rtol=1e-10)
