"""`kg choose`: the data answers the questions of the trees, and the methods follow."""

import json

import numpy as np
import pandas as pd
import pytest

import kilogram as kg
from kilogram.kitchen.choose import choose
from kilogram.kitchen.choose.measurements import Property, TableProperties, noise, unequal
from kilogram.kitchen.choose.methods import METHODS
from kilogram.kitchen.choose.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    follow,
    leaves,
)

RNG = np.random.default_rng(0)


def frame(rows=300, bend=False, classes=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    f = 3 * np.cos(2 * X[:, 0]) if bend else X @ [2.0, -1.0, 0.5]
    y = f + 0.3 * rng.normal(size=rows)
    answer = np.where(y > np.median(y), "yes", "no") if classes else y
    return pd.DataFrame(X, columns=list("abc")).assign(y=answer)


def methods(found):
    return [one.method for one in found.tries]


def test_straight_numbers():
    found = choose(frame(), "y")
    assert methods(found)[:2] == ["ridge", "least squares"]
    assert found.answers.linear.answer == "linear"
    assert found.answers.noise.answer == "additive Gaussian"
    left = dict(found.left_out)
    assert "no kernel improves" in left["Kernel ridge regression"]
    assert "--sparse" in left["Lasso"]
    assert found.tries[0].cost.seconds > 0
    assert found.tries[0].cost.fits


def test_bent_numbers_keep_a_linear_baseline():
    found = choose(frame(bend=True), "y")
    assert methods(found)[0] == "kernel ridge"
    assert methods(found)[-1] == "ridge"
    assert "linear baseline" in found.tries[-1].why
    assert methods(choose(frame(bend=True), "y", probabilities=True))[0] == "Gaussian process"


def test_classes():
    found = choose(frame(classes=True), "y", probabilities=True)
    assert methods(found) == ["logistic regression", "naive Bayes", "linear discriminant"]
    assert found.tries[1].ratings["interpretable model"] is True
    bent = choose(frame(bend=True, classes=True), "y")
    assert methods(bent)[0] == "kernel SVM"
    small = choose(frame(bend=True, classes=True), "y", small_device=True)
    assert "kernel SVM" not in methods(small)
    assert "small device" in dict(small.left_out)["Kernel support vector machine"]


def test_what_the_data_cannot_say_is_asked():
    assert "total least squares" in methods(choose(frame(), "y", noisy_inputs=True))
    assert methods(choose(frame(), "y", sparse=True))[0] == "lasso"


def test_outliers_counts_and_unequal_noise():
    data = frame()
    data.loc[::40, "y"] += 30
    assert "robust regression" in methods(choose(data, "y"))
    guess = RNG.uniform(1, 9, 2000)
    assert noise(RNG.poisson(guess).astype(float), guess).answer == "counts"
    assert noise(guess + RNG.normal(size=2000), guess).answer == "additive Gaussian"
    assert noise(guess + RNG.exponential(size=2000) ** 1.5, guess).answer in ("other", "outliers")
    assert unequal(guess + guess * RNG.normal(size=2000), guess).yes
    assert not unequal(guess + RNG.normal(size=2000), guess).yes


def test_more_columns_than_rows_want_a_penalty():
    wide = pd.DataFrame(RNG.normal(size=(60, 90))).rename(columns=str)
    found = choose(wide.assign(y=wide["0"] - wide["1"]), "y")
    assert found.answers.weak.yes
    assert "ridge" in methods(found)


def test_without_labels():
    assert methods(choose(frame().drop(columns="y"))) == ["PCA", "kernel PCA"]
    assert "NMF" in methods(choose(frame().drop(columns="y").abs()))
    assert methods(choose(frame().drop(columns="y"), clusters=True))[0] == "k-means"
    assert methods(choose(frame().drop(columns="y"), clusters=True, probabilities=True)) == [
        "mixture"
    ]
    assert methods(choose(frame().drop(columns="y"), views=2)) == ["CCA", "kernel CCA"]


def test_every_leaf_is_a_method_that_exists():
    trees = (CLASSIFICATION, COOKBOOK_REGRESSION, LECTURE_REGRESSION, UNSUPERVISED)
    for key in set().union(*map(leaves, trees)) | set(METHODS):
        method = METHODS[key]
        assert method.where
        assert hasattr(method.make(), "fit")


def test_the_choice_is_reported_in_words_and_in_json():
    found = kg.choose(frame(), "y")
    text = str(found)
    assert "Is the dependency linear? linear" in text
    assert "Left out" in text
    reference = json.loads(found.as_json())
    assert reference["try"][0]["method"] == "ridge"
    assert reference["steps"][0]["answer"] == "yes"


@pytest.mark.parametrize("linear", ["linear", "non-linear"])
@pytest.mark.parametrize("kind", ["additive Gaussian", "counts", "outliers", "other"])
@pytest.mark.parametrize("probabilities", [True, False])
def test_every_path_through_the_tree_ends(linear, kind, probabilities):
    answers = TableProperties(
        100,
        5,
        "regression",
        linear=Property(linear, ""),
        noise=Property(kind, ""),
        probabilities=probabilities,
    )
    for tree in (CLASSIFICATION, COOKBOOK_REGRESSION, LECTURE_REGRESSION, UNSUPERVISED):
        steps, leaf = follow(tree, answers)
        assert steps
        assert leaf
