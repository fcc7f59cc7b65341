"""Cookbook chapter 8, kernel PCA, item by item."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    cloud,
    covers,
    gaussian,
    kernel_pca_sides,
    linear,
    polynomial,
    rings,
    same_up_to_sign,
)
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

import kilogram as kg
from kilogram.textbook import kernel_pca, kernels, pca
from kilogram.textbook.pca import largest_first
from kilogram.textbook.preimage import mixture, preimage
from kilogram.textbook.state import run


def apart(scores, label) -> bool:
    """Do the two classes' ranges on one axis not overlap?"""
    a, b = scores[label == 0], scores[label == 1]
    return bool(a.max() < b.min() or b.max() < a.min())


@covers("cookbook T8.1")
@kernel_pca_sides
def test_T8_1_linear_kernel_pca_is_pca(fit_kernel_pca):
    X, new = cloud(0), cloud(1)
    fitted = fit_kernel_pca(linear(), X, 4)
    s = run(pca.pca(X, 4))
    assert same_up_to_sign(fitted.X_hat, s["X_hat"])
    assert np.allclose(fitted.Lambda / len(X), s["Lambda"][:4])
    signs = np.sign(np.sum(fitted.X_hat * s["X_hat"], axis=0))
    assert np.allclose(fitted.scores(new) * signs, (new - s["x_bar"]) @ s["W"])


@covers("cookbook T8.2", "cookbook M8.2")
@pytest.mark.parametrize("kernel", [gaussian(2.0), polynomial(2, 1.0)], ids=lambda k: k.name)
@kernel_pca_sides
def test_T8_2_training_points_project_to_their_own_scores(fit_kernel_pca, kernel):
    X = cloud(2, 40, 3)
    fitted = fit_kernel_pca(kernel, X, 5)
    K_c = kernel_pca.centre(kernel.reference(X, X))
    Lambda, U = largest_first(K_c)
    assert np.allclose(fitted.scores(X), fitted.X_hat, atol=1e-8 * np.abs(fitted.X_hat).max())
    assert same_up_to_sign(fitted.X_hat, U[:, :5] * np.sqrt(Lambda[:5]))


@covers("cookbook M8.1")
def test_M8_1_no_unit_direction_in_feature_space_has_more_variance():
    X = cloud(3, 30, 2)
    K = kernels.gaussian(X, X, 2.0)
    s = run(kernel_pca.train(K, 1))
    K_c, A = s["K_c"], s["A"]
    assert np.isclose(A[:, 0] @ K_c @ A[:, 0], 1)
    best = np.sum((K_c @ A[:, 0]) ** 2)
    fast = kg.KernelPCA(1, kernel=gaussian(2.0).fast).fit(X)
    assert np.isclose(np.sum(fast.transform(X) ** 2), best)
    rng = np.random.default_rng(0)
    for _ in range(200):
        a = rng.standard_normal(30)
        a /= np.sqrt(a @ K_c @ a)
        assert np.sum((K_c @ a) ** 2) < best


@covers("cookbook X8.1", "cookbook T8.3", "summary A7.10", "lecture_notes L20.E1")
@pytest.mark.parametrize("radii", [(1, 3), (0.5, 2), (1, 5)])
@kernel_pca_sides
def test_X8_1_rings_come_apart_on_the_first_component(fit_kernel_pca, radii):
    """Figures 8.1-8.3, Gaussian kernel with sigma = 1."""
    X, label = rings(4, radii)
    assert apart(fit_kernel_pca(gaussian(1.0), X, 1).X_hat[:, 0], label)
    flat = run(pca.pca(X, 2))["X_hat"]
    assert not apart(flat[:, 0], label)
    assert LogisticRegression().fit(X, label).score(X, label) < 0.75  # no line does it


@covers("cookbook T8.4")
@kernel_pca_sides
def test_T8_4_moving_and_turning_the_data_changes_nothing(fit_kernel_pca):
    X = cloud(5, 50, 3)
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((3, 3)))[0]
    here = fit_kernel_pca(gaussian(2.0), X, 3)
    there = fit_kernel_pca(gaussian(2.0), X @ Q + 17.0, 3)
    assert same_up_to_sign(there.X_hat, here.X_hat, tol=1e-7)


@covers("cookbook T8.5", "cookbook G8.1", "cookbook GA.1")
def test_T8_5_the_dual_solver_is_cheaper_with_more_dimensions_than_points():
    """Its eigenproblem has the order of the points; the work grows with the cube of the order."""
    X = np.random.default_rng(6).standard_normal((40, 120))
    primal, dual = list(pca.pca(X, 3)), list(pca.pca_dual(X, 3))
    assert primal[-1]["C"].shape == (120, 120)
    assert dual[-1]["K"].shape == (40, 40)
    scores = run(kernel_pca.train(X @ X.T, 3))["X_hat"]
    assert same_up_to_sign(scores, run(pca.pca_dual(X, 3))["X_hat"])


@covers("cookbook H8.1")
def test_H8_1_the_example_uses_the_one_width_where_both_readings_agree():
    X = cloud(7, 20, 2)
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    assert np.allclose(kernels.gaussian(X, X, 1.0), np.exp(-squared / 2))
    assert not np.allclose(kernels.gaussian(X, X, 3.0), np.exp(-squared / (2 * 3.0)))


@covers("cookbook E8.1", "cookbook X8.1")
@kernel_pca_sides
def test_E8_1_without_centring_linear_kernel_pca_is_not_pca(fit_kernel_pca):
    X, new = cloud(8), cloud(9)
    right = run(pca.pca(X, 2))
    Lambda, U = largest_first(X @ X.T)  # the printed box: no centring
    printed = U[:, :2] * np.sqrt(Lambda[:2])
    assert not same_up_to_sign(printed, right["X_hat"], tol=0.1)
    direction = X.T @ U[:, 0] / np.sqrt(Lambda[0])
    towards_mean = abs(direction @ right["x_bar"]) / np.linalg.norm(right["x_bar"])
    assert towards_mean > 0.9  # the mean took the first component
    fitted = fit_kernel_pca(linear(), X, 2)
    assert same_up_to_sign(fitted.X_hat, right["X_hat"])
    # test points: centred with the training means, not with their own
    signs = np.sign(np.sum(fitted.X_hat * right["X_hat"], axis=0))
    scores = (new - right["x_bar"]) @ right["W"]
    assert np.allclose(fitted.scores(new) * signs, scores)
    own = kernel_pca.centre_new(new @ X.T, X @ X.T)
    own = own - own.mean(axis=0)
    A = run(kernel_pca.train(X @ X.T, 2))["A"]
    assert not same_up_to_sign(own @ A, scores, tol=0.01)
    # the rings of figure 8.1 come apart even uncentred: they cannot show this error
    R, label = rings(4, (1, 3))
    assert apart(largest_first(kernels.gaussian(R, R, 1.0))[1][:, 0], label)


@covers("cookbook E8.2")
@kernel_pca_sides
def test_E8_2_unit_coefficients_are_not_unit_directions(fit_kernel_pca):
    X = cloud(10)
    s = run(kernel_pca.train(X @ X.T, 3))
    printed = s["K_c"] @ s["U"]  # A'A = 1 as printed
    right = run(pca.pca(X, 3))["X_hat"]
    assert not same_up_to_sign(printed, right, tol=0.5)
    assert same_up_to_sign(printed / np.sqrt(s["Lambda"]), right)
    assert np.allclose(np.diag(s["U"].T @ s["K_c"] @ s["U"]), s["Lambda"])
    assert np.allclose(s["A"].T @ s["K_c"] @ s["A"], np.eye(3), atol=1e-8)
    assert same_up_to_sign(fit_kernel_pca(linear(), X, 3).X_hat, right)


@covers("cookbook E8.3")
@kernel_pca_sides
def test_E8_3_every_training_point_belongs_in_the_sum(fit_kernel_pca):
    X = cloud(11, 60, 2)
    kernel = gaussian(2.0)
    s = run(kernel_pca.train(kernel.reference(X, X), 1))
    without_own = s["K_c"] - np.diag(np.diag(s["K_c"]))
    printed = without_own @ s["A"]
    fitted = fit_kernel_pca(kernel, X, 1)
    assert np.corrcoef(printed[:, 0], s["X_hat"][:, 0])[0, 1] > 0.99  # easily overlooked ...
    assert np.abs(printed - s["X_hat"]).max() > 0.01 * np.abs(s["X_hat"]).max()  # ... but wrong
    assert same_up_to_sign(fitted.scores(X), s["X_hat"])


@covers("cookbook E8.4")
def test_E8_4_the_maximum_is_over_the_weights_not_over_the_map():
    """Over phi there is no maximum: twice the map has four times the variance."""
    X = cloud(12, 30, 2)
    K = kernels.gaussian(X, X)
    once = run(kernel_pca.train(K, 1)).objective
    twice = run(kernel_pca.train(4 * K, 1)).objective
    assert np.isclose(twice, 4 * once)
    # with the map given, A is bounded: the leading eigenvalue
    assert np.isclose(once, np.linalg.eigvalsh(kernel_pca.centre(K))[-1])


@covers("cookbook E8.5")
def test_E8_5_the_separation_described_is_in_figure_8_3_not_7_2():
    """7.2 shows linear scores, 8.3 kernel scores; only the latter part the rings."""
    X, label = rings(13, (1, 3))
    figure_7_2 = run(pca.pca(X, 2))["X_hat"]
    figure_8_3 = run(kernel_pca.train(kernels.gaussian(X, X, 1.0), 1))["X_hat"]
    assert not any(apart(figure_7_2[:, j], label) for j in range(2))
    assert apart(figure_8_3[:, 0], label)


@covers("cookbook E8.6")
@kernel_pca_sides
def test_E8_6_largest_first_and_nothing_from_the_null_space(fit_kernel_pca):
    X = cloud(14, 30, 3)
    K_c = kernel_pca.centre(X @ X.T)
    Lambda, U = np.linalg.eigh(K_c)  # as a solver returns them: smallest first
    assert np.abs(Lambda[0]) < 1e-10 * Lambda[-1]
    with np.errstate(all="ignore"):
        printed = U[:, :3] / np.sqrt(Lambda[:3])  # scaling the null space
    assert not np.isfinite(printed).all() or np.abs(printed).max() > 1e4
    s = run(kernel_pca.train(X @ X.T))
    assert s["A"].shape[1] == 3  # three input dimensions, three components, not 30
    assert (np.diff(s["Lambda"]) < 0).all()
    fitted = fit_kernel_pca(linear(), X, 3)
    assert np.isfinite(fitted.scores(X)).all()
    assert (np.diff(fitted.Lambda) < 0).all()


@covers("cookbook E8.7")
def test_E8_7_laplacian_eigenmaps_give_coordinates_spectral_clustering_labels():
    X, label = rings(15, (1, 3), n=120)
    S = kernels.gaussian(X, X, 0.3)
    D = S.sum(axis=1)
    V = np.linalg.eigh(np.eye(120) - S / np.sqrt(np.outer(D, D)))[1]
    eigenmap = V[:, 1:3] / np.sqrt(D)[:, None]
    assert len(np.unique(np.round(eigenmap, 12), axis=0)) > 100  # a map: every point its own place
    groups = KMeans(2, n_init=5, random_state=0).fit_predict(eigenmap[:, :1])
    assert set(groups) == {0, 1}  # a second step makes it a clustering
    assert max(np.mean(groups == label), np.mean(groups != label)) > 0.95
    scores = run(kernel_pca.train(S, 2))["X_hat"]
    assert not same_up_to_sign(
        scores / np.abs(scores).max(), eigenmap / np.abs(eigenmap).max(), 0.1
    )


@covers("cookbook P8")
def test_P8_preimages_denoise():
    """Kernel PCA denoising, which the chapter names: noisy points move back to the ring."""
    rng = np.random.default_rng(16)
    angle = rng.uniform(0, 2 * np.pi, 150)
    clean = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = clean + 0.2 * rng.standard_normal(clean.shape)
    sigma = 2.0
    s = run(kernel_pca.train(kernels.gaussian(X, X, sigma), 8))
    objective, moved = [], []
    for x, beta in zip(X[:20], s["X_hat"][:20], strict=True):
        states = list(preimage(x, X, mixture(beta, s["A"]), sigma))
        objective.append([state.objective for state in states])
        moved.append(states[-1]["z"])
    before = np.abs(np.linalg.norm(X[:20], axis=1) - 3)
    after = np.abs(np.linalg.norm(moved, axis=1) - 3)
    assert after.mean() < 0.6 * before.mean()
    assert all((np.diff(trace) < 1e-12).all() for trace in objective)  # the distance never grows
    fast = kg.KernelPCA(8, kernel=kg.Gaussian(sigma=sigma), preimage="fixed_point").fit(X)
    back = fast.inverse_transform(fast.transform(X[:20]))
    assert np.abs(np.linalg.norm(back, axis=1) - 3).mean() < 0.6 * before.mean()
