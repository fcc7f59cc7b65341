"""Gradient boosting: accuracy beside scikit-learn's, losses, categories, constraints, stopping."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance, r2_score

from kilogram import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    f = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3]
    return X, f, f + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("loss", "measure"),
    [
        ("squared_error", lambda y, p: 1 - r2_score(y, p)),
        ("absolute_error", mean_pinball_loss),
        ("quantile", lambda y, p: mean_pinball_loss(y, p, alpha=0.8)),
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_poisson_deviance),
    ],
)
def test_as_accurate_as_scikit_learn(loss, measure):
    X, _, y = table()
    if loss in ("poisson", "gamma"):
        y = np.exp(y / 3)
    more = {"quantile": 0.8} if loss == "quantile" else {}
    params = {"loss": loss, "max_iter": 50, **more}
    ours = HistGradientBoostingRegressor(**params).fit(X[:1000], y[:1000])
    theirs = ensemble.HistGradientBoostingRegressor(**params).fit(X[:1000], y[:1000])
    a, b = (measure(y[1000:], m.predict(X[1000:])) for m in (ours, theirs))
    assert a < 1.15 * b


def test_huber_withstands_outliers():
    X, f, y = table()
    y = y.copy()
    y[:100] += 300.0
    params = {"max_iter": 50, "random_state": 0}
    robust = HistGradientBoostingRegressor("huber", quantile=0.8, **params).fit(X[:1000], y[:1000])
    plain = HistGradientBoostingRegressor(**params).fit(X[:1000], y[:1000])
    r2 = [r2_score(f[1000:], m.predict(X[1000:])) for m in (robust, plain)]
    assert r2[0] > 0.6 > 0 > r2[1]


@pytest.mark.parametrize("classes", [2, 4])
def test_classes(classes):
    X, _, y = table()
    c = np.array(list("dcba"))[np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))]
    ours = HistGradientBoostingClassifier(max_iter=30).fit(X[:1000], c[:1000])
    theirs = ensemble.HistGradientBoostingClassifier(max_iter=30).fit(X[:1000], c[:1000])
    p = ours.predict_proba(X[1000:])
    assert log_loss(c[1000:], p) < 1.1 * log_loss(c[1000:], theirs.predict_proba(X[1000:]))
    assert (ours.predict(X) == ours.classes_[ours.predict_proba(X).argmax(axis=1)]).all()
    assert ours.n_trees_per_iteration_ == (1 if classes == 2 else classes)
    *_, last = ours.staged_predict_proba(X[1000:])
    np.testing.assert_allclose(last, p, rtol=1e-12)
    assert [*ours.staged_predict(X[:5])][-1].tolist() == ours.predict(X[:5]).tolist()


def test_missing_values_are_used():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 1))
    gap = rng.random(400) < 0.5
    y = np.where(gap, 3.0, 0.0)
    x[gap] = np.nan
    model = HistGradientBoostingRegressor(max_iter=50).fit(x, y)
    np.testing.assert_allclose(model.predict([[np.nan], [0.0]]), [3, 0], atol=0.05)
    no_gap = HistGradientBoostingRegressor().fit(np.arange(100.0)[:, None], np.arange(100.0) > 80)
    assert no_gap.predict([[np.nan]])[0] < 0.5  # where most rows went


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_of_frames(library):
    rng = np.random.default_rng(0)
    effect = rng.standard_normal(30)
    codes = rng.integers(0, 30, 1200)
    x = rng.standard_normal(1200)
    y = effect[codes] * 3 + x + 0.1 * rng.standard_normal(1200)
    names = pd.Categorical([f"group {c}" for c in codes])
    frame = pd.DataFrame({"x": x, "group": names}, index=np.arange(1200)[::-1])
    if library == "polars":
        frame = pl.from_pandas(frame)
    model = HistGradientBoostingRegressor(max_iter=60).fit(frame[:1000], y[:1000])
    assert model.is_categorical_.tolist() == [False, True]
    assert model.score(frame[1000:], y[1000:]) > 0.95
    by_place = HistGradientBoostingRegressor(max_iter=60, categorical_features=[1])
    by_place.fit(np.column_stack([x, codes])[:1000], y[:1000])
    assert by_place.score(np.column_stack([x, codes])[1000:], y[1000:]) > 0.95
    unknown, missing = [[0.3, 99.0]], [[0.3, np.nan]]
    assert by_place.predict(unknown) == by_place.predict(missing)


def test_too_many_categories_are_refused():
    X = np.arange(300.0)[:, None]
    with pytest.raises(ValueError, match="cardinality <= 255"):
        HistGradientBoostingRegressor(categorical_features=[0]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Categorical features cannot have monotonic"):
        HistGradientBoostingRegressor(categorical_features=[0], monotonic_cst=[1]).fit(
            X[:20], X[:20, 0]
        )


def test_monotone_and_interaction_constraints():
    X, _, y = table()
    model = HistGradientBoostingRegressor(
        monotonic_cst=[1, -1, 0, 0, 0, 0], interaction_cst="no_interactions", max_iter=60
    ).fit(X, y)
    at = np.repeat(X[:20], 40, axis=0)
    for k, sign in ((0, 1), (1, -1)):
        moved = at.copy()
        moved[:, k] = np.tile(np.linspace(-3, 3, 40), 20)
        steps = sign * np.diff(model.predict(moved).reshape(20, 40), axis=1)
        assert steps.min() >= -1e-12
    # without interactions f(a, b) - f(a, b') does not depend on a
    corners = [model.predict([[0, 0, a, b, 0, 0] for b in (-1.0, 1.0)]) for a in (-1.0, 1.0)]
    assert np.diff(corners[0]) == pytest.approx(np.diff(corners[1]), abs=1e-12)


def test_early_stopping_holds_rows_out_and_warm_start_continues():
    X, _, y = table()
    model = HistGradientBoostingRegressor(
        max_iter=500, early_stopping=True, random_state=0, learning_rate=0.3
    ).fit(X, y)
    assert model.n_iter_ < 500
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_ + 1
    assert model.validation_score_[-1] < model.validation_score_.max() + 1e-7
    scored = HistGradientBoostingClassifier(
        max_iter=100, early_stopping=True, scoring="roc_auc", random_state=0
    ).fit(X, y > 0)
    assert 0.9 < scored.validation_score_[-1] <= 1
    once = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    twice = HistGradientBoostingRegressor(max_iter=5, warm_start=True).fit(X, y)
    twice.set_params(max_iter=20).fit(X, y)
    np.testing.assert_allclose(twice.predict(X), once.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="must be larger than or equal to n_iter_"):
        twice.set_params(max_iter=3).fit(X, y)
    given = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.5, early_stopping=True)
    given.fit(X[:1000], y[:1000], X_val=X[1000:], y_val=y[1000:])
    assert given.n_iter_ < 300


def test_weights_and_importances():
    X, _, y = table(200)
    w = np.random.default_rng(0).integers(0, 3, 200)
    params = {"max_iter": 10, "min_samples_leaf": 1, "max_leaf_nodes": 6}
    weighted = HistGradientBoostingRegressor(**params).fit(X, y, w)
    repeated = HistGradientBoostingRegressor(**params).fit(np.repeat(X, w, 0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-9)
    assert weighted.feature_importances_.argmax() == 0
    assert weighted.feature_importances_.sum() == pytest.approx(1)
    some = HistGradientBoostingRegressor(max_features=0.5, random_state=0).fit(X, y)
    assert some.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("params", "y", "match"),
    [
        ({"loss": "gamma"}, [0.0, 1, 2], "strictly positive"),
        ({"loss": "poisson"}, [-1.0, 1, 2], "non-negative"),
        ({"loss": "quantile"}, [0.0, 1, 2], "needs quantile"),
        ({"max_bins": 256}, [0.0, 1, 2], "max_bins must be"),
        ({"monotonic_cst": [2]}, [0.0, 1, 2], "-1, 0 or 1"),
        ({"interaction_cst": [[3]]}, [0.0, 1, 2], "integer indices"),
        ({"categorical_features": ["a"]}, [0.0, 1, 2], "without feature names"),
    ],
)
def test_bad_parameters(params, y, match):
    with pytest.raises(ValueError, match=match):
        HistGradientBoostingRegressor(**params).fit([[0.0], [1.0], [2.0]], y)


def test_a_warm_start_refuses_other_classes_and_features():
    X, f, _ = table(200)
    model = HistGradientBoostingClassifier(max_iter=3, warm_start=True).fit(X, f > 0)
    model.set_params(max_iter=6)
    with pytest.raises(ValueError, match=r"y has the classes \[2\], which the first fit"):
        model.fit(X, np.digitize(f, [-1.0, 1.0]))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.fit(X[:, :3], f > 0)
    assert model.n_iter_ == 3
    assert model.fit(X[:50], f[:50] > 0).n_iter_ == 6
