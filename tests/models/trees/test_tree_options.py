"""Criteria, several targets, missing values, constraints and categories, beside scikit-learn's."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import tree
from sklearn.base import clone

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(300)
LABELS = np.digitize(Y, [-0.5, 0.5])
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)


def leaf_cost(model):
    """The impurity of the leaves by weight: equal for trees that differ in ties only."""
    t = model.tree_
    leaf = t.children_left < 0
    return float((t.impurity * t.weighted_n_node_samples)[leaf].sum())


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize(
    "params",
    [{"max_depth": 4}, {"min_samples_leaf": 7}, {"max_leaf_nodes": 12},
     {"min_weight_fraction_leaf": 0.05, "max_depth": 2},
     {"max_depth": 5, "monotonic_cst": [1, 0, 0, 0, -1]}],
)  # fmt: skip
def test_criteria_of_regression(criterion, params):
    y = np.exp(Y) if criterion == "poisson" else Y
    ours = kg.DecisionTreeRegressor(criterion=criterion, **params).fit(X, y)
    peer = tree.DecisionTreeRegressor(criterion=criterion, random_state=0, **params).fit(X, y)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    assert leaf_cost(ours) == pytest.approx(leaf_cost(peer), rel=1e-9)
    np.testing.assert_allclose(ours.tree_.impurity[0], peer.tree_.impurity[0])


def test_weighted_medians():
    w = RNG.integers(0, 4, 300).astype(float)
    ours = kg.DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, Y, w)
    peer = tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=3, random_state=0)
    np.testing.assert_allclose(ours.predict(X), peer.fit(X, Y, w).predict(X))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_several_targets(criterion):
    two = np.exp(np.column_stack([Y, X[:, 0] + Y]))
    params = {"criterion": criterion, "max_depth": 4}
    ours = kg.DecisionTreeRegressor(**params).fit(X, two)
    peer = tree.DecisionTreeRegressor(random_state=0, **params).fit(X, two)
    assert ours.predict(X).shape == (300, 2)
    assert leaf_cost(ours) == pytest.approx(leaf_cost(peer), rel=1e-9)
    assert ours.tree_.value.shape == peer.tree_.value.shape


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_several_columns_of_labels(criterion):
    names = np.column_stack([np.array(["a", "b", "c"])[LABELS], np.where(Y > 0, "x", "y")])
    params = {"criterion": criterion, "max_depth": 4}
    ours = kg.DecisionTreeClassifier(**params).fit(X, names)
    peer = tree.DecisionTreeClassifier(random_state=0, **params).fit(X, names)
    assert leaf_cost(ours) == pytest.approx(leaf_cost(peer), rel=1e-9)
    assert [c.tolist() for c in ours.classes_] == [c.tolist() for c in peer.classes_]
    assert ours.predict(X).shape == (300, 2)
    assert [p.shape for p in ours.predict_proba(X)] == [(300, 3), (300, 2)]
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)[0]), ours.predict_proba(X)[0])
    assert ours.tree_.value.shape == peer.tree_.value.shape == (ours.tree_.node_count, 2, 3)


def test_multilabel_forests_and_their_out_of_bag_scores():
    marks = np.column_stack([Y > 0, X[:, 0] > 0]).astype(int)
    model = kg.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, marks)
    assert model.oob_decision_function_.shape == (300, 2, 2)
    assert 0.7 < model.oob_score_ <= 1
    assert model.predict(X).shape == marks.shape
    with pytest.raises(ValueError, match="OOB"):
        kg.RandomForestClassifier(30, oob_score=True).fit(X, np.column_stack([LABELS, Y > 0]))
    real = kg.RandomForestRegressor(30, oob_score=True, random_state=0)
    real.fit(X, np.column_stack([Y, X[:, 0]]))
    assert real.oob_prediction_.shape == (300, 2)
    spread = kg.RandomForestRegressor(
        30, oob_score=lambda y, p: float(np.abs(y - p).max()), random_state=0
    ).fit(X, Y)
    assert spread.oob_score_ == pytest.approx(np.abs(Y - spread.oob_prediction_).max())


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_missing_values(depth):
    ours = kg.DecisionTreeRegressor(max_depth=depth).fit(GAPS, Y)
    peer = tree.DecisionTreeRegressor(max_depth=depth, random_state=0).fit(GAPS, Y)
    assert leaf_cost(ours) == pytest.approx(leaf_cost(peer), rel=1e-9)
    np.testing.assert_allclose(ours.predict(GAPS), peer.predict(GAPS))
    for labels in (LABELS, LABELS > 1):
        ours = kg.DecisionTreeClassifier(max_depth=depth).fit(GAPS, labels)
        peer = tree.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(GAPS, labels)
        assert leaf_cost(ours) == pytest.approx(leaf_cost(peer), rel=1e-9)


def test_missing_values_that_predict_and_those_that_training_lacked():
    y = np.isnan(GAPS[:, 1]).astype(int)
    model = kg.DecisionTreeClassifier().fit(GAPS, y)
    assert model.get_n_leaves() == 2
    assert model.score(GAPS, y) == 1.0
    assert np.isposinf(model.tree_.threshold[0])
    assert model.tree_.missing_go_to_left[0] == 0
    full = kg.DecisionTreeRegressor(max_depth=1).fit(X, Y)
    left, right = full.tree_.n_node_samples[1:]
    larger = full.tree_.value[1 if left > right else 2, 0, 0]
    assert full.predict(np.full((1, 5), np.nan))[0] == pytest.approx(larger)
    nothing = np.column_stack([np.full(300, np.nan), X[:, 0]])  # a column of gaps is no column
    want = kg.DecisionTreeRegressor(max_depth=3).fit(X[:, :1], Y).predict(X[:, :1])
    got = kg.DecisionTreeRegressor(max_depth=3).fit(nothing, Y).predict(nothing)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("direction", [-1, 1])
@pytest.mark.parametrize("name", ["DecisionTree", "RandomForest", "ExtraTree", "ExtraTrees"])
def test_monotone_constraints(name, direction):
    cst = [direction, 0, 0, 0, 0]
    more = {"n_estimators": 10} if name in ("RandomForest", "ExtraTrees") else {}
    real = getattr(kg, name + "Regressor")(monotonic_cst=cst, random_state=0, **more).fit(X, Y)
    mark = getattr(kg, name + "Classifier")(monotonic_cst=cst, random_state=0, **more)
    mark.fit(X, Y > 0)
    for row in X[:20]:
        line = np.tile(row, (50, 1))
        line[:, 0] = np.linspace(-3, 3, 50)
        assert (direction * np.diff(real.predict(line)) >= -1e-12).all()
        assert (direction * np.diff(mark.predict_proba(line)[:, 1]) >= -1e-12).all()


def test_bad_constraints():
    model = kg.DecisionTreeRegressor
    for cst, match in [([1, 0], "shape"), ([2, 0, 0, 0, 0], "-1, 0 or 1")]:
        with pytest.raises(ValueError, match=match):
            model(monotonic_cst=cst).fit(X, Y)
    with pytest.raises(ValueError, match="multiple outputs"):
        model(monotonic_cst=[1] * 5).fit(X, X[:, :2])
    with pytest.raises(ValueError, match="multiclass"):
        kg.DecisionTreeClassifier(monotonic_cst=[1] * 5).fit(X, LABELS)
    for features, match in [([7], "n_features"), (["a"], "feature names"), ([True], "mask"),
                            ([0], "cardinality <= 256")]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            model(categorical_features=features).fit(X, Y)


def test_categories_are_split_into_the_best_two_sets():
    """Against all subsets of six categories."""
    codes = RNG.integers(0, 6, 200)
    y = RNG.standard_normal(6)[codes] + 0.3 * RNG.standard_normal(200)
    for labels in (y, y > 0):
        kind = "Classifier" if labels.dtype == bool else "Regressor"
        model = getattr(kg, f"DecisionTree{kind}")(max_depth=1, categorical_features=[0])
        model.fit(codes[:, None].astype(float), labels)
        best = np.inf
        for subset in range(1, 2**6 - 1):
            low = (subset >> codes) & 1 == 1
            if low.any() and not low.all():
                parts = (labels[low].astype(float), labels[~low].astype(float))
                best = min(best, sum(((p - p.mean()) ** 2).sum() for p in parts))
        assert leaf_cost(model) == pytest.approx(best * (2 if kind == "Classifier" else 1))


def test_categories_beside_gaps_and_unseen_ones():
    codes = RNG.integers(0, 200, 2000).astype(float)
    y = RNG.standard_normal(200)[codes.astype(int)] + 0.05 * RNG.standard_normal(2000)
    table = np.column_stack([RNG.standard_normal(2000), np.where(codes == 3, np.nan, codes)])
    model = kg.RandomForestRegressor(5, categorical_features=[1], random_state=0, max_depth=8)
    model.fit(table, y)
    assert model.score(table, y) > 0.9 > 0.7 > clone(model).set_params(
        categorical_features=None).fit(table, y).score(table, y)  # fmt: skip
    unseen, gap = table[:2].copy(), table[:2].copy()
    unseen[:, 1], gap[:, 1] = 255.0, np.nan
    assert np.isfinite(model.predict(unseen)).all()
    np.testing.assert_array_equal(model.estimators_[0].predict(gap), model[0].predict(gap))


def test_categories_of_data_frames():
    """By their type or name, as words; the same trees as of numbers for them."""
    words = np.array(["red", "green", "blue", "grey"], dtype=object)
    codes = RNG.integers(0, 4, 300)
    words_of_rows = words[codes]
    words_of_rows[::20] = None
    frame = pd.DataFrame({"x": RNG.standard_normal(300), "colour": words_of_rows})
    y = np.isin(codes, (0, 3)) + 0.1 * (frame.x > 0)
    typed = frame.astype({"colour": "category"})
    kinds = [kg.DecisionTreeRegressor, kg.RandomForestRegressor, kg.ExtraTreesRegressor]
    for kind in kinds:
        model = kind(max_depth=3, random_state=0).fit(typed, y)
        named = kind(max_depth=3, random_state=0, categorical_features=["colour"]).fit(frame, y)
        assert model.score(typed, y) > 0.9
        np.testing.assert_array_equal(model.predict(typed), named.predict(frame))
        assert model.is_categorical_.tolist() == [False, True]
        unseen = frame[:3].assign(colour=["pink", "red", None])
        assert np.isfinite(named.predict(unseen)).all()
    tree = kg.DecisionTreeRegressor(max_depth=1).fit(typed, y)
    assert "colour in {green, blue}" in kg.export_text(tree).replace("blue, green", "green, blue")
    forest = kg.RandomForestRegressor(3, random_state=0).fit(typed, y)
    assert np.mean([t.predict(typed) for t in forest.estimators_], axis=0) == pytest.approx(
        forest.predict(typed))  # fmt: skip
    more = clone(forest).set_params(warm_start=True).fit(typed, y).set_params(n_estimators=5)
    assert more.fit(typed[::2], y[::2]).score(typed, y) > 0.9
    loaded = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(loaded.predict(typed), forest.predict(typed))


def test_categories_of_any_numbers_and_of_dask_rows():
    codes = RNG.integers(0, 6, 200)
    y = (codes % 2).astype(float)
    near = kg.DecisionTreeRegressor(max_depth=1, categorical_features=[0])
    far = clone(near).fit(1e6 * codes[:, None] - 2.5, y)
    assert near.fit(codes[:, None], y).score(codes[:, None], y) == 1.0
    assert far.score(1e6 * codes[:, None] - 2.5, y) == 1.0
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(codes[:, None].astype(float), chunks=(50, 1))
    found = clone(near).fit(lazy, da.from_array(y, chunks=50)).predict(lazy)
    np.testing.assert_array_equal(np.asarray(found), y)


def test_random_thresholds():
    real = kg.ExtraTreesRegressor(30, random_state=0).fit(X[::2], Y[::2])
    assert real.score(X[1::2], Y[1::2]) > 0.6
    assert real.score(X[::2], Y[::2]) == 1.0  # grown out, on all rows
    one, two = (kg.ExtraTreeRegressor(random_state=s).fit(X, Y).tree_ for s in (0, 1))
    assert one.threshold[0] != two.threshold[0]
    gaps = kg.ExtraTreesClassifier(20, random_state=0).fit(GAPS, LABELS)
    assert gaps.score(GAPS, LABELS) == 1.0
    assert type(gaps.estimators_[0]) is kg.ExtraTreeClassifier


def test_warm_starts_end_where_one_fit_does():
    once = kg.RandomForestRegressor(20, random_state=0, oob_score=True).fit(X, Y)
    slow = kg.RandomForestRegressor(8, random_state=0, oob_score=True, warm_start=True)
    with pytest.warns(match="OOB"):
        slow.fit(X, Y)
    slow.set_params(n_estimators=20).fit(X, Y)
    np.testing.assert_allclose(slow.predict(X), once.predict(X))
    assert slow.oob_score_ == pytest.approx(once.oob_score_)
    with pytest.warns(match="does not fit new trees"):
        slow.fit(X, Y)
    with pytest.raises(ValueError, match="larger or equal"):
        slow.set_params(n_estimators=5).fit(X, Y)


def test_verbose_forests_report_their_trees(capsys):
    kg.RandomForestRegressor(3, verbose=1).fit(X, Y)
    assert capsys.readouterr().out.count("tree") == 3


def test_proximity_is_the_fraction_of_shared_leaves():
    forest = kg.RandomForestClassifier(25, random_state=0, min_samples_leaf=5).fit(X, LABELS)
    leaves = forest.apply(X)
    want = (leaves[:, None] == leaves[None]).mean(axis=2)
    np.testing.assert_allclose(forest.proximity(X), want)
    np.testing.assert_allclose(forest.proximity(X[:7], X[7:20]), want[:7, 7:20])
    away = np.stack([~np.isin(np.arange(300), s) for s in forest.estimators_samples_], axis=1)
    both = (away[:, None] & away[None]).sum(axis=2)
    same = ((leaves[:, None] == leaves[None]) & away[:, None] & away[None]).sum(axis=2)
    got = forest.proximity(X, out_of_bag=True)
    np.testing.assert_allclose(got[both > 0], (same / np.maximum(both, 1))[both > 0])
    assert np.isnan(got[both == 0]).all()
    with pytest.raises(ValueError, match="training rows"):
        forest.proximity(X[:5], out_of_bag=True)


@pytest.mark.parametrize("kind", [np.float16, np.int8, np.uint16, np.float32])
def test_small_number_types(kind):
    rows = (10 * np.abs(X)).astype(kind)
    want = kg.DecisionTreeRegressor().fit(rows.astype(float), Y).predict(rows.astype(float))
    np.testing.assert_allclose(kg.DecisionTreeRegressor().fit(rows, Y).predict(rows), want)


def test_unusual_data():
    one = np.zeros(300, int)
    one[7] = 1  # a class with one row
    assert kg.DecisionTreeClassifier().fit(X, one).score(X, one) == 1.0
    assert kg.RandomForestClassifier(5, random_state=0).fit(X, one).n_classes_ == 2
    flat = kg.RandomForestRegressor(3).fit(np.ones((10, 3)), np.arange(10.0))
    assert flat.estimators_[0].get_depth() == 0
    for name in ("DecisionTreeRegressor", "RandomForestClassifier", "ExtraTreesRegressor"):
        with pytest.raises(ValueError, match="weight"):
            getattr(kg, name)().fit(X, LABELS, np.zeros(300))
        with pytest.raises(ValueError, match="max_depth"):
            getattr(kg, name)(max_depth=0).fit(X, LABELS)
        with pytest.raises(ValueError, match="infinity"):
            getattr(kg, name)().fit(np.where(X > 2, np.inf, X), LABELS)
        fitted = getattr(kg, name)().fit(X, LABELS)
        for dtype in (np.float32, np.float64):
            with pytest.raises(ValueError, match="contains infinity"):
                fitted.predict(np.where(X > 2, np.inf, X).astype(dtype))
    for bad, match in [(-(Y**2), "negative"), (0 * Y, "Sum of y")]:
        with pytest.raises(ValueError, match=match):
            kg.DecisionTreeRegressor(criterion="poisson").fit(X, bad)


def test_ties_between_features_vary_from_tree_to_tree():
    """Two equal columns: a forest uses both, a single tree the first."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 1))
    X, y = np.hstack([x, x]), np.sin(2 * x[:, 0])
    forest = kg.RandomForestRegressor(10, max_features=1.0, random_state=0).fit(X, y)
    assert (forest.feature_importances_ > 0.2).all()
    assert kg.DecisionTreeRegressor().fit(X, y).feature_importances_[1] == 0


def test_the_trees_of_a_forest_can_be_grown_alone():
    """A clone of a tree, fitted to the rows drawn for it, is the tree again."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 5))
    y = (X[:, 0] + rng.standard_normal(150) > 0).astype(int)
    forest = kg.RandomForestClassifier(3, max_samples=1.5, max_features=2, random_state=0).fit(X, y)
    rows = forest.estimators_samples_[1]
    assert rows.dtype == np.int32
    assert len(rows) == 225
    again = clone(forest.estimators_[1]).fit(X[rows], y[rows])
    np.testing.assert_allclose(again.tree_.value, forest.estimators_[1].tree_.value)


def test_forests_may_draw_more_rows_than_there_are():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    forest = kg.RandomForestClassifier(2, max_samples=30, random_state=0).fit(X, y)
    assert [len(rows) for rows in forest.estimators_samples_] == [30, 30]


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
def test_a_warm_start_refuses_other_features(name):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    model = getattr(kg, name)(n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="the same features as before: 4, got 2"):
        model.set_params(n_estimators=6).fit(X[:, :2], y)
    assert len(model.predict(X)) == 60


@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees"])
def test_the_tree_of_a_forest_has_its_parameters(kind):
    model = getattr(kg, kind + "Classifier")(2, max_depth=3, min_samples_leaf=4).fit(X, LABELS)
    assert type(model.estimator_) is type(model.estimators_[0])
    params = model.estimators_[0].get_params()
    assert {**model.estimator_.get_params(), "random_state": 0} == {**params, "random_state": 0}
    assert model.estimator_.min_samples_leaf == 4
