"""KernelRidgeCV: exact leave-one-out for every penalty and kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, LeaveOneOut

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.textbook import run
from kilogram.textbook.kernel_ridge import leave_one_out

ALPHAS = np.logspace(-3, 2, 6)
KERNEL = kg.Gaussian(1.2)


def data(n=40, d=3, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.sin(2 * X[:, :t]) + 0.1 * rng.standard_normal((n, t)) + 2.0
    return X, Y, rng.random(n) + 0.1


@pytest.mark.parametrize("kernel", [KERNEL, kg.Linear(), kg.Polynomial(2)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_brute_force(kernel, fit_intercept, weighted):
    X, Y, w = data()
    v = w if weighted else np.ones(len(X))
    model = kg.KernelRidgeCV(
        ALPHAS, kernel=kernel, fit_intercept=fit_intercept, store_cv_results=True
    ).fit(X, Y, w if weighted else None)
    for a in (1, 4):
        one = kg.KernelRidge(ALPHAS[a], kernel=kernel, fit_intercept=fit_intercept)
        e = np.array(
            [
                Y[i]
                - one.fit(np.delete(X, i, 0), np.delete(Y, i, 0), np.delete(v, i)).predict(
                    X[i : i + 1]
                )[0]
                for i in range(len(X))
            ]
        )
        np.testing.assert_allclose(model.cv_results_[:, :, a], v[:, None] * e**2, rtol=1e-6)
    refit = kg.KernelRidge(model.alpha_, kernel=kernel, fit_intercept=fit_intercept).fit(X, Y, v)
    np.testing.assert_allclose(model.predict(X), refit.predict(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, refit.dual_coef_, rtol=1e-4, atol=1e-7)
    best = int(np.argmax(model.scores_))
    assert model.alpha_ == ALPHAS[best]
    e2 = (Y - model.loo_predictions_) ** 2 * v[:, None]
    np.testing.assert_allclose(e2, model.cv_results_[:, :, best], rtol=1e-7, atol=1e-12)
    assert model.path_.shape == (6, 40, 2)
    np.testing.assert_allclose(model.path_[best], model.dual_coef_, rtol=1e-9)


def test_equals_the_book():
    X, Y, _ = data()
    book = run(leave_one_out(KERNEL(X), Y[:, 0], ALPHAS))
    model = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X, Y[:, 0])
    np.testing.assert_allclose(-model.scores_, book["errors"], rtol=1e-9)


def test_equals_a_search_by_leave_one_out():
    X, Y, _ = data(25)
    search = GridSearchCV(
        kg.KernelRidge(kernel=KERNEL),
        {"alpha": ALPHAS},
        cv=LeaveOneOut(),
        scoring="neg_mean_squared_error",
    ).fit(X, Y)
    model = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X, Y)
    np.testing.assert_allclose(model.scores_, search.cv_results_["mean_test_score"], rtol=1e-8)
    assert model.alpha_ == search.best_params_["alpha"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", [None, "r2"])
def test_chooses_the_kernel_too(weighted, scoring):
    X, Y, w = data()
    w = w if weighted else None
    kernels = [kg.Gaussian(s) for s in (0.05, 1.0, 50.0)]
    model = kg.KernelRidgeCV(ALPHAS, kernels=kernels, scoring=scoring).fit(X, Y, w)
    assert model.kernel_ == kernels[1]
    assert model.scores_.shape == (3, 6)
    assert model.best_score_ == model.scores_.max()
    alone = kg.KernelRidgeCV(ALPHAS, kernel=kernels[1], scoring=scoring).fit(X, Y, w)
    np.testing.assert_allclose(model.predict(X), alone.predict(X))
    np.testing.assert_allclose(model.scores_[1], alone.scores_)


def test_folds():
    X, Y, w = data()
    kernels = [kg.Gaussian(0.05), kg.Gaussian(1.0)]
    model = kg.KernelRidgeCV(ALPHAS, kernels=kernels, cv=4).fit(X, Y, w)
    search = GridSearchCV(kg.KernelRidge(), {"kernel": kernels, "alpha": ALPHAS}, cv=4)
    search.fit(X, Y, sample_weight=w)
    assert model.alpha_ == search.best_params_["alpha"]
    assert model.kernel_ == search.best_params_["kernel"]
    assert model.best_score_ == pytest.approx(model.scores_.max())
    np.testing.assert_allclose(model.predict(X), search.predict(X))


@pytest.mark.parametrize("precomputed", [False, True])
def test_rows_of_weight_zero_take_no_part(precomputed):
    X, Y, w = data()
    w[::3] = 0.0
    on = w > 0
    params = {"fit_intercept": True, "store_cv_results": True, "scoring": "r2"}
    want = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL, **params).fit(X[on], Y[on], w[on])
    if precomputed:
        got = kg.KernelRidgeCV(ALPHAS, kernel="precomputed", **params).fit(KERNEL(X), Y, w)
    else:
        got = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL, **params).fit(X, Y, w)
    np.testing.assert_allclose(got.cv_results_[on], want.cv_results_, rtol=1e-8)
    assert np.all(got.dual_coef_[~on] == 0)
    refit = kg.KernelRidge(ALPHAS[3], kernel=KERNEL, fit_intercept=True).fit(X, Y, w)
    np.testing.assert_allclose(got.cv_results_[~on, :, 3], refit.predict(X)[~on], rtol=1e-7)


def test_penalty_per_target():
    X, Y, _ = data()
    Y[:, 1] = np.random.default_rng(3).standard_normal(len(X))
    both = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha_per_target=True).fit(X, Y)
    assert both.alpha_.shape == both.best_score_.shape == (2,)
    assert both.scores_.shape == (6, 2)
    for j in range(2):
        one = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X, Y[:, j])
        assert both.alpha_[j] == one.alpha_
        np.testing.assert_allclose(both.dual_coef_[:, j], one.dual_coef_, rtol=1e-7, atol=1e-9)
    refit = kg.KernelRidge(both.alpha_, kernel=KERNEL).fit(X, Y)
    np.testing.assert_allclose(both.predict(X), refit.predict(X), rtol=1e-7)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(library):
    xp = pytest.importorskip(library)
    X, Y, w = data()
    w[2] = 0.0
    want = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL, fit_intercept=True).fit(X, Y, w)
    got = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL, fit_intercept=True)
    got.fit(xp.asarray(X), xp.asarray(Y), xp.asarray(w))
    assert got.alpha_ == want.alpha_
    np.testing.assert_allclose(to_numpy(got.predict(xp.asarray(X))), want.predict(X), rtol=1e-7)


def test_float32_is_decomposed_in_float64():
    X, Y, _ = data()
    X4, Y4 = X.astype("f4"), Y.astype("f4")
    got = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X4, Y4)
    want = kg.KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X4.astype(float), Y4.astype(float))
    assert got.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(got.scores_, want.scores_, rtol=1e-10)


def test_beyond_memory_it_refuses():
    X, Y, _ = data()
    with pytest.raises(MemoryError, match="max_memory"):
        kg.KernelRidgeCV(kernel="rbf", max_memory="10KB").fit(X, Y)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"alphas": [0.0]}, "must be > 0"),
        ({"kernels": [KERNEL], "alpha_per_target": True}, "alpha_per_target"),
        ({"cv": 3, "store_cv_results": True}, "incompatible"),
    ],
)
def test_errors(params, match):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=match):
        kg.KernelRidgeCV(**params).fit(X, Y)


def test_no_kernels_are_refused():
    with pytest.raises(ValueError, match="kernels must have at least one"):
        kg.KernelRidgeCV(kernels=[]).fit(np.eye(3), np.arange(3.0))


def interpolate(X, y, new, kernel, fit_intercept):
    """The limit of kernel ridge regression for a penalty of 0, on distinct rows."""
    ones = np.full((len(X), 1), float(fit_intercept))
    zero = np.full((1, 1), float(not fit_intercept))
    system = np.block([[kernel(X, X), ones], [ones.T, zero]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return kernel(new, X) @ solution[:-1] + solution[-1]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_penalties_below_the_rounding_of_the_kernel(fit_intercept):
    """Directions that K does not determine are left out, as in KernelRidge."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((15, 2)), 2, axis=0)
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30)
    new = rng.standard_normal((20, 2))
    params = {"kernel": kg.Gaussian(1.0), "fit_intercept": fit_intercept}
    want = interpolate(X[::2], y.reshape(15, 2).mean(1), new, params["kernel"], fit_intercept)
    for alpha, weight in ((1e-20, None), (1e-12, np.full(30, 1e12))):
        got = kg.KernelRidgeCV([alpha], **params).fit(X, y, weight).predict(new)
        assert np.abs(got - want).max() < 1e-3 * np.abs(want).max()


def test_a_sparse_kernel_matrix_with_rows_of_weight_zero():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 4)) * (rng.random((30, 4)) > 0.4)
    K, y = Z @ Z.T, Z[:, 0] + rng.standard_normal(30)
    w = np.arange(30) % 3.0
    want = kg.KernelRidgeCV(kernel="precomputed").fit(K, y, sample_weight=w)
    got = kg.KernelRidgeCV(kernel="precomputed").fit(sp.coo_array(K), y, sample_weight=w)
    assert got.alpha_ == want.alpha_
    np.testing.assert_allclose(got.predict(K), want.predict(K), atol=1e-8)
