"""Lecture notes: density trees and forests (8), copulas and kernel densities (9)."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers
from scipy.stats import kstest
from sklearn.datasets import load_digits

import kilogram as kg
from kilogram.textbook import copula, densities, density_tree
from kilogram.textbook.state import run


def two_blobs(seed, n=300):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) * 0.4 + np.where(np.arange(n)[:, None] % 2, 2.0, -1.0)


def volumes(boxes):
    return np.prod(boxes[:, 1] - boxes[:, 0], axis=1)


@covers("lecture_notes L08.M3", "lecture_notes L08.X2", "lecture_notes L08.T2")
def test_L08_M3_the_tree_lowers_the_squared_error_with_every_split():
    X = two_blobs(0)
    states = list(density_tree.density_tree(X, least=15))
    errors = [s.objective for s in states]
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] < 3 * errors[0]  # of a "loss" sum p^2 V the first would be the least
    reference = states[-1]
    fast = kg.DensityTree(min_samples_leaf=15).fit(X)
    mine = np.lexsort(reference["boxes"].reshape(len(reference["boxes"]), -1).T)
    theirs = np.lexsort(fast.leaf_boxes_.reshape(fast.n_leaves_, -1).T)
    assert np.allclose(reference["boxes"][mine], fast.leaf_boxes_[theirs])
    assert np.allclose(reference["p"][mine], fast.leaf_densities_[theirs])
    assert np.isclose((reference["p"] * volumes(reference["boxes"])).sum(), 1)  # T2
    assert np.isclose((fast.leaf_densities_ * volumes(fast.leaf_boxes_)).sum(), 1)
    new = two_blobs(1)
    want = density_tree.density(reference["boxes"], reference["p"], new)
    got = np.exp(fast.score_samples(new))
    inside = (want > 0) | (got > 0)
    assert np.allclose(got, want)
    assert inside.mean() > 0.9


@covers("lecture_notes L08.M4", "lecture_notes L08.T4")
def test_L08_T4_both_ends_of_every_gap():
    X = np.random.default_rng(2).random((40, 3))
    places = [density_tree.candidates(X[:, j], 1.0, 1e-6) for j in range(3)]
    assert sum(len(t) for t in places) == 3 * (2 * 40 - 2)
    x = np.array([0.0, 1.0, 1.0, 3.0])  # a tie is one value
    assert np.allclose(density_tree.candidates(x, 3.0, 0.01), [0.03, 0.97, 1.03, 2.97])


@covers("lecture_notes L08.T1", "lecture_notes L08.X1")
def test_L08_T1_no_gain_where_fractions_of_points_and_volume_agree():
    t = np.linspace(0.01, 0.99, 981)
    for q in (0.1, 0.37, 0.5, 0.8):
        right = density_tree.gain(q, t) + 1
        assert np.isclose(density_tree.gain(q, q) + 1, 1)
        assert abs(t[right.argmin()] - q) < 1e-3
        assert (np.diff(right, 2) > 0).all()  # convex: the best of a gap lies at an end
        printed = q**2 / t + (1 - q) ** 2 / (1 - t) ** 2
        assert abs(t[printed.argmin()] - q) > 0.02


@covers("lecture_notes L08.X4")
def test_L08_X4_slivers_gain_without_bound():
    x = two_blobs(3, 40)
    tops = [
        kg.DensityTree(min_samples_leaf=1, min_width=eps, epsilon=eps).fit(x).leaf_densities_.max()
        for eps in (1e-3, 1e-5, 1e-7)
    ]
    assert tops[1] > 10 * tops[0]
    assert tops[2] > 10 * tops[1]
    sliver = [density_tree.gain(1 / 40, eps) for eps in (1e-3, 1e-5, 1e-7)]  # one point of 40
    assert np.allclose(np.diff(np.log10(np.array(sliver))), 2, atol=0.3)
    guarded = kg.DensityTree(min_samples_leaf=1, min_width=0.02).fit(x)
    side = np.diff(guarded.leaf_boxes_, axis=1)[:, 0]
    assert (side >= 0.02 * np.ptp(x, axis=0) * (1 - 1e-9)).all()
    for bad in ({"min_width": 0.0}, {"epsilon": 0.0}):
        with pytest.raises(ValueError, match="must be a float in"):
            kg.DensityTree(**bad).fit(x)


@covers("lecture_notes L08.M5", "lecture_notes L08.X3")
def test_L08_M5_reasons_to_stop():
    X = two_blobs(4, 600)
    free = kg.DensityTree().fit(X)
    assert free.tree_.mass[free.tree_.leaves].min() >= 10
    assert kg.DensityTree(max_depth=3).fit(X).tree_.depth() <= 3
    split = kg.DensityTree(min_samples_split=100).fit(X).tree_
    assert split.mass[split.feature >= 0].min() >= 100  # in the node, not in the root
    dense = kg.DensityTree(min_density=1.0).fit(X)
    inner = dense.tree_.feature >= 0
    root = dense._log_densities[0]
    assert (dense._log_densities[inner] >= root - 1e-9).all()  # split while p_l >= p_min
    assert 1 < dense.n_leaves_ < free.n_leaves_
    reference = run(density_tree.density_tree(X, least=10, min_gain=0.02))
    gain = kg.DensityTree(min_improvement=0.02).fit(X)
    assert gain.n_leaves_ == len(reference["p"]) < free.n_leaves_


@covers("lecture_notes L08.M6", "lecture_notes L08.M7", "lecture_notes L08.E2")
def test_L08_E2_tree_pruned_tree_and_forest_on_new_points():
    X, new = two_blobs(5, 1000), two_blobs(6, 4000)
    inside = ((new >= X.min(axis=0)) & (new <= X.max(axis=0))).all(axis=1)
    new = new[inside]

    def error(model):  # integrated squared error, less a constant
        boxes, p = model.leaf_boxes_, model.leaf_densities_
        return np.sum(p**2 * volumes(boxes)) - 2 * np.exp(model.score_samples(new)).mean()

    full = kg.DensityTree(min_samples_leaf=4).fit(X)
    for how in ("held_out", "cv"):
        cut = kg.DensityTree(min_samples_leaf=4, prune=how, random_state=0).fit(X)
        assert cut.n_leaves_ < full.n_leaves_
        assert error(cut) < error(full)
        assert np.isclose((cut.leaf_densities_ * volumes(cut.leaf_boxes_)).sum(), 1)
    forest = kg.DensityForest(random_state=0, min_samples_leaf=4).fit(X)
    assert forest.score(new) > full.score(new)
    # the textbook version: two leaves that hold-out points do not tell apart become one
    rng = np.random.default_rng(7)
    even, held = rng.random((40, 1)), rng.random((4000, 1))
    boxes = np.array([[[0.0], [0.3]], [[0.3], [1.0]]])
    p = np.array([0.5 / 0.3, 0.5 / 0.7])  # 20 of 40 points happened to lie on the left
    assert bool(run(density_tree.prune(even, held, boxes, p, (0, 1)))["collapse"])
    lop = np.concatenate([0.3 * held[:2000], 0.3 + 0.7 * held[2000:]])
    assert not bool(run(density_tree.prune(even, lop, boxes, p, (0, 1)))["collapse"])
    # and the forest's: the mean of trees is smoother than one
    reference = run(density_tree.forest(X[:200], new[:300], rng, T=5))["p"]
    one = run(density_tree.density_tree(X[:200]))
    truth = sum(
        np.exp(-((new[:300] - m) ** 2).sum(axis=1) / 0.32) / (2 * np.pi * 0.16) / 2
        for m in (-1.0, 2.0)
    )
    single = density_tree.density(one["boxes"], one["p"], new[:300])
    assert np.mean((reference - truth) ** 2) < np.mean((single - truth) ** 2)


@covers("lecture_notes L08.E1", "lecture_notes L08.G3")
def test_L08_E1_a_tree_for_each_class():
    rng = np.random.default_rng(8)
    y = np.arange(1200) % 2
    X = rng.standard_normal((1200, 2)) * np.where(y[:, None] == 1, 0.5, 2.0)
    model = kg.DensityClassifier(kg.DensityTree(min_samples_leaf=20)).fit(X, y)
    assert model.score(X, y) > 0.8
    for tree in model.densities_:  # boxes that tile: what a picture would shade
        root = np.stack([tree.leaf_boxes_[:, 0].min(axis=0), tree.leaf_boxes_[:, 1].max(axis=0)])
        assert np.isclose(volumes(tree.leaf_boxes_).sum(), volumes(root[None])[0])
    # the same machinery with another criterion gives other trees
    other = kg.DensityTree(criterion="likelihood", min_samples_leaf=20).fit(X[y == 1])
    assert other.score(X[y == 1]) > model.densities_[1].score(X[y == 1])
    joint = np.stack([np.exp(t.score_samples(X)) for t in model.densities_], axis=1)
    reference = run(densities.bayes(joint, model.class_prior_))
    assert np.allclose(model.predict_proba(X), reference["posterior"])


@covers("lecture_notes L09.M3", "lecture_notes L09.T2")
def test_L09_M3_margins_times_copula():
    rng = np.random.default_rng(9)
    t = rng.standard_normal(2000)
    X = np.c_[np.exp(t), t**3 + rng.standard_normal(2000)]
    model = kg.CopulaDensity(bins=30, alpha=1e-9, random_state=0).fit(X)
    grid = [
        np.linspace(m - w, m + (len(k) - 1) * w, 80 * len(k) + 1)
        for m, w, k in zip(
            model.margins_.starts, model.margins_.widths, model.margins_.masses, strict=True
        )
    ]
    mid = [(g[:-1] + g[1:]) / 2 for g in grid]
    P = np.exp(model.score_samples(np.stack(np.meshgrid(*mid, indexing="ij"), -1).reshape(-1, 2)))
    area = np.prod([np.diff(g)[0] for g in grid])
    assert P.sum() * area == pytest.approx(1, abs=5e-3)  # cells cut by the edges of leaves
    boxes, c = model.copula_.leaf_boxes_, model.copula_.leaf_densities_
    reference = run(copula.copula(X, X, 30, boxes, c))
    assert np.allclose(np.log(reference["p"]), model.score_samples(X), rtol=1e-5, atol=1e-5)


@covers("lecture_notes L09.M4", "lecture_notes L09.T2")
def test_L09_M4_draws_have_the_margins_and_the_leaves_of_the_model():
    rng = np.random.default_rng(10)
    t = rng.standard_normal(3000)
    X = np.c_[t, t + 0.5 * rng.standard_normal(3000)]
    model = kg.CopulaDensity(random_state=0).fit(X)
    drawn = model.sample(3000, random_state=1)
    u = model.margins_.cdf(drawn)
    assert all(kstest(u[:, j], "uniform").pvalue > 1e-4 for j in range(2))
    assert np.corrcoef(drawn.T)[0, 1] > 0.75
    boxes, c = model.copula_.leaf_boxes_, model.copula_.leaf_densities_
    fraction = np.bincount(model.copula_.apply(u), minlength=len(c)) / 3000
    assert np.abs(fraction - c * volumes(boxes)).max() < 0.03
    reference = run(copula.descend(boxes, c, rng.random((3000, 3))))
    there = np.bincount(reference["leaf"], minlength=len(c)) / 3000
    assert np.abs(there - reference["mass"]).max() < 0.03
    assert (reference["u"] >= boxes[reference["leaf"], 0]).all()
    assert (reference["u"] <= boxes[reference["leaf"], 1]).all()


@covers("lecture_notes L09.T1", "lecture_notes L09.G1")
def test_L09_T1_independent_columns_have_the_copula_one():
    rng = np.random.default_rng(11)
    alone = kg.CopulaDensity(random_state=0).fit(rng.standard_normal((2000, 2)))
    u = rng.random((4000, 2))
    assert np.mean(np.abs(np.exp(alone.copula_.score_samples(u)) - 1)) < 0.1
    # margins that differ are the margins' business, interplay the copula's
    t = rng.standard_normal((2000, 1))
    y = np.arange(2000) % 2
    margin = np.hstack([t, rng.standard_normal((2000, 1))]) + y[:, None]
    interplay = np.hstack([t, np.where(y[:, None] == 1, t, -t)])
    interplay = interplay + 0.4 * rng.standard_normal((2000, 2))
    for X, gains in ((margin, False), (interplay, True)):
        half = np.arange(2000) < 1000
        nb = kg.HistogramNB().fit(X[half], y[half]).score(X[~half], y[~half])
        both = kg.CopulaClassifier(random_state=0).fit(X[half], y[half]).score(X[~half], y[~half])
        assert (both > nb + 0.2) == gains


@covers("lecture_notes L09.E2")
def test_L09_E2_tree_naive_bayes_and_copula_as_classifiers_and_samplers():
    X, y = load_digits(return_X_y=True)
    few = np.isin(y, [3, 8, 9])
    X, y = X[few][:, [18, 20, 21, 26, 33, 34, 42, 43]], y[few]  # pixels that differ between them
    half = np.arange(len(y)) % 2 == 0
    models = {
        "tree": kg.DensityClassifier(kg.DensityTree(criterion="likelihood", prune="cv")),
        "naive": kg.HistogramNB(bins=17),
        "copula": kg.CopulaClassifier(bins=17, uniform="histogram", random_state=0),
    }
    score = {k: m.fit(X[half], y[half]).score(X[~half], y[~half]) for k, m in models.items()}
    assert score["copula"] > 0.75
    assert score["naive"] > 0.75
    assert min(score.values()) > 0.5  # chance: a third
    # a copula without a split is 1: naive Bayes, which can be drawn from so
    one_box = kg.DensityTree(min_samples_split=1e9)
    alone = kg.CopulaClassifier(bins=17, tree=one_box, uniform="histogram", random_state=0)
    alone.fit(X[half], y[half])
    assert np.allclose(alone.predict_proba(X[~half]), models["naive"].predict_proba(X[~half]))
    for model, least in ((models["tree"], 0.4), (models["copula"], 0.7), (alone, 0.7)):
        drawn, labels = model.sample(600, random_state=0)
        assert drawn.shape == (600, 8)
        again = kg.HistogramNB(bins=17).fit(drawn, labels)  # learnt from synthetic rows alone
        assert again.score(X[~half], y[~half]) > least


@covers("lecture_notes L09.M5")
def test_L09_M5_kernel_density_and_its_width():
    X, new = cloud(12, 150, 2), cloud(13, 40, 2)
    for name, k in (("gaussian", densities.gaussian), ("epanechnikov", densities.epanechnikov)):
        for h in (0.3, 2.0):
            reference = run(densities.kernel_density(X, new, h, k))["p"]
            fast = kg.KernelDensity(bandwidth=h, kernel=name).fit(X)
            assert np.allclose(np.exp(fast.score_samples(new)), reference)
    widths = np.geomspace(0.05, 5, 60)
    Z = np.random.default_rng(14).standard_normal((150, 2))
    reference = run(densities.leave_one_out(Z, widths))
    fast = kg.KernelDensity(bandwidth="likelihood").fit(Z)
    assert abs(np.log(fast.bandwidth_ / reference["h"])) < np.log(widths[1] / widths[0])
    n, d = Z.shape
    assert kg.KernelDensity(bandwidth="scott").fit(Z).bandwidth_ == pytest.approx(n ** (-1 / 6))
    silverman = kg.KernelDensity(bandwidth="silverman").fit(Z).bandwidth_
    assert silverman == pytest.approx((n * (d + 2) / 4) ** (-1 / 6))
