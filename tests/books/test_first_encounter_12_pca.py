"""A First Encounter, chapters 1 (centring, whitening) and 12 (PCA, kernel PCA); E11.4."""

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
    polynomial,
    rings,
    rotated_cloud,
    same_up_to_sign,
)

import kilogram as kg
from kilogram.kitchen.features import ColumnScaler
from kilogram.textbook import kernel_pca, kernels, pca
from kilogram.textbook.pca import largest_first
from kilogram.textbook.state import run

both_kernels = pytest.mark.parametrize(
    "kernel", [linear(), polynomial(2, 1.0)], ids=lambda k: k.name
)


@covers("first_encounter FE1.1", "first_encounter FE1.2", "first_encounter T1.1")
def test_T1_1_centred_data_has_mean_zero():
    X = cloud(0, offset=50.0)
    s = run(pca.pca(X))
    assert np.allclose(s["X"].mean(axis=0), 0, atol=1e-12)
    assert np.allclose(s["x_bar"], X.mean(axis=0))
    assert np.allclose(kg.PCA().fit(X).mean_, s["x_bar"])


@covers("first_encounter FE1.5", "first_encounter T1.5", "first_encounter D.2")
def test_T1_5_whitening_gives_the_identity():
    X = cloud(1)
    Y = run(pca.whiten(X))["X"]
    assert np.allclose(Y.T @ Y / len(X), np.eye(5))
    fast = kg.PCA(whiten=True).fit_transform(X)
    assert np.allclose(np.cov(fast.T, ddof=1), np.eye(5))  # scikit-learn's divisor


@covers("first_encounter X1.c", "first_encounter E1.1")
def test_E1_1_scaling_the_axes_does_not_make_a_sphere():
    """A diagonal cloud: per-axis scaling leaves the correlation, rotation and scaling remove it."""
    X = rotated_cloud(2, 2000)
    scaled = ColumnScaler("standard").fit(X).transform(X)
    assert np.allclose(scaled.var(axis=0), 1)
    assert abs(np.cov(scaled.T, ddof=0)[0, 1]) > 0.7
    whitened = ColumnScaler("whiten").fit(X).transform(X)
    assert np.allclose(np.cov(whitened.T, ddof=0), np.eye(2), atol=0.01)
    assert np.allclose(np.cov(run(pca.whiten(X))["X"].T, ddof=0), np.eye(2))


@covers("first_encounter E1.3")
def test_E1_3_the_mean_of_squares_is_a_variance_only_when_centred():
    X = cloud(3, offset=20.0)
    printed = np.mean(X**2, axis=0)
    assert (printed > 10 * X.var(axis=0)).all()
    assert np.allclose(np.mean(run(pca.pca(X))["X"] ** 2, axis=0), X.var(axis=0))


@covers("first_encounter FE12.1", "first_encounter X12.a")
@pca_sides
def test_FE12_1_four_points_by_hand(fit_pca):
    """(+-2, 0), (0, +-1): C = diag(2, 0.5); one component leaves an error of 2."""
    X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    fitted = fit_pca(X, 1)
    assert np.allclose(fitted.Lambda, [2.0])
    assert np.allclose(np.abs(fitted.W[:, 0]), [1, 0])
    assert np.isclose(np.sum((X - fitted.back(fitted.scores(X))) ** 2), 2)


@covers("first_encounter T12.1", "first_encounter FE12.4")
@both_kernels
@kernel_pca_sides
def test_T12_1_scores_have_the_eigenvalues_as_covariance(fit_kernel_pca, kernel):
    X = cloud(4, 40, 3) / 2
    fitted = fit_kernel_pca(kernel, X, 3)
    covariance = fitted.X_hat.T @ fitted.X_hat / 40
    assert np.allclose(covariance, np.diag(fitted.Lambda / 40), atol=1e-8 * covariance.max())


@covers("first_encounter T12.2")
@pca_sides
def test_T12_2_ordered_variances_orthonormal_axes(fit_pca):
    X = cloud(5)
    fitted = fit_pca(X)
    assert np.allclose(fitted.scores(X).var(axis=0), fitted.Lambda)
    assert (np.diff(fitted.Lambda) <= 0).all()
    assert np.allclose(fitted.W.T @ fitted.W, np.eye(5))


@covers("first_encounter T12.3", "first_encounter X12.b", "first_encounter FE12.3")
@kernel_pca_sides
def test_T12_3_linear_kernel_pca_is_pca_also_with_d_above_n(fit_kernel_pca):
    for shape in ((50, 4), (10, 60)):
        X = cloud(6, *shape)
        s = run(pca.pca(X, 3))
        assert same_up_to_sign(fit_kernel_pca(linear(), X, 3).X_hat, s["X_hat"])


@covers("first_encounter T12.4", "first_encounter FE12.5", "first_encounter E12.7")
def test_E12_7_centring_subtracts_outer_products_with_ones():
    """kappa_i 1_j' is an outer product: row means go from rows, column means from columns."""
    X = cloud(7, 12, 3)
    K = kernels.gaussian(X, X, 2.0)
    kappa, one, k = K.mean(axis=1), np.ones(12), K.mean()
    right = K - np.outer(kappa, one) - np.outer(one, kappa) + k * np.outer(one, one)
    printed_as_inner = K - kappa @ one - one @ kappa + k  # a number where a matrix is meant
    H = np.eye(12) - 1 / 12
    assert np.allclose(right, kernel_pca.centre(K))
    assert np.allclose(right, H @ K @ H)
    assert np.allclose(right.sum(axis=0), 0, atol=1e-10)
    assert np.allclose(right.sum(axis=1), 0, atol=1e-10)
    assert np.abs(printed_as_inner.sum(axis=0)).min() > 1
    rows = kernels.polynomial_map(X, 2, 1.0)  # features as rows: K_ij = Phi_i Phi_j'
    assert np.allclose(rows @ rows.T, kernels.polynomial(X, X, 2, 1.0))


@covers("first_encounter T12.5", "first_encounter FE12.6", "first_encounter C.5")
def test_T12_5_centring_by_formula_is_centring_the_features():
    """The exercise left to the reader: new points are seen from the training mean."""
    X, new = cloud(8, 20, 2), cloud(9, 6, 2)
    Phi, Phi_t = (kernels.polynomial_map(Z, 2, 1.0) for Z in (X, new))
    mean = Phi.mean(axis=0)
    K, K_t = kernels.polynomial(X, X), kernels.polynomial(new, X)
    assert np.allclose(kernel_pca.centre(K), (Phi - mean) @ (Phi - mean).T)
    assert np.allclose(kernel_pca.centre_new(K_t, K), (Phi_t - mean) @ (Phi - mean).T)


@covers("first_encounter T12.6")
def test_T12_6_training_points_as_new_points():
    X = cloud(10, 20, 2)
    K = kernels.gaussian(X, X)
    assert np.allclose(kernel_pca.centre_new(K, K), kernel_pca.centre(K))


@covers("first_encounter T12.7")
@pca_sides
def test_T12_7_directions_lie_in_the_span_of_the_data(fit_pca):
    X = cloud(11, 8, 30)
    W = fit_pca(X, 5).W
    centred = X - X.mean(axis=0)
    assert np.allclose(centred.T @ np.linalg.lstsq(centred.T, W, rcond=None)[0], W)


@covers("first_encounter T12.8", "first_encounter FE12.2")
@pca_sides
def test_T12_8_no_other_projection_reconstructs_better(fit_pca):
    X = cloud(12)
    fitted = fit_pca(X, 2)
    Xc = X - X.mean(axis=0)
    best = np.sum((X - fitted.back(fitted.scores(X))) ** 2)
    assert np.isclose(best, len(X) * fit_pca(X).Lambda[2:].sum())
    rng = np.random.default_rng(12)
    for _ in range(200):
        Q = np.linalg.qr(rng.standard_normal((5, 2)))[0]
        assert np.sum((Xc - Xc @ Q @ Q.T) ** 2) > best


@covers("first_encounter T12.9")
def test_T12_9_at_most_n_minus_one_directions():
    X = cloud(13, 6, 20)
    Lambda = run(pca.pca(X))["Lambda"]
    assert np.sum(Lambda > 1e-10 * Lambda[0]) == 5
    assert run(pca.pca_dual(X))["W"].shape == (20, 5)


@covers("first_encounter X12.c", "first_encounter X12.d", "first_encounter D.11")
@kernel_pca_sides
def test_X12_c_rings_in_two_features(fit_kernel_pca):
    X, label = rings(14, (1.0, 3.0))
    fitted = fit_kernel_pca(gaussian(1.0), X, 2)
    inner, outer = (fitted.X_hat[label == c, 0] for c in (0, 1))
    assert inner.min() > outer.max() or outer.min() > inner.max()
    assert np.allclose(fitted.X_hat.var(axis=0), fitted.Lambda / len(X))


@covers("first_encounter X12.e")
@pca_sides
def test_X12_e_a_signal_of_small_variance_is_missed(fit_pca):
    rng = np.random.default_rng(15)
    label = np.arange(400) % 2
    X = np.column_stack([10 * rng.standard_normal(400), label + 0.1 * rng.standard_normal(400)])
    fitted = fit_pca(X, 2)
    scores = fitted.scores(X)
    correlation = [abs(np.corrcoef(scores[:, j], label)[0, 1]) for j in range(2)]
    assert correlation[0] < 0.2
    assert correlation[1] > 0.9


@covers("first_encounter E12.1")
def test_E12_1_the_last_factor_is_not_transposed():
    s = run(pca.pca(cloud(16)))
    U, C = s["W"][:, :2], s["C"]
    with pytest.raises(ValueError, match="mismatch"):
        U.T @ C @ U.T
    assert np.allclose(U.T @ C @ U, np.diag(s["Lambda"][:2]), atol=1e-10)


@covers("first_encounter E12.2")
def test_E12_2_cancelling_K_lets_the_null_space_in():
    X = cloud(17, 10, 3)
    K = kernel_pca.centre(X @ X.T)
    Lambda, U = largest_first(K)
    null = U[:, -1]  # K null = 0
    alpha = U[:, 0] + null
    assert np.allclose(K @ K @ alpha, Lambda[0] * K @ alpha)  # solves the squared equation
    assert not np.allclose(K @ alpha, Lambda[0] * alpha, rtol=0.1, atol=0.1)  # not the short one
    assert np.allclose(K @ U[:, 0], Lambda[0] * U[:, 0])
    assert run(kernel_pca.train(X @ X.T))["A"].shape[1] == 3  # nothing of the null space is kept


@covers("first_encounter E12.3")
def test_E12_3_only_directions_with_variance_are_combinations_of_data():
    X = cloud(18, 6, 10)
    s = run(pca.pca(X))
    for a in (0, 4):  # five positive eigenvalues
        w, lam = s["W"][:, a], s["Lambda"][a]
        assert np.allclose(s["X"].T @ (s["X"] @ w) / (len(X) * lam), w)
    w, lam = s["W"][:, 9], s["Lambda"][9]
    assert abs(lam) < 1e-12
    with np.errstate(all="ignore"):
        printed = s["X"].T @ (s["X"] @ w) / (len(X) * lam)
    assert not np.allclose(printed, w, atol=0.1)


@covers("first_encounter E12.4")
def test_E12_4_centred_features_need_their_own_name():
    """Phi_i = Phi_i - mean, read as one assignment after another, moves the mean on the way."""
    X = cloud(19)
    in_place = X.copy()
    for i in range(len(X)):
        in_place[i] = in_place[i] - in_place.mean(axis=0)
    assert np.abs(in_place.mean(axis=0)).max() > 0.1
    assert np.allclose(run(pca.pca(X))["X"].mean(axis=0), 0, atol=1e-12)


@covers("first_encounter E12.5")
@kernel_pca_sides
def test_E12_5_the_eigenvalues_of_K_are_N_times_the_variances(fit_kernel_pca):
    X = cloud(20)
    fitted = fit_kernel_pca(linear(), X, 2)
    variance = run(pca.pca(X))["Lambda"][:2]
    assert not np.allclose(fitted.Lambda, variance, rtol=0.5)
    assert np.allclose(fitted.Lambda, len(X) * variance)
    A = run(kernel_pca.train(X @ X.T, 2))["A"]
    assert np.allclose(np.linalg.norm(A, axis=0), 1 / np.sqrt(len(X) * variance))


@covers("first_encounter E12.6")
@kernel_pca_sides
def test_E12_6_new_points_are_projected_with_the_centred_kernel(fit_kernel_pca):
    X, new = cloud(21), cloud(22)
    s = run(pca.pca(X, 2))
    right = (new - s["x_bar"]) @ s["W"]
    A = run(kernel_pca.train(X @ X.T, 2))["A"]
    printed = kernels.linear(new, X) @ A
    assert not same_up_to_sign(printed, right, tol=0.1)
    assert same_up_to_sign(fit_kernel_pca(linear(), X, 2).scores(new), right)


@covers("first_encounter E12.8", "first_encounter C.4")
def test_E12_8_a_symmetric_solver_and_a_rule_for_signs():
    H = np.eye(12) - 1 / 12  # the centred identity: one eigenvalue repeated eleven times
    general = np.linalg.eig(H)[1]
    symmetric = np.linalg.eigh(H)[1]
    assert np.abs(general.T @ general - np.eye(12)).max() > 0.01
    assert np.allclose(symmetric.T @ symmetric, np.eye(12))
    X = cloud(23)
    assert np.allclose(run(pca.pca(X))["W"], run(pca.pca(-X))["W"])  # same cloud, same signs
    W = np.linalg.eigh(np.cov(X.T))[1]
    flipped = W * [1, -1, 1, -1, 1]  # just as much a solution
    assert not np.allclose(W, flipped)
    assert np.allclose(pca.signed(W), pca.signed(flipped))
    fast = kg.PCA().fit(X).components_
    assert np.allclose(fast, kg.PCA().fit(X[::-1]).components_)


@covers("first_encounter E11.4")
@kernel_pca_sides
def test_E11_4_kernel_pca_is_not_the_spectral_relaxation(fit_kernel_pca):
    """Kernel PCA: centred kernel, vectors times the root of lambda. Relaxation: K as it is."""
    X = cloud(24, 30, 2)
    K = kernels.gaussian(X, X, 2.0)
    relaxed = largest_first(K)[1][:, :2]
    scores = fit_kernel_pca(gaussian(2.0), X, 2).X_hat
    assert np.allclose(relaxed.T @ relaxed, np.eye(2))
    assert not np.allclose(scores.T @ scores, np.eye(2), atol=0.5)
    assert np.allclose(scores.mean(axis=0), 0, atol=1e-10)
    assert np.abs(relaxed.mean(axis=0)).max() > 0.1
