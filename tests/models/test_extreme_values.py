"""Values and parameters at the ends of their range: the right answer or a clear error.

Each case was found by the fuzzer (`make fuzz`) as a leaked error, NaN, or a NumPy warning.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils import all_estimators

import kilogram as kg
from kilogram.arrays.linalg import eigh
from kilogram.registry import PUBLIC
from kilogram.solvers.eigen.canonical import from_smoothers

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
Y = X[:, 0] + 0.1 * rng.standard_normal(30)
LABELS = (Y > 0).astype(int)


@pytest.fixture(autouse=True)
def numpy_warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (kg.HuberRegressor(), X * 1e-160, 1e99 * Y),
        (kg.ReweightedLeastSquares(), X.astype(np.float32), 1e-100 * Y),
        (kg.RidgeCV(), X[:3] * 1e160, Y[:3]),
        (kg.LinearDiscriminantAnalysis(solver="lsqr"), X * 1e-160, LABELS),
        (kg.Perceptron(variant="draws", max_iter=5, tol=None), X * 1e160, LABELS),
        (kg.Perceptron(average="voted", max_iter=5, tol=None), X * 1e160, LABELS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_out_of_range_are_refused(model, X, y):
    with pytest.raises(ValueError, match=r"overflow|too small"):
        model.fit(X, y)


@pytest.mark.parametrize("model", [kg.PolynomialFeatures(), kg.FunctionFeatures(["square"])])
def test_features_that_overflow_are_refused(model):
    with pytest.raises(ValueError, match="features overflow"):
        model.fit(X).transform(X * 1e160)


def test_missing_values_of_a_wide_table_are_named():
    wide = np.hstack([X[:6]] * 3)
    wide[2, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        kg.LinearDiscriminantAnalysis().fit(wide, [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("rows", [np.array, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    "model",
    [
        kg.KernelRidge(kernel="rbf"),
        kg.KernelRidgeCV(kernel="rbf"),
        kg.SVR(),
        kg.KitchenSinksRegressor(random_state=0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_large_targets_beside_float32_rows(model, rows):
    """Coefficients of 1e99 have no float32."""
    found = model.fit(rows(X.astype(np.float32)), 1e99 * Y).predict(rows(X.astype(np.float32)))
    want = model.fit(X, 1e99 * Y).predict(X)
    assert np.abs(found - want).max() < 1e-3 * np.abs(want).max()


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
def test_distances_that_overflow_are_refused(algorithm):
    model = kg.NearestNeighbors(n_neighbors=2, algorithm=algorithm, metric="manhattan")
    with pytest.raises(ValueError, match="distances overflow"):
        model.fit(np.sign(X) * 1.7e308).kneighbors()
    with pytest.raises(ValueError, match="p=1e-06 overflow"):
        kg.LocalOutlierFactor(n_neighbors=3, algorithm=algorithm, p=1e-6).fit(X)


def test_trees_take_sparse_queries():
    dense = kg.KNeighborsRegressor(algorithm="kd_tree", p=3).fit(X, Y)
    thin = kg.KNeighborsRegressor(algorithm="kd_tree", p=3).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(thin.predict(sp.csr_array(X)), dense.predict(X))
    near = kg.RadiusNeighborsRegressor(5.0, algorithm="kd_tree", p=3).fit(sp.csr_array(X), Y)
    assert np.isfinite(near.predict(sp.csr_array(X))).all()


def test_pca_of_equal_rows_with_missing_values():
    model = kg.PCA(2, missing="em").fit(np.zeros((6, 3)))
    assert np.isfinite(model.score_samples(np.zeros((6, 3)))).all()


def test_steps_of_a_large_power():
    model = kg.Adaline(power=900.0, tau=1e-3, batch_size=7, max_iter=3, tol=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(model.fit(X, LABELS).coef_).all()


def test_kernel_cca_of_equal_rows():
    with pytest.raises(ValueError, match="nothing to correlate"):
        from_smoothers(lambda v: v, lambda v: v, np.zeros((4, 2)), 1, tol=1e-6, max_iter=5)


def test_two_rows_of_kernel_cca():
    model = kg.KernelCCA(1, kernel="rbf").fit(X[:2], Y[:2, None])
    u, v = model.transform(X[:2], Y[:2, None])
    assert np.isfinite(u).all()
    assert np.isfinite(v).all()
    assert abs(np.corrcoef(u[:, 0], v[:, 0])[0, 1]) == pytest.approx(1)  # two points, one line


def test_a_fold_without_weight_has_no_score():
    weight = np.where(np.arange(30) < 10, 0.0, 1.0)
    folds = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]
    with pytest.raises(ValueError, match="fold have weight zero"):
        kg.LogisticRegressionCV(cv=folds).fit(X, LABELS, sample_weight=weight)


@pytest.mark.parametrize("model", [kg.GaussianProcessRegressor, kg.GaussianProcessClassifier])
def test_bounds_in_the_wrong_order(model):
    kernel = RBF(1.0, length_scale_bounds=(2.0, 1.0))
    with pytest.raises(ValueError, match=r"lower bound .* got \(2, 1\)"):
        model(kernel=kernel, n_restarts_optimizer=1).fit(X, LABELS)
    equal = RBF(1.5, length_scale_bounds=(1.5, 1.5))
    assert model(kernel=equal, n_restarts_optimizer=1).fit(X, LABELS).kernel_.length_scale == 1.5


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (kg.NearestNeighbors(), {"wrong": 1}),
        (kg.NearestNeighbors(), {"p": -1}),
        (kg.KNeighborsClassifier(metric="cosine"), {"p": 2}),
        (kg.KNeighborsRegressor(metric="hamming"), {"V": 1}),
        (kg.LocalOutlierFactor(metric="euclidean"), {"w": [1]}),
        (kg.KMedoids(2), {"wrong": 1}),
        (kg.KernelDensity(), {"wrong": 1}),
    ],
)
def test_parameters_that_the_metric_does_not_use(model, params):
    with pytest.raises(ValueError, match="metric_params"):
        model.set_params(metric_params=params).fit(X, LABELS)


def test_one_smoothing_for_all_categories():
    with pytest.raises(ValueError, match="alpha must be a float"):
        kg.CategoricalNB(alpha=np.array([1.0, 2.0])).fit(np.abs(np.round(X[:, :2])), LABELS)


RESPONSES = ("predict_proba", "predict_log_proba", "decision_function")


@pytest.mark.parametrize("name", [n for n, _ in all_estimators("classifier") if n in PUBLIC])
def test_classifiers_have_the_response_methods_of_scikit_learn(name):
    """Scorers and CalibratedClassifierCV choose among them."""
    theirs = dict(all_estimators())[name]
    for method in RESPONSES:
        assert hasattr(getattr(kg, name), method) == hasattr(theirs, method), method


@pytest.mark.parametrize("method", ["s", "mm", "m"])
def test_robust_regression_on_columns_without_variation(method):
    model = kg.RobustRegressor(method=method, fit_intercept=False, random_state=0)
    np.testing.assert_array_equal(model.fit(np.zeros((20, 3)), Y[:20]).coef_, 0)


def test_targets_beyond_the_range_of_sparse_float32_rows():
    Z = sp.csr_array(np.zeros((2, 3), dtype=np.float32))
    model = kg.KitchenSinksRegressor(n_components=7, random_state=0).fit(Z, [1e100, 3e100])
    np.testing.assert_allclose(model.predict(Z), 2e100)


def test_a_decomposition_that_fails_in_torch_is_a_clear_error():
    torch = pytest.importorskip("torch")

    class Decomposed(kg.Ridge):
        def fit(self, X, y=None, sample_weight=None):
            eigh(X.T @ (X * float("inf")))
            return self

    with pytest.raises(ValueError, match="products of them overflow or underflow"):
        Decomposed().fit(torch.ones((30, 3)), torch.ones(30))
