"""Lecture notes, lectures 5 and 6: the linear discriminant, and as least squares."""

from __future__ import annotations

import numpy as np
from book_checks import cloud, covers, numerical_gradient
from scipy.stats import multivariate_normal

import kilogram as kg
from kilogram.textbook import fisher, ridge
from kilogram.textbook.state import run


def two(seed, n=120, fraction=3):
    """Two classes of one shape, one of them `fraction` times as rare as all."""
    X, labels = cloud(seed, n, 3), (np.arange(n) % fraction == 0).astype(int)
    return X + 1.5 * labels[:, None], labels


def cosine(a, b):
    return abs(float(a @ b)) / (np.linalg.norm(a) * np.linalg.norm(b))


@covers("lecture_notes L05.M1", "lecture_notes L05.T3")
def test_L05_M1_the_likelihood_is_largest_at_mean_and_covariance():
    X = cloud(0, 50, 3)
    m, S = X.mean(axis=0), np.cov(X.T, bias=True)

    def likelihood(m, S):
        return multivariate_normal(m, S).logpdf(X).sum()

    direct = (
        -25 * np.linalg.slogdet(2 * np.pi * S)[1] - np.sum((X - m) @ np.linalg.inv(S) * (X - m)) / 2
    )
    assert np.isclose(likelihood(m, S), direct)
    one = kg.GaussianMixture(1, reg_covar=0.0).fit(X)
    assert np.allclose(one.means_[0], m)
    assert np.allclose(one.covariances_[0], S)
    assert np.isclose(50 * one.score(X), direct)
    assert np.abs(numerical_gradient(lambda t: likelihood(t, S), m)).max() < 1e-4
    assert max(likelihood(m, c * S) for c in (0.9, 1.1)) < likelihood(m, S)
    A = S + 0.1 * np.triu(np.ones((3, 3)), 1)
    B = np.arange(9.0).reshape(3, 3)
    logdet = numerical_gradient(lambda M: np.linalg.slogdet(M)[1], A)
    assert np.allclose(logdet, np.linalg.inv(A.T), atol=1e-5)
    assert np.allclose(numerical_gradient(lambda M: np.trace(M @ B), A), B.T, atol=1e-5)


@covers("lecture_notes L05.M3", "lecture_notes L05.G1", "lecture_notes L05.X3")
def test_L05_M3_linear_scores_and_the_two_class_rule():
    X, labels = two(1)
    p = np.bincount(labels) / len(X)
    S = fisher.scatters(X, labels)[0] / len(X)
    m = fisher.class_means(X, labels)
    w = np.linalg.solve(S, m.T).T
    scores = X @ w.T + np.log(p) - np.sum(m * w, axis=1) / 2
    reference = run(fisher.fisher(X, labels))
    rule = run(fisher.classify(X, reference["mu"], reference["W"], p))["index"]
    assert (scores.argmax(axis=1) == rule).all()
    fast = kg.FisherDiscriminant().fit(X, labels)
    assert (fast.predict(X) == rule).all()
    odds = run(fisher.shared_gaussians(X, labels, X))["log_odds"]
    assert np.allclose(odds, scores[:, 1] - scores[:, 0])
    assert np.allclose(X @ (w[1] - w[0]), X @ np.linalg.solve(S, m[1] - m[0]))
    assert np.allclose(w[0] - w[0], 0)  # w_0 printed twice: no rule at all
    d2 = np.einsum("nd,de,ne->n", X - m[0], np.linalg.inv(S), X - m[0])
    white = (X - m[0]) @ np.linalg.cholesky(np.linalg.inv(S))
    assert np.allclose(d2, np.sum(white**2, axis=1))  # squared Mahalanobis distance


@covers("lecture_notes L05.M4")
def test_L05_M4_the_threshold_may_be_chosen_by_errors():
    """Classes that are not Gaussian: a threshold found on the data beats the theory's."""
    rng = np.random.default_rng(2)
    labels = np.arange(2000) % 2
    z = np.where(labels, 1 + 3 * rng.exponential(1, 2000), rng.uniform(-1, 1, 2000))
    s = run(fisher.fisher(z[:, None], labels))
    theory = s["mu"].mean()
    half = np.arange(2000) < 1000
    grid = np.quantile(z[half], np.linspace(0, 1, 200))
    chosen = grid[np.argmax([np.mean((z[half] > t) == labels[half]) for t in grid])]
    right = [np.mean((z[~half] > t) == labels[~half]) for t in (theory, chosen)]
    assert right[1] > right[0] + 0.05


@covers("lecture_notes L06.M1", "lecture_notes L06.T2")
def test_L06_T2_least_squares_with_an_offset_finds_the_direction():
    X, labels = two(3)
    N, (n0, n1) = len(X), np.bincount(labels)
    m0, m1 = fisher.class_means(X, labels)
    S = fisher.scatters(X, labels)[0] / N
    direction = np.linalg.solve(S, m1 - m0)
    for low, high in ((-1.0, 1.0), (0.0, 1.0), (-N / n0, N / n1), (5.0, 3.0)):
        w = run(ridge.ridge(X, np.where(labels, high, low), 0.0))["W"]
        assert np.isclose(cosine(w, direction), 1)
        assert np.isclose(
            cosine(kg.Ridge(alpha=0.0).fit(X, np.where(labels, high, low)).coef_, direction), 1
        )
    coded = run(ridge.ridge(X, np.where(labels, N / n1, -N / n0), 0.0))["W"]
    S_B = np.outer(m1 - m0, m1 - m0)
    assert np.allclose((N * S + n0 * n1 / N * S_B) @ coded, N * (m1 - m0))
    plain = np.linalg.lstsq(X, np.where(labels, 1.0, -1.0), rcond=None)[0]
    assert cosine(plain, direction) < 0.99  # no offset, data away from the origin


@covers("lecture_notes L06.M2", "lecture_notes L06.T1")
def test_L06_M2_the_gap_over_the_projected_variance():
    X, labels = two(4)
    s = run(fisher.fisher(X, labels))

    def criterion(w):
        z = X @ w
        gap = z[labels == 1].mean() - z[labels == 0].mean()
        return gap**2 / (w @ s["S"] @ w)

    for w in (s["W"][:, 0], kg.FisherDiscriminant().fit(X, labels).scalings_[:, 0]):
        others = np.random.default_rng(4).standard_normal((300, 3))
        assert max(criterion(v) for v in others) < criterion(w)
    odds = run(fisher.shared_gaussians(X, labels, X))["log_odds"]
    assert ((3 * odds > 0) == (odds > 0)).all()  # a positive factor changes no decision
    assert ((-odds > 0) != (odds > 0)).all()  # a negative one flips them


@covers("lecture_notes L05.T2")
def test_L05_T2_affine_maps_change_no_decision_of_the_discriminant():
    X, labels = two(5)
    T = np.random.default_rng(5).standard_normal((3, 3))
    for rule in ("shared", "per_class"):  # one covariance, or one for each class, as in QDA
        here = kg.FisherDiscriminant(rule=rule).fit(X, labels).predict(X)
        there = kg.FisherDiscriminant(rule=rule).fit(X @ T + 9, labels).predict(X @ T + 9)
        assert (here == there).all()

    def nearest_mean(X):
        m = fisher.class_means(X, labels)
        return np.linalg.norm(X[:, None] - m[None], axis=2).argmin(axis=1)

    assert (nearest_mean(X) != nearest_mean(X @ T + 9)).any()
