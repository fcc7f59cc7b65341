"""Density trees, forests, ranks, copulas and classifiers of densities."""

import dask.array as da
import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Mixture
from sklearn.neighbors import KernelDensity as Peer

import kilogram as kg
from kilogram.models.density.tree_growth import bounding_box


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def volumes(boxes):
    return np.prod(boxes[:, 1] - boxes[:, 0], axis=1)


@pytest.mark.parametrize("criterion", ["squared_error", "likelihood"])
@pytest.mark.parametrize("prune", [None, "held_out", "cv"])
def test_leaves_tile_the_box_and_hold_their_rows(criterion, prune):
    X = rows(400, 3)
    w = np.random.default_rng(1).integers(1, 4, 400).astype(float)
    model = kg.DensityTree(criterion=criterion, prune=prune, random_state=0)
    model.fit(X, sample_weight=w)
    assert volumes(model.leaf_boxes_).sum() == pytest.approx(np.prod(np.ptp(X, axis=0)))
    assert (model.leaf_densities_ * volumes(model.leaf_boxes_)).sum() == pytest.approx(1)
    leaf = model.apply(X)
    held = np.bincount(leaf, w, model.n_leaves_)
    want = held / w.sum() / volumes(model.leaf_boxes_)
    np.testing.assert_allclose(model.leaf_densities_, want)
    np.testing.assert_allclose(np.exp(model.score_samples(X)), want[leaf])
    if prune is None:
        assert held.min() >= 10


def test_a_tree_of_many_columns_does_not_overflow():
    X = 255 * np.random.default_rng(0).random((300, 800))
    model = kg.DensityTree(max_depth=4).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert model.n_leaves_ > 1


def test_min_fraction_keeps_the_tree_in_balance():
    X = rows(500, 2)
    tree = kg.DensityTree(min_fraction=0.3).fit(X).tree_
    inner = tree.feature >= 0
    small = np.minimum(tree.mass[tree.left[inner]], tree.mass[tree.right[inner]])
    assert (small >= 0.3 * tree.mass[inner] - 1e-9).all()


def test_a_sparse_choice_of_columns_still_splits():
    X = np.c_[np.zeros((200, 9)), rows(200, 1) ** 3]
    model = kg.DensityTree(max_features=1, random_state=0).fit(X)  # nine columns cannot be cut
    assert model.n_leaves_ > 2
    assert set(model.tree_.feature) == {-1, 9}


@pytest.mark.parametrize("make", [kg.DensityTree, kg.DensityForest, kg.CopulaDensity])
def test_awkward_rows(make):
    for X in ([[1.0, 2.0]], np.ones((30, 2)), np.c_[rows(30, 1), np.full(30, 1e17)]):
        X = np.asarray(X)
        model = make(random_state=0).fit(X)
        assert np.isfinite(model.score_samples(X)).all()
        drawn = model.sample(5, random_state=0)
        assert drawn.shape == (5, 2)
        assert not np.isnan(model.score_samples(drawn)).any()
        assert model.score_samples([[-1e30, 1e30]])[0] == -np.inf
    with pytest.raises(ValueError, match="NaN"):
        make().fit([[np.nan, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"criterion": "gini"}, "criterion"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_leaf": -1}, "min_samples_leaf"),
        ({"min_fraction": 0.5}, "min_fraction"),
        ({"max_features": 0}, "max_features"),
        ({"box": [[0.0, 0.0], [1.0, 1.0]]}, "outside"),
        ({"box": [[0.0], [1.0]]}, "box"),
    ],
)
def test_parameters_that_make_no_tree(params, match):
    for make in (kg.DensityTree, kg.DensityForest):
        with pytest.raises(ValueError, match=match):
            make(**params).fit(5 * rows(30, 2))
    with pytest.raises(ValueError, match="prune"):
        kg.DensityTree(prune="always").fit(rows(30, 2))
    for bad in ({"n_estimators": 0}, {"max_samples": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            kg.DensityForest(**bad).fit(rows(30, 2))


@pytest.mark.parametrize("box", ["wide", [[-np.inf], [np.inf]], [[-9.0, 1.0], [9.0]], [[9], [-9]]])
def test_boxes_that_are_none(box):
    with pytest.raises(ValueError, match="box must be"):
        kg.DensityTree(box=box).fit(rows(40, 1))


def test_a_box_of_ones_own():
    X = np.random.default_rng(0).random((200, 2))
    model = kg.DensityTree(box=[[0, 0], [1, 1]], max_depth=2).fit(X)
    assert volumes(model.leaf_boxes_).sum() == pytest.approx(1)
    np.testing.assert_array_equal(bounding_box(np.ones((2, 1))), [[0.5], [1.5]])


def test_the_forest_is_the_mean_of_its_trees_and_repeats_itself():
    X = rows(300, 2)
    model = kg.DensityForest(4, random_state=3).fit(X)
    mean = np.mean(
        [
            np.exp(tree.log_densities()[tree.apply(X)]) * (tree.apply(X) >= 0)
            for tree in model.trees_
        ],
        axis=0,
    )
    np.testing.assert_allclose(np.exp(model.score_samples(X)), mean)
    again = kg.DensityForest(4, random_state=3).fit(X)
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    drawn = model.sample(2000, random_state=0)
    assert np.abs(drawn.mean(axis=0) - X.mean(axis=0)).max() < 0.25


def test_ranks_and_back():
    X = np.round(rows(100, 3), 1)  # with ties
    model = kg.RankTransform().fit(X)
    u = model.transform(X)
    np.testing.assert_allclose(u, rankdata(X, axis=0) / 101)
    np.testing.assert_allclose(model.inverse_transform(u), X)
    assert model.transform([[-99.0, 99.0, 0.0]])[0, :2] == pytest.approx(
        [model.places_[0][0], model.places_[1][-1]]
    )
    z = kg.RankTransform("normal").fit_transform(rows(500, 1))
    assert abs(z.std() - 1) < 0.05
    w = np.random.default_rng(1).integers(1, 4, 100)
    weighted = kg.RankTransform().fit(X, sample_weight=w.astype(float)).transform(X)
    repeated = kg.RankTransform().fit(np.repeat(X, w, axis=0)).transform(X)
    np.testing.assert_allclose(weighted, repeated)
    with pytest.raises(ValueError, match="distribution"):
        kg.RankTransform("even").fit(X)


def test_classes_from_any_density():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for density in (None, Peer(bandwidth=0.3), kg.DensityForest(random_state=0)):
        model = kg.DensityClassifier(density).fit(X, names)
        assert model.score(X, names) > 0.9
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        drawn, labels = model.sample(300, random_state=0)
        assert model.score(drawn, labels) > 0.8
        assert set(labels) == set(names)
    with pytest.raises(ValueError, match="score_samples"):
        kg.DensityClassifier(object()).fit(X, y)


def test_a_row_that_no_class_explains_gets_the_priors():
    X, y = rows(90, 2), np.arange(90) % 3 % 2
    model = kg.DensityClassifier(kg.DensityTree()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1e6, 1e6]])[0], model.class_prior_)
    assert np.isfinite(kg.CopulaClassifier().fit(X, y).decision_function([[1e6, -1e6]])).all()


def test_partial_fit_is_not_there():
    assert not hasattr(kg.DensityClassifier(), "partial_fit")
    assert not hasattr(kg.CopulaClassifier(), "partial_fit")


def test_copula_parameters():
    X, y = rows(60, 2), np.arange(60) % 2
    for bad in ({"uniform": "even"}, {"tree": "oak"}, {"bins": 0}, {"alpha": 0}):
        for model in (kg.CopulaDensity(**bad), kg.CopulaClassifier(**bad)):
            with pytest.raises(ValueError, match=next(iter(bad))):
                model.fit(X, y)


def test_streams_are_predicted_block_by_block():
    X = rows(300, 2)
    for model in (kg.KernelDensity(bandwidth=0.5), kg.DensityTree(), kg.CopulaDensity(8)):
        model.fit(da.from_array(X, chunks=(70, 2)))
        lazy = model.score_samples(da.from_array(X, chunks=(50, 2)))
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), model.score_samples(X))
    with pytest.raises(ValueError, match=r"(?i)nan"):
        kg.DensityTree().fit(da.from_array(np.where(X > 2, np.nan, X), chunks=(50, 2)))
    with pytest.raises(ValueError, match=r"(?i)nan"):
        kg.HistogramDensity().fit(da.from_array(np.where(X > 2, np.nan, X), chunks=(50, 2)))


def test_rows_are_drawn_from_any_density_that_can():
    X, y = load_iris(return_X_y=True)
    for density in (kg.GaussianMixture(1, random_state=0), Mixture(1, random_state=0)):
        model = kg.DensityClassifier(density).fit(X, y)
        drawn, labels = model.sample(300, random_state=0)
        np.testing.assert_array_equal(drawn, model.sample(300, random_state=0)[0])
        assert not np.array_equal(drawn, model.sample(300, random_state=1)[0])
        assert model.score(drawn, labels) > 0.9
    with pytest.raises(TypeError, match="PCA has no `sample`"):
        kg.DensityClassifier(kg.PCA(1)).fit(X, y).sample(3)


@pytest.mark.filterwarnings("error")
def test_boxes_so_small_that_densities_pass_the_largest_float():
    X = 1e-160 * rows(60, 2)
    model = kg.DensityTree().fit(X)
    assert np.isfinite(model.score_samples(X)).all()
