"""Cookbook, chapter 11: kernel canonical correlations and the ridge they cannot do without."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, covers, gaussian, linear, polynomial
from scipy.linalg import block_diag, eigh

import kilogram as kg
from kilogram.textbook import cca, kernels
from kilogram.textbook.kernel_pca import centre
from kilogram.textbook.state import run


def reference_kernel_cca(kernel, X, Y, kappa, m=1):
    K_x, K_y = kernel.reference(X, X), kernel.reference(Y, Y)
    s = run(cca.kernel_cca([K_x, K_y], kappa, m))

    def scores(new_x, new_y):
        return (
            run(cca.kernel_scores(kernel.reference(new_x, X), K_x, s["A0"]))["U"],
            run(cca.kernel_scores(kernel.reference(new_y, Y), K_y, s["A1"]))["U"],
        )

    return s["Lambda"], s["rho"], scores


def fast_kernel_cca(kernel, X, Y, kappa, m=1):
    model = kg.KernelCCA(m, kernel=kernel.fast, alpha=kappa, random_state=0).fit(X, Y)
    return model.values_, model.correlations_, model.transform


kernel_cca_sides = pytest.mark.parametrize(
    "fit_kernel_cca", [reference_kernel_cca, fast_kernel_cca], ids=SIDES
)


def circle(seed, n=150):
    z = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.sin(z)[:, None], np.cos(z)[:, None]


def corr(u, v):
    return float(np.corrcoef(np.ravel(u), np.ravel(v))[0, 1])


@covers("cookbook X11.1", "cookbook T11.1", "cookbook M11.1")
@pytest.mark.parametrize("kernel", [gaussian(1.0), polynomial(2, 1.0)], ids=lambda k: k.name)
@kernel_cca_sides
def test_X11_1_sine_and_cosine_share_their_square(fit_kernel_cca, kernel):
    X, Y = circle(0)
    assert abs(corr(X, Y)) < 0.2
    assert run(cca.two_views(X, Y))["rho"][0] < 0.2
    _, rho, scores = fit_kernel_cca(kernel, X, Y, 1e-3)
    assert rho[0] > 0.95
    U, _ = scores(X, Y)
    assert abs(corr(U, X**2)) > 0.95


@covers("cookbook T11.2", "cookbook M11.2")
@kernel_cca_sides
def test_T11_2_linear_kernels_are_linear_cca(fit_kernel_cca):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3)) + 4
    Y = X[:, :2] + rng.standard_normal((60, 2))
    values, rho, _ = fit_kernel_cca(linear(), X, Y, 0.05, 2)
    book = run(cca.two_views(X, Y, kappa=0.05))
    assert np.allclose(values, book["rho"], atol=1e-6)
    own = [abs(corr(book["U"][:, j], book["V"][:, j])) for j in range(2)]
    assert np.allclose(rho, own, atol=1e-5)


@covers("cookbook M11.2")
def test_M11_2_kernel_matrices_as_data_with_the_ridge_on_coefficients():
    """The margin note: linear CCA given the centred K as data, K^2 + kappa I."""
    X, Y = circle(2, 40)
    Ks = [centre(kernels.gaussian(V, V)) for V in (X, Y)]
    by_note = run(cca.cca(Ks, 2, kappa=0.3 / 40))
    by_box = run(cca.kernel_cca(Ks, 0.3, 2, penalty="coefficients"))
    assert np.allclose(by_note["Lambda"], by_box["Lambda"], atol=1e-6)


@covers("cookbook M11.3", "cookbook T11.4", "cookbook E11.2")
@kernel_cca_sides
def test_M11_3_new_points_are_centred_with_the_training_means(fit_kernel_cca):
    X, Y = circle(3)
    _, rho, scores = fit_kernel_cca(gaussian(1.0), X, Y, 1e-3)
    U, V = scores(X, Y)
    assert np.isclose(abs(corr(U, V)), rho[0], atol=1e-6)  # training points as new ones
    assert np.abs(U.mean()) < 1e-6
    held_out = circle(33)
    assert corr(*scores(*held_out)) > 0.9
    # uncentred, the printed box: two shifted independent linear views agree in their means
    rng = np.random.default_rng(3)
    K = [V @ V.T for V in (rng.standard_normal((60, 1)) + 9, rng.standard_normal((60, 1)) + 9)]
    R = block_diag(*[k @ k + np.eye(60) for k in K])
    Z = np.hstack(K)
    assert eigh(Z.T @ Z - block_diag(*[k @ k for k in K]), R)[0][-1] > 0.95
    assert run(cca.kernel_cca(K, 0.1))["Lambda"][0] < 0.5


@covers("cookbook E11.1")
def test_E11_1_the_block_is_the_kernel_matrix_squared():
    X, Y = circle(4, 20)
    K = centre(kernels.gaussian(X, X))
    with pytest.raises(ValueError, match="mismatch"):
        K @ X.T  # as printed, K_m X_m' with points in columns: 20 x 20 against 1 x 20
    s = run(cca.kernel_cca([kernels.gaussian(V, V) for V in (X, Y)], 0.5, penalty="coefficients"))
    assert np.allclose(s["R"][:20, :20], K @ K + 0.5 * np.eye(20), atol=1e-6)


@covers("cookbook E11.3", "cookbook H11.1")
@kernel_cca_sides
def test_E11_3_without_a_ridge_noise_is_perfectly_correlated(fit_kernel_cca):
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((2, 60, 1))
    tops = [fit_kernel_cca(gaussian(0.3), X, Y, kappa) for kappa in (1e-7, 1e-2, 1.0)]
    assert tops[0][1][0] > 0.9
    assert tops[0][0][0] > tops[1][0][0] > tops[2][0][0]
    assert tops[2][0][0] < 0.2
    K = [centre(kernels.gaussian(V, V, 0.3)) for V in (X, Y)]
    R = block_diag(*[k @ k for k in K])
    with pytest.raises(np.linalg.LinAlgError):
        eigh(R, R)  # not positive definite
    with pytest.raises(ValueError, match="alpha"):
        kg.KernelCCA(1, kernel="rbf", alpha=0.0).fit(X, Y)


@covers("cookbook T11.3")
@kernel_cca_sides
def test_T11_3_held_out_correlation_of_independent_views_is_none(fit_kernel_cca):
    rng = np.random.default_rng(6)
    X, Y, new_x, new_y = rng.standard_normal((4, 200, 1))
    _, rho, scores = fit_kernel_cca(gaussian(0.5), X, Y, 0.02)
    assert rho[0] > 0.2
    assert abs(corr(*scores(new_x, new_y))) < 0.2


@covers("cookbook E11.4")
def test_E11_4_one_prediction_costs_n_kernel_values():
    X, Y = circle(7, 50)
    K = kernels.gaussian(X, X)
    s = run(cca.kernel_cca([K, kernels.gaussian(Y, Y)], 0.01))
    row = kernels.gaussian(X[:1], X)
    assert row.size == 50  # not 50^2
    assert np.allclose(run(cca.kernel_scores(row, K, s["A0"]))["U"], s["U0"][:1])
    assert s["R"].shape == (100, 100)  # training: (M N)^2 of memory


@covers("cookbook E11.5")
@kernel_cca_sides
def test_E11_5_the_codomain_is_the_number_of_pairs(fit_kernel_cca):
    rng = np.random.default_rng(8)
    X, Y = rng.standard_normal((40, 5)), rng.standard_normal((40, 3))
    _, _, scores = fit_kernel_cca(gaussian(2.0), X, Y, 0.1, 2)
    U, V = scores(X, Y)
    assert U.shape == V.shape == (40, 2)  # neither D = 5 nor D = 3


@covers("cookbook E11.6")
@kernel_cca_sides
def test_E11_6_the_eigenvalue_is_shrunk_the_correlation_is_not(fit_kernel_cca):
    X, Y = circle(9)
    values, rho, scores = fit_kernel_cca(gaussian(1.0), X, Y, 0.02)
    assert values[0] < rho[0] - 0.05
    assert np.isclose(rho[0], corr(*scores(X, Y)), atol=1e-6)
