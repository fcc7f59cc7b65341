"""Cookbook, chapter 22: the k nearest neighbours vote."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from book_checks import covers
from scipy.ndimage import label as connected
from sklearn.model_selection import GridSearchCV

import kilogram as kg
from kilogram.textbook import kernel_pca, kernels, neighbours, pca
from kilogram.textbook.state import run


def line(seed, n=200, gap=1.0):
    """Figure 22.1: two Gaussian classes that a line separates."""
    labels = np.arange(n) % 2
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) + gap * (2 * labels - 1)[:, None], labels


def xor(seed, n=200, sd=0.5):
    """Figure 22.2: class 1 around +-(1, 1), class 0 around +-(1, -1)."""
    rng = np.random.default_rng(seed)
    corner = np.arange(n) % 4
    centres = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    return centres[corner] + sd * rng.standard_normal((n, 2)), (corner < 2).astype(int)


def book(new, X, labels, k, seed=0):
    close = neighbours.closeness(new, X)
    return run(neighbours.votes(close, labels, k, np.random.default_rng(seed)))


def textbook_rule(new, X, labels, k):
    return book(new, X, labels, k)["label"]


def fast_rule(new, X, labels, k, **how):
    return kg.KNeighborsClassifier(k, **how).fit(X, labels).predict(new)


both = pytest.mark.parametrize("rule", [textbook_rule, fast_rule])


def grid(size=60, reach=2.5):
    axis = np.linspace(-reach, reach, size)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def regions(said):
    """Number of connected regions of the two classes on the grid."""
    picture = said.reshape(60, 60)
    return connected(picture == 0)[1] + connected(picture == 1)[1]


@covers("cookbook M22.1")
def test_M22_1_distances_votes_and_the_largest():
    X = line(0, 90)[0]
    names = np.array(["a", "b", "c"])[np.arange(90) % 3]
    new = line(1, 30)[0]
    s = book(new, X, names, 7)
    for x, near, gamma in zip(new, s["nearest"], s["gamma"], strict=True):
        distances = np.sum((X - x) ** 2, axis=1)
        assert set(near) == set(np.argsort(distances)[:7])
        assert gamma.tolist() == [np.sum(names[near] == c) for c in "abc"]
    sure = ~s["tie"]
    assert sure.sum() > 15
    model = kg.KNeighborsClassifier(7).fit(X, names)
    assert np.array_equal(model.kneighbors(new)[1], s["nearest"])
    assert np.allclose(model.predict_proba(new), s["gamma"] / 7)
    assert np.array_equal(model.predict(new)[sure], s["label"][sure])
    for k in (0, 91):
        with pytest.raises(ValueError, match="k must be between 1 and 90"):
            book(new, X, names, k)


@covers("cookbook P22")
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_P22_an_index_finds_the_same_neighbours(algorithm):
    X, new = line(0, 90)[0], line(1, 30)[0]
    near = kg.NearestNeighbors(n_neighbors=7, algorithm=algorithm).fit(X).kneighbors(new)[1]
    brute = kg.NearestNeighbors(n_neighbors=7, algorithm="brute").fit(X).kneighbors(new)[1]
    assert np.array_equal(near, brute)


@covers("cookbook M22.2")
def test_M22_2_any_distance():
    X, labels = line(2, 81)
    new = line(3, 40)[0]
    rng = np.random.default_rng(0)
    taxi = np.abs(new[:, None] - X[None]).sum(axis=2)
    want = run(neighbours.votes(-taxi, labels, 5, rng))["label"]
    assert np.array_equal(fast_rule(new, X, labels, 5, metric="manhattan"), want)
    assert np.array_equal(fast_rule(new, X, labels, 5, p=1), want)
    # among kernel principal components: Gaussian kernel, all directions that there are
    K, K_new = kernels.gaussian(X, X, 1.0), kernels.gaussian(new, X, 1.0)
    reference = run(kernel_pca.train(K, 5))
    Z, Z_new = reference["X_hat"], run(kernel_pca.project(K_new, K, reference["A"]))["X_hat"]
    fast = kg.KernelPCA(5, kernel=kg.Gaussian(sigma=1.0)).fit(X)
    want = run(neighbours.votes(neighbours.closeness(Z_new, Z), labels, 5, rng))["label"]
    got = fast_rule(fast.transform(new), fast.transform(X), labels, 5)
    assert np.array_equal(got, want)
    # the kernel's own distance, k(x,x) + k(y,y) - 2 k(x,y), given as a matrix
    D, D_new = 2 - 2 * K, 2 - 2 * K_new
    want = run(neighbours.votes(-D_new, labels, 5, rng))["label"]
    model = kg.KNeighborsClassifier(5, metric="precomputed").fit(D, labels)
    assert np.array_equal(model.predict(D_new), want)


@covers("cookbook M22.3")
def test_M22_3_cluster_centres_stand_for_the_rows():
    X, labels = xor(4, 400)
    new, truth = xor(5, 1000)
    s = run(neighbours.prototypes(X, labels, 4, np.random.default_rng(0)))
    assert s["mu"].shape == (8, 2)
    assert s["label"].tolist() == [0] * 4 + [1] * 4
    full = np.mean(fast_rule(new, X, labels, 15) == truth)
    for rule in (textbook_rule, fast_rule):
        assert np.mean(rule(new, s["mu"], s["label"], 1) == truth) > full - 0.03
    own = [kg.KMeans(4, random_state=0).fit(X[labels == c]).cluster_centers_ for c in (0, 1)]
    few = fast_rule(new, np.vstack(own), np.repeat([0, 1], 4), 1)
    assert np.mean(few == truth) > full - 0.03
    # more prototypes than points of a class: the points themselves
    tiny = run(neighbours.prototypes(X[:4], labels[:4], 9, np.random.default_rng(0)))
    assert sorted(tiny["mu"].tolist()) == sorted(X[:4].tolist())


@covers("cookbook H22.1")
def test_H22_1_k_by_cross_validation():
    X, labels = line(6, 300, gap=0.6)
    new, truth = line(7, 3000, gap=0.6)
    search = GridSearchCV(kg.KNeighborsClassifier(), {"n_neighbors": [1, 3, 15, 45]}, cv=5)
    k = search.fit(X, labels).best_params_["n_neighbors"]
    assert k in (15, 45)
    for rule in (textbook_rule, fast_rule):
        one, chosen = (np.mean(rule(new, X, labels, n) != truth) for n in (1, k))
        assert chosen < one - 0.03
    scores = search.best_estimator_.leave_one_out_scores(45)
    assert scores[k - 1] > scores[0] + 0.03
    left_out = [
        book(X[[i]], np.delete(X, i, 0), np.delete(labels, i), 15)["label"][0] for i in range(300)
    ]
    assert np.isclose(scores[14], np.mean(left_out == labels))


@covers("cookbook X22.1")
@both
def test_X22_1_a_line_between_two_classes(rule):
    X, labels = line(8)
    ragged, smooth = (rule(grid(), X, labels, k) for k in (1, 15))
    assert regions(smooth) < regions(ragged)
    new, truth = line(9, 1000)
    one, many = (np.mean(rule(new, X, labels, k) == truth) for k in (1, 15))
    assert many > one


@covers("cookbook X22.2", "cookbook E22.4")
@both
def test_X22_2_regions_grow_together_as_k_grows(rule):
    """Figure 22.2; the regions are contiguous (print: contingent): few pieces, not many."""
    pieces = np.zeros(3)
    for seed in range(4):  # the classes overlap, so that single rows make islands
        X, labels = xor(seed, 300, sd=0.8)
        pieces += [regions(rule(grid(), X, labels, k)) for k in (1, 3, 15)]
    assert pieces[0] > pieces[1] > pieces[2]
    assert pieces[2] < pieces[0] / 2


@covers("cookbook T22.1")
@both
def test_T22_1_one_neighbour_knows_its_own_row(rule):
    X, labels = line(11, 150, gap=0.2)
    assert (rule(X, X, labels, 1) == labels).all()
    assert (rule(X, X, labels, 15) != labels).any()
    twice, names = np.vstack([X, X[:1]]), np.append(labels, 1 - labels[0])
    assert (rule(twice, twice, names, 1) != names).any()  # the points have to be distinct


@covers("cookbook T22.2", "cookbook E22.3")
def test_T22_2_whitened_euclidean_is_mahalanobis():
    """Divide by the square roots of the eigenvalues; the page divides by the eigenvalues."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((120, 3)) @ np.array([[3.0, 1, 0], [0, 1, 0.5], [0, 0, 0.3]])
    labels = (X @ np.linalg.inv(np.cov(X.T)) @ [1.0, -1, 1] > 0).astype(int)
    new = X[:20] + 0.1
    Sigma = np.cov(X.T, bias=True)
    gap = new[:, None] - X[None]
    want = np.einsum("mni,ij,mnj->mn", gap, np.linalg.inv(Sigma), gap)
    assert np.allclose(neighbours.mahalanobis(new, X, Sigma), want)
    both_sets = run(pca.whiten(np.vstack([X, new])))["X"]  # with the covariance of all rows
    joint = np.cov(np.vstack([X, new]).T, bias=True)
    white = -neighbours.closeness(both_sets[120:], both_sets[:120])
    assert np.allclose(white, neighbours.mahalanobis(new, X, joint))
    Lambda, U = np.linalg.eigh(Sigma)
    printed = -neighbours.closeness(new @ (U / Lambda), X @ (U / Lambda))
    assert not np.allclose(printed, want, rtol=0.2)
    distances, places = (
        kg.NearestNeighbors(n_neighbors=4, metric="mahalanobis", metric_params={"V": Sigma})
        .fit(X)
        .kneighbors(new)
    )
    assert np.array_equal(places, np.argsort(want, axis=1)[:, :4])
    assert np.allclose(distances**2, np.sort(want, axis=1)[:, :4])
    rng = np.random.default_rng(0)
    reference = run(neighbours.votes(-want, labels, 5, rng))["label"]
    fast = fast_rule(new, X, labels, 5, metric="mahalanobis", metric_params={"V": Sigma})
    assert np.array_equal(fast, reference)
    with pytest.raises(ValueError, match="positive definite"):
        neighbours.mahalanobis(new, X, np.zeros((3, 3)))


@covers("cookbook T22.3")
@both
def test_T22_3_all_rows_are_the_majority(rule):
    X, labels = line(13, 91)
    new = line(14, 50, gap=3.0)[0]
    assert (rule(new, X, labels, 91) == np.bincount(labels).argmax()).all()
    assert (rule(new, X, labels, 3) != np.bincount(labels).argmax()).any()


@covers("cookbook T22.4")
@both
def test_T22_4_xor_is_no_problem_but_for_a_line(rule):
    X, labels = xor(15)
    new, truth = xor(16, 2000)
    linear = kg.LogisticRegression().fit(X, labels).score(new, truth)
    assert abs(linear - 0.5) < 0.15
    assert np.mean(rule(new, X, labels, 15) == truth) > 0.9


@covers("cookbook T22.5")
def test_T22_5_ties_by_a_fair_coin_or_by_order():
    X, labels = np.array([[-1.0], [1.0]]), np.array([0, 1])
    new = np.zeros((4000, 1))
    one, again, other = (book(new, X, labels, 2, seed) for seed in (0, 0, 1))
    assert one["tie"].all()
    assert np.array_equal(one["label"], again["label"])
    assert not np.array_equal(one["label"], other["label"])
    assert abs(one["label"].mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    # the estimator predicts the first of equal classes, always, and its votes show the tie
    model = kg.KNeighborsClassifier(2).fit(X, labels)
    assert (model.predict(new) == 0).all()
    assert (model.predict_proba(new) == 0.5).all()


@covers("cookbook T22.6")
def test_T22_6_a_prediction_reads_all_rows_and_the_model_keeps_them():
    def sizes(n, d):
        X = np.random.default_rng(17).standard_normal((n, d))
        model = kg.KNeighborsClassifier(3, algorithm="brute").fit(X, np.arange(n) % 2)
        calls = []

        def counted(a, b):
            calls.append(len(a))
            return float(np.sum((a - b) ** 2))

        kg.KNeighborsClassifier(3, metric=counted).fit(X, np.arange(n) % 2).predict(X[:1])
        work = neighbours.closeness(X[:1], X).size
        return len(pickle.dumps(model)), sum(calls), work * d

    small, tall, wide = sizes(500, 8), sizes(2000, 8), sizes(500, 32)
    for other in (tall, wide):  # four times N or four times D: four times the work
        assert other[1] == 4 * small[1]
        assert other[2] == 4 * small[2]
    assert wide[0] - small[0] > 0.9 * 8 * 500 * 24
    assert tall[0] - small[0] > 0.9 * 8 * 1500 * 8


@covers("cookbook E22.1")
def test_E22_1_the_loop_goes_over_the_neighbours():
    """Printed "for k in do": over nothing, no vote is cast and the first class always wins."""
    X, labels = line(18, 60)
    new, truth = line(19, 40)
    s = book(new, X, labels, 5)
    empty = np.zeros_like(s["gamma"])
    assert (empty.argmax(axis=1) == 0).all()
    assert (s["gamma"].sum(axis=1) == 5).all()
    assert np.mean(s["label"] == truth) > 0.8
    model = kg.KNeighborsClassifier(5).fit(X, labels)
    assert np.allclose(5 * model.predict_proba(new), s["gamma"])
    counted = np.zeros_like(s["gamma"])
    for n, near in enumerate(s["nearest"]):
        for j in near:
            counted[n, labels[j]] += 1
    assert np.array_equal(counted, s["gamma"])


@covers("cookbook E22.2")
def test_E22_2_votes_are_counted_by_class_not_by_neighbour():
    X, _ = line(20, 60)
    labels = np.arange(60) % 4
    gamma = np.zeros(2)  # printed: as long as the K = 2 neighbours
    with pytest.raises(IndexError):
        np.add.at(gamma, labels, 1)
    for k in (1, 2, 9):
        s = book(X, X, labels, k)
        assert s["gamma"].shape == (60, 4)
        assert kg.KNeighborsClassifier(k).fit(X, labels).predict_proba(X).shape == (60, 4)
        assert (s["gamma"].max(axis=1) == s["gamma"][np.arange(60), s["label"]]).all()
    # labels are names, not numbers to compute with: the largest count is no class
    s = book(X, X, labels, 9)
    assert (s["gamma"].max(axis=1) != s["label"]).any()
    names = np.array(["w", "x", "y", "z"])[labels]
    assert set(kg.KNeighborsClassifier(3).fit(X, names).predict(X)) <= set("wxyz")
