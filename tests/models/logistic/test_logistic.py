"""Logistic regression: scikit-learn's optimum by every solver, penalties, bad data."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as Peer

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.solvers.newton import lbfgs as quasi_newton
from tests.laws.cases import data


def problem(n=300, d=6, K=3, seed=0):
    X, _ = data(n, d, seed=seed)
    rng = np.random.default_rng(seed)
    Z = X @ rng.standard_normal((d, K)) + rng.gumbel(size=(n, K))
    return X, np.argmax(Z, axis=1)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, np.inf])
@pytest.mark.parametrize("intercept", [True, False])
def test_scikit_learns_optimum(K, C, intercept):
    X, y = problem(K=K)
    ours = kg.LogisticRegression(C=C, tol=1e-10, fit_intercept=intercept).fit(X, y)
    peer = Peer(C=C, tol=1e-12, fit_intercept=intercept, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    if np.inf > C:
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    assert ours.gradient_norm_ <= 1e-8


@pytest.mark.parametrize("ratio", [0.3, 1.0])
@pytest.mark.parametrize("K", [2, 3])
def test_absolute_values(ratio, K):
    X, y = problem(K=K)
    ours = kg.LogisticRegression(C=0.05, l1_ratio=ratio, tol=1e-9, max_iter=1000).fit(X, y)
    peer = Peer(C=0.05, l1_ratio=ratio, tol=1e-10, solver="saga", max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    assert np.array_equal(ours.coef_ == 0, np.abs(peer.coef_) < 1e-9)
    assert np.isclose(ours.objective_, ours.objective(X, y))


def test_working_sets_pick_among_many_columns():
    X, y = problem(120, 6, K=2)
    wide = np.hstack([X, np.random.default_rng(1).standard_normal((120, 200))])
    ours = kg.LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-8, max_iter=1000).fit(wide, y)
    sparse = kg.LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-8, max_iter=1000)
    sparse.fit(sp.csr_array(wide), y)
    peer = Peer(C=0.1, l1_ratio=1.0, tol=1e-9, solver="saga", max_iter=50_000).fit(wide, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(sparse.coef_, ours.coef_, atol=1e-6)
    assert np.count_nonzero(ours.coef_) < 40


@pytest.mark.parametrize("K", [2, 4])
def test_the_sampled_solver_reaches_the_same_optimum(K, monkeypatch):
    X, y = problem(4000, 5, K=K)
    want = kg.LogisticRegression(tol=1e-9).fit(X, y)
    monkeypatch.setattr(quasi_newton, "SMALL", 200)
    got = kg.LogisticRegression(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-7)


@pytest.mark.parametrize("kind", ["shared", "diagonal"])
def test_the_other_curvatures_reach_the_same_optimum(kind, monkeypatch):
    X, y = problem(500, 5)
    want = kg.LogisticRegression(tol=1e-9).fit(X, y)
    monkeypatch.setattr(quasi_newton, "kind_of", lambda problem: kind)
    got = kg.LogisticRegression(tol=1e-9, max_iter=500).fit(X, y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-6)


def test_float32_rows_where_tol_allows(monkeypatch):
    from kilogram.models.logistic import problem as logistic_fit

    X, y = problem(500, 5)
    want = kg.LogisticRegression(tol=1e-9).fit(X, y)
    monkeypatch.setattr(logistic_fit, "LARGE", 0)
    got = kg.LogisticRegression(tol=1e-5).fit(X, y)
    assert got.coef_.dtype == np.float64
    assert got.objective(X, y) <= want.objective_ * (1 + 1e-6)


def test_liblinear_penalises_the_intercept():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 1.0
    params = dict(solver="liblinear", C=0.5, intercept_scaling=2.0, tol=1e-10)
    ours, peer = kg.LogisticRegression(**params).fit(X, y), Peer(**params).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 5.0, 2: 0.5}])
def test_class_weights(weights):
    X, y = load_iris(return_X_y=True)
    w = np.random.default_rng(0).integers(1, 3, 150).astype(float)
    ours = kg.LogisticRegression(class_weight=weights, tol=1e-9).fit(X, y, w)
    peer = Peer(class_weight=weights, tol=1e-11, max_iter=5000).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)


def test_separable_classes_are_named_and_usable():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    for params in ({"C": np.inf}, {"penalty": None}, {"C": 1e10}):
        with pytest.warns(ConvergenceWarning, match=r"separates.*usable"):
            model = kg.LogisticRegression(**params).fit(X, y)
        assert model.separable_
        assert model.score(X, y) == 1.0
        assert np.isfinite(model.predict_log_proba(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kg.LogisticRegression(C=np.inf).fit(*problem(K=2)).separable_


def test_dependent_columns_and_more_columns_than_rows():
    X, y = problem(40, 4, K=2)
    twice = np.hstack([X, X, np.ones((40, 1))])
    one, two = kg.LogisticRegression(tol=1e-10), kg.LogisticRegression(C=2.0, tol=1e-10)
    one.fit(twice, y), two.fit(X, y)  # the penalty shares a column between its two copies
    np.testing.assert_allclose(one.predict_proba(twice), two.predict_proba(X), atol=1e-6)
    free = kg.LogisticRegression(C=np.inf, tol=1e-8).fit(twice[:, :8], y)
    alone = kg.LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(free.predict_proba(twice[:, :8]), alone.predict_proba(X), atol=1e-4)
    wide = np.random.default_rng(0).standard_normal((20, 100))
    assert np.isfinite(kg.LogisticRegression().fit(wide, np.arange(20) % 2).coef_).all()


def test_streams_predict_probabilities_lazily():
    X, y = problem(90, 4)
    model = kg.LogisticRegression().fit(X, y)
    lazy = model.predict_proba(da.from_array(X, chunks=(20, 4)))
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)).sum(axis=1), 1)


def test_warm_start_and_early_stop():
    X, y = problem()
    model = kg.LogisticRegression(warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] <= 1 < first
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        stopped = kg.LogisticRegression(max_iter=1, tol=1e-12).fit(X, y)
    assert stopped.score(X, y) > 0.5


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": -1}, "C must be"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"solver": "magic"}, "solver"),
        ({"penalty": "l3"}, "penalty"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": -1}, "max_iter"),
        ({"class_weight": "fair"}, "balanced"),
    ],
)
def test_bad_parameters(params, match):
    X, y = problem(30, 3)
    with pytest.raises(ValueError, match=match):
        kg.LogisticRegression(**params).fit(X, y)


def test_bad_labels_and_weights():
    X, y = problem(30, 3)
    with pytest.raises(ValueError, match="one class"):
        kg.LogisticRegression().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="zero"):
        kg.LogisticRegression().fit(X, y, np.zeros(30))
    with pytest.raises(ValueError, match="0 for every class"):
        kg.LogisticRegression(class_weight=dict.fromkeys(np.unique(y).tolist(), 0.0)).fit(X, y)


def test_classes_without_weight_keep_their_place_as_in_scikit_learn():
    X, y = problem(60, 3)
    w = (y != 2).astype(float)
    ours, peer = kg.LogisticRegression().fit(X, y, w), Peer().fit(X, y, w)
    np.testing.assert_array_equal(ours.classes_, peer.classes_)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    assert ours.predict_proba(X)[:, 2].max() < 1e-3
    alone = kg.LogisticRegression().fit(X, y == 1, (y == 1).astype(float))
    assert alone.predict(X).all()
    assert alone.predict_proba(X)[:, 1].min() > 0.99


def test_bagging_with_few_rows_of_a_class():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), np.r_[np.zeros(28), 1, 1].astype(int)
    bagged = BaggingClassifier(kg.LogisticRegression(), n_estimators=20, random_state=0).fit(X, y)
    assert bagged.predict_proba(X).shape == (30, 2)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = problem(60, 3)
    model = kg.LogisticRegression().fit(X, y)
    want = model.predict_proba(X)
    bad = X[:, :2].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, y)
    np.testing.assert_array_equal(model.predict_proba(X), want)
    fresh = kg.LogisticRegression()
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(bad, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_absolute_values_with_one_curvature_for_all_classes(monkeypatch):
    from kilogram.solvers.proximal import logistic as elastic

    X, y = problem(300, 5)
    want = kg.LogisticRegression(l1_ratio=1.0, C=0.1, tol=1e-7).fit(X, y)
    monkeypatch.setattr(elastic, "FULL", 0)
    monkeypatch.setattr(elastic, "kind_of", lambda problem: "shared")
    got = kg.LogisticRegression(l1_ratio=1.0, C=0.1, tol=1e-7, max_iter=500).fit(X, y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-5)


def test_counts_with_a_mean_far_from_zero():
    rng = np.random.default_rng(5)
    X = sp.random(400, 4000, density=0.02, random_state=0, format="csr")
    X.data += 3.0
    total = np.asarray(X[:, :40].sum(axis=1)).ravel()
    y = (total > np.median(total)).astype(int)
    for labels in (y, y + rng.integers(2, size=400)):
        ours = kg.LogisticRegression(tol=1e-8).fit(X, labels)
        peer = Peer(tol=1e-8, max_iter=2000).fit(X, labels)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)


def test_single_precision_keeps_the_classes_balanced():
    """Only the penalty opposes a shift common to all classes: noise must not go that way."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 5)) + 0.3
    y = np.digitize(X @ rng.standard_normal(5) + rng.standard_normal(700), [-1.0, 1.0])
    want = kg.LogisticRegression(C=1e4, tol=1e-9).fit(X, y).coef_
    got = kg.LogisticRegression(C=1e4, tol=1e-9).fit(X.astype(np.float32), y).coef_
    np.testing.assert_allclose(got.sum(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(got, want, atol=1e-4)
