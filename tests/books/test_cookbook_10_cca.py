"""Cookbook, chapter 10 and B.2: canonical correlations of two and more views."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, cloud, covers, numerical_gradient
from scipy.linalg import block_diag, eigh, subspace_angles

import kilogram as kg
from kilogram.textbook import cca, pca
from kilogram.textbook.state import run


def reference_cca(X, Y, kappa=0.0):
    s = run(cca.two_views(X, Y, kappa=kappa))
    return s["rho"], s["A"], s["B"]


def fast_cca(X, Y, kappa=0.0):
    m = min(X.shape[1], Y.shape[1])
    model = kg.CCA(n_components=m, scale=False, alpha=kappa).fit(X, Y)
    return model.correlations_, model.x_rotations_, model.y_rotations_


cca_sides = pytest.mark.parametrize("fit_cca", [reference_cca, fast_cca], ids=SIDES)


def pair(seed, n=200, dx=4, dy=3):
    """Two views that share two of their directions."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 2))
    X = shared @ rng.standard_normal((2, dx)) + rng.standard_normal((n, dx)) + 3
    Y = shared @ rng.standard_normal((2, dy)) + rng.standard_normal((n, dy)) - 5
    return X, Y


def directed(seed, n=1000, gamma=0.1, noise=0.0):
    """Corrected figure 10.3: a weak shared signal and a strong one of each view's own direction."""
    rng = np.random.default_rng(seed)
    s, e, g = rng.standard_normal((3, n))
    own = 1 - gamma**2
    X = np.outer(gamma * s, [1.0, 0.5]) + np.outer(own * e, [0.3, 1.0])
    Y = np.outer(gamma * s, [-0.2, 1.0]) + np.outer(own * g, [1.0, 0.4])
    return X + noise * rng.standard_normal((n, 2)), Y + noise * rng.standard_normal((n, 2)), s


def corr(u, v):
    return float(np.corrcoef(np.ravel(u), np.ravel(v))[0, 1])


@covers("cookbook M10.1", "cookbook M10.2", "cookbook T10.6")
@cca_sides
def test_T10_6_two_views_are_the_whitened_svd(fit_cca):
    X, Y = pair(0)
    rho, A, B = fit_cca(X, Y)
    s = run(cca.cca([X, Y]))  # algorithm 6
    assert np.allclose(s["Lambda"], rho)
    assert np.allclose(np.abs(s["W0"]), np.abs(A))
    assert np.allclose(np.abs(s["W1"]), np.abs(B))


@covers("cookbook M10.3", "cookbook TB.2")
@cca_sides
def test_M10_3_both_multipliers_are_the_correlation(fit_cca):
    """B.2: C_xy w_y = rho C_x w_x, C_xy' w_x = rho C_y w_y; the gradient along the constraint."""
    X, Y = pair(1)
    rho, A, B = fit_cca(X, Y)
    c = run(cca.two_views(X, Y))
    assert np.allclose(c["C_xy"] @ B, c["C_x"] @ A * rho)
    assert np.allclose(c["C_xy"].T @ A, c["C_y"] @ B * rho)

    def correlation(w):
        a, b = w[:4], w[4:]
        return float(a @ c["C_xy"] @ b / np.sqrt((a @ c["C_x"] @ a) * (b @ c["C_y"] @ b)))

    w = np.concatenate([A[:, 0], B[:, 0]])
    assert np.abs(numerical_gradient(correlation, w)).max() < 1e-8


@covers("cookbook H10.1", "cookbook E10.8")
@cca_sides
def test_E10_8_a_singular_view_needs_a_ridge(fit_cca):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((20, 25)), rng.standard_normal((20, 3))
    C = np.cov(X.T)
    assert np.linalg.matrix_rank(C) < 25
    exact = np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(axis=0), rcond=None)[0]
    assert corr((X @ exact)[:, 0], Y[:, 0]) > 1 - 1e-8  # noise, perfectly correlated
    rho, A, _ = fit_cca(X, Y, kappa=5.0)
    assert np.isfinite(A).all()
    regularised = run(cca.two_views(X, Y, kappa=5.0))["rho"]
    assert regularised[0] < 0.5
    assert (rho <= 1 + 1e-12).all()


@covers("cookbook T10.1")
@cca_sides
def test_T10_1_invertible_maps_change_nothing(fit_cca):
    X, Y = pair(3)
    rng = np.random.default_rng(3)
    there = fit_cca(X @ rng.standard_normal((4, 4)) + 7, Y @ rng.standard_normal((3, 3)))
    assert np.allclose(there[0], fit_cca(X, Y)[0])


@covers("cookbook T10.2")
@cca_sides
def test_T10_2_cosines_of_principal_angles(fit_cca):
    X, Y = pair(4)
    angles = subspace_angles(X - X.mean(axis=0), Y - Y.mean(axis=0))
    assert np.allclose(fit_cca(X, Y)[0], np.cos(angles)[::-1])


@covers("cookbook T10.3", "cookbook T10.4")
@cca_sides
def test_T10_3_scores_are_white_and_paired(fit_cca):
    X, Y = pair(5)
    rho, A, B = fit_cca(X, Y)
    U, V = (X - X.mean(axis=0)) @ A, (Y - Y.mean(axis=0)) @ B
    U, V = U / U.std(axis=0), V / V.std(axis=0)
    assert np.allclose(U.T @ U / 200, np.eye(3), atol=1e-8)
    assert np.allclose(V.T @ V / 200, np.eye(3), atol=1e-8)
    assert np.allclose(U.T @ V / 200, np.diag(rho), atol=1e-8)
    assert (rho >= 0).all()
    assert (rho <= 1).all()
    assert (np.diff(rho) <= 0).all()


@covers("cookbook T10.5")
@cca_sides
def test_T10_5_independent_views_lose_their_correlation(fit_cca):
    rng = np.random.default_rng(6)
    tops = [
        fit_cca(rng.standard_normal((n, 3)), rng.standard_normal((n, 3)))[0][0]
        for n in (30, 500, 20_000)
    ]
    assert tops[0] > tops[1] > tops[2]
    assert tops[2] < 0.05


@covers("cookbook E10.1")
def test_E10_1_the_covariance_of_two_views_runs_over_the_points():
    X, Y = (Z.T for Z in pair(7))  # the page has points in columns
    with pytest.raises(ValueError, match="mismatch"):
        X.T @ Y  # X_i'X_j contracts over dimensions: 4 against 3
    assert (X @ Y.T).shape == (4, 3)
    centred = X - X.mean(axis=1, keepdims=True)
    assert np.allclose(run(cca.two_views(X.T, Y.T))["C_xy"], centred @ Y.T / 200)
    printed = X[:3].T @ Y  # even with equal dimensions it has the shape of the points
    assert printed.shape == (200, 200)


@covers("cookbook E10.2", "cookbook E10.3")
def test_E10_2_one_block_and_one_output_per_view():
    views = [*pair(8), cloud(8, 200, 2)]
    s = run(cca.cca(views))
    assert s["R"].shape == (9, 9)  # M = 3 blocks of 4, 3, 2; not N = 200
    assert np.allclose(s["R"], block_diag(*[np.cov(V.T, bias=True) for V in views]))
    for i, V in enumerate(views):  # and the outputs are the scores U_1..U_M
        assert np.allclose(s[f"U{i}"], (V - V.mean(axis=0)) @ s[f"W{i}"])
    assert len(kg.MultiviewCCA(2).fit(views).rotations_) == 3


@covers("cookbook E10.4")
@cca_sides
def test_E10_4_without_centring_the_means_correlate(fit_cca):
    rng = np.random.default_rng(9)
    X, Y = rng.standard_normal((300, 2)) + 10, rng.standard_normal((300, 2)) + 10
    R = block_diag(X.T @ X, Y.T @ Y)
    Z = np.hstack([X, Y])
    assert eigh(Z.T @ Z - R, R)[0][-1] > 0.98  # as printed: two independent views agree
    assert fit_cca(X, Y)[0][0] < 0.2


@covers("cookbook E10.5")
def test_E10_5_eigenvectors_meet_the_summed_constraint_only():
    X, Y = pair(10)
    views = [X, Y, np.random.default_rng(10).standard_normal((200, 2)) + X[:, :2]]
    for chosen, equal in ((views[:2], True), (views, False)):
        s = run(cca.cca(chosen, 1))
        w = eigh(s["L"], s["R"])[1][:, -1]
        parts = np.split(w, np.cumsum([V.shape[1] for V in chosen])[:-1])
        norms = [p @ np.cov(V.T, bias=True) @ p for p, V in zip(parts, chosen, strict=True)]
        assert np.isclose(sum(norms), 1)
        assert np.allclose(norms, 1 / len(norms), atol=1e-6) == equal
        assert all(np.isclose(s[f"U{i}"].std(), 1) for i in range(len(chosen)))
        fast = kg.MultiviewCCA(1).fit(chosen)
        for i, V in enumerate(chosen):
            assert np.isclose(((V - V.mean(axis=0)) @ fast.rotations_[i]).std(), 1, rtol=0.01)


@covers("cookbook E10.6")
def test_E10_6_eigenvalues_are_correlations_for_two_views_only():
    rng = np.random.default_rng(11)
    z = rng.standard_normal((300, 1))
    views = [np.hstack([z, rng.standard_normal((300, 1))]) for _ in range(3)]
    two, three = run(cca.cca(views[:2])), run(cca.cca(views))
    spectrum = eigh(two["L"], two["R"])[0]
    assert np.allclose(spectrum, -spectrum[::-1])  # +- rho
    assert np.isclose(three["Lambda"][0], 2)  # M - 1, no correlation
    assert eigh(three["L"], three["R"])[0][0] >= -1 - 1e-12
    fast = kg.MultiviewCCA(2).fit(views)
    assert np.allclose(fast.values_, three["Lambda"])
    assert np.isclose(fast.correlations_[0], 1)
    pairs = [corr(three[f"U{i}"][:, 0], three[f"U{j}"][:, 0]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert np.isclose(np.mean(pairs), three["Lambda"][0] / 2)


@covers("cookbook E10.7")
def test_E10_7_the_eigenproblem_is_maxvar_not_sumcor():
    X, Y = pair(12)
    views = [X, Y, X[:, :2] + 2 * np.random.default_rng(12).standard_normal((200, 2))]

    def sum_of_covariances(rotations):
        U = [(V - V.mean(axis=0)) @ w[:, :1] for V, w in zip(views, rotations, strict=True)]
        return sum(corr(U[i], U[j]) for i, j in ((0, 1), (0, 2), (1, 2)))

    maxvar = kg.MultiviewCCA(1, objective="maxvar").fit(views)
    sumcor = kg.MultiviewCCA(1, objective="sumcor").fit(views)
    reference = run(cca.cca(views, 1))
    assert np.isclose(maxvar.values_[0], reference["Lambda"][0])
    assert sum_of_covariances(sumcor.rotations_) > sum_of_covariances(maxvar.rotations_) + 1e-6


@covers("cookbook E10.9", "cookbook X10.1")
@cca_sides
def test_E10_9_isotropic_noise_buries_the_printed_toy_signal(fit_cca):
    rng = np.random.default_rng(13)
    s = rng.standard_normal(50_000)

    def isotropic(gamma):
        own = (1 - gamma**2) * rng.standard_normal((50_000, 2))
        return np.outer(gamma * s, [0.6, 0.8]) + own

    assert fit_cca(isotropic(0.1), isotropic(0.1))[0][0] < 0.03  # 0.0101 in the population
    strong = fit_cca(isotropic(0.9), isotropic(0.9))[0][0]
    assert np.isclose(strong, 0.81 / (0.81 + 0.19**2), atol=0.01)  # 0.957
    X, Y, _ = directed(13)
    assert np.abs(np.corrcoef(X.T, Y.T)[:2, 2:]).max() < 0.25
    rho = fit_cca(X, Y)[0]
    assert np.isclose(rho[0], 1)
    assert rho[1] < 0.2


@covers("cookbook X10.2")
@cca_sides
def test_X10_2_pca_of_each_view_misses_what_is_shared(fit_cca):
    X, Y, s = directed(14, noise=0.01)
    first = [run(pca.pca(V, 1))["X_hat"][:, 0] for V in (X, Y)]
    assert abs(corr(*first)) < 0.2
    rho, A, _ = fit_cca(X, Y)
    assert rho[0] > 0.9
    assert abs(corr(X @ A[:, 0], s)) > 0.9


@covers("cookbook X10.3")
@cca_sides
def test_X10_3_the_same_documents_in_two_languages(fit_cca):
    """Bags of words of parallel texts: the shared topic is found, and texts find their partner."""
    rng = np.random.default_rng(15)
    topics = rng.dirichlet([0.3] * 3, 150)
    words = [rng.dirichlet([0.2] * 12, 3), rng.dirichlet([0.2] * 10, 3)]
    X, Y = (np.array([rng.multinomial(300, p) for p in topics @ w]).astype(float) for w in words)
    rho, A, B = fit_cca(X[:100], Y[:100], kappa=1.0)
    assert rho[0] > 0.9
    assert np.isfinite(rho).all()  # counts of a row add up: a direction without variance
    U, V = (X - X[:100].mean(axis=0)) @ A[:, :2], (Y - Y[:100].mean(axis=0)) @ B[:, :2]
    distance = np.linalg.norm(U[100:, None] - V[None, 100:], axis=2)
    rank = (distance < np.diag(distance)[:, None]).sum(axis=1)
    assert np.median(rank) < 5  # of 50
