"""Cookbook, chapter 12: k-means in batches and one point at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from book_checks import SIDES, covers
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

import kilogram as kg
from kilogram.textbook import k_means
from kilogram.textbook.state import run


def reference(X, start):
    s = run(k_means.lloyd(X, start))
    return s["mu"], s["c"]


def fast(X, start):
    model = kg.KMeans(len(start), init=start, tol=0).fit(X)
    return model.cluster_centers_, model.labels_


sides = pytest.mark.parametrize("side", [reference, fast], ids=SIDES)
MEANS = np.array([[-4.0, 0.0], [0.0, 5.0], [4.0, 0.0]])


def blobs(seed, n=90, spread=0.7, means=MEANS):
    rng = np.random.default_rng(seed)
    own = np.arange(n) % len(means)
    return means[own] + spread * rng.standard_normal((n, 2)), own


def agreement(one, two):
    """Share of equal labels under the best renaming: an assignment problem."""
    k = max(one.max(), two.max()) + 1
    table = np.zeros((k, k))
    np.add.at(table, (one, two), 1)
    return table[linear_sum_assignment(-table)].sum() / len(one)


def inertia(X, mu, c):
    return float(((X - mu[c]) ** 2).sum())


@covers(
    "cookbook M12.1", "cookbook T12.2", "cookbook T12.4", "summary A8.9", "first_encounter X11.a"
)
@sides
def test_M12_1_centres_are_means_and_labels_are_nearest(side):
    X, own = blobs(0)
    mu, c = side(X, X[:3])
    assert np.allclose(mu, [X[c == k].mean(axis=0) for k in range(3)])
    assert (c == ((X[:, None] - mu) ** 2).sum(axis=2).argmin(axis=1)).all()
    assert agreement(c, own) == 1.0
    assert agreement((c + 1) % 3, own) == 1.0  # names of clusters mean nothing


@covers("cookbook T12.1", "first_encounter T11.1", "lecture_notes L23.T2", "summary A8.3")
def test_T12_1_the_squared_objective_never_rises_and_the_work_ends():
    rng = np.random.default_rng(1)
    for _ in range(20):
        X = rng.standard_normal((40, 2))
        J = [s.objective for s in k_means.lloyd(X, X[:5]) if s.objective is not None]
        assert (np.diff(J) <= 1e-9).all()
    mu, c = fast(X, X)  # as many centres as points
    assert inertia(X, mu, c) < 1e-25
    best = [kg.KMeans(k, n_init=20, random_state=0).fit(X).inertia_ for k in range(1, 9)]
    assert (np.diff(best) < 0).all()  # of the best of many starts; a single run may rise


@covers("cookbook E12.1", "slides B10.1")
def test_E12_1_the_mean_minimises_squares_not_distances():
    for points, at_mean, at_median in (([0, 0, 0, 0, 10], 16, 10), ([0, 0, 0, 10], 15, 10)):
        x = np.array(points, dtype=float)
        plain = [np.abs(x - m).sum() for m in (x.mean(), np.median(x))]
        squared = [((x - m) ** 2).sum() for m in (x.mean(), np.median(x))]
        assert plain == [at_mean, at_median]  # as printed, the mean is not the best
        assert squared[0] < squared[1]
        assert kg.KMeans(1).fit(x[:, None]).cluster_centers_[0, 0] == pytest.approx(x.mean())


@covers("cookbook E12.2")
def test_E12_2_the_test_is_whether_labels_repeat_after_the_assignment():
    X, _ = blobs(2)
    labels = [s["c"] for s in k_means.lloyd(X, X[:3]) if s.step.startswith("2")]
    assert (labels[-1] == labels[-2]).all()
    assert all((a != b).any() for a, b in itertools.pairwise(labels[:-1]))
    first = next(k_means.lloyd(X, X[:3]))["c"]
    assert (first == -1).all()  # unset is no label: with 0 for both, a test at the top would stop


@covers("cookbook E12.3", "summary A8.4")
@sides
def test_E12_3_an_empty_cluster_takes_the_farthest_point(side):
    X, _ = blobs(3)
    start = np.vstack([X[:2], [[1e3, 1e3]]])
    with np.errstate(invalid="ignore"):
        printed = np.zeros(2) / 0  # the mean of no points
    assert np.isnan(printed).all()
    mu, c = side(X, start)
    assert np.isfinite(mu).all()
    assert len(np.unique(c)) == 3


def test_E12_3_what_is_left_over_is_the_farthest_point():
    """Two centres in a heap, one nowhere: the third takes the point that lies farthest out."""
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    start = np.array([[0.0], [1.5], [1e4]])
    after = next(s for s in k_means.lloyd(X, start) if s.step.startswith("3"))["mu"]
    assert after[2, 0] == 50.0
    assert np.sort(fast(X, start)[0].ravel()).tolist() == [0.0, 1.5, 50.0]


@covers("cookbook M12.2", "cookbook T12.3", "slides B10.10", "cookbook E12.6")
def test_M12_2_one_point_at_a_time_is_the_running_mean():
    X, own = blobs(4, 60)
    start = MEANS.copy()
    order = np.random.default_rng(0).permutation(60)  # which point comes is no step number
    s = run(k_means.online(X, start, order))
    assert np.allclose(s["mu"], [X[own == k].mean(axis=0) for k in range(3)])
    model = kg.KMeans(3, init=start).fit(X)
    moving = kg.KMeans(3, init=start)
    moving.partial_fit(X[:3])
    for i in range(3, 60):
        moving.partial_fit(X[i : i + 1])
    assert np.allclose(moving.cluster_centers_, model.cluster_centers_)


@covers("cookbook E12.4", "cookbook E12.5", "cookbook X12.1", "cookbook H12.1")
def test_E12_5_counts_from_zero_forget_the_start_counts_from_one_keep_it():
    X = np.array([[2.0], [4.0]])
    zero = run(k_means.online(X, np.array([[10.0]]), np.arange(2)))["mu"]
    one = run(k_means.online(X, np.array([[10.0]]), np.arange(2), first=1))["mu"]
    assert zero.item() == 3.0
    assert one.item() == pytest.approx(16 / 3)
    rng, good = np.random.default_rng(0), np.zeros(2)
    for _ in range(150):
        data, own = blobs(int(rng.integers(1 << 30)), 150)
        chosen = rng.choice(150, 3, replace=False)  # distinct points, mu_1 .. mu_3
        draws = rng.integers(0, 150, 30)
        for first in (0, 1):
            mu = run(k_means.online(data, data[chosen], draws, first))["mu"]
            c = ((data[:, None] - mu) ** 2).sum(axis=2).argmin(axis=1)
            good[first] += agreement(c, own) > 0.95
    assert (good > 90).all()
    assert (good < 140).all()  # thirty draws do not help a bad start
    assert good[0] > good[1]  # a start that is forgotten does less harm
    # `partial_fit` forgets centres that are given; those shown as rows first count as one each
    order = np.r_[0:3, draws]
    for shown, first in ((order, 0), (np.r_[chosen, order], 1)):
        model = kg.KMeans(3, init=data[chosen]).partial_fit(data[shown[:3]])
        for i in shown[3:]:
            model.partial_fit(data[[i]])
        reference_ = run(k_means.online(data, data[chosen], order, first))["mu"]
        np.testing.assert_allclose(model.cluster_centers_, reference_)


@covers("cookbook E12.7")
def test_E12_7_the_centre_belongs_to_the_distance():
    rng = np.random.default_rng(5)
    x = rng.exponential(size=101)
    grid = np.linspace(0, 5, 2001)
    squares = ((x[:, None] - grid) ** 2).sum(axis=0)
    absolute = np.abs(x[:, None] - grid).sum(axis=0)
    assert grid[squares.argmin()] == pytest.approx(x.mean(), abs=3e-3)
    assert grid[absolute.argmin()] == pytest.approx(np.median(x), abs=3e-3)
    assert abs(x.mean() - np.median(x)) > 0.1
    # means for squares, the medoid of plain distances is the median, that of Hamming's the mode
    assert kg.KMeans(1).fit(x[:, None]).cluster_centers_[0, 0] == pytest.approx(x.mean())
    for metric in ("euclidean", "cityblock"):
        medoid = kg.KMedoids(1, metric=metric).fit(x[:, None])
        assert medoid.cluster_centers_[0, 0] == np.median(x)
    words = rng.choice(4, 60, p=[0.2, 0.2, 0.5, 0.1])[:, None]
    mode = kg.KMedoids(1, metric="hamming").fit(words)
    assert mode.cluster_centers_[0, 0] == np.bincount(words.ravel()).argmax() == 2


@covers("cookbook M12.3", "cookbook X12.2", "first_encounter FE11.6")
def test_X12_2_rings_come_apart_in_kernel_pca_space():
    X, own = make_circles(300, noise=0.03, factor=0.3, random_state=0)
    flat = kg.KMeans(2, n_init=10, random_state=0).fit(X).labels_
    assert agreement(flat, own) < 0.7
    space = make_pipeline(
        kg.KernelPCA(2, kernel=kg.Gaussian(0.4)), kg.KMeans(2, n_init=10, random_state=0)
    )
    assert agreement(space.fit_predict(X), own) == 1.0


@covers("cookbook M12.4", "slides B10.3")
def test_M12_4_scales_decide_unless_columns_are_normalised():
    """As minutes of eruption (2 or 4.5) and of waiting (54 or 80), and a column of noise."""
    rng = np.random.default_rng(6)
    own = np.arange(270) % 2
    X = np.c_[np.where(own, 4.3, 2.0) + 0.3 * rng.standard_normal(270), 300 * rng.random(270)]
    raw = kg.KMeans(2, n_init=5, random_state=0).fit(X).labels_
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scaled = kg.KMeans(2, n_init=5, random_state=0).fit(Z).labels_
    assert agreement(raw, own) < 0.65
    assert agreement(scaled, own) > 0.95


@covers("cookbook M12.5", "slides B10.2")
def test_M12_5_a_codebook_quantises_a_sine():
    x = np.sin(2 * np.pi * np.arange(2000) / 2000)[:, None]
    errors = []
    for k in (2, 4, 8, 16):
        model = kg.KMeans(k, n_init=10, random_state=0).fit(x)
        decoded = model.cluster_centers_[model.predict(x)]
        errors.append(float(((x - decoded) ** 2).mean()))
    assert np.allclose(errors, [0.0955, 0.0211, 0.0050, 0.0012], rtol=0.06)


@covers("cookbook T12.5")
def test_T12_5_an_outlier_drags_a_centre():
    X, _ = blobs(7)
    near, _ = fast(X, MEANS)
    dragged, _ = fast(np.vstack([X, [[40.0, 0.0]]]), MEANS)
    assert np.abs(dragged - near).max() > 1.0
