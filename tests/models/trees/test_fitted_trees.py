"""The fitted attributes of scikit-learn's trees and forests, on ours; defects that were found."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import kilogram as kg

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((200, 4))
TARGET = np.sin(2 * ROWS[:, 0]) + ROWS[:, 1] * ROWS[:, 2] + 0.1 * RNG.standard_normal(200)


def pair(params, classify=False):
    name = "DecisionTreeClassifier" if classify else "DecisionTreeRegressor"
    data = (ROWS, TARGET > 0.2) if classify else (ROWS, TARGET)
    return getattr(kg, name)(**params).fit(*data), getattr(tree, name)(**params).fit(*data)


@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("params", [{"max_depth": 3}, {"max_leaf_nodes": 9}])
def test_nodes_are_those_of_scikit_learn(classify, params):
    ours, peer = (m.tree_ for m in pair(params, classify))
    assert (ours.node_count, ours.n_leaves, ours.max_depth) == (
        peer.node_count,
        peer.n_leaves,
        peer.max_depth,
    )
    # both number children after parents, in another order: compare nodes by their content
    keys = [
        np.lexsort((np.round(t.impurity, 9), t.n_node_samples, np.round(t.value[:, 0, 0], 9)))
        for t in (ours, peer)
    ]
    for name in ("feature", "n_node_samples", "impurity", "weighted_n_node_samples", "value"):
        a, b = (getattr(t, name)[k] for t, k in zip((ours, peer), keys, strict=True))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
    leaf = ours.children_left < 0
    np.testing.assert_array_equal(leaf, ours.children_right < 0)
    np.testing.assert_array_equal(leaf, ours.feature == -2)


def test_best_first_growth_keeps_the_splits_of_largest_decrease():
    full = kg.DecisionTreeRegressor().fit(ROWS, TARGET)
    for k in (2, 5, 20):
        few = kg.DecisionTreeRegressor(max_leaf_nodes=k).fit(ROWS, TARGET)
        peer = tree.DecisionTreeRegressor(max_leaf_nodes=k, random_state=0).fit(ROWS, TARGET)
        assert few.get_n_leaves() == k
        np.testing.assert_allclose(few.predict(ROWS), peer.predict(ROWS))
    assert kg.DecisionTreeRegressor(max_leaf_nodes=10_000).fit(ROWS, TARGET).get_n_leaves() == (
        full.get_n_leaves()
    )


def test_paths_and_leaves():
    ours, peer = pair({"max_depth": 4})
    indicator = ours.decision_path(ROWS)
    np.testing.assert_array_equal(
        np.asarray(indicator.sum(axis=1)), np.asarray(peer.decision_path(ROWS).sum(axis=1))
    )
    leaf = ours.apply(ROWS)
    assert (indicator[np.arange(200), leaf] == 1).all()
    np.testing.assert_allclose(ours.tree_.value[leaf, 0, 0], ours.predict(ROWS))
    np.testing.assert_allclose(ours.tree_.predict(ROWS)[:, 0], ours.predict(ROWS))


@pytest.mark.parametrize("classify", [False, True])
def test_pruning_path_is_scikit_learn_s(classify):
    ours, peer = pair({"min_samples_leaf": 5, "random_state": 0}, classify)
    y = TARGET > 0.2 if classify else TARGET
    got = ours.cost_complexity_pruning_path(ROWS, y)
    want = peer.cost_complexity_pruning_path(ROWS, y)
    distinct = np.flatnonzero(np.append(np.diff(want.ccp_alphas) > 1e-12, True))
    np.testing.assert_allclose(got.ccp_alphas, want.ccp_alphas[distinct], atol=1e-12)
    np.testing.assert_allclose(got.impurities, want.impurities[distinct])
    half = got.ccp_alphas[len(got.ccp_alphas) // 2] * 1.0001
    leaves = [m.set_params(ccp_alpha=half).fit(ROWS, y).get_n_leaves() for m in (ours, peer)]
    assert leaves[0] == leaves[1]


def test_log_loss_is_entropy():
    one, two = (
        kg.DecisionTreeClassifier(criterion=c, max_depth=3).fit(X, Y)
        for c in ("entropy", "log_loss")
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    p = one.predict_proba(X)
    np.testing.assert_allclose(np.exp(one.predict_log_proba(X)), p, atol=1e-15)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_the_trees_of_a_forest_are_estimators(name):
    labels = np.array(["a", "b", "c"])[Y]
    y = labels if name.endswith("Classifier") else Y + 0.5
    forest = getattr(kg, name)(7, random_state=0, max_depth=3).fit(X, y)
    assert len(forest.estimators_) == 7
    each = forest.estimators_
    if name.endswith("Classifier"):
        mean = np.mean([t.predict_proba(X) for t in each], axis=0)
        np.testing.assert_allclose(mean, forest.predict_proba(X))
        assert set(each[0].predict(X)) <= {0.0, 1.0, 2.0}  # positions in classes_
    else:
        np.testing.assert_allclose(np.mean([t.predict(X) for t in each], 0), forest.predict(X))
    np.testing.assert_array_equal(forest.apply(X), np.stack([t.apply(X) for t in each], axis=1))
    indicator, ends = forest.decision_path(X)
    assert indicator.shape == (150, ends[-1])
    part = indicator[:, ends[2] : ends[3]]
    assert (part != each[2].decision_path(X)).nnz == 0
    drawn = forest.estimators_samples_[0]
    assert len(drawn) == 150
    assert each[0].tree_.n_node_samples[0] == len(np.unique(drawn))


def test_balanced_subsamples():
    rare = np.concatenate([Y[Y != 2], Y[Y == 2][:6]])
    rows = np.concatenate([X[Y != 2], X[Y == 2][:6]])
    params = {"class_weight": "balanced_subsample", "max_depth": 2, "random_state": 0}
    ours = kg.RandomForestClassifier(30, **params).fit(rows, rare)
    peer = ensemble.RandomForestClassifier(30, **params).fit(rows, rare)
    # in every sample that drew all classes, each has a third of the weight
    drawn = [len(np.unique(rare[at])) == 3 for at in ours.estimators_samples_]
    roots = np.array([t.tree_.value[0, 0] for t in ours.estimators_])[drawn]
    np.testing.assert_allclose(roots, 1 / 3)
    np.testing.assert_allclose(ours.predict_proba(rows), peer.predict_proba(rows), atol=0.2)
    every = kg.RandomForestClassifier(3, bootstrap=False, **params).fit(rows, rare)
    np.testing.assert_allclose(every.estimators_[0].tree_.value[0, 0], 1 / 3)


@pytest.mark.parametrize(
    "name",
    ["DecisionTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier",
     "RandomForestRegressor"],
)  # fmt: skip
def test_unfitted_attributes_say_so(name):
    model = getattr(kg, name)()
    names = ["feature_importances_", "tree_" if "Tree" in name else "estimators_"]
    for attribute in names:
        with pytest.raises(NotFittedError):
            getattr(model, attribute)
    for method in ("predict", "apply", "decision_path"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_calibration_uses_the_probabilities(name):
    """A decision_function, which scikit-learn's trees lack, was used in their place."""
    model = getattr(kg, name)(max_depth=3, random_state=0)
    assert not hasattr(model, "decision_function")
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    calibrated = CalibratedClassifierCV(model, cv=folds, method="isotonic").fit(X, Y)
    assert calibrated.score(X, Y) > 0.9


def test_float32_rows_keep_the_digits_of_float64_targets():
    times = 1.7e9 + 60.0 * np.arange(50)  # in float32 they would be off by up to 64
    rows = np.arange(50, dtype=np.float32)[:, None]
    for model in (kg.DecisionTreeRegressor(), kg.RandomForestRegressor(3, bootstrap=False)):
        np.testing.assert_allclose(model.fit(rows, times).predict(rows), times, rtol=0, atol=1e-3)
    single = kg.DecisionTreeRegressor().fit(rows, np.arange(50, dtype=np.float32))
    assert single.predict(rows).dtype == np.float32


def test_weights_of_zero_are_refused_in_words():
    with pytest.raises(ValueError, match="class_weight"):
        kg.DecisionTreeClassifier(class_weight={0: 0.0}).fit(X[:10], Y[:10])


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor"])
def test_interrupts_stop_the_growth(name, jobs):
    """A tree of two million rows takes many seconds; the fit must end soon after the signal."""
    script = textwrap.dedent(f"""
        import signal, sys, threading, time, os
        import numpy as np, kilogram as kg
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((600_000, 10)), rng.standard_normal(600_000)
        model = kg.{name}({"" if "Tree" in name else f"20, n_jobs={jobs}"})
        model.fit(X[:100], y[:100])
        started = []
        def strike():
            started.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(1.0, strike).start()
        try:
            model.fit(X, y)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - started[0], model.n_features_in_)
            print(len(model.predict(X[:5])))
    """)
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert "interrupted" in found.stdout, found.stdout + found.stderr
    assert "5" in found.stdout.split()[-1]
