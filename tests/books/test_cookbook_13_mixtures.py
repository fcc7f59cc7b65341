"""Cookbook, chapter 13, and the last item of 12; with the mixtures of summary 8 and L23-L24."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, covers
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal, norm, poisson

import kilogram as kg
from kilogram.textbook import k_means, mixture
from kilogram.textbook.state import run

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def reference(X, mu, m, **params):
    s = run(mixture.em(X, mu, m, tol=-np.inf, **params))
    return s["phi"], s["mu"], s["Sigma"]


def fast(X, mu, m, *, floor=0.0, Sigma=None):
    K, D = mu.shape
    precisions = np.stack([np.eye(D)] * K) if Sigma is None else np.linalg.inv(Sigma)
    model = kg.GaussianMixture(
        K, weights_init=np.full(K, 1 / K), means_init=mu, precisions_init=precisions,
        max_iter=m, tol=0, reg_covar=floor,
    ).fit(X)  # fmt: skip
    return model.weights_, model.means_, model.covariances_


sides = pytest.mark.parametrize("side", [reference, fast], ids=SIDES)


def clouds(n=300, seed=0):
    """Three Gaussians in the plane with means and shapes of their own (Fig. 13.2)."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % 3
    means = np.array([[-4.0, 0.0], [0.0, 4.0], [4.0, 0.0]])
    shapes = np.array(
        [[[1.0, 0.8], [0.0, 0.4]], [[1.2, 0.0], [0.0, 0.4]], [[0.5, -0.6], [0.0, 1.0]]]
    )
    return means[own] + np.einsum("nd,nde->ne", rng.standard_normal((n, 2)), shapes[own]), own


def long_clouds(n=400, seed=1):
    rng = np.random.default_rng(seed)
    own = np.arange(n) % 2
    return np.c_[6 * rng.standard_normal(n), 4.0 * own + 0.5 * rng.standard_normal(n)], own


def agreement(one, two):
    table = np.zeros((3, 3))
    np.add.at(table, (one, two), 1)
    return table[linear_sum_assignment(-table)].sum() / len(one)


def log_likelihood(X, phi, mu, Sigma):
    p = [f * multivariate_normal(m, S).pdf(X) for f, m, S in zip(phi, mu, Sigma, strict=True)]
    return float(np.log(np.sum(p, axis=0)).sum())


@covers("cookbook M13.1", "cookbook M13.2", "cookbook X13.2", "cookbook H13.1", "summary A8.5",
        "lecture_notes L24.M1", "lecture_notes L23.M7")  # fmt: skip
@sides
def test_M13_2_twenty_rounds_find_three_clouds(side):
    X, own = clouds()
    phi, mu, Sigma = side(X, X[:3], 20)
    a = [multivariate_normal(m, S).logpdf(X) + np.log(f)
         for f, m, S in zip(phi, mu, Sigma, strict=True)]  # fmt: skip
    assert agreement(own, np.argmax(a, axis=0)) > 0.98
    np.testing.assert_allclose(phi, 1 / 3, atol=0.02)
    model = kg.GaussianMixture(3, init_params="kmeans", random_state=0).fit(X)
    assert agreement(own, model.predict(X)) > 0.98


def test_both_sides_take_the_same_steps():
    X, _ = clouds()
    for one, two in zip(reference(X, X[:3], 7), fast(X, X[:3], 7), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8)


@covers("cookbook T13.1", "cookbook T13.2", "summary A8.6", "lecture_notes L24.T1")
@sides
def test_T13_1_likelihood_rises_and_the_moments_are_kept(side):
    X, _ = clouds()
    before = -np.inf
    for m in range(1, 9):
        phi, mu, Sigma = side(X, X[:3], m)
        L = log_likelihood(X, phi, mu, Sigma)
        assert L - before >= -1e-9
        before = L
        assert phi.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(Sigma, np.swapaxes(Sigma, 1, 2))
        assert np.linalg.eigvalsh(Sigma).min() > 0
        np.testing.assert_allclose(phi @ mu, X.mean(axis=0), atol=1e-10)
        second = np.einsum("k,kij->ij", phi, Sigma + mu[:, :, None] * mu[:, None, :])
        np.testing.assert_allclose(second, X.T @ X / len(X), atol=1e-9)
    gamma = run(mixture.em(X, X[:3], 5))["gamma"]
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0)


@covers("cookbook T13.3")
@sides
def test_T13_3_one_component_is_mean_and_covariance_in_one_step(side):
    X, _ = clouds()
    phi, mu, Sigma = side(X, X[:1], 1)
    assert phi == pytest.approx(1.0)
    np.testing.assert_allclose(mu[0], X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(Sigma[0], np.cov(X.T, bias=True), atol=1e-12)


@covers("cookbook T13.4", "lecture_notes L24.T1")
def test_T13_4_small_round_components_are_k_means():
    X, _ = clouds()
    mu = run(k_means.lloyd(X, X[:3]))["mu"]
    c = run(k_means.lloyd(X, X[:3]))["c"]
    for s in (1e-2, 1e-4):
        start = fast(X, mu, 1, Sigma=np.stack([s * np.eye(2)] * 3))
        np.testing.assert_allclose(start[1], mu, atol=20 * s)
    gamma = run(mixture.em(X, mu, 1, Sigma=np.stack([1e-6 * np.eye(2)] * 3)))["gamma"]
    np.testing.assert_array_equal(gamma.argmax(axis=1), c)
    assert gamma.max(axis=1).min() > 1 - 1e-9


@covers("cookbook T13.5", "cookbook E13.2", "summary A8.7")
def test_E13_2_two_components_are_enough_for_an_unbounded_likelihood():
    """A component on one row: as s falls the likelihood rises without end; a floor ends it."""
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])[:, None]
    found = []
    for s in (1.0, 1e-2, 1e-4, 1e-6):
        p = 0.5 * norm(0, 1.5).pdf(x) + 0.5 * norm(0, s).pdf(x)
        found.append(float(np.log(p).sum()))
    assert (np.diff(found[1:]) > 3).all()
    # each hundredth of the width adds log 100 for the row it sits on
    np.testing.assert_allclose(np.diff(found[1:]), np.log(100), rtol=0.01)
    start = np.array([[0.0], [-2.0]])
    Sigma = np.array([[[2.0]], [[1e-3]]])
    floored = fast(x, start, 30, floor=1e-2, Sigma=Sigma)[2]
    assert floored.min() >= 1e-2
    reference_ = reference(x, start, 30, floor=1e-2, Sigma=Sigma)[2]
    np.testing.assert_allclose(reference_, floored, rtol=1e-6)
    bare = fast(x, start, 30, Sigma=Sigma)[2]
    assert bare.min() < 1e-10
    assert np.isfinite(bare).all()


@covers("cookbook P13")
def test_P13_a_prior_on_covariances_is_rows_of_its_shape():
    X, _ = clouds(60)
    Lambda = np.cov(X.T, bias=True) / 3 ** (2 / 2)
    s = run(mixture.em(X, X[:3], 6, tol=-np.inf, prior=4.0, Lambda=Lambda))
    model = kg.GaussianMixture(
        3, weights_init=np.full(3, 1 / 3), means_init=X[:3],
        precisions_init=np.stack([np.eye(2)] * 3), max_iter=6, tol=0, reg_covar=0, prior=4.0,
    ).fit(X)  # fmt: skip
    np.testing.assert_allclose(model.covariances_, s["Sigma"], rtol=1e-9)


@covers("cookbook E13.1")
def test_E13_1_the_likelihood_is_a_product_over_rows():
    """Rows are independent: their densities multiply, their logarithms add; a sum rises by 1/N."""
    X, _ = clouds(30)
    model = kg.GaussianMixture(1).fit(X)
    p = multivariate_normal(model.means_[0], model.covariances_[0]).pdf(X)
    assert model.score(X) * 30 == pytest.approx(np.log(np.prod(p)))
    assert abs(model.score(X) * 30 - np.log(p.sum())) > 10


@covers("cookbook E13.3")
def test_E13_3_without_the_weights_the_density_is_another():
    X, _ = clouds(90)
    X = X[np.r_[0:60:3, 1:90]]  # unequal clouds
    phi, mu, Sigma = fast(X, X[:3], 20)
    with_phi = log_likelihood(X, phi, mu, Sigma)
    without = log_likelihood(X, np.full(3, 1 / 3), mu, Sigma)
    assert phi.max() - phi.min() > 0.05
    assert with_phi > without + 0.1


@covers("cookbook E13.4")
def test_E13_4_convergence_is_a_small_rise_of_the_likelihood():
    X, _ = clouds()
    states = list(mixture.em(X, X[:3], 500, tol=1e-9))
    L = [-s.objective for s in states if s.step.startswith("2")]
    assert len(L) < 500
    assert L[-1] - L[-2] < 1e-9 * abs(L[-1])
    assert kg.GaussianMixture(3, random_state=0).fit(X).converged_


@covers("cookbook E13.5", "summary A8.7")
def test_E13_5_plain_densities_underflow_logarithms_do_not():
    """Spread of hundreds and unit covariances: as printed, most rows have density 0."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-200, 200, (120, 2)) * [1.0, 2.0]
    printed = run(mixture.em_as_printed(X, X[:3]))
    assert (printed["p"].sum(axis=1) == 0).sum() > 90
    assert not np.isfinite(printed["gamma"]).all()
    for side in (reference, fast):
        phi, mu, Sigma = side(X, X[:3], 10, floor=1e-6)
        assert all(np.isfinite(a).all() for a in (phi, mu, Sigma))


@covers("cookbook X13.1", "cookbook T13.6")
def test_T13_6_density_in_one_dimension_integrates_to_one_and_follows_the_histogram():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(-2, 0.5, 600), rng.normal(1.5, 1.0, 400)][:, None]
    model = kg.GaussianMixture(2, random_state=0).fit(x)
    grid = np.linspace(-8, 8, 4001)[:, None]
    p = np.exp(model.score_samples(grid))
    assert p.sum() * 0.004 == pytest.approx(1.0, abs=1e-6)
    heights, edges = np.histogram(x, 25, density=True)
    middles = (edges[1:] + edges[:-1])[:, None] / 2
    assert np.abs(heights - np.exp(model.score_samples(middles))).mean() < 0.03


@covers("cookbook T12.6", "lecture_notes L24.E1", "summary A8.8", "summary A8.9")
def test_T12_6_long_clouds_are_cut_by_k_means_and_found_by_a_mixture():
    X, own = long_clouds()
    hard = kg.KMeans(2, n_init=10, random_state=0).fit(X).labels_
    model = kg.GaussianMixture(
        2, init_params="random_from_data", n_init=20, random_state=0, max_iter=500
    ).fit(X)
    assert agreement(own, hard) < 0.65
    assert agreement(own, model.predict(X)) > 0.95
    assert agreement(1 - own, model.predict(X)) == agreement(own, model.predict(X))
    soft = model.predict_proba(X)
    assert ((soft > 1e-6) & (soft < 1 - 1e-6)).any()  # per cent, not labels


# lecture notes 23 and 24


@covers("lecture_notes L23.M7")
def test_L23_M7_the_slope_is_that_of_weighted_likelihood():
    X, _ = clouds(90)
    phi, mu, Sigma = reference(X, X[:3], 3)
    g = run(mixture.gradient(X, phi, mu, Sigma))["g"]
    for k in range(3):
        for j in range(2):
            up, down = mu.copy(), mu.copy()
            up[k, j] += 1e-5
            down[k, j] -= 1e-5
            slope = log_likelihood(X, phi, up, Sigma) - log_likelihood(X, phi, down, Sigma)
            assert g[k, j] == pytest.approx(slope / 2e-5, abs=1e-4)


@covers("lecture_notes L23.T3", "lecture_notes L23.X2")
def test_L23_T3_known_labels_make_it_the_likelihood_of_each_class():
    """With one-hot shares the zero of the slope of the *logarithm* is the mean of the class."""
    X, own = clouds(90)
    known = mixture.em_of(
        X, np.eye(3)[own], lambda X, w: w @ X / w.sum(), lambda X, m: -((X - m) ** 2).sum(1), m=1
    )
    means = next(s for s in known if s.step.startswith("2"))["theta"]
    far = X + 1e3 * own[:, None]  # so far apart that the shares are 0 and 1
    parts = [far[own == k] for k in range(3)]
    mu, S = (np.array([f(p.T) for p in parts]) for f in (lambda p: p.mean(axis=1), np.cov))
    s = run(mixture.gradient(far, np.full(3, 1 / 3), mu + 0.3, S))
    np.testing.assert_array_equal(s["gamma"], np.eye(3)[own])
    alone = [np.linalg.solve(S[k], (parts[k] - mu[k] - 0.3).T).sum(axis=1) for k in range(3)]
    np.testing.assert_allclose(s["g"], alone)
    for k in range(3):
        m = X[own == k].mean(axis=0)
        np.testing.assert_allclose(means[k], m)
        slope = np.linalg.solve(np.cov(X[own == k].T), (X[own == k] - m).T).sum(axis=1)
        np.testing.assert_allclose(slope, 0, atol=1e-9)
        p = multivariate_normal(m, np.cov(X[own == k].T)).pdf(X[own == k])[:, None]
        without_log = (p * (X[own == k] - m)).sum(axis=0)  # the slope of the densities themselves
        assert np.abs(without_log).max() > 1e-3


@covers("lecture_notes L24.M1", "lecture_notes L23.M7")
def test_L24_M1_any_family_with_a_weighted_fit():
    """Counts from two rates: the same two steps, with a Poisson density in place of a Gaussian."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.poisson(2.0, 600), rng.poisson(12.0, 300)].astype(float)
    start = rng.dirichlet([1.0, 1.0], 900)

    def rate(x, w):
        return w @ x / w.sum()

    states = list(mixture.em_of(x, start, rate, lambda x, r: poisson(r).logpmf(x)))
    L = [s["L"] for s in states if s.step.startswith("3")]
    assert (np.diff(L) >= -1e-9).all()
    order = np.argsort(states[-1]["theta"])
    np.testing.assert_allclose(states[-1]["theta"][order], [2, 12], rtol=0.08)
    np.testing.assert_allclose(states[-1]["phi"][order], [2 / 3, 1 / 3], atol=0.03)
    # with Gaussians it is `em`, and so `GaussianMixture`
    X, _ = clouds()
    one = run(mixture.em(X, X[:3], 1, tol=-np.inf))
    family = mixture.em_of(
        X, one["gamma"],
        lambda X, w: np.c_[w @ X / w.sum(), np.cov(X.T, aweights=w, bias=True)],
        lambda X, t: mixture.log_gaussian(X, t[:, 0], t[:, 1:]), m=6, tol=-np.inf,
    )  # fmt: skip
    theta = run(family)["theta"]
    _, mu, Sigma = fast(X, X[:3], 6)
    np.testing.assert_allclose(theta[:, :, 0], mu, rtol=1e-8)
    np.testing.assert_allclose(theta[:, :, 1:], Sigma, rtol=1e-8)


@covers("lecture_notes L23.P1")
def test_L23_P1_more_components_come_nearer_to_any_density():
    """A uniform density on [0, 1], which is no mixture of Gaussians: the distance falls."""
    rng = np.random.default_rng(0)
    x, grid = rng.random((4000, 1)), np.linspace(-0.5, 1.5, 801)[:, None]
    truth = ((grid > 0) & (grid < 1)).ravel().astype(float)
    away = []
    for k in (1, 3, 12):
        model = kg.GaussianMixture(k, random_state=0, max_iter=300).fit(x)
        away.append(np.abs(np.exp(model.score_samples(grid)) - truth).mean() * 2)
    assert away[0] > 1.5 * away[1] > 2 * away[2]


@covers("lecture_notes L24.X1")
def test_L24_X1_responsibilities_are_the_expectation_the_weights_belong_to_the_maximisation():
    """Given the shares, phi = N_k / N is where the expected log-likelihood is largest."""
    X, _ = clouds(90)
    gamma = run(mixture.em(X, X[:3], 4))["gamma"]
    phi = gamma.sum(axis=0) / len(X)

    def expected(p):
        return float((gamma * np.log(p)).sum())

    for nudge in ([0.01, -0.01, 0.0], [0.0, 0.02, -0.02]):
        assert expected(phi) > expected(phi + nudge)
    steps = [s.step for s in mixture.em(X, X[:3], 1)]
    assert steps == ["1 start", "2 E: responsibilities", "3 M: components"]


@covers("lecture_notes L24.X2")
def test_L24_X2_the_density_sums_over_the_components():
    X, _ = clouds(90)
    model = kg.GaussianMixture(3, random_state=0).fit(X)
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    each = [f * multivariate_normal(m, S).pdf(X) for f, m, S in parts]
    np.testing.assert_allclose(np.exp(model.score_samples(X)), np.sum(each, axis=0), rtol=1e-9)
    shares = np.array(each) / np.sum(each, axis=0)
    np.testing.assert_allclose(model.predict_proba(X), shares.T, atol=1e-9)
