"""Summary, section 3 (support vector machine) and slides, lecture 8 (Fisher's discriminant)."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, covers, gaussian, linear, rings
from scipy.linalg import eigh

import kilogram as kg
from kilogram.textbook import fisher, ridge, svm_dual
from kilogram.textbook.state import run


class Textbook:
    def __init__(self, kernel, X, y, C):
        self.K = kernel.reference(X, X)
        s = run(svm_dual.svm(self.K, y, C))
        self.lam, self.d = s["alpha"], float(s["b"])
        self.decide = lambda new: kernel.reference(new, X) @ (self.lam * y) + self.d


class Fast:
    def __init__(self, kernel, X, y, C):
        self.K = kernel.reference(X, X)
        model = kg.SVC(kernel=kernel.fast, C=C, tol=1e-9).fit(X, y)
        self.lam = np.zeros(len(y))
        self.lam[model.support_] = np.abs(model.dual_coef_[0])
        self.d, self.decide = float(model.intercept_[0]), model.decision_function


svm_sides = pytest.mark.parametrize("fit_svm", [Textbook, Fast], ids=SIDES)


def blobs(seed, n=40, gap=0.8):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.random.default_rng(seed).standard_normal((n, 2)) + gap * y[:, None], y


def cosine(a, b):
    return abs(float(a @ b)) / (np.linalg.norm(a) * np.linalg.norm(b))


@covers("summary A3.1")
def test_A3_1_signed_distances_to_a_plane():
    n, p0, x = np.array([3.0, 4.0]), np.array([1.0, 2.0]), np.array([4.0, 6.0])
    d = -p0 @ n
    assert np.isclose((x @ n + d) / 5, 5)  # x - p0 = n here: at its length
    assert np.isclose(((2 * p0 - x) @ n + d) / 5, -5)  # the other side: negative
    on = p0 + n / 25  # functional value 1
    assert np.isclose(on @ n + d, 1)
    assert np.isclose(np.linalg.norm(on - p0), 1 / 5)
    X = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 6.0], [5.0, 6.0]])
    model = kg.LinearSVC().fit(X, [0, 0, 1, 1])
    w, value = model.coef_[0], model.decision_function(X)
    feet = X - np.outer(value, w) / (w @ w)  # the nearest points of the plane
    assert np.allclose(model.decision_function(feet), 0, atol=1e-10)
    assert np.allclose(np.linalg.norm(X - feet, axis=1), np.abs(value) / np.linalg.norm(w))


@covers("summary A3.2", "summary A3.10", "summary A3.12")
@svm_sides
def test_A3_10_hard_margin(fit_svm):
    X, y = blobs(0, gap=2.5)
    f = fit_svm(linear(), X, y, np.inf)
    n = X.T @ (f.lam * y)
    free = f.lam > 1e-6
    assert (y * f.decide(X) >= 1 - 1e-6).all()
    assert np.allclose(
        np.abs(f.decide(X[free])) / np.linalg.norm(n), 1 / np.linalg.norm(n), rtol=1e-5
    )
    rest = fit_svm(linear(), X[free], y[free], np.inf)
    assert np.allclose(rest.decide(X), f.decide(X), atol=1e-5)
    scaled = fit_svm(linear(), 10 * X, y, np.inf)
    assert np.allclose((10 * X).T @ (scaled.lam * y), n / 10, atol=1e-6)


@covers("summary A3.3", "summary A3.4", "summary A3.9")
@svm_sides
def test_A3_9_primal_is_dual(fit_svm):
    X, y = blobs(1)
    C = 0.6
    f = fit_svm(linear(), X, y, C)
    n = X.T @ (f.lam * y)
    xi = np.maximum(0, 1 - y * f.decide(X))
    assert np.isclose(n @ n / 2 + C * xi.sum(), svm_dual.dual_value(f.K, y, f.lam), rtol=1e-6)
    assert np.allclose(f.decide(X), X @ n + f.d)
    assert max(svm_dual.conditions(f.K, y, f.lam, f.d, C).values()) < 1e-5


@covers("summary A3.5", "summary A3.12")
@svm_sides
def test_A3_5_the_kernel_replaces_the_dot_product(fit_svm):
    X, label = rings(2, (1, 3), 60)
    y = 2.0 * label - 1
    f = fit_svm(gaussian(1.0), X, y, 1.0)
    assert (np.sign(f.decide(X)) == y).all()
    assert np.allclose(f.decide(X), f.K @ (f.lam * y) + f.d)


@covers("summary A3.6")
@svm_sides
def test_A3_6_the_offset_from_free_vectors_or_the_middle(fit_svm):
    X, y = blobs(3, gap=1.5)
    X = X + 4
    f = fit_svm(linear(), X, y, 0.3)
    free = (f.lam > 1e-6) & (f.lam < 0.3 - 1e-6)
    assert np.allclose((y - X @ (X.T @ (f.lam * y)))[free], f.d, atol=1e-5)
    without = np.mean(np.sign(X @ X.T @ (f.lam * y)) == y)  # d never computed
    assert without < np.mean(np.sign(f.decide(X)) == y) - 0.3
    two = fit_svm(linear(), np.array([[1.0], [3.0]]), np.array([-1.0, 1.0]), 0.1)
    assert np.allclose(two.lam, 0.1)  # both at the bound: the middle of the interval
    assert np.isclose(two.d, -0.4, atol=1e-6)


@covers("summary A3.7", "summary A3.8")
@svm_sides
def test_A3_7_points_on_the_margin_are_active_too(fit_svm):
    X, y = blobs(4)
    C = 0.5
    f = fit_svm(linear(), X, y, C)
    g = y * f.decide(X)
    free = (f.lam > 1e-6) & (f.lam < C - 1e-6)
    assert free.any()
    assert np.allclose(g[free], 1, atol=1e-5)  # they violate nothing and have lambda > 0
    assert (f.lam[g < 1 - 1e-4] > C - 1e-6).all()
    assert (f.lam[g > 1 + 1e-4] < 1e-6).all()
    # A3.8: the dual is concave (a maximum), the primal is minimised over d and xi too
    rng = np.random.default_rng(4)
    a, b = rng.uniform(0, C, (2, 40))
    middle = svm_dual.dual_value(f.K, y, (a + b) / 2)
    assert middle >= (svm_dual.dual_value(f.K, y, a) + svm_dual.dual_value(f.K, y, b)) / 2
    n = X.T @ (f.lam * y)

    def primal(d):
        return n @ n / 2 + C * np.maximum(0, 1 - y * (X @ n + d)).sum()

    assert primal(f.d) <= min(primal(f.d + 0.1), primal(f.d - 0.1)) + 1e-9


@covers("summary A3.11")
@svm_sides
def test_A3_11_no_hard_margin_between_mixed_classes(fit_svm):
    X, y = blobs(5, gap=0.2)
    with pytest.raises(ValueError, match="separate"):
        fit_svm(linear(), X, y, np.inf)
    assert np.isfinite(fit_svm(linear(), X, y, 1.0).decide(X)).all()


@covers("slides B8.1", "slides B8.4", "slides B8.5")
def test_B8_5_the_one_eigenvalue_and_whitened_centroids():
    X, y = blobs(6, 80)
    X = X @ np.array([[1.0, 0.8], [0.0, 0.4]])
    labels = (y > 0).astype(int)
    S_W, _ = fisher.scatters(X, labels)
    minus, plus = fisher.class_means(X, labels)
    gap = plus - minus
    values = eigh(np.outer(gap, gap), S_W, eigvals_only=True)
    assert np.isclose(values[-1], gap @ np.linalg.solve(S_W, gap))
    assert abs(values[0]) < 1e-10
    w = np.linalg.solve(S_W, gap)
    # one line drops lambda: S_B w = S_W w does not hold, only the direction matters
    assert not np.allclose(np.outer(gap, gap) @ w, S_W @ w, rtol=0.1)
    assert np.isclose(cosine(np.outer(gap, gap) @ w, S_W @ w), 1)
    U, s, _ = np.linalg.svd(S_W)
    white = X @ U / np.sqrt(s)
    means = fisher.class_means(white, labels)
    nearest = np.linalg.norm(white[:, None] - means[None], axis=2).argmin(axis=1)
    threshold = w @ (plus + minus) / 2
    assert ((X @ w > threshold) == nearest).all()
    fast = kg.FisherDiscriminant().fit(X, labels)
    assert (fast.predict(X) == nearest).all()
    assert np.isclose(cosine(fast.scalings_[:, 0], w), 1)
    # the ratio of variances, and the correlation with the labels, are largest along w
    others = np.random.default_rng(6).standard_normal((200, 2))
    best = abs(np.corrcoef(X @ w, y)[0, 1])
    assert max(abs(np.corrcoef(X @ v, y)[0, 1]) for v in others) <= best + 1e-12
    closer = X - 0.5 * np.outer(y, gap / 2)  # means closer: a worse signal
    wider = X + (X - np.where(labels[:, None], plus, minus))  # more variance within: worse too
    ratio = fast.eigenvalues_[0]
    for worse in (closer, wider):
        assert run(fisher.fisher(worse, labels))["Lambda"][0] < 0.6 * ratio


@covers("slides B8.8")
def test_B8_8_regression_on_labels_needs_centred_data_not_equal_classes():
    X, y = blobs(7, 80, gap=1.0)
    X = X @ np.array([[1.0, 0.9], [0.0, 0.4]]) + [3.0, -1.0]
    keep = (y > 0) | (np.arange(80) % 3 == 0)  # unequal classes

    def direction(X, y):
        return run(fisher.fisher(X, y))["W"][:, 0]

    w = run(ridge.ridge(X[keep], y[keep], 0.0))["W"]
    assert np.isclose(cosine(w, direction(X[keep], y[keep])), 1)
    assert np.isclose(cosine(kg.Ridge(alpha=0.0).fit(X[keep], y[keep]).coef_, w), 1)
    plain = np.linalg.lstsq(X, y, rcond=None)[0]  # equal classes, uncentred: fails
    assert cosine(plain, direction(X, y)) < 0.95


@covers("slides B8.9")
def test_B8_9_least_squares_masks_the_middle_class():
    rng = np.random.default_rng(8)
    labels = np.arange(600) % 3
    X = 0.7 * rng.standard_normal((600, 2)) + 4.0 * (labels[:, None] - 1)
    one_hot = np.eye(3)[labels]
    s = run(ridge.ridge(X, one_hot, 0.0))
    by_squares = (X @ s["W"] + s["b"]).argmax(axis=1)
    assert np.mean(by_squares[labels == 1] == 1) < 0.5
    reference = run(fisher.fisher(X, labels))
    by_fisher = run(fisher.classify(X, reference["mu"], reference["W"]))["index"]
    assert np.mean(by_fisher == labels) > 0.99
    assert kg.FisherDiscriminant().fit(X, labels).score(X, labels) > 0.99
