"""Lecture notes L19 (PCA, whitening), L20 (kernel PCA) and the same slip in L21."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    cloud,
    covers,
    gaussian,
    kernel_pca_sides,
    linear,
    numerical_gradient,
    pca_sides,
    polynomial,
    rotated_cloud,
    same_up_to_sign,
)

import kilogram as kg
from kilogram.textbook import kernel_pca, kernels, pca
from kilogram.textbook.pca import largest_first
from kilogram.textbook.state import run


@covers("lecture_notes L19.T1", "lecture_notes L19.M3")
@pca_sides
def test_L19_T1_diagonal_scores_and_the_error_of_the_scatter(fit_pca):
    X = cloud(0)
    fitted = fit_pca(X, 3)
    scores = fitted.scores(X)
    covariance = scores.T @ scores / 60
    assert np.allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    Xc = X - X.mean(axis=0)
    discarded = np.linalg.eigvalsh(Xc.T @ Xc)[:2].sum()
    assert np.isclose(np.sum((X - fitted.back(scores)) ** 2), discarded)


@covers("lecture_notes L19.T2", "lecture_notes L19.M1")
@pytest.mark.parametrize("shape", [(30, 5), (5, 30)])
@pca_sides
def test_L19_T2_scatter_gram_and_svd_agree(fit_pca, shape):
    X = cloud(1, *shape)
    Xc = X - X.mean(axis=0)
    m = 3
    by_scatter = largest_first(Xc.T @ Xc)[1][:, :m]
    Lambda, V = largest_first(Xc @ Xc.T)
    by_gram = Xc.T @ V[:, :m] / np.sqrt(Lambda[:m])
    by_svd = np.linalg.svd(Xc, full_matrices=False)[2][:m].T
    for U in (by_scatter, by_gram, by_svd):
        assert same_up_to_sign(U, fit_pca(X, m).W)


@covers("lecture_notes L19.T3")
def test_L19_T3_the_second_component_leads_the_deflated_gram_matrix():
    X = cloud(2, 20, 4)
    Xc = X - X.mean(axis=0)
    G = Xc @ Xc.T
    Lambda, V = largest_first(G)
    deflated = G - Lambda[0] * np.outer(V[:, 0], V[:, 0])
    second, V2 = largest_first(deflated)
    assert np.isclose(second[0], Lambda[1])
    assert same_up_to_sign(V2[:, :1], V[:, 1:2])


@covers(
    "lecture_notes L19.T4", "lecture_notes L19.M2", "lecture_notes L19.E1", "lecture_notes L21.T3"
)
def test_L19_T4_whitened_covariance_is_the_identity():
    X = rotated_cloud(3, 400)
    assert np.linalg.eigvalsh(X @ X.T).min() > -1e-10
    Y = run(pca.whiten(X))["X"]
    assert np.allclose(np.cov(Y.T, ddof=0), np.eye(2))
    # what is left to find is a rotation: any orthogonal map keeps the covariance
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((2, 2)))[0]
    assert np.allclose(np.cov((Y @ Q).T, ddof=0), np.eye(2))
    assert not np.allclose(np.cov((Y @ np.diag([2.0, 1.0])).T, ddof=0), np.eye(2))


@covers("lecture_notes L19.X1")
@pca_sides
def test_L19_X1_the_best_feature_is_root_lambda_v(fit_pca):
    X = cloud(4)
    Xc = X - X.mean(axis=0)
    Lambda, V = largest_first(Xc @ Xc.T)
    scores = fit_pca(X, 1).scores(X)
    assert same_up_to_sign(np.sqrt(Lambda[0]) * V[:, :1], scores)
    printed = Lambda[0] * V[:, :1]
    assert np.linalg.norm(printed) > 5 * np.linalg.norm(scores)


@covers("lecture_notes L19.X2", "lecture_notes L21.X3", "lecture_notes L21.M3")
def test_L19_X2_whitening_divides_by_a_standard_deviation():
    """The root of a scatter eigenvalue is sqrt(N) times too large."""
    X = cloud(5, 50, 4)
    s = run(pca.pca(X))
    of_scatter = np.linalg.eigvalsh(s["X"].T @ s["X"])[::-1]
    printed = s["X_hat"] / np.sqrt(of_scatter)
    assert np.allclose(printed.var(axis=0), 1 / 50)
    assert np.allclose((s["X_hat"] / np.sqrt(of_scatter / 50)).var(axis=0), 1)
    assert np.allclose(run(pca.whiten(X))["X"].var(axis=0), 1)
    fast = kg.PCA(whiten=True).fit_transform(X)
    assert np.allclose(fast.var(axis=0, ddof=1), 1)


@covers("lecture_notes L19.X3")
def test_L19_X3_the_rank_one_loss_and_its_derivative():
    X = cloud(6, 6, 3)
    Xc = X - X.mean(axis=0)
    G = Xc @ Xc.T
    v = np.random.default_rng(6).standard_normal(6)
    lam = 2.0

    def loss(u):
        return float(np.sum((G - lam * np.outer(u, u)) ** 2))

    right = -4 * lam * G @ v + 4 * lam**2 * (v @ v) * v
    assert np.allclose(numerical_gradient(loss, v), right, rtol=1e-4, atol=1e-3)
    assert not np.allclose(numerical_gradient(loss, v), right / 2, rtol=0.1)
    # the squared norm is the sum of squares; it is tr B^2 only for symmetric B
    B = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert np.linalg.norm(B, "fro") ** 2 == 1
    assert np.trace(B @ B) == 0
    assert np.isclose(np.trace(G @ G), np.linalg.norm(G, "fro") ** 2)
    # without v'v = 1 the scale of v and lambda is not fixed
    assert np.isclose(loss(v), np.sum((G - 4 * lam * np.outer(v / 2, v / 2)) ** 2))
    # the whitened score of case i is made from X_i, not from another case's row
    s = run(pca.pca(X, 1))
    white = run(pca.whiten(X))["X"][:, 0]
    assert np.allclose(white, (s["X"] @ s["W"][:, 0]) / np.sqrt(s["Lambda"][0]))
    assert not np.allclose(white, np.roll(white, 1))


@covers("lecture_notes L20.T1", "lecture_notes L20.M1")
@pytest.mark.parametrize("kernel", [linear(), gaussian(2.0)], ids=lambda k: k.name)
@kernel_pca_sides
def test_L20_T1_training_points_return_to_their_scores(fit_kernel_pca, kernel):
    X = cloud(7, 40, 3)
    fitted = fit_kernel_pca(kernel, X, 3)
    Lambda, U = largest_first(kernel_pca.centre(kernel.reference(X, X)))
    assert same_up_to_sign(fitted.X_hat, U[:, :3] * np.sqrt(Lambda[:3]))
    assert np.allclose(fitted.scores(X), fitted.X_hat, atol=1e-8)
    if kernel.name == "linear":
        assert same_up_to_sign(fitted.X_hat, run(pca.pca(X, 3))["X_hat"])


@covers("lecture_notes L20.T2")
@kernel_pca_sides
def test_L20_T2_centring_the_kernel_is_centring_the_features(fit_kernel_pca):
    X = cloud(8, 20, 2)
    Phi = kernels.polynomial_map(X, 2, 1.0)
    Phi_c = Phi - Phi.mean(axis=0)
    assert np.allclose(kernel_pca.centre(kernels.polynomial(X, X)), Phi_c @ Phi_c.T)
    scores = run(pca.pca(Phi, 3))["X_hat"]
    assert same_up_to_sign(fit_kernel_pca(polynomial(2, 1.0), X, 3).X_hat, scores)


@covers("lecture_notes L20.X4")
@kernel_pca_sides
def test_L20_X4_the_grand_mean_has_one_over_N_squared(fit_kernel_pca):
    X, new = cloud(9, 25, 2), cloud(10, 8, 2)
    K, K_t = kernels.gaussian(X, X, 2.0), kernels.gaussian(new, X, 2.0)
    A = run(kernel_pca.train(K, 2))["A"]
    means = K_t - K_t.mean(axis=1)[:, None] - K.mean(axis=0)
    right, printed = means + K.sum() / 25**2, means + K.sum() / 25
    fitted = fit_kernel_pca(gaussian(2.0), X, 2)
    assert same_up_to_sign(fitted.scores(new), right @ A)
    # a constant in every row does not pass through A, whose columns sum to 0: look at the kernel
    assert np.allclose(A.sum(axis=0), 0, atol=1e-10)
    assert np.allclose(kernel_pca.centre_new(K, K).sum(axis=1), 0, atol=1e-10)
    assert not np.allclose(printed.sum(axis=1), right.sum(axis=1), atol=0.1)
    assert np.allclose(right, kernel_pca.centre_new(K_t, K))
