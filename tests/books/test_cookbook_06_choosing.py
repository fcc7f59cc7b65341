"""Cookbook 2 and 6.3, lecture notes 1 and 10: spurious cues, and which method to try."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from book_checks import covers
from scipy.optimize import curve_fit
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline

import kilogram as kg
from kilogram.kitchen.choose.measurements import Property, TableProperties
from kilogram.kitchen.choose.methods import METHODS
from kilogram.kitchen.choose.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    follow,
    leaves,
)
from kilogram.kitchen.features.column_types import find_kind
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.recipes.tree_search import TreeSearchRegressor

LINEAR, CURVED = Property("linear", ""), Property("non-linear", "")


def tanks(rows, seed, watermark):
    """Pictures as a few noisy columns, and a watermark that gives the class away, or does not."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, 5)) + 0.3 * label[:, None]
    mark = label if watermark else rng.integers(0, 2, rows)
    return pd.DataFrame(X).rename(columns=str).assign(mark=mark, label=label)


@covers("cookbook X2.1", "cookbook X6.3")
def test_X2_1_a_watermark_is_found_before_it_fools_anyone():
    train, test = tanks(300, 0, True), tanks(300, 1, False)
    inputs = train.columns.drop("label")
    model = kg.Ridge().fit(train[inputs].to_numpy(float), train["label"].to_numpy(float))

    def accuracy(frame):
        return accuracy_score(frame["label"], model.predict(frame[inputs].to_numpy(float)) > 0.5)

    assert accuracy(train) > 0.99
    assert accuracy(test) < 0.65
    (finding,) = kg.audit(train, "label").serious
    assert finding.code == "KG-A07"
    assert finding.columns == ("mark",)
    assert not kg.audit(test, "label").serious


@covers("cookbook X2.2")
def test_X2_2_a_postcode_predicts_without_causing():
    rng = np.random.default_rng(0)
    solvency = rng.normal(size=2000)
    postcode = solvency + rng.normal(size=2000)
    credit = (solvency + 0.5 * rng.normal(size=2000) > 0).astype(int)
    model = kg.LogisticRegression().fit(postcode[:, None], credit)
    assert model.score(postcode[:, None], credit) > 0.65
    moved = postcode + 3  # moving house changes the postcode, not the solvency
    assert model.score(moved[:, None], credit) < 0.6


def answers(**settings):
    return TableProperties(rows=1000, features=10, **settings)


@covers("cookbook G6.1", "cookbook M6.10")
@pytest.mark.parametrize(
    ("tree", "settings", "want"),
    [
        (CLASSIFICATION, {"linear": LINEAR, "probabilities": True},
         {"naive Bayes", "logistic regression", "linear discriminant"}),
        (CLASSIFICATION, {"linear": LINEAR},
         {"nearest centroid", "linear discriminant", "linear SVM"}),
        (CLASSIFICATION, {"linear": CURVED}, {"kernel SVM", "k-NN", "kitchen sinks, classes"}),
        (COOKBOOK_REGRESSION, {"linear": LINEAR}, {"ridge", "least squares"}),
        (COOKBOOK_REGRESSION, {"linear": LINEAR, "sparse": True}, {"lasso"}),
        (COOKBOOK_REGRESSION, {"linear": CURVED}, {"kernel ridge", "kitchen sinks"}),
        (COOKBOOK_REGRESSION, {"linear": CURVED, "probabilities": True}, {"Gaussian process"}),
        (UNSUPERVISED, {}, {"PCA", "kernel PCA"}),
        (UNSUPERVISED, {"nonnegative": Property("yes", "")}, {"NMF"}),
        (UNSUPERVISED, {"views": 2}, {"CCA", "kernel CCA"}),
        (UNSUPERVISED, {"clusters": True}, {"k-means", "mixture", "kernel k-means"}),
        (UNSUPERVISED, {"clusters": True, "probabilities": True}, {"mixture"}),
    ],
)  # fmt: skip
def test_G6_1_the_decision_tree(tree, settings, want):
    _, leaf = follow(tree, answers(**settings))
    assert want <= set(leaf)


@covers("lecture_notes L10.G1")
@pytest.mark.parametrize(
    ("settings", "want"),
    [
        ({}, "least squares"),
        ({"unequal": Property("yes", "")}, "weighted least squares"),
        ({"weak": Property("yes", "")}, "ridge"),
        ({"noisy_inputs": True}, "total least squares"),
        ({"noise": Property("counts", "")}, "Poisson regression"),
        ({"noise": Property("outliers", "")}, "robust regression"),
        ({"linear": CURVED}, "Levenberg-Marquardt"),
        ({"linear": CURVED, "noise": Property("other", "")}, "forest"),
    ],
)
def test_L10_G1_the_regression_chooser(settings, want):
    given = {"linear": LINEAR, "noise": Property("additive Gaussian", ""), **settings}
    _, leaf = follow(LECTURE_REGRESSION, answers(**given))
    assert leaf[0] == want


@covers("cookbook G6.0")
def test_G6_0_constraints_come_first():
    frame = tanks(200, 0, False)
    unlabelled = kg.choose(frame.drop(columns="label"))
    assert {one.method for one in unlabelled.tries} <= leaves(UNSUPERVISED)
    found = kg.choose(frame, "label", small_device=True)
    assert not any(METHODS[one.method].kernel for one in found.tries)


@covers("cookbook G6.2")
def test_G6_2_linear_or_not_is_tried_on_a_part():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 900)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=900)})
    straight = kg.choose(frame.assign(y=2 * x + rng.normal(size=900)), "y")
    bent = kg.choose(frame.assign(y=3 * np.cos(x) + rng.normal(size=900)), "y")
    assert straight.answers.linear.answer == "linear"
    assert bent.answers.linear.answer == "non-linear"
    assert "500 rows" in bent.answers.linear.why


@covers("cookbook G6.3", "cookbook G6.4", "cookbook E6.2")
def test_G6_4_the_table_of_methods():
    rated = {key: method.rated() for key, method in METHODS.items() if method.ratings}
    assert len(rated) == 8
    assert rated["nearest centroid"]["training time"] is False
    assert rated["kernel SVM"]["multiclass"] is False
    assert rated["k-NN"]["training time"] is None
    assert rated["logistic regression"]["interpretable model"] is False
    wanted = {key for key, method in METHODS.items() if method.probabilities and method.ratings}
    assert {"naive Bayes", "logistic regression"} <= wanted
    assert "linear SVM" not in wanted
    # chapter 20 tells two classes only, the table promises several: so does the estimator
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 2)) + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    assert METHODS["linear SVM"].make().fit(X, y).score(X, y) > 0.9


@covers("cookbook T6.7")
def test_T6_7_what_grows_with_the_rows():
    sizes = {}
    for n in (200, 400):
        rng = np.random.default_rng(0)
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 3)) + y[:, None]
        centroid = kg.NearestCentroid().fit(X, y)
        machine = kg.SVC().fit(X, y)
        sizes[n] = centroid.centroids_.size, machine.support_vectors_.shape[0]
    assert sizes[200][0] == sizes[400][0]
    assert sizes[400][1] > 1.5 * sizes[200][1]
    halves = kg.NearestCentroid().partial_fit(X[:200], y[:200], classes=[0, 1])
    halves.partial_fit(X[200:], y[200:])
    assert np.allclose(halves.centroids_, centroid.centroids_)


@covers("lecture_notes L01.G1")
def test_L01_G1_two_by_two_problem_types():
    frame = tanks(120, 0, False)
    assert kg.choose(frame, "label").answers.task == "classification"
    assert kg.choose(frame, "0").answers.task == "regression"
    assert kg.choose(frame).steps[-1].question != kg.choose(frame, "label").steps[-1].question
    assert "k-means" in [one.method for one in kg.choose(frame, clusters=True).tries]


@covers("lecture_notes L01.G2", "lecture_notes L01.X1")
def test_L01_X1_cold_is_below_warm_is_below_hot():
    data = read_table(pd.DataFrame({"t": ["warm", "cold", "hot"] * 10, "n": np.arange(30) / 7,
                                    "c": ["x", "y", "z"] * 10})).data  # fmt: skip
    kinds = {name: find_kind(name, data.column(name)) for name in data.column_names}
    assert {name: kind.kind for name, kind in kinds.items()} == {
        "t": "ordinal", "n": "numeric", "c": "categorical"}  # fmt: skip
    assert kinds["t"].levels == ("cold", "warm", "hot") != ("warm", "cold", "hot")


@covers("summary A1.1", "summary A1.2")
def test_A1_2_the_error_compares_targets_with_predictions_from_x():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X @ [1.0, 2.0]
    good = kg.Ridge(alpha=1e-6).fit(X, y)
    assert np.sum((y - good.predict(X)) ** 2) < 1e-6
    # as printed, err(y, f(y)): the identity has no error at all and predicts nothing from x
    assert np.sum((y - y) ** 2) == 0
    assert np.sum((y - X[:, 0]) ** 2) > 1


@covers("lecture_notes L13.G1")
def test_L13_G1_four_ways_to_bend_and_one_for_big_sparse_rows():
    """A formula that is known, trees, explicit features, the kernel trick; conjugate gradients."""
    assert {"Levenberg-Marquardt", "forest", "kitchen sinks", "kernel ridge"} <= set(METHODS)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, (400, 1))
    y = 2 * np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=400)
    train, test = np.arange(300), np.arange(300, 400)
    least = np.square(y[test]).mean()

    def error(model):
        return np.square(y[test] - model.fit(x[train], y[train]).predict(x[test])).mean() / least

    (a, b), _ = curve_fit(lambda t, a, b: a * np.sin(b * t), x[train, 0], y[train], (1.0, 1.5))
    assert (a, b) == pytest.approx((2, 2), rel=0.05)
    bent = [TreeSearchRegressor(), kg.KernelRidge(0.1, kernel=kg.Gaussian(0.5)),
            Pipeline([("map", kg.FourierFeatures(kg.Gaussian(0.5), 100, random_state=0)),
                      ("fit", kg.Ridge(0.1))])]  # fmt: skip
    assert error(kg.Ridge()) > 0.2
    assert max(error(model) for model in bent) < 0.05
    rows = sp.random_array((500, 300), density=0.02, rng=rng, format="csr")
    big = kg.Ridge(0.5, solver="sparse_cg").fit(rows, rows @ np.ones(300))
    assert big.predict(rows) == pytest.approx(
        kg.Ridge(0.5).fit(rows.toarray(), rows @ np.ones(300)).predict(rows.toarray()), abs=1e-3
    )
