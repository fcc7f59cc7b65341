"""Additive boosting: the shape functions, what they add up to, and what a user may ask of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import kilogram as kg
from kilogram.textbook import run
from kilogram.textbook.boosting import additive_boosting

pd = pytest.importorskip("pandas")


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 4))
    f = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + 1.5 * (X[:, 2] > 0) * (X[:, 3] > 0)
    return X, f, f + 0.1 * rng.standard_normal(n)


FAST = {"n_bags": 2, "learning_rate": 0.3, "random_state": 0}


def test_agrees_with_the_textbook_version():
    X, _, y = table(60)
    book = run(additive_boosting(X, y, 8, 0.2))
    model = kg.AdditiveBoostingRegressor(
        learning_rate=0.2, max_iter=8, max_leaf_nodes=2, min_samples_leaf=1, interactions=0,
        early_stopping=False,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(
        model.predict(X), y.mean() + book["parts"].sum(axis=1), rtol=1e-9, atol=1e-9
    )
    centred = book["parts"] - book["parts"].mean(axis=0)
    np.testing.assert_allclose(model.contributions(X), centred, rtol=1e-9, atol=1e-9)


def test_finds_the_functions_and_the_pair():
    X, _, y = table()
    model = kg.AdditiveBoostingRegressor(interactions=1, **FAST).fit(X, y)
    assert model.interactions_ == [(2, 3)]
    new, truth, _ = table(800, seed=1)
    assert model.score(new, truth) > 0.97
    without = kg.AdditiveBoostingRegressor(interactions=0, **FAST).fit(X, y)
    assert without.score(new, truth) < model.score(new, truth) - 0.05
    shape = model.shape_functions_[0]
    middle = (shape.axes[0].edges[1:] + shape.axes[0].edges[:-1]) / 2
    assert np.abs(shape.values[:-1] - np.sin(2 * middle)).max() < 0.3
    assert np.argmax(model.feature_importances_) == 0
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_and_intercept_add_up(classes):
    X, f, _ = table(400)
    y = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = kg.AdditiveBoostingClassifier(max_iter=20, interactions=2, **FAST).fit(X, y, w)
    parts = model.contributions(X)
    raw = model.intercept_ + parts.sum(axis=1)
    np.testing.assert_allclose(raw, model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.average(parts, axis=0, weights=w), 0, atol=1e-9)
    importance = np.average(
        np.abs(parts.reshape(*parts.shape[:2], -1)).mean(axis=2), axis=0, weights=w
    )
    np.testing.assert_allclose(model.term_importances_, importance, rtol=1e-9)
    assert log_loss(y, model.predict_proba(X)) < 0.7 * np.log(classes)


def test_pairs_are_pure():
    """What of a pair depends on one feature alone belongs to that feature."""
    X, _, y = table(600)
    model = kg.AdditiveBoostingRegressor(interactions=[(2, 3), (0, 3)], **FAST).fit(X, y)
    assert model.interactions_ == [(2, 3), (0, 3)]
    for shape in model.shape_functions_[4:]:
        assert shape.values.shape == shape.weights.shape == shape.errors.shape
        total = shape.values * shape.weights
        np.testing.assert_allclose(total.sum(axis=0), 0, atol=1e-6 * len(y))
        np.testing.assert_allclose(total.sum(axis=1), 0, atol=1e-6 * len(y))


def test_categories_missing_values_and_names():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({
        "city": pd.Categorical(rng.choice(["a", "b", "c", "d"], n)),
        "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    })  # fmt: skip
    effect = frame["city"].map({"a": 0.0, "b": 2.0, "c": 0.0, "d": 2.0}).astype(float)
    y = effect + np.where(frame["size"].isna(), 1.0, 0.0) + 0.05 * rng.standard_normal(n)
    model = kg.AdditiveBoostingRegressor(interactions=[("city", "size")], **FAST).fit(frame, y)
    assert model.score(frame, y) > 0.98
    city, size, pair = model.shape_functions_
    assert city.axes[0].labels == ["a", "b", "c", "d"]
    assert not city.axes[0].has_missing
    assert size.axes[0].has_missing
    assert size.values[-1] - size.values[:-1].mean() == pytest.approx(1, abs=0.15)
    assert pair.name == "city x size"
    unknown = frame.iloc[:1].assign(city=pd.Categorical(["z"]))
    assert model.contributions(unknown)[0, 0] == city.values[-1]


def test_monotone_constraints_hold_everywhere():
    X, _, y = table(500)
    model = kg.AdditiveBoostingRegressor(monotonic_cst=[1, -1, 0, 0], max_iter=60, **FAST).fit(X, y)
    first, second = model.shape_functions_[:2]
    assert (np.diff(first.values[:-1]) >= -1e-12).all()
    assert (np.diff(second.values[:-1]) <= 1e-12).all()
    assert all(0 not in pair and 1 not in pair for pair in model.interactions_)
    with pytest.raises(ValueError, match="monotonic"):
        kg.AdditiveBoostingRegressor(monotonic_cst=[1, 0, 0, 0], interactions=[(0, 1)]).fit(X, y)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "huber"])
def test_losses(loss):
    X, f, _ = table(800)
    rng = np.random.default_rng(2)
    if loss == "huber":
        y = f + np.where(rng.random(len(f)) < 0.05, 50, 0.1 * rng.standard_normal(len(f)))
        truth = f
    else:
        truth = np.exp(f / 2)
        y = rng.poisson(truth) if loss == "poisson" else truth * rng.gamma(5, 0.2, len(f))
    model = kg.AdditiveBoostingRegressor(loss, **FAST).fit(X, y)
    constant = np.mean(np.abs(truth - truth.mean()))
    assert np.mean(np.abs(model.predict(X) - truth)) < 0.5 * constant
    if loss != "huber":
        raw = model.intercept_ + model.contributions(X).sum(axis=1)
        np.testing.assert_allclose(np.log(model.predict(X)), raw, rtol=1e-9, atol=1e-9)


def test_rows_of_weight_zero_are_left_out():
    X, _, y = table(200)
    w = np.ones(200)
    w[100:] = 0
    params = {"max_iter": 10, "early_stopping": False, "interactions": 1}
    a = kg.AdditiveBoostingRegressor(**params).fit(X, np.where(w > 0, y, 1e6), w)
    b = kg.AdditiveBoostingRegressor(**params).fit(X[:100], y[:100])
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    X, _, y = table(300)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        d=pd.Categorical(np.where(X[:, 3] > 0, "u", "v"))
    )
    model = kg.AdditiveBoostingRegressor(interactions=[("c", "d")], max_iter=20, **FAST).fit(
        frame, y
    )
    ax = model.plot_shape("a")
    assert ax.get_title(loc="left") == "a"
    heights = ax.lines[1].get_ydata()
    np.testing.assert_array_equal(heights[:-1], model.shape_functions_[0].values[:-1])
    bars = model.plot_shape("d").patches
    np.testing.assert_allclose([b.get_width() for b in bars], model.shape_functions_[3].values[:-1])
    assert model.plot_shape(("d", "c")).get_title(loc="left") == "c x d"
    with pytest.raises(ValueError, match="no shape function"):
        model.plot_shape(("a", "b"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"interactions": [(0, 0)]}, "pairs of different features"),
        ({"interactions": [(0, 9)]}, "pairs of different features"),
        ({"max_bins": 1}, "max_bins"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "monotonic_cst"),
    ],
)
def test_refuses_what_cannot_be(params, message):
    X, _, y = table(50)
    with pytest.raises(ValueError, match=message):
        kg.AdditiveBoostingRegressor(**params).fit(X, y)


def test_constant_and_missing_columns_have_flat_functions():
    X, _, y = table(150)
    X[:, 2], X[:, 3] = 7.0, np.nan
    model = kg.AdditiveBoostingRegressor(**FAST, max_iter=30).fit(X, y)
    for shape in model.shape_functions_[2:4]:
        assert np.abs(shape.values).max() == 0
    assert model.score(X, y) > 0.5


def test_a_class_with_one_row():
    X, _, _ = table(150)
    y = np.zeros(150, int)
    y[0] = 1
    model = kg.AdditiveBoostingClassifier(**FAST, max_iter=10).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_useless_features_and_pairs_cost_little():
    """Rounds go to the terms that need them: the others do not end the fit early."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    p = 1 / (1 + np.exp(-2 * X[:, 0] * X[:, 1]))
    y = (rng.random(3000) < p).astype(int)
    model = kg.AdditiveBoostingClassifier(n_bags=4, random_state=0)
    told = clone(model).set_params(interactions=[(0, 1)]).fit(X[:2000], y[:2000])
    found = model.fit(X[:2000], y[:2000])
    assert found.interactions_[0] == (0, 1)
    least, most = (log_loss(y[2000:], m.predict_proba(X[2000:])) for m in (told, found))
    assert most < 1.04 * least  # 1.09 where all take turns
