"""Linear and quadratic discriminants: agreement with scikit-learn, every solver, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis as peer
from sklearn.covariance import OAS
from sklearn.datasets import load_digits, load_iris

import kilogram as kg

IRIS = load_iris(return_X_y=True)
DIGITS = tuple(a[:600] for a in load_digits(return_X_y=True))
LDA = [
    {},
    {"store_covariance": True},
    {"priors": [0.2, 0.3, 0.5], "store_covariance": True},
    {"n_components": 1},
    {"solver": "lsqr"},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr", "covariance_estimator": OAS()},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.2},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


@pytest.mark.parametrize("params", LDA)
@pytest.mark.parametrize("two", [False, True])
def test_linear_agrees_with_scikit_learn(params, two):
    X, y = IRIS
    if two:
        X, y = X[y < 2] + 1e3, y[y < 2]
        params = {k: [0.3, 0.7] if k == "priors" else v for k, v in params.items()}
    want = peer.LinearDiscriminantAnalysis(**params).fit(X, y)
    got = kg.LinearDiscriminantAnalysis(**params).fit(X, y)
    assert got.coef_.shape == want.coef_.shape
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-6, atol=1e-7)
    scale = np.abs(want.decision_function(X)).max()
    np.testing.assert_allclose(
        got.decision_function(X) / scale, want.decision_function(X) / scale, atol=1e-8
    )
    np.testing.assert_allclose(got.predict_proba(X), want.predict_proba(X), atol=1e-7)
    if "covariance_" in vars(want):
        np.testing.assert_allclose(got.covariance_, want.covariance_, rtol=1e-8, atol=1e-9)
    if params.get("solver") != "lsqr":
        np.testing.assert_allclose(np.abs(got.transform(X)), np.abs(want.transform(X)), rtol=1e-5)
        np.testing.assert_allclose(
            got.explained_variance_ratio_, want.explained_variance_ratio_, atol=1e-8
        )


def test_linear_with_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 80)), np.arange(30) % 3
    X[:, 0] += y
    want = peer.LinearDiscriminantAnalysis().fit(X, y)
    got = kg.LinearDiscriminantAnalysis().fit(X, y)
    new = rng.standard_normal((20, 80))
    np.testing.assert_allclose(got.decision_function(new), want.decision_function(new), rtol=1e-6)
    w = rng.integers(0, 3, 30).astype(float)
    weighted = kg.LinearDiscriminantAnalysis().fit(X, y, w)
    repeated = kg.LinearDiscriminantAnalysis().fit(
        np.repeat(X, w.astype(int), 0), np.repeat(y, w.astype(int))
    )
    np.testing.assert_allclose(
        weighted.decision_function(new), repeated.decision_function(new), rtol=1e-8
    )
    blocks = kg.LinearDiscriminantAnalysis()  # the d by d solver gives the same
    for at in np.array_split(np.arange(30), 3):
        blocks.partial_fit(X[at], y[at], classes=[0, 1, 2])
    np.testing.assert_allclose(blocks.decision_function(new), got.decision_function(new), rtol=1e-5)


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
@pytest.mark.parametrize("cls", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_weights_repeat_also_under_shrinkage(cls, shrinkage):
    X, y = IRIS
    w = np.random.default_rng(1).integers(0, 4, len(y))
    make = lambda: getattr(kg, cls)(solver="eigen", shrinkage=shrinkage)  # noqa: E731
    weighted = make().fit(X, y, w.astype(float)).decision_function(X)
    repeated = make().fit(np.repeat(X, w, 0), np.repeat(y, w)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("params", [{"shrinkage": "auto", "solver": "eigen"}, {}])
def test_blocks_and_sparse_rows_for_the_two_passes(params):
    X, y = DIGITS
    want = kg.LinearDiscriminantAnalysis(**params).fit(X, y).predict_proba(X)
    cuts = np.array_split(np.arange(len(y)), 5)
    streamed = kg.LinearDiscriminantAnalysis(**params).fit([(X[a], y[a]) for a in cuts])
    np.testing.assert_allclose(streamed.predict_proba(X), want, atol=1e-6)
    sparse = kg.LinearDiscriminantAnalysis(**params).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), want, atol=1e-6)


QDA = [
    {"tol": 1e-8},
    {"reg_param": 0.2, "store_covariance": True},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.2, "priors": [0.2, 0.3, 0.5]},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


@pytest.mark.parametrize("params", QDA)
def test_quadratic_agrees_with_scikit_learn(params):
    X, y = IRIS
    want = peer.QuadraticDiscriminantAnalysis(**params).fit(X, y)
    got = kg.QuadraticDiscriminantAnalysis(**params).fit(X, y)
    np.testing.assert_allclose(got.decision_function(X), want.decision_function(X), rtol=1e-8)
    np.testing.assert_allclose(got.predict_log_proba(X), want.predict_log_proba(X), atol=1e-6)
    for ours, theirs in zip(got.scalings_, want.scalings_, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    if params.get("store_covariance"):
        np.testing.assert_allclose(got.covariance_, want.covariance_, atol=1e-10)


def test_many_rows_use_a_team_and_give_the_same():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((90_000, 50)).astype(np.float32), rng.integers(0, 3, 90_000)
    model = kg.QuadraticDiscriminantAnalysis().fit(X[:2000], y[:2000])
    whole = model.predict_proba(X)
    np.testing.assert_allclose(
        whole[45_000:45_100], model.predict_proba(X[45_000:45_100]), atol=1e-5
    )
    assert whole.dtype == np.float32


def test_bad_input_is_named():
    X, y = IRIS
    for cls in (kg.LinearDiscriminantAnalysis, kg.QuadraticDiscriminantAnalysis):
        with pytest.raises(ValueError, match="one class only"):
            cls().fit(X, np.zeros(len(y)))
        with pytest.raises(ValueError, match="classes must be passed"):
            cls().partial_fit(X, y)
        started = cls().partial_fit(X, y, classes=[0, 1, 2])
        with pytest.raises(ValueError, match="first call of partial_fit did not list"):
            started.partial_fit(X[:3], [0, 1, 7])
        with pytest.raises(ValueError, match="non-negative"):
            cls(priors=[-1, 1, 1]).fit(X, y)
        with pytest.warns(UserWarning, match="do not sum to 1"):
            cls(priors=[1, 1, 2]).fit(X, y)
        with pytest.raises(ValueError, match="partial_fit has only the last"):
            cls(solver="eigen", shrinkage="auto").partial_fit(X, y, classes=[0, 1, 2])
        with pytest.raises(NotImplementedError, match="svd"):
            cls(shrinkage=0.1).fit(X, y)
    with pytest.raises(ValueError, match="only 1 sample in class 2"):
        kg.QuadraticDiscriminantAnalysis().fit(X[:101], y[:101])
    with pytest.raises(np.linalg.LinAlgError, match="class 1 is not full rank"):
        kg.QuadraticDiscriminantAnalysis(tol=1e-6).fit(
            np.c_[X, np.where(y == 1, 0.0, np.sin(7 * X[:, 0] + X[:, 1] ** 3))], y
        )
    with pytest.raises(NotImplementedError, match="lsqr"):
        kg.LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).transform(X)


def test_constant_columns_count_nothing():
    X, y = IRIS
    for value in (0.1, 1e9 + 0.1):
        flat = np.c_[X, np.full(len(y), value)]
        got = kg.LinearDiscriminantAnalysis().fit(flat, y).decision_function(flat)
        want = kg.LinearDiscriminantAnalysis().fit(X, y).decision_function(X)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_more_rows_join_a_fitted_model():
    X, y = IRIS
    order = np.random.default_rng(0).permutation(len(y))
    a, b = order[:100], order[100:]
    both = kg.QuadraticDiscriminantAnalysis(tol=1e-8).fit(X[a], y[a]).partial_fit(X[b], y[b])
    whole = kg.QuadraticDiscriminantAnalysis(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(both.decision_function(X), whole.decision_function(X), rtol=1e-9)


def test_directions_have_the_same_sign_in_every_library():
    xp = pytest.importorskip("array_api_strict")
    X, y = IRIS
    for params in ({}, {"solver": "eigen"}):
        model = kg.LinearDiscriminantAnalysis(**params)
        here = model.fit(X, y).scalings_
        assert (here[np.abs(here).argmax(axis=0), np.arange(here.shape[1])] > 0).all()
        there = np.asarray(model.fit(xp.asarray(X), y).scalings_)
        np.testing.assert_allclose(there[:, :2], here[:, :2], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_squares_that_overflow_are_named():
    X, y = IRIS
    for model in (
        kg.LinearDiscriminantAnalysis(),
        kg.QuadraticDiscriminantAnalysis(),
        kg.NearestCentroid(),
        kg.NearestCentroid("mahalanobis"),
    ):
        with pytest.raises(ValueError, match="squares overflow"):
            model.fit(X * 1e200, y)


def test_one_class_is_named_as_it_was_written():
    with pytest.raises(ValueError, match="one class only, 'tea'"):
        kg.LinearDiscriminantAnalysis().fit([[1.0], [2.0]], ["tea", "tea"])


def test_a_class_not_seen_so_far_is_never_predicted():
    X, y = IRIS
    model = kg.QuadraticDiscriminantAnalysis(tol=1e-8)
    model.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    two = kg.QuadraticDiscriminantAnalysis(tol=1e-8).fit(X[:100], y[:100])
    far = np.r_[X, 1e3 * X, -1e3 * X]
    np.testing.assert_array_equal(model.predict(far), two.predict(far))
    p = model.predict_proba(far)
    np.testing.assert_allclose(p[:, :2], two.predict_proba(far), atol=1e-12)
    assert (p[:, 2] == 0).all()
    whole = kg.QuadraticDiscriminantAnalysis(tol=1e-8).fit(X, y)
    model.partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_rows_that_partial_fit_refused_do_not_count():
    X, y = IRIS
    model, want = (kg.QuadraticDiscriminantAnalysis(tol=1e-8) for _ in range(2))
    for start in (0, 100):  # as the first rows, and later: two rows of a class have no volume
        with pytest.raises(np.linalg.LinAlgError, match="not full rank"):
            model.partial_fit(X[start : start + 2], y[start : start + 2], classes=[0, 1, 2])
        model.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        want.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        np.testing.assert_allclose(model.decision_function(X[:9]), want.decision_function(X[:9]))


def test_any_object_may_estimate_covariances():
    """Not only those that scikit-learn can clone."""

    class Plain:
        def fit(self, X):
            self.covariance_ = np.cov(X.T, bias=True)
            return self

    X, y = load_iris(return_X_y=True)
    kg.QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=Plain()).fit(X, y)
    params = {"solver": "lsqr", "covariance_estimator": Plain()}
    ours = kg.LinearDiscriminantAnalysis(**params).fit(X, y)
    want = peer.LinearDiscriminantAnalysis(**params).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), want, rtol=1e-9)


def test_no_direction_varies_within_the_classes_in_the_strict_standard():
    import array_api_strict as xp

    X = np.repeat(np.eye(2), 5, axis=0)
    y = np.repeat([0, 1], 5)
    want = kg.LinearDiscriminantAnalysis().fit(X, y)
    got = kg.LinearDiscriminantAnalysis().fit(xp.asarray(X), xp.asarray(y))
    assert got.explained_variance_ratio_.shape == want.explained_variance_ratio_.shape
