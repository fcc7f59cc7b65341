"""Cookbook, chapter 16, C.1 and C.2: Fisher's discriminant and the rules it is equal to."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, cloud, covers
from scipy.linalg import eigh
from scipy.stats import multivariate_normal

import kilogram as kg
from kilogram.textbook import fisher
from kilogram.textbook.state import run


class Textbook:
    """Algorithms 14 and 15; priors only if asked, as printed."""

    def __init__(self, X, labels, *, balanced=False, beta=0.0, priors=None):
        self.s = run(fisher.fisher(X, labels, balanced=balanced, beta=beta))
        self.W, self.Lambda, self.priors = self.s["W"], self.s["Lambda"], priors

    def predict(self, X):
        index = run(fisher.classify(X, self.s["mu"], self.W, self.priors))["index"]
        return self.s["classes"][index]


class Fast:
    def __init__(self, X, labels, *, balanced=False, beta=0.0, priors=None):
        fraction = np.ones(len(np.unique(labels)))
        p = fraction / fraction.sum() if priors is None else priors
        self.model = kg.FisherDiscriminant(alpha=beta, balanced=balanced, priors=p).fit(X, labels)
        self.W, self.Lambda = self.model.scalings_, self.model.eigenvalues_

    def predict(self, X):
        return self.model.predict(X)


fisher_sides = pytest.mark.parametrize("fit_fisher", [Textbook, Fast], ids=SIDES)
SHEAR = np.array([[1.0, 0.0], [1.6, 0.5]])


def three(seed, n=60, shape=SHEAR, means=((-2.0, 0.0), (0.0, 2.0), (2.0, 0.0))):
    """Three Gaussian classes of one shape."""
    rng = np.random.default_rng(seed)
    labels = np.arange(3 * n) % 3
    return rng.standard_normal((3 * n, 2)) @ shape.T + np.array(means)[labels], labels


def centroid_rule(X, labels, new, S=None):
    """Nearest mean, Euclidean or Mahalanobis."""
    mu = fisher.class_means(X, labels)
    gap = new[:, None] - mu[None]
    S = np.eye(X.shape[1]) if S is None else S
    return np.einsum("ncd,de,nce->nc", gap, np.linalg.inv(S), gap).argmin(axis=1)


def within(X, labels):
    return fisher.scatters(X, labels)[0] / len(X)


@covers("cookbook M16.1", "cookbook M16.2", "cookbook X16.2", "cookbook E16.7")
@fisher_sides
def test_M16_2_the_ratio_is_largest_and_the_classes_come_apart(fit_fisher):
    """Figures 16.2, 16.3; the caption's comparison is with nearest centroids (ch. 15)."""
    for keep in ((0, 1), (0, 1, 2)):
        X, labels = (A[np.isin(three(0)[1], keep)] for A in three(0))
        fitted = fit_fisher(X, labels, balanced=True)
        s = run(fisher.fisher(X, labels, balanced=True))

        def ratio(w, s=s):
            return w @ s["B"] @ w / (w @ s["S"] @ w)

        rng = np.random.default_rng(0)
        assert max(ratio(w) for w in rng.standard_normal((300, 2))) <= fitted.Lambda[0] + 1e-12
        assert np.isclose(ratio(fitted.W[:, 0]), fitted.Lambda[0])
        right = np.mean(fitted.predict(X) == labels)
        assert right > np.mean(centroid_rule(X, labels, X) == labels) + 0.02


@covers("cookbook M16.3", "cookbook E16.5")
@fisher_sides
def test_E16_5_the_directions_must_be_scaled_by_S(fit_fisher):
    X, labels = three(1)
    S = within(X, labels)
    fitted = fit_fisher(X, labels)
    assert np.allclose(fitted.W.T @ S @ fitted.W, np.eye(2))
    new = 3 * np.random.default_rng(1).standard_normal((500, 2))
    mahalanobis = centroid_rule(X, labels, new, S)
    assert (fitted.predict(new) == mahalanobis).all()
    unit = fitted.W / np.linalg.norm(fitted.W, axis=0)
    printed = run(fisher.classify(new, fisher.class_means(X, labels), unit))["index"]
    assert np.mean(printed == mahalanobis) < 0.99


@covers("cookbook M16.4", "cookbook MC.1", "cookbook E16.6", "cookbook T16.6")
@fisher_sides
def test_MC_1_log_odds_of_shared_gaussians(fit_fisher):
    rng = np.random.default_rng(2)
    labels = (np.arange(300) % 10 == 0).astype(int)  # one in ten
    X = rng.standard_normal((300, 2)) @ SHEAR.T + labels[:, None]
    new = rng.standard_normal((400, 2)) * 2
    ref = run(fisher.shared_gaussians(X, labels, new))
    minus, plus = (
        multivariate_normal(ref[m], ref["S"]).logpdf(new) for m in ("mu_minus", "mu_plus")
    )
    assert np.allclose(ref["log_odds"], plus - minus + np.log(30 / 270))
    fraction = np.array([0.9, 0.1])
    bayes = fit_fisher(X, labels, priors=fraction)
    assert (bayes.predict(new) == (ref["log_odds"] > 0)).all()
    equal = fisher.log_odds(new, ref["mu_plus"], ref["mu_minus"], ref["S"], 1, 1)
    assert (fit_fisher(X, labels).predict(new) == (equal > 0)).all()  # T16.6
    # E16.6: without priors the rule is not Bayes'
    assert np.mean(fit_fisher(X, labels).predict(X) == labels) < np.mean(bayes.predict(X) == labels)
    fast = kg.FisherDiscriminant().fit(X, labels)
    assert np.allclose(fast.predict_proba(new)[:, 1], ref["p_plus"])


@covers("cookbook H16.1", "cookbook E16.8")
@fisher_sides
def test_E16_8_singular_within_scatter_needs_a_ridge(fit_fisher):
    X, labels = cloud(3, 10, 20), np.arange(10) % 2
    with pytest.raises(np.linalg.LinAlgError):
        eigh(np.eye(20), within(X, labels))  # D > N - K
    fitted = fit_fisher(X, labels, beta=0.5)
    assert np.isfinite(fitted.W).all()
    assert fitted.W.shape == (20, 1)
    S = within(X, labels) + 0.5 * np.eye(20)
    assert np.allclose(fitted.W.T @ S @ fitted.W, 1)


@covers("cookbook T16.1", "cookbook E16.2")
@fisher_sides
def test_E16_2_eigenvectors_of_the_largest_eigenvalues(fit_fisher):
    X = np.hstack([three(4)[0], cloud(4, 180, 3)])
    labels = three(4)[1]
    s = run(fisher.fisher(X, labels))
    values = eigh(s["B"], s["S"], eigvals_only=True)
    assert (np.abs(values[:3]) < 1e-10).all()  # the first of the solver: no direction at all
    assert np.linalg.matrix_rank(s["B"]) == 2
    fitted = fit_fisher(X, labels)
    assert fitted.W.shape == (5, 2)  # D x (K - 1), not D x K
    assert np.allclose(fitted.Lambda, values[::-1][:2])


@covers("cookbook T16.2")
@fisher_sides
def test_T16_2_two_classes_by_one_solve(fit_fisher):
    X, labels = cloud(5, 80, 4), np.arange(80) % 2
    X[labels == 1] += [1.0, 0.0, 2.0, 0.0]
    m0, m1 = fisher.class_means(X, labels)
    w = np.linalg.solve(within(X, labels), m1 - m0)
    W = fit_fisher(X, labels).W[:, 0]
    assert np.isclose(abs(w @ W), np.linalg.norm(w) * np.linalg.norm(W))


@covers("cookbook T16.3")
def test_T16_3_round_classes_are_the_nearest_centroid():
    X, labels = three(6, shape=np.eye(2))
    mu = fisher.class_means(X, labels)
    W = np.eye(2)  # S = s^2 I: any scaled rotation whitens
    new = 3 * np.random.default_rng(6).standard_normal((200, 2))
    assert (run(fisher.classify(new, mu, W))["index"] == centroid_rule(X, labels, new)).all()
    fast = kg.FisherDiscriminant(shrinkage=1.0, priors=np.ones(3) / 3).fit(X, labels)
    assert (fast.predict(new) == centroid_rule(X, labels, new)).all()


@covers("cookbook T16.4")
@fisher_sides
def test_T16_4_invertible_maps_change_no_prediction(fit_fisher):
    X, labels = three(7)
    T = np.array([[2.0, 1.0], [-3.0, 0.5]])
    new = 3 * np.random.default_rng(7).standard_normal((200, 2))
    here, there = fit_fisher(X, labels), fit_fisher(X @ T + 5, labels)
    assert (here.predict(new) == there.predict(new @ T + 5)).all()


@covers("cookbook T16.5")
def test_T16_5_the_solve_is_of_order_d_whatever_the_rows():
    for n in (30, 300):
        X, labels = cloud(8, n, 4), np.arange(n) % 3
        s = run(fisher.fisher(X, labels))
        assert s["S"].shape == s["B"].shape == (4, 4)  # cubic in D = 4


@covers("cookbook E16.1")
def test_E16_1_the_mean_is_a_mean():
    X, labels = three(9)
    total = X.sum(axis=0)
    mu = fisher.class_means(X, labels)
    printed = sum(np.outer(m - total, m - total) for m in mu)
    right = sum(np.outer(m - X.mean(axis=0), m - X.mean(axis=0)) for m in mu)
    assert np.linalg.norm(printed) > 100 * np.linalg.norm(right)
    assert np.allclose(run(fisher.fisher(X, labels, balanced=True))["B"] * 3, right)


@covers("cookbook E16.3")
@fisher_sides
def test_E16_3_a_quotient_of_matrices_is_a_trace(fit_fisher):
    X, labels = three(10)
    s = run(fisher.fisher(X, labels))
    W = fit_fisher(X, labels).W @ np.array([[2.0, 1.0], [0.0, 3.0]])  # any basis of the span
    quotient = np.linalg.solve(W.T @ s["S"] @ W, W.T @ s["B"] @ W)
    assert np.isclose(np.trace(quotient), s["Lambda"].sum())
    entrywise = (W.T @ s["B"] @ W) / (W.T @ s["S"] @ W)
    assert not np.isclose(np.trace(entrywise), s["Lambda"].sum(), rtol=0.01)


@covers("cookbook E16.4")
def test_E16_4_mean_or_sum_of_class_covariances_is_a_scale():
    X, labels = three(11)
    s = run(fisher.fisher(X, labels, balanced=True))
    total = 3 * s["S"]  # line 12: the sum
    values, W = eigh(s["B"], total)
    assert np.allclose(values[::-1], s["Lambda"] / 3)
    assert np.allclose(np.abs(W[:, ::-1]) * np.sqrt(3), np.abs(s["W"]))


@covers("cookbook E16.9")
@pytest.mark.parametrize("balanced", [False, True])
def test_E16_9_weighted_and_unweighted_classes(balanced):
    X, labels = three(12)
    rng = np.random.default_rng(12)
    keep = (labels > 0) | (rng.uniform(size=len(labels)) < 0.2)
    some, few = X[keep], labels[keep]
    ref = run(fisher.fisher(some, few, balanced=balanced))
    fast = kg.FisherDiscriminant(balanced=balanced).fit(some, few)
    assert np.allclose(ref["Lambda"], fast.eigenvalues_)
    other = run(fisher.fisher(some, few, balanced=not balanced))
    assert not np.allclose(ref["Lambda"], other["Lambda"], rtol=0.01)
    even = [run(fisher.fisher(X, labels, balanced=b))["Lambda"] for b in (False, True)]
    assert np.allclose(*even)  # equal classes: no difference


@covers("cookbook X16.1")
def test_X16_1_the_gap_of_means_over_the_spread():
    """Figure 16.1 in one dimension: the ratio grows with the gap and falls with the variance."""
    z = np.random.default_rng(13).standard_normal(400)
    labels = np.arange(400) % 2

    def ratio(gap, sd):
        X = (sd * z + gap * labels)[:, None]
        assert np.isclose(
            kg.FisherDiscriminant().fit(X, labels).eigenvalues_[0],
            run(fisher.fisher(X, labels))["Lambda"][0],
        )
        return run(fisher.fisher(X, labels))["Lambda"][0]

    assert ratio(2, 1) > ratio(1, 1) > ratio(1, 2)
    assert np.isclose(ratio(2, 1), ratio(4, 2))


@covers("cookbook EC.1", "cookbook EC.2", "cookbook EC.3")
def test_EC_1_the_quadratic_term_has_the_sum_of_the_means():
    rng = np.random.default_rng(14)
    plus, minus, x = rng.standard_normal((3, 3)) + 2
    S = np.cov(rng.standard_normal((3, 30)))
    A = np.linalg.inv(S)
    quadratic = -(x - plus) @ A @ (x - plus) / 2 + (x - minus) @ A @ (x - minus) / 2
    right = -(plus + minus) @ A @ (plus - minus) / 2 + x @ A @ (plus - minus)
    printed = -(plus - minus) @ A @ (plus - minus) / 2 + x @ A @ (plus - minus)
    assert np.isclose(quadratic, right)
    assert not np.isclose(quadratic, printed)
    assert np.isclose(fisher.log_odds(x, plus, minus, S, 3, 1) - np.log(3), right)
    # C.9: x'A(a - b); a is a vector where A must stand. C.10 needs a symmetric A
    assert np.isclose(x @ A @ plus - x @ A @ minus, x @ A @ (plus - minus))
    assert ((x @ plus) * (plus - minus)).shape == (3,)  # x'a(a - b): a vector, not log-odds
    N = A + np.triu(rng.standard_normal((3, 3)), 1)  # not symmetric
    assert not np.isclose(plus @ N @ plus - minus @ N @ minus, (plus + minus) @ N @ (plus - minus))
    # the normaliser divides: a density integrates to 1
    grid = np.linspace(-8, 8, 2001)
    density = np.exp(-(grid**2) / 2)
    norm = np.sqrt(2 * np.pi)
    assert np.isclose(np.trapezoid(density / norm, grid), 1)
    assert np.trapezoid(density * norm, grid) > 6


@covers("cookbook MC.2", "cookbook EC.4", "cookbook XC.1")
def test_EC_4_the_threshold_of_two_centroids_has_a_half():
    """C.2: nearest centroid is linear, w = difference of means, b = half of the difference."""
    X, labels = three(15, shape=np.eye(2))
    circle, triangle = fisher.class_means(X + 2.0, labels)[:2]
    new = 3 * np.random.default_rng(15).standard_normal((300, 2)) + 2.0
    w, twice = circle - triangle, circle @ circle - triangle @ triangle
    near = np.linalg.norm(new - circle, axis=1) < np.linalg.norm(new - triangle, axis=1)
    assert ((new @ w - twice / 2 > 0) == near).all()
    assert np.mean((new @ w - twice > 0) == near) < 0.9  # b without its half, as underbraced
    middle = (circle + triangle) / 2  # figure C.1: the plane cuts the segment in its middle
    assert np.isclose(middle @ w, twice / 2)
