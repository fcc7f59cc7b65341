"""Trees as text, as SVG and as a plot."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from sklearn import tree
from sklearn.datasets import load_iris

import kilogram as kg

X, Y = load_iris(return_X_y=True)


def test_text_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    y = rows[:, 0] + rows[:, 1] ** 2
    for depth in (1, 4):
        ours = kg.DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5).fit(rows, y)
        peer = tree.DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5).fit(rows, y)
        assert kg.export_text(ours) == tree.export_text(peer)
        names = {"feature_names": ["a", "b", "c"], "decimals": 4, "spacing": 2}
        assert kg.export_text(ours, **names) == tree.export_text(peer, **names)
    marks = kg.DecisionTreeClassifier(max_depth=2).fit(rows, y > 1)
    peer = tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, y > 1)
    for weights in (False, True):
        assert kg.export_text(marks, show_weights=weights) == tree.export_text(
            peer, show_weights=weights
        )


def test_branches_beyond_the_depth_are_cut_off():
    model = kg.DecisionTreeClassifier().fit(X, Y)
    assert "truncated" in kg.export_text(model, max_depth=1)
    assert "truncated" not in kg.export_text(model)


def test_categories_and_missing_values_in_words():
    codes = np.array([[0.0], [1.0], [2.0], [3.0]] * 5)
    model = kg.DecisionTreeRegressor(categorical_features=[0]).fit(codes, codes[:, 0] % 2)
    assert "in {0, 2}" in kg.export_text(model)
    rows = np.array([[1.0], [np.nan]] * 5)
    assert "is missing" in kg.export_text(
        kg.DecisionTreeRegressor().fit(rows, np.isnan(rows[:, 0]))
    )


def test_drawings_have_a_box_for_every_node():
    model = kg.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    names = ["a<b", "c", "d", "e"]
    root = ElementTree.fromstring(kg.export_svg(model, feature_names=names))
    boxes = [e for e in root if e.tag.endswith("rect")]
    lines = [e for e in root if e.tag.endswith("line")]
    assert (len(boxes), len(lines)) == (model.tree_.node_count, model.tree_.node_count - 1)
    small = kg.export_svg(model, max_depth=1)
    assert small.count("<rect") == 3
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    assert len(kg.plot_tree(model)) == model.tree_.node_count
    assert len(kg.plot_tree(model, max_depth=0)) == 1
    plt.close("all")


def test_plots_write_what_scikit_learn_writes():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, 3))
    marks = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)
    names = {"feature_names": ["a", "b", "c"], "class_names": ["p", "q", "r"]}
    ours = kg.DecisionTreeClassifier(max_depth=2).fit(rows, marks)
    peer = tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, marks)
    for settings in ({}, {"label": "root", "node_ids": True}, {"impurity": False}):
        texts = [
            {re.sub(r"(<= \d+\.\d*?)0+\n", r"\1\n", box.get_text()) for box in boxes}
            for boxes in (
                kg.plot_tree(ours, filled=True, rounded=True, **names, **settings),
                tree.plot_tree(peer, **names, **settings),
            )
        ]
        plt.close("all")
        assert texts[0] <= texts[1]  # scikit-learn writes True and False beside the first arrows
    half = kg.plot_tree(ours, proportion=True, label="none", fontsize=6)
    assert "100.0%" in half[0].get_text()
    assert "=" not in half[0].get_text().replace("<=", "")
    plt.close("all")


def test_colours_of_filled_boxes():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    model = kg.DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    faces = [box.get_bbox_patch().get_facecolor() for box in kg.plot_tree(model, filled=True)]
    assert faces[0][:3] == (1.0, 1.0, 1.0)  # as many of both classes
    assert faces[1] != faces[2]
    constant = kg.DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 2.0])
    assert len(kg.plot_tree(constant, filled=True)) == 1
    plt.close("all")


def test_what_cannot_be_written():
    with pytest.raises(TypeError, match="estimators_"):
        kg.export_text(kg.RandomForestClassifier(2).fit(X, Y))
    model = kg.DecisionTreeClassifier(max_depth=1).fit(X, Y)
    with pytest.raises(ValueError, match="feature_names must contain 4"):
        kg.export_text(model, feature_names=["a"])
    with pytest.raises(ValueError, match="class_names must contain 3"):
        kg.export_text(model, class_names=["a"])
    with pytest.raises(ValueError, match="max_depth"):
        kg.export_svg(model, max_depth=-1)
