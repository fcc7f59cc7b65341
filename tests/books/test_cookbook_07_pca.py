"""Cookbook chapter 7, principal component analysis, item by item."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import (
    cloud,
    covers,
    pca_sides,
    reference_pca,
    rotated_cloud,
    same_up_to_sign,
)
from sklearn.datasets import load_digits

import kilogram as kg
from kilogram.textbook import pca
from kilogram.textbook.state import run


@covers("cookbook 0.1")
def test_0_1_rows_here_are_the_columns_of_the_page():
    """0.1: with points in columns X X' is D x D; the textbook version's X'X is the same matrix."""
    X = cloud(0)
    columns = (X - X.mean(axis=0)).T
    C_page = columns @ columns.T / columns.shape[1]
    assert np.allclose(run(pca.pca(X))["C"], C_page)


@covers("cookbook 0.3")
def test_0_3_scatter_without_centring_is_not_a_covariance():
    """0.3: the uncentred scatter differs from N times the covariance by N x_bar x_bar'."""
    X = cloud(1)
    s = run(pca.pca(X))
    scatter, x_bar = X.T @ X, s["x_bar"]
    assert not np.allclose(scatter / len(X), s["C"], rtol=0.1)
    assert np.allclose(scatter / len(X) - np.outer(x_bar, x_bar), s["C"])
    assert np.allclose(s["C"], np.cov(X.T, ddof=0))  # the texts divide by N ...
    fast = kg.PCA().fit(X)
    assert np.allclose(fast.explained_variance_.sum(), np.trace(np.cov(X.T, ddof=1)))  # ... not N-1


@covers("cookbook 0.4")
def test_0_4_an_entry_is_a_scalar_and_R_plus_holds_zero():
    """0.4: x_d^n is one number, not a vector of R^D; counts are data of R_+ though some are 0."""
    X = load_digits().data
    assert np.ndim(X[3, 5]) == 0
    assert np.shape(X[3, 5]) != (X.shape[1],)
    assert (X >= 0).all()
    assert not (X > 0).all()
    assert kg.NMF(1).fit(X[:20]).components_.shape == (1, 64)  # zeros are counts too
    with pytest.raises(ValueError, match="Negative values"):
        kg.NMF(1).fit(-X[:20])


@covers("cookbook M7.1")
@pca_sides
def test_M7_1_no_orthonormal_W_captures_more_variance(fit_pca):
    X = cloud(2)
    fitted = fit_pca(X, 2)
    C = np.cov(X.T, ddof=0)
    best = np.trace(fitted.W.T @ C @ fitted.W)
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.standard_normal((5, 2)))[0] for _ in range(200)]
    assert max(np.trace(W.T @ C @ W) for W in others) < best
    assert np.isclose(best, fitted.Lambda.sum())


@covers("cookbook M7.2", "cookbook T7.1")
@pca_sides
def test_T7_1_orthonormal_directions_and_uncorrelated_scores(fit_pca):
    X = cloud(3)
    fitted = fit_pca(X)
    scores = fitted.scores(X)
    assert np.allclose(fitted.W.T @ fitted.W, np.eye(5))
    assert np.allclose(scores.T @ scores / len(X), np.diag(fitted.Lambda), atol=1e-10)
    assert (np.diff(fitted.Lambda) < 0).all()


@covers("cookbook M7.3", "cookbook T7.2")
@pca_sides
def test_T7_2_reconstruction_error_is_the_variance_left_out(fit_pca):
    X = cloud(4)
    Lambda = fit_pca(X).Lambda
    for m in (1, 2, 4):
        fitted = fit_pca(X, m)
        error = np.mean(np.sum((X - fitted.back(fitted.scores(X))) ** 2, axis=1))
        assert np.isclose(error, Lambda[m:].sum())


@covers("cookbook T7.3")
@pca_sides
def test_T7_3_variances_sum_to_the_trace(fit_pca):
    X = cloud(5)
    assert np.isclose(fit_pca(X).Lambda.sum(), X.var(axis=0).sum())


@covers("cookbook T7.4", "cookbook T7.5")
@pca_sides
def test_T7_4_T7_5_error_falls_with_m_to_zero(fit_pca):
    X = cloud(6)
    fits = [fit_pca(X, m) for m in range(1, 6)]
    errors = [np.sum((X - f.back(f.scores(X))) ** 2) for f in fits]
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 1e-20 * np.sum(X**2)


@covers("cookbook T7.6")
@pca_sides
def test_T7_6_one_gross_outlier_turns_the_first_direction(fit_pca):
    X = rotated_cloud(0, 200)
    outlier = np.vstack([X, [[-300.0, 300.0]]])
    assert abs(fit_pca(X, 1).W[:, 0] @ [1, 1]) / np.sqrt(2) > 0.99
    assert abs(fit_pca(outlier, 1).W[:, 0] @ [1, 1]) / np.sqrt(2) < 0.1


@covers("cookbook T7.7", "cookbook M7.4", "cookbook MA.3", "cookbook GA.2", "summary C2")
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)], ids=["D < N", "D > N"])
@pca_sides
def test_T7_7_primal_dual_and_svd_agree(fit_pca, shape):
    X = cloud(7, *shape)
    m = 4
    fitted = fit_pca(X, m)
    dual = run(pca.pca_dual(X, m))
    S, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1:]
    assert same_up_to_sign(dual["W"], fitted.W)
    assert same_up_to_sign(Vt[:m].T, fitted.W)
    assert np.allclose(fitted.Lambda, dual["Lambda"])
    assert np.allclose(fitted.Lambda, S[:m] ** 2 / len(X))


@covers("cookbook M7.5")
def test_M7_5_an_artifact_is_removed_by_dropping_the_first_component():
    """The noise is stronger than the signal: keep components 2 and 3, not 1."""
    rng = np.random.default_rng(8)
    mix = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    sources = rng.standard_normal((400, 3)) * [20.0, 2.0, 1.5]  # artifact, signal, signal
    clean = sources[:, 1:] @ mix[:, 1:].T
    X = sources @ mix.T + 4.0
    target = clean - clean.mean(axis=0) + X.mean(axis=0)
    kept = run(pca.denoise(X, [1, 2]))["X"]
    prefix = run(pca.denoise(X, [0, 1]))["X"]
    scale = np.linalg.norm(clean)
    fast = kg.PCA(n_components=3).fit(X)
    assert np.allclose(fast.denoise(X, keep=[1, 2]), kept)
    assert np.allclose(fast.denoise(X, remove=[0]), kept)  # nothing else is in this cloud
    assert np.linalg.norm(kept - target) < 0.1 * scale
    assert np.linalg.norm(prefix - target) > scale


@covers("cookbook M7.6", "cookbook H7.1")
def test_M7_6_components_by_fraction_of_variance():
    X = cloud(9, 200, 8)
    explained = run(pca.pca(X))["explained"]
    cumulative = np.cumsum(explained)
    assert np.isclose(cumulative[-1], 1)
    for fraction in (0.5, 0.9, 0.99):
        m = int(np.searchsorted(cumulative, fraction) + 1)
        fast = kg.PCA(n_components=fraction).fit(X)
        assert fast.n_components_ == m
        assert np.allclose(fast.explained_variance_ratio_, explained[:m])


@covers("cookbook E7.1")
def test_E7_1_the_printed_explained_variance_is_the_unexplained_one():
    X = rotated_cloud(1, 4000)  # variances 9 and 1
    s = run(pca.pca(X))
    right = s["Lambda"][0] / s["Lambda"].sum()
    printed = 1 - right
    one = run(pca.denoise(X, [0]))
    lost = one.objective / np.sum((X - X.mean(axis=0)) ** 2)
    assert np.isclose(printed, lost)  # what the page prints is the share of the error
    assert right > 0.85
    assert printed < 0.15
    assert np.isclose(s["explained"][0], right)
    assert np.isclose(kg.PCA(n_components=1).fit(X).explained_variance_ratio_[0], right)


@covers("cookbook E7.2")
def test_E7_2_eigenvectors_are_columns():
    """The page prints C W = Lambda W; columns need C W = W Lambda."""
    s = run(pca.pca(cloud(10)))
    C, W, Lambda = s["C"], s["W"], np.diag(s["Lambda"])
    assert np.linalg.norm(C @ W - Lambda @ W) > 0.1 * np.linalg.norm(C)
    assert np.linalg.norm(C @ W - W @ Lambda) < 1e-12 * np.linalg.norm(C)


@covers("cookbook E7.3")
@pca_sides
def test_E7_3_without_the_mean_every_point_is_off_by_its_square(fit_pca):
    X = cloud(11)
    fitted = fit_pca(X, 2)
    scores = fitted.scores(X)
    right = np.sum((X - fitted.back(scores)) ** 2)
    printed = np.sum((X - scores @ fitted.W.T) ** 2)
    assert np.isclose(printed - right, len(X) * fitted.mean @ fitted.mean)
    assert printed > 2 * right


@covers("cookbook E7.4")
def test_E7_4_the_objective_needs_centring_and_the_divisor():
    X = rotated_cloud(2) + np.array([0.0, 40.0])
    s = run(pca.pca(X, 1))
    w = s["W"][:, 0]
    printed = np.linalg.eigh(X.T @ X)[1][:, -1]  # maximises w'XXw on raw data: points at the mean
    assert abs(printed @ [0, 1]) > 0.99
    assert abs(w @ [1, 1]) / np.sqrt(2) > 0.99
    centred = s["X"]
    assert np.isclose(w @ centred.T @ centred @ w, len(X) * s["Lambda"][0])  # scatter = N variance
    assert not np.isclose(w @ centred.T @ centred @ w, s["Lambda"][0])


@covers("cookbook E7.5")
def test_E7_5_a_standard_normal_has_no_principal_direction():
    round_cloud = np.random.default_rng(12).standard_normal((4000, 2))
    flat = run(pca.pca(round_cloud))["Lambda"]
    long = run(pca.pca(rotated_cloud(12, 4000)))["Lambda"]
    assert flat[0] / flat[1] < 1.15
    assert long[0] / long[1] > 7


@covers("cookbook E7.6")
def test_E7_6_the_scores_are_a_matrix():
    """Algorithm 2 declares one M-vector; it maps back M numbers for each of N points."""
    X = cloud(13)
    s = run(pca.pca(X, 2))
    assert s["X_hat"].T.shape == (2, len(X))
    assert s["X_hat"].T.shape != (2,)
    back = run(pca.reconstruct(s["X_hat"], s["W"], s["x_bar"]))["X"]
    assert back.shape == X.shape


@covers("cookbook E7.7")
def test_E7_7_the_mean_divides_by_the_number_of_points_not_by_the_last_index():
    X = cloud(14, offset=10.0)
    N, last = len(X), len(X) - 1
    printed = sum(X[n] for n in range(N)) / last
    assert np.linalg.norm((X - printed).mean(axis=0)) > 0.1
    assert np.allclose(run(pca.pca(X))["X"].mean(axis=0), 0, atol=1e-12)


@covers("cookbook X7.1")
@pca_sides
def test_X7_1_rank_one_pictures_lie_on_two_orthogonal_lines(fit_pca):
    """Figures 7.1-7.4: axes along and across the cloud, turned scores, w1 w1'x and w2 w2'x."""
    X = rotated_cloud(3, 1000)
    fitted = fit_pca(X, 2)
    scores = fitted.scores(X)
    lines = [np.outer(scores[:, j], fitted.W[:, j]) for j in range(2)]
    assert all(np.linalg.matrix_rank(line, tol=1e-8) == 1 for line in lines)
    assert np.allclose(lines[0] @ lines[1].T, 0, atol=1e-10)
    assert np.allclose(lines[0] + lines[1] + fitted.mean, X)
    assert abs(fitted.W[:, 0] @ [1, 1]) / np.sqrt(2) > 0.99


@covers("cookbook X7.2", "lecture_notes L19.M4", "lecture_notes L19.E2")
@pca_sides
def test_X7_2_eigen_images_of_digits_recognise_digits(fit_pca):
    """Eigenfaces, with the bundled digits for faces: nearest neighbour among 20 scores."""
    data = load_digits()
    train, test = np.arange(0, 1797, 2), np.arange(1, 1797, 2)
    accuracy = {}
    for m in (2, 5, 20, 50):
        fitted = fit_pca(data.data[train], m)
        nearest = kg.KNeighborsClassifier(1)
        nearest.fit(fitted.scores(data.data[train]), data.target[train])
        accuracy[m] = nearest.score(fitted.scores(data.data[test]), data.target[test])
    assert accuracy[20] > 0.95
    assert accuracy[2] < 0.75
    assert accuracy[2] < accuracy[5] - 0.1 < accuracy[20]  # against d', it rises and then rests
    assert abs(accuracy[50] - accuracy[20]) < 0.02
    assert reference_pca(data.data[train], 20).W.T.reshape(20, 8, 8).shape == (20, 8, 8)  # images
