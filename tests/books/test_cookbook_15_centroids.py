"""Cookbook, chapter 15, and slides, lecture 3: the nearest centroid."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, covers
from sklearn.pipeline import make_pipeline

import kilogram as kg
from kilogram.textbook import centroids
from kilogram.textbook.state import run


class Textbook:
    def __init__(self, X, labels):
        s = run(centroids.online_centroids(X, labels))
        self.mu, self.classes = s["mu"], s["classes"]

    def predict(self, X):
        return self.classes[run(centroids.nearest_centroid(X, self.mu))["index"]]


class Fast:
    def __init__(self, X, labels):
        self.model = kg.NearestCentroid().fit(X, labels)
        self.mu, self.classes = self.model.centroids_, self.model.classes_

    def predict(self, X):
        return self.model.predict(X)


sides = pytest.mark.parametrize("side", [Textbook, Fast], ids=SIDES)
MEANS = np.array([[-2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])


def classes(seed, K=2, n=80, shape=((1.0, 0.0), (0.0, 1.0))):
    rng = np.random.default_rng(seed)
    labels = np.arange(K * n) % K
    return rng.standard_normal((K * n, 2)) @ np.asarray(shape).T + MEANS[labels], labels


def plane(seed, n=300):
    return 4 * np.random.default_rng(seed).standard_normal((n, 2))


@covers(
    "cookbook M15.1",
    "cookbook E15.1",
    "cookbook X15.3",
    "slides B3.1",
    "slides B3.7",
    "slides B3.8",
)
@sides
def test_M15_1_means_of_the_points_of_each_class(side):
    for K in (2, 3):
        X, labels = classes(0, K)
        fitted = side(X, labels)
        right = np.array([X[labels == k].mean(axis=0) for k in range(K)])
        assert np.allclose(fitted.mu, right)
        counts = np.bincount(labels)
        printed = np.array([X[: counts[k]].mean(axis=0) for k in range(K)])  # x_1 .. x_{N_k}
        assert not np.allclose(printed, right, atol=0.1)
        new = plane(1)
        d = np.linalg.norm(new[:, None] - right, axis=2)
        assert (fitted.predict(new) == d.argmin(axis=1)).all()
        assert np.mean(fitted.predict(X) == labels) > 0.8


@covers("cookbook E15.2", "cookbook E15.4")
def test_E15_2_the_distance_is_in_the_space_of_the_points():
    """No equation behind argmin, and no subspace: distances are taken between the rows."""
    X, labels = classes(2, 3)
    s = run(centroids.nearest_centroid(X, run(centroids.online_centroids(X, labels))["mu"]))
    assert s["distance"].shape == (len(X), 3)
    assert s["index"].ndim == 1  # the argmin is a class, nothing is set equal to it
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = kg.NearestCentroid().fit(X @ turn, labels).predict(plane(2) @ turn)
    assert (turned == kg.NearestCentroid().fit(X, labels).predict(plane(2))).all()


@covers("cookbook E15.3", "cookbook T15.1", "slides B3.2", "slides B3.3", "slides B3.5")
def test_T15_1_streaming_is_batch_in_any_order():
    X, labels = classes(3, 3)
    first = next(iter(centroids.online_centroids(X, labels)))
    assert first["mu"].shape == (3, 2)  # zero vectors; I times 0 would be a matrix for each class
    assert not first["mu"].any()
    whole = kg.NearestCentroid().fit(X, labels)
    order = np.random.default_rng(3).permutation(len(X))
    reference = run(centroids.online_centroids(X[order], labels[order]))
    assert np.allclose(reference["mu"], whole.centroids_)
    stream = kg.NearestCentroid()
    for at in np.array_split(order, 7):
        stream.partial_fit(X[at], labels[at], classes=[0, 1, 2])
    assert np.allclose(stream.centroids_, whole.centroids_)
    mean = 0.0
    for i, x in enumerate(X[:, 0], start=1):
        mean = (i - 1) / i * mean + x / i
    assert np.isclose(mean, X[:, 0].mean())


@covers("cookbook T15.2", "slides B3.4", "slides B3.6")
def test_T15_2_two_centroids_are_a_linear_rule_and_its_offset_has_a_half():
    X, labels = classes(4)
    X = X + 3
    fast = kg.NearestCentroid().fit(X, labels)
    s = run(centroids.linear_rule(fast.centroids_[1], fast.centroids_[0]))
    assert np.allclose(fast.coef_[0], s["w"])
    assert np.allclose(fast.intercept_[0], -s["b"])
    new = plane(4) + 3
    said = fast.predict(new)
    assert (said == (new @ s["w"] - s["b"] > 0)).all()
    assert (said == (np.hstack([np.ones((300, 1)), new]) @ s["folded"] > 0)).all()
    assert np.mean(said == (new @ s["w"] - 2 * s["b"] > 0)) < 0.9  # underbraced without the half
    middle = fast.centroids_.mean(axis=0)
    assert np.isclose(middle @ s["w"], s["b"])
    along = np.array([-s["w"][1], s["w"][0]])
    assert np.isclose((middle + 5 * along) @ s["w"], s["b"])  # orthogonal to w


@covers("cookbook X15.1", "cookbook T15.3")
def test_T15_3_round_classes_of_equal_size_are_decided_best():
    X, labels = classes(5, n=4000)
    new = plane(5, 2000)
    bayes = ((new - MEANS[0]) ** 2).sum(1) > ((new - MEANS[1]) ** 2).sum(1)
    said = kg.NearestCentroid().fit(X, labels).predict(new)
    assert np.mean(said == bayes) > 0.985
    linear = kg.LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, labels).predict(new)
    assert np.mean(said == linear) > 0.985


@covers("cookbook X15.2", "cookbook T15.4")
def test_T15_4_elongated_classes_want_the_covariance():
    X, labels = classes(6, 3, n=400, shape=[[1.0, 0.0], [1.6, 0.5]])
    near = kg.NearestCentroid().fit(X, labels).score(X, labels)
    linear = kg.LinearDiscriminantAnalysis().fit(X, labels)
    assert linear.score(X, labels) > near + 0.02
    ellipse = kg.NearestCentroid(metric="mahalanobis").fit(X, labels)
    assert np.mean(ellipse.predict(plane(6)) == linear.predict(plane(6))) > 0.99


@covers("cookbook T15.5", "cookbook T15.6", "slides B3.9")
def test_T15_5_it_keeps_one_mean_for_each_class():
    X, labels = classes(7, 3)
    fitted = kg.NearestCentroid().fit(X, labels)
    assert fitted.centroids_.size == 3 * 2
    one = kg.KNeighborsClassifier(1).fit(fitted.centroids_, fitted.classes_)
    assert (one.predict(plane(7)) == fitted.predict(plane(7))).all()
    # B3.9: on round classes the simple rule is level with a flexible one
    neighbours = kg.KNeighborsClassifier(5).fit(X[::2], labels[::2]).score(X[1::2], labels[1::2])
    assert (
        kg.NearestCentroid().fit(X[::2], labels[::2]).score(X[1::2], labels[1::2])
        > neighbours - 0.02
    )


def test_the_nearest_mean_in_the_space_of_a_kernel():
    """Kernel PCA with all components, then the nearest centroid, is the kernel's nearest mean."""
    rng = np.random.default_rng(8)
    angle, labels = rng.uniform(0, 2 * np.pi, 120), np.arange(120) % 2
    X = (1 + 2 * labels)[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    X = X + 0.1 * rng.standard_normal(X.shape)
    kernel = kg.Gaussian(sigma=0.8)
    new = 2 * rng.standard_normal((60, 2))
    reference = run(centroids.kernel_nearest_mean(kernel(X), labels, kernel(new, X), np.ones(60)))
    model = make_pipeline(kg.KernelPCA(kernel=kernel), kg.NearestCentroid()).fit(X, labels)
    assert np.mean(model.predict(new) == reference["label"]) > 0.95
    assert model.score(X, labels) == 1.0
    assert kg.NearestCentroid().fit(X, labels).score(X, labels) < 0.7
