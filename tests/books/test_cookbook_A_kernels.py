"""Cookbook appendix A, kernels, and the checklists of sections 27 and 28."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import all_subsets, cloud, covers, gaussian, linear, polynomial, xor

import kilogram as kg
from kilogram.textbook import ENTRIES, kernel_ridge, kernels, pca, ridge_solvers
from kilogram.textbook.errata import errata
from kilogram.textbook.kernel_template import (
    centroid_algorithm,
    kernel_template,
    linear_version,
    ridge_algorithm,
)
from kilogram.textbook.state import run

ALL = [linear(), gaussian(1.5), polynomial(3, 1.0), all_subsets()]
every_kernel = pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.name)


@covers("cookbook TA.1", "cookbook MA.2")
@every_kernel
def test_TA_1_kernels_are_symmetric_and_positive_semidefinite(kernel):
    X, Y = cloud(0, 40, 3), cloud(1, 7, 3)
    K = kernel.reference(X, X)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    assert np.allclose(kernel.fast(X), K)
    assert np.allclose(kernel.fast(X, Y), kernel.reference(X, Y))
    assert np.allclose(kernel.fast.diag(X), np.diag(K))
    if kernel.name.startswith("gaussian"):
        assert np.array_equal(np.diag(K), np.ones(40))


@covers("cookbook TA.2")
def test_TA_2_the_degree_two_map_is_the_polynomial_kernel():
    X = cloud(2, 20, 3)
    Z = kernels.polynomial_map(X, 2, 1.0)
    assert Z.shape[1] == 10
    assert np.allclose(Z @ Z.T, kernels.polynomial(X, X, 2, 1.0))
    fast = kg.Polynomial(degree=2, gamma=1.0, coef0=1.0)
    Z = fast.features(X)
    assert np.allclose(Z @ Z.T, fast(X))


@covers("cookbook MA.1", "first_encounter C.3")
@every_kernel
def test_MA_1_kernel_and_algorithm_are_interchangeable(kernel):
    X, y = xor(3, 60)
    new, _ = xor(4, 20)
    one_hot = np.column_stack([y < 0, y > 0]).astype(float)
    for algorithm, Y in ((ridge_algorithm(0.1), one_hot), (centroid_algorithm, one_hot)):
        s = run(kernel_template(kernel.reference, algorithm, X, Y, new))
        assert s["A"].shape == (60, 2)  # a row per point, a column per output
        assert np.allclose(s["f"], kernel.reference(new, X) @ s["A"] + s["b"])
    reference = run(kernel_template(kernel.reference, ridge_algorithm(0.1), X, y, new))["f"]
    fast = kg.KernelRidge(alpha=0.1, kernel=kernel.fast).fit(X, y)
    assert np.allclose(fast.predict(new), reference)


@covers("cookbook MA.1", "cookbook TA.3")
@pytest.mark.parametrize("algorithm", [ridge_algorithm(0.5), centroid_algorithm])
def test_MA_1_the_linear_twin_has_weights_in_the_span_of_the_data(algorithm):
    X, new = cloud(5, 30, 4), cloud(6, 10, 4)
    label = (X[:, 0] > X[:, 0].mean()).astype(int)
    Y = np.eye(2)[label]
    twin = run(linear_version(algorithm, X, Y, new))
    dual = run(kernel_template(kernels.linear, algorithm, X, Y, new))
    assert np.allclose(twin["f"], dual["f"])
    if algorithm is centroid_algorithm:
        means = np.array([X[label == c].mean(axis=0) for c in (0, 1)])
        assert np.allclose(twin["w"], means.T)
        nearest = np.argmin(((new[:, None] - means[None]) ** 2).sum(axis=2), axis=1)
        assert np.array_equal(np.argmax(twin["f"], axis=1), nearest)
    else:
        assert np.allclose(twin["w"][:, 0], run(ridge_solvers.by_cholesky(X, Y[:, 0], 0.5))["beta"])


@covers("cookbook MA.1")
def test_MA_1_the_kernel_centroid_solves_xor_and_the_linear_one_does_not():
    X, y = xor(7, 200)
    one_hot = np.column_stack([y < 0, y > 0]).astype(float)

    def accuracy(kernel) -> float:
        f = run(kernel_template(kernel, centroid_algorithm, X, one_hot, X))["f"]
        return np.mean(np.where(f[:, 1] > f[:, 0], 1, -1) == y)

    assert accuracy(kernels.linear) < 0.75
    assert accuracy(lambda A, B: kernels.gaussian(A, B, 1.0)) > 0.98


@covers("cookbook XA.1")
def test_XA_1_cos_of_x_is_linear_in_cos_x_not_in_x():
    x = np.linspace(0, 10, 60)[:, None]
    y = np.cos(x[:, 0])
    in_x = run(ridge_solvers.by_qr(np.column_stack([np.ones(60), x]), y, 1e-12)).objective
    in_cos = run(ridge_solvers.by_qr(np.column_stack([np.ones(60), np.cos(x)]), y, 1e-12))
    assert in_x > 10
    assert in_cos.objective < 1e-10
    unknown_map = run(kernel_ridge.kernel_ridge(kernels.gaussian(x, x), y, 1e-6))
    assert np.mean((y - unknown_map["K"] @ unknown_map["alpha"]) ** 2) < 1e-8


@covers("cookbook EA.1")
def test_EA_1_a_row_of_targets_must_be_transposed():
    X, y = cloud(8, 12, 3).T, np.arange(12.0)[None, :]  # as on the page: columns, y is 1 x N
    K = X.T @ X
    with pytest.raises(ValueError, match="mismatch"):
        np.linalg.inv(K + np.eye(12)) @ y
    alpha = np.linalg.inv(K + np.eye(12)) @ y.T
    reference = run(kernel_ridge.kernel_ridge(K, y[0], 1.0))["alpha"]
    assert np.allclose(alpha[:, 0], reference)


@covers("cookbook EA.2")
def test_EA_2_a_prediction_is_a_number_from_all_points():
    X = cloud(9, 20, 2)
    y = X[:, 0]
    K = kernels.gaussian(X, X, 3.0)
    alpha = run(kernel_ridge.kernel_ridge(K, y, 0.01))["alpha"]
    j = 4
    assert np.ndim(K[j, :]) == 1  # what the equation ends with
    value = K[j, :] @ alpha
    others = np.arange(20) != j
    printed = K[j, others] @ alpha[others]  # the sum over i != j
    assert abs(value - y[j]) < 0.2
    assert abs(printed - value) > 0.05


@covers("cookbook EA.3")
def test_EA_3_the_template_takes_targets_and_sums_rows_of_A():
    X, new = cloud(10, 15, 2), cloud(11, 4, 2)
    Y = np.column_stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 1]])
    s = run(kernel_template(kernels.linear, ridge_algorithm(0.1), X, Y, new))
    k = kernels.linear(new, X)[0]
    right = sum(k[i] * s["A"][i, :] for i in range(15))
    assert np.allclose(right, s["f"][0])
    with pytest.raises(IndexError):  # columns run out after three outputs
        sum(k[i] * s["A"][:, i] for i in range(15))
    # a method with targets, not kernel PCA: other targets, other weights
    other = run(kernel_template(kernels.linear, ridge_algorithm(0.1), X, -Y, new))
    assert np.allclose(other["A"], -s["A"])


@covers("cookbook EA.4")
def test_EA_4_it_is_the_scatter_that_is_singular_and_pca_inverts_nothing():
    X = cloud(12, 8, 20)
    centred = X - X.mean(axis=0)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(centred)  # a rectangular X has no inverse at any rank
    assert np.linalg.matrix_rank(centred.T @ centred) < 20
    s = run(pca.pca(X, 3))
    assert np.allclose(s["W"], run(pca.pca_dual(X, 3))["W"])


@covers("cookbook EA.5", "cookbook MA.2")
def test_EA_5_the_width_is_squared():
    """sigma is a length: stretching data and sigma together must change nothing."""
    X = cloud(13, 15, 2)

    def printed(X, sigma):
        return np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / (2 * sigma))

    assert not np.allclose(printed(X, 1.5), printed(10 * X, 15.0), atol=0.1)
    assert np.allclose(kernels.gaussian(X, X, 1.5), kernels.gaussian(10 * X, 10 * X, 15.0))
    assert np.allclose(kg.Gaussian(sigma=1.5)(X), kg.Gaussian(sigma=15.0)(10 * X))
    assert np.allclose(printed(X, 1.5**2), kernels.gaussian(X, X, 1.5))  # the page's is a variance


@covers("cookbook EA.6")
def test_EA_6_back_from_the_dual_without_a_transpose():
    """In columns X = E S F': E S = X F."""
    X = cloud(14, 6, 6).T
    E, S, Ft = np.linalg.svd(X, full_matrices=False)
    F = Ft.T
    assert not np.allclose(E * S, X @ F.T, atol=0.1)
    assert np.allclose(E * S, X @ F)
    rows = X.T - X.T.mean(axis=0)
    E, S, Ft = np.linalg.svd(rows.T, full_matrices=False)
    fitted = kg.PCA(5).fit(rows)
    back = fitted.components_.T * fitted.singular_values_
    assert np.allclose(np.abs(back), np.abs(rows.T @ Ft.T)[:, :5])


@covers("cookbook EA.7")
def test_EA_7_the_small_matrix_is_the_kernel_when_points_are_few():
    X = cloud(15, 5, 30).T  # D = 30, N = 5, in columns
    kernel, covariance = X.T @ X, X @ X.T
    assert kernel.shape == (5, 5)
    assert covariance.shape == (30, 30)
    assert np.allclose(kernel, kernels.linear(X.T, X.T))
    assert not np.allclose(np.linalg.eigvalsh(kernel), np.linalg.eigvalsh(covariance)[:5])
    assert np.allclose(np.linalg.eigvalsh(kernel), np.linalg.eigvalsh(covariance)[-5:])


@covers("cookbook EA.8")
def test_EA_8_a_rectangular_S_has_two_squares_and_X_is_centred_first():
    X = cloud(16, 5, 8).T
    S = np.zeros((8, 5))
    S[:5, :5] = np.diag(np.linalg.svd(X, compute_uv=False))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.matrix_power(S, 2)
    assert np.allclose(np.sort(np.diag(S @ S.T)), np.linalg.eigvalsh(X @ X.T), atol=1e-8)
    assert np.allclose(np.sort(np.diag(S.T @ S)), np.linalg.eigvalsh(X.T @ X), atol=1e-8)
    uncentred = np.linalg.svd(X, compute_uv=False)[:4] ** 2 / 5
    assert not np.allclose(uncentred, run(pca.pca_dual(X.T, 4))["Lambda"], rtol=0.1)


@covers("cookbook EA.9")
def test_EA_9_a_negative_constant_makes_no_kernel():
    X = cloud(17, 30, 3, offset=0.0)
    assert np.linalg.eigvalsh(kernels.polynomial(X, X, 3, -1.0)).min() < -1
    assert np.linalg.eigvalsh(kernels.polynomial(X, X, 3, 1.0)).min() > -1e-8
    with pytest.raises(ValueError):
        kg.Polynomial(degree=3, gamma=1.0, coef0=-1.0)(X)


@covers("cookbook 27")
def test_27_every_algorithm_box_of_these_chapters_has_a_textbook_version():
    sources = " ".join(" ".join(page.sources) + ";" for page in ENTRIES.values())
    boxes = {7: (1, 2), 8: (3, 4), 10: (6,), 11: (7,), 16: (14, 15), 17: (16,), 20: (19,)}
    boxes |= {21: (20,), 23: (22, 23), 24: (24,)}
    for chapter, numbers in boxes.items():
        assert all(f"cookbook {chapter}, algorithm {box}" in sources for box in numbers)
    assert "cookbook A, algorithm 25" in sources


@covers("cookbook 28")
def test_28_the_errata_that_change_results_are_registered():
    known = {erratum.id for erratum in errata()}
    fatal = ["E7.1", "E7.3", "E7.5", "E8.1", "E8.2", "E17.1", "E24.1", "EA.5", "EA.6", "EA.7"]
    fatal += ["E11.1", "E11.3", "E10.1", "EC.1", "EC.4", "E16.5", "E16.6", "E20.1", "E10.5"]
    fatal += ["E10.6", "E10.9"]
    assert {f"cookbook {number}" for number in fatal} <= known
