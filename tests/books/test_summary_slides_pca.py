"""Summary sections 6 and 7 (PCA, kernels, kernel PCA); slides lecture 9."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    cloud,
    covers,
    gaussian,
    kernel_pca_sides,
    linear,
    pca_sides,
    rotated_cloud,
    same_up_to_sign,
)

from kilogram.textbook import kernel_pca, kernels, pca
from kilogram.textbook.pca import largest_first
from kilogram.textbook.state import run


def loss(X, V, z, mu):
    return float(np.sum((z @ V.T + mu - X) ** 2))


@covers("summary A6.1", "summary A6.3")
@pca_sides
def test_A6_3_the_offset_is_plus_the_mean(fit_pca):
    X = cloud(0)
    fitted = fit_pca(X, 2)
    V, z = fitted.W, fitted.scores(X)
    right = X.mean(axis=0) - (z @ V.T).mean(axis=0)
    printed = (z @ V.T).mean(axis=0) - X.mean(axis=0)
    assert np.allclose(right, X.mean(axis=0))  # the scores have mean 0
    assert np.allclose(fitted.mean, right)
    gradient = len(X) * right + np.sum(z @ V.T - X, axis=0)
    assert np.allclose(gradient, 0, atol=1e-9)
    assert loss(X, V, z, printed) > loss(X, V, z, right) + 4 * len(X)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = right + 0.1 * rng.standard_normal(5)
        assert loss(X, V, z, moved) > loss(X, V, z, right)


@covers("summary A6.2", "summary A6.5", "summary C2")
@pca_sides
def test_A6_5_residuals_singular_values_and_projections(fit_pca):
    X = cloud(1)
    Xc = X - X.mean(axis=0)
    S = np.linalg.svd(Xc, compute_uv=False)
    values = np.linalg.eigvalsh(Xc.T @ Xc)[::-1]
    assert np.allclose(S**2, values)
    losses = []
    for P in range(1, 6):
        fitted = fit_pca(X, P)
        z, V = fitted.scores(X), fitted.W
        losses.append(np.sum((X - fitted.back(z)) ** 2))
        assert np.isclose(losses[-1], values[P:].sum(), atol=1e-9)
        assert np.allclose(V.T @ V, np.eye(P))
        assert np.allclose(V @ V.T @ V @ V.T, V @ V.T)
        assert np.allclose(z.mean(axis=0), 0, atol=1e-10)
        assert np.allclose(np.cov(z.T, ddof=0), np.diag(values[:P] / 60), atol=1e-9)
    assert (np.diff(losses) < 0).all()
    for other in (pca.pca_dual, pca.deflation):  # four solvers, one result
        assert same_up_to_sign(run(other(X, 3))["W"], fit_pca(X, 3).W, tol=1e-4)


@covers("summary A6.4")
@pca_sides
def test_A6_4_centred_points_and_what_is_unique(fit_pca):
    X = cloud(2)
    fitted = fit_pca(X, 2)
    V = fitted.W
    uncentred = X @ V
    assert not np.allclose(uncentred, fitted.scores(X), rtol=0.1)
    assert np.allclose((X - X.mean(axis=0)) @ V, fitted.scores(X))
    # inside the subspace any rotation does as well; one axis alone is fixed up to its sign
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    Xc = X - X.mean(axis=0)
    errors = [np.sum((Xc - Xc @ W @ W.T) ** 2) for W in (V, V @ turn, -V)]
    assert np.allclose(errors, errors[0])
    one, turned = V[:, :1], (V @ turn)[:, :1]
    assert np.sum((Xc - Xc @ turned @ turned.T) ** 2) > np.sum((Xc - Xc @ one @ one.T) ** 2)
    assert np.allclose(fit_pca(X, 2).W, V)  # the sign is fixed: the same answer twice


@covers("summary A6.6")
@pca_sides
def test_A6_6_project_reconstruct_report(fit_pca):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 10)) + 0.01 * rng.standard_normal(
        (200, 10)
    )
    fitted = fit_pca(X, 2)
    assert fitted.scores(X).shape == (200, 2)
    assert fitted.Lambda.sum() / X.var(axis=0).sum() > 0.99
    assert np.abs(fitted.back(fitted.scores(X)) - X).max() < 0.1


@covers("summary A7.2", "summary A7.3")
def test_A7_3_a_shifted_gaussian_of_the_distance_is_no_kernel():
    def printed(X, mu, sigma):
        distance = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=2))
        return np.exp(-((distance - mu) ** 2) / (2 * sigma**2)) / np.sqrt(2 * np.pi * sigma**2)

    two = np.array([[0.0], [1.0]])
    values = np.linalg.eigvalsh(printed(two, 1.0, 1.0)) * np.sqrt(2 * np.pi)
    assert np.allclose(values, [np.exp(-0.5) - 1, np.exp(-0.5) + 1])
    X = np.random.default_rng(4).standard_normal((20, 2))
    assert np.linalg.eigvalsh(printed(X, 0.25, 1.0)).min() < -1e-3
    centred = printed(X, 0.0, 1.3)
    assert np.linalg.eigvalsh(centred).min() > -1e-12
    assert np.allclose(centred * np.sqrt(2 * np.pi) * 1.3, kernels.gaussian(X, X, 1.3))


@covers("summary A7.4")
def test_A7_4_only_positive_semidefinite_functions_have_features():
    X = cloud(5, 12, 2)
    K = kernels.gaussian(X, X, 1.5)
    values, U = np.linalg.eigh(K)
    Phi = U * np.sqrt(np.maximum(values, 0))  # features of these points
    assert np.allclose(Phi @ Phi.T, K)
    symmetric = np.tanh(X @ X.T - 5)  # symmetric and a similarity, but of no features
    values, U = np.linalg.eigh(symmetric)
    Phi = U * np.sqrt(np.maximum(values, 0))
    assert values.min() < -0.1
    assert not np.allclose(Phi @ Phi.T, symmetric, atol=0.05)


@covers("summary A7.5", "summary A7.9")
@kernel_pca_sides
def test_A7_9_linear_kernel_pca_is_pca(fit_kernel_pca):
    X = cloud(6)
    fitted = fit_kernel_pca(linear(), X, 4)
    Xc = X - X.mean(axis=0)
    assert np.allclose(fitted.Lambda, np.linalg.eigvalsh(Xc.T @ Xc)[::-1][:4])
    assert same_up_to_sign(fitted.X_hat, run(pca.pca(X, 4))["X_hat"])
    assert np.allclose(fitted.scores(X), fitted.X_hat)
    U = largest_first(kernel_pca.centre(X @ X.T))[1][:, :4]
    assert same_up_to_sign(fitted.X_hat, U * np.sqrt(fitted.Lambda))


@covers("summary A7.6")
@kernel_pca_sides
def test_A7_6_uncentred_eigenvalues_are_grossly_wrong(fit_kernel_pca):
    X = cloud(7, offset=4.0)
    Xc = X - X.mean(axis=0)
    right = np.linalg.eigvalsh(Xc.T @ Xc)[-1]
    printed = np.linalg.eigvalsh(X @ X.T)[-1]
    assert printed > 1.5 * right
    assert np.isclose(fit_kernel_pca(linear(), X, 1).Lambda[0], right)


@covers("summary A7.7")
@kernel_pca_sides
def test_A7_7_scores_too_large_by_root_lambda(fit_kernel_pca):
    X = cloud(8, 30, 3)
    s = run(kernel_pca.train(kernels.gaussian(X, X, 2.0), 2))
    printed = s["K_c"] @ s["U"]
    fitted = fit_kernel_pca(gaussian(2.0), X, 2)
    ratio = np.linalg.norm(printed, axis=0) / np.linalg.norm(fitted.X_hat, axis=0)
    assert np.allclose(ratio, np.sqrt(fitted.Lambda))
    assert (np.abs(ratio - 1) > 0.1).all()
    assert np.allclose(np.diag(s["A"].T @ s["K_c"] @ s["A"]), 1)


@covers("summary A7.8")
def test_A7_8_each_direction_has_its_own_eigenvalue_and_a_singular_K_cannot_be_cancelled():
    X = cloud(9, 12, 3)
    K = kernel_pca.centre(X @ X.T)
    Lambda, U = largest_first(K)
    mixed = U[:, 0] + U[:, -1]  # the second has eigenvalue 0
    assert np.allclose(K @ K @ mixed, Lambda[0] * K @ mixed)
    assert not np.allclose(K @ mixed, Lambda[0] * mixed, atol=0.1)
    # v_j = sum_i (b_ij / lambda_j) x_i: one lambda for all directions does not fit
    Xc = X - X.mean(axis=0)
    W = largest_first(Xc.T @ Xc)[1]
    b = Xc @ W
    assert np.allclose(Xc.T @ (b / Lambda[:3]), W)
    assert not np.allclose(Xc.T @ (b / Lambda[0]), W, atol=0.1)
    # z_j needs alpha_j: another direction's coefficients give another score
    A = run(kernel_pca.train(X @ X.T))["A"]
    assert not same_up_to_sign(K @ A[:, [1]], K @ A[:, [0]], tol=0.1)


@covers("slides B9.1")
@pca_sides
def test_B9_1_variance_is_bounded_only_on_the_unit_sphere(fit_pca):
    X = rotated_cloud(10)
    w = fit_pca(X, 1).W[:, 0]
    Xc = X - X.mean(axis=0)
    variance = np.sum((Xc @ w) ** 2)
    assert np.sum((Xc @ (10 * w)) ** 2) > 99 * variance  # unbounded without the constraint
    angles = np.linspace(0, np.pi, 181)
    others = np.column_stack([np.cos(angles), np.sin(angles)])
    assert np.sum((Xc @ others.T) ** 2, axis=0).max() <= variance + 1e-9


@covers("slides B9.2")
@pca_sides
def test_B9_2_the_power_method_multiplies_it_does_not_descend(fit_pca):
    """On [[5, 4], [4, 5]]: (1, 1)/sqrt 2 with eigenvalue 9; descent goes to the other end."""
    C = np.array([[5.0, 4.0], [4.0, 5.0]])
    L = np.linalg.cholesky(C)
    points = np.vstack([L.T, -L.T]) * np.sqrt(2)  # four points whose covariance is exactly C
    states = list(pca.deflation(points, 1))
    w = states[-1]["w"] if "w" in states[-1].arrays else states[-1]["W"][:, 0]
    assert np.allclose(np.abs(w), 1 / np.sqrt(2), atol=1e-5)
    powers = [s.objective for s in states if s.objective is not None]
    assert np.isclose(powers[-1], 9)
    assert (np.diff(powers) > -1e-12).all()  # it climbs
    u = np.array([1.0, 0.2])
    for _ in range(200):
        u = u - 0.05 * 2 * C @ u  # gradient descent on w'Cw
        u /= np.linalg.norm(u)
    assert np.isclose(u @ C @ u, 1)  # the least variance
    assert same_up_to_sign(run(pca.deflation(points, 2))["W"], fit_pca(points, 2).W, tol=1e-4)


@covers("slides B9.3")
@pca_sides
def test_B9_3_a_bare_eig_is_neither_sorted_nor_cut(fit_pca):
    half = np.diag([1.0, 3.0, 0.5, 2.0])
    X = np.vstack([half, -half])  # pairs of points on the axes: C is diagonal, in no order
    C = np.cov(X.T, ddof=0)
    bare = np.linalg.eig(C)[0]
    assert (np.diff(bare) > 0).any()
    assert bare.shape == (4,)
    fitted = fit_pca(X, 2)
    assert fitted.Lambda.shape == (2,)
    assert np.allclose(fitted.Lambda, np.sort(bare)[::-1][:2])


@covers("slides B9.4", "slides B9.5", "slides B9.6")
@pca_sides
def test_B9_6_pieces_add_up_and_deflation_removes(fit_pca):
    X = rotated_cloud(12) + 5
    fitted = fit_pca(X, 2)
    W, scores = fitted.W, fitted.scores(X)
    assert np.allclose(W.T @ W, np.eye(2))
    assert np.allclose(np.cov(scores.T, ddof=0), np.diag(fitted.Lambda), atol=1e-9)
    first, rest = (run(pca.denoise(X, [i]))["X"] for i in (0, 1))
    assert np.allclose(first + rest - X.mean(axis=0), X)
    s = list(pca.deflation(X, 1))[-1]
    assert np.allclose(s["X"] @ s["W"][:, 0], 0, atol=1e-8)
    # keep the strong direction, or remove it, whichever holds the noise
    removed = X - np.outer(scores[:, 0], W[:, 0])
    assert np.allclose(removed, rest)


@covers("slides B9.7")
@pca_sides
def test_B9_7_fifty_dimensions_ten_points(fit_pca):
    X = cloud(13, 10, 50)
    dual = run(pca.pca_dual(X))
    assert dual["W"].shape == (50, 9)  # rank 9 after centring
    assert same_up_to_sign(dual["W"][:, :5], fit_pca(X, 5).W)
    columns = (X - X.mean(axis=0)).T  # w = X alpha / sqrt(lambda), in the slides' columns
    Lambda, alpha = largest_first(columns.T @ columns)
    assert same_up_to_sign(columns @ alpha[:, :5] / np.sqrt(Lambda[:5]), fit_pca(X, 5).W)


@covers("slides B9.8")
def test_B9_8_the_multiplier_has_either_sign_the_scores_no_correlation():
    """w'Cw + l (1 - w'w) and w'Cw - l (1 - w'w): the same points, l of opposite signs."""
    s = run(pca.pca(rotated_cloud(14)))
    C, w, lam = s["C"], s["W"][:, 0], s["Lambda"][0]
    for sign, multiplier in ((1, lam), (-1, -lam)):
        assert np.allclose(2 * C @ w - 2 * sign * multiplier * w, 0, atol=1e-10)
    assert not np.allclose(2 * C @ w + 2 * lam * w, 0, atol=0.1)
    scores = s["X_hat"]
    assert abs(np.corrcoef(scores.T)[0, 1]) < 1e-10  # the dimensions are uncorrelated ...
    squares = np.corrcoef((scores**2).T)[0, 1]
    assert abs(squares) > 1e-10  # ... nothing is said of "variances along" them


@pytest.mark.parametrize("m", [1, 3])
@covers("slides B9.4")
@pca_sides
def test_B9_4_projection_has_k_rows_per_point(fit_pca, m):
    X = cloud(15)
    assert fit_pca(X, m).scores(X).shape == (60, m)
