"""Lecture notes L20 (robust PCA), L21 (NMF, the aim of ICA), L22 (FastICA)."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from scipy.optimize import nnls

import kilogram as kg
from kilogram.textbook import ica, nmf, robust_pca
from kilogram.textbook.state import run


def contaminated(seed=0, n=60, d=40, rank=2, fraction=0.05):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    hit = rng.random((n, d)) < fraction
    return L, np.where(hit, rng.choice([-20.0, 20.0], (n, d)), 0.0)


def matched(S, found):
    """For every source the largest correlation with something found."""
    k = S.shape[1]
    return np.abs(np.corrcoef(S.T, found.T)[:k, k:]).max(axis=1)


def cocktail(seed=0, n=4000):
    """A uniform, a Laplace and a square source, heard by three microphones."""
    rng = np.random.default_rng(seed)
    S = np.c_[rng.uniform(-1, 1, n), rng.laplace(size=n), np.sign(np.sin(np.arange(n) / 7))]
    A = np.array([[1.0, 0.5, 0.3], [0.4, 1.0, 0.6], [0.7, 0.2, 1.0]])
    return S, S @ A.T


@covers("lecture_notes L20.M3", "lecture_notes L20.T4")
@pytest.mark.parametrize("side", ["textbook", "kilogram"])
def test_L20_T4_low_rank_and_sparse_come_apart_exactly(side):
    L, S = contaminated()
    if side == "textbook":
        s = run(robust_pca.pursuit(L + S))
        found, errors = s["L"], s["S"]
    else:
        model = kg.RobustPCA().fit(L + S)
        found, errors = model.low_rank_, model.sparse_
        assert model.n_components_ == 2
    np.testing.assert_allclose(found, L, atol=1e-3)
    np.testing.assert_allclose(errors, S, atol=1e-3)


@covers("lecture_notes L20.M3")
def test_L20_M3_both_textbook_versions_reach_one_minimum():
    L, S = contaminated(1, 30, 25, 3, 0.2)  # too many errors for exact recovery
    reference = run(robust_pca.pursuit(L + S, m=5000, tol=1e-10))
    fast = kg.RobustPCA(max_iter=1000).fit(L + S)
    assert fast.objective_ == pytest.approx(reference.objective, rel=1e-3)
    np.testing.assert_allclose(fast.low_rank_ + fast.sparse_, L + S, atol=1e-4)


@covers("lecture_notes L20.E3")
def test_L20_E3_gross_errors_turn_pca_and_not_its_robust_kin():
    L, S = contaminated(2)

    def angle(axes):
        U = np.linalg.svd(L, full_matrices=False)[2][:2]
        return 1 - np.linalg.svd(axes @ U.T, compute_uv=False).min()

    robust = kg.RobustPCA(2).fit(L + S)
    assert angle(robust.components_) < 1e-6
    assert angle(kg.PCA(2).fit(L + S).components_) > 0.01
    new_L, new_S = L[:10] * 1.3, S[-10:]
    np.testing.assert_allclose(robust.denoise(new_L + new_S), new_L, atol=1e-3)


@covers("lecture_notes L20.G1")
def test_L20_G1_three_ways_to_change_pca():
    """Other scores (ICA, NMF), curved maps (kernel PCA), other errors (robust PCA)."""
    L, S = contaminated(3)
    plain = kg.PCA(2).fit(L)
    X = np.abs(L)
    loadings = kg.NMF(2, random_state=0, max_iter=500).fit_transform(X)
    assert loadings.min() >= 0 > kg.PCA(2).fit_transform(X).min()  # no signs
    independent = kg.FastICA(2, random_state=0, max_iter=2000).fit_transform(L)
    np.testing.assert_allclose(np.cov(independent.T, bias=True), np.eye(2), atol=1e-9)
    bent = kg.KernelPCA(2, kernel="rbf").fit(L)
    middle = (L[:1] + L[1:2]) / 2  # of a straight map: halfway between
    halfway = (bent.transform(L[:1]) + bent.transform(L[1:2])) / 2
    assert np.abs(bent.transform(middle) - halfway).max() > 0.05
    assert np.allclose(plain.transform(middle), plain.transform(L[:2]).mean(axis=0))
    robust = kg.RobustPCA(2).fit(L + S)
    np.testing.assert_allclose(robust.low_rank_, L, atol=1e-3)


@covers("lecture_notes L21.M1", "lecture_notes L21.T1")
def test_L21_T1_counts_fit_ever_better_and_the_start_decides():
    rng = np.random.default_rng(0)
    X = rng.poisson(6 * rng.random((15, 3)) @ rng.random((3, 10))).astype(float)
    ends = []
    for _ in range(6):
        W, H = rng.random((15, 3)), rng.random((3, 10))
        reference = [s.objective for s in nmf.poisson(X, W, H, m=300)]
        assert (np.diff(reference) <= 1e-9).all()
        ends.append(reference[-1])
    assert max(ends) > 1.0001 * min(ends)
    s = run(nmf.poisson(X, W, H, m=300))
    model = kg.NMF(3, beta_loss=1, solver="mu", init="custom", tol=0, max_iter=300)
    with pytest.warns(match="usable"):
        model.fit(X, W=W, H=H)
    assert model.reconstruction_err_**2 / 2 <= s.objective * 1.05
    begun = run(nmf.part_starts(X, 3, rng))
    assert run(nmf.poisson(X, begun["W"], begun["H"], m=300)).objective < 1.2 * min(ends)
    acol = kg.NMF(3, beta_loss=1, solver="mu", init="acol", random_state=0, max_iter=2000).fit(X)
    assert acol.reconstruction_err_**2 / 2 < 1.2 * min(ends)
    # or begin with the centres of k-means as parts
    H = kg.KMeans(3, random_state=0).fit(X).cluster_centers_
    means = kg.NMF(3, beta_loss=1, solver="mu", init="custom", max_iter=2000)
    means.fit(X, W=np.full((15, 3), 1 / 3), H=H)
    assert means.reconstruction_err_**2 / 2 < 1.2 * min(ends)


@covers("lecture_notes L21.M1")
def test_L21_M1_new_rows_get_the_best_loadings_and_a_lasso_leaves_few():
    rng = np.random.default_rng(6)
    H = rng.random((4, 12))
    X = rng.random((40, 4)) @ H + 0.05 * rng.random((40, 12))
    model = kg.NMF(4, random_state=0, max_iter=2000, tol=1e-6).fit(X)
    new = rng.random((7, 12))
    reference = run(nmf.loadings(new, model.components_))
    for row, w in zip(new, reference["W"], strict=True):
        np.testing.assert_allclose(w, nnls(model.components_.T, row)[0], atol=1e-6)
    np.testing.assert_allclose(model.transform(new), reference["W"], atol=1e-3)
    alpha = 0.1  # for each column; with no penalty on H the parts would grow and W vanish
    how = {"alpha_W": alpha / 12, "alpha_H": 1e-3, "l1_ratio": 1.0, "tol": 1e-6}
    sparse = kg.NMF(4, random_state=0, max_iter=5000, **how).fit(X)
    free, lasso = (run(nmf.loadings(new, sparse.components_, a))["W"] for a in (0.0, alpha))
    np.testing.assert_allclose(sparse.transform(new), lasso, atol=1e-3)
    assert (lasso == 0).sum() > (free == 0).sum()
    assert lasso.sum() < free.sum()


@covers("lecture_notes L21.X3")
def test_L21_X3_a_useful_rank_and_the_size_of_a_determinant():
    rng = np.random.default_rng(7)
    X = rng.random((4, 9))
    exact = kg.NMF(4, init="custom", max_iter=500, tol=1e-10)
    exact.fit(X, W=np.eye(4), H=X)  # min(N, d) parts: the rows themselves
    assert exact.reconstruction_err_ < 1e-9  # nothing is left for more of them, up to max(N, d)
    Y = cocktail(4)[1]
    M = kg.FastICA(random_state=0).fit(Y).components_
    M = M if np.linalg.det(M) > 0 else M[::-1]
    turned = M * np.array([[-1.0], [1.0], [1.0]])  # a source's sign is free
    J = [run(ica.dependence(Y, A)).objective for A in (M, turned)]
    assert J[0] == pytest.approx(J[1])
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.log(np.linalg.det(turned)))  # without the bars
    Z = run(ica.whiten(Y))["Z"]
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(3), atol=1e-9)


@covers("lecture_notes L21.M2")
def test_L21_M2_the_aim_is_the_divergence_of_the_joint_density_from_its_margins():
    S, X = cocktail(5)
    S, X = S[:, :2], S[:, :2] @ np.array([[1.0, 0.6], [0.3, 1.0]])
    unmix = np.linalg.inv(np.array([[1.0, 0.6], [0.3, 1.0]])).T
    # H(X) = H(S) + log |det A|: uniform on [-1, 1] has log 2, Laplace 1 + log 2
    H_X = np.log(2) + 1 + np.log(2) - np.linalg.slogdet(unmix)[1]

    def left(M):
        return run(ica.dependence(X, M)).objective - H_X

    assert abs(left(unmix)) < 0.02  # independent: nothing left
    assert left(np.diag([5.0, -0.1]) @ unmix) == pytest.approx(left(unmix), abs=1e-9)
    white = run(ica.whiten(X))["K"].T
    fast = kg.FastICA(random_state=0).fit(X).components_
    assert left(white) > 0.05 > left(fast)  # PCA leaves dependence, ICA does not
    turns = [np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) for t in np.r_[0:3.2:0.1]]
    assert left(fast) <= min(left(R @ white) for R in turns) + 1e-3  # no rotation does better


@covers("lecture_notes L21.X1")
def test_L21_X1_the_ratio_stands_inside_the_sum():
    rng = np.random.default_rng(1)
    W, H = rng.random((8, 2)) + 0.1, rng.random((2, 6)) + 0.1
    X = W @ H  # exact: nothing must move
    s = run(nmf.poisson(X, W, H, m=1))
    np.testing.assert_allclose(s["W"], W, rtol=1e-9)
    outside = W * (X @ H.T) / (W @ H).sum(axis=1, keepdims=True) / H.sum(axis=1)
    assert np.abs(outside - W).max() > 0.01


@covers("lecture_notes L21.X2")
def test_L21_X2_both_updates_at_once_can_make_it_worse():
    rng, worse = np.random.default_rng(2), 0
    for _ in range(10):
        X = rng.poisson(5 * rng.random((10, 2)) @ rng.random((2, 8))).astype(float)
        W, H = rng.random((10, 2)), rng.random((2, 8))
        printed = [s.objective for s in nmf.poisson(X, W, H, m=60, together=True)][::2]
        in_turn = [s.objective for s in nmf.poisson(X, W, H, m=60)]
        worse += int((np.diff(printed) > 1e-9).sum())
        assert (np.diff(in_turn) <= 1e-9).all()
    assert worse > 50
    fast = []
    for m in range(1, 9):
        model = kg.NMF(2, beta_loss=1, solver="mu", init="custom", tol=0, max_iter=m)
        with pytest.warns(match="usable"):
            fast.append(model.fit(X, W=W, H=H).objective_)
    assert (np.diff(fast) <= 1e-9).all()


@covers("lecture_notes L21.E1")
def test_L21_E1_topics():
    """Two topics with words of their own; a document of both gets both loadings."""
    rng = np.random.default_rng(3)
    topics = np.array([[8, 6, 4, 0, 0, 0], [0, 0, 0, 7, 5, 6]]) / 18
    shares = np.vstack([np.repeat([[1, 0]], 20, 0), np.repeat([[0, 1]], 20, 0), [[0.5, 0.5]]])
    X = rng.poisson(60 * shares @ topics).astype(float)
    model = kg.NMF(2, beta_loss="kullback-leibler", solver="mu", random_state=0, max_iter=500)
    W = model.fit_transform(X)
    words = model.components_ / model.components_.sum(axis=1, keepdims=True)
    order = np.argsort(words[:, 0])[::-1]
    np.testing.assert_allclose(words[order], topics, atol=0.05)
    assert (W[:20, order[0]] > 10 * W[:20, order[1]]).all()
    both = W[40] * model.components_.sum(axis=1)
    assert 0.3 < both[0] / both.sum() < 0.7


@covers("lecture_notes L21.E2", "lecture_notes L21.T4")
def test_L21_T4_parts_are_sparser_than_axes():
    """Pictures made of bars: NMF finds the bars, PCA whole pictures."""
    rng = np.random.default_rng(4)
    bars = np.zeros((8, 4, 4))
    for i in range(4):
        bars[i, i], bars[4 + i, :, i] = 1.0, 1.0
    bars = bars.reshape(8, 16)
    X = (rng.random((300, 8)) < 0.3) @ bars + 0.01 * rng.random((300, 16))
    model = min(
        (kg.NMF(8, init="random", random_state=s, max_iter=2000).fit(X) for s in (0, 2, 3)),
        key=lambda m: m.reconstruction_err_,
    )
    parts = model.components_ / model.components_.max(axis=1, keepdims=True)
    axes = np.abs(kg.PCA(8).fit(X).components_)
    axes = axes / axes.max(axis=1, keepdims=True)
    assert (parts < 0.1).mean() > 2 * (axes < 0.1).mean()
    assert (matched(bars.T, parts.T) > 0.9).sum() >= 6


@covers("lecture_notes L21.M2", "lecture_notes L21.E3", "lecture_notes L21.T2")
def test_L21_T2_the_cocktail_party():
    S, X = cocktail()
    assert matched(S, kg.PCA().fit_transform(X)).min() < 0.9
    model = kg.FastICA(random_state=0).fit(X)
    found = model.transform(X)
    assert matched(S, found).min() > 0.99
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(found), X, atol=1e-9)
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(3), atol=1e-9)


@covers("lecture_notes L22.M1", "lecture_notes L22.E1", "lecture_notes L22.T1")
@pytest.mark.parametrize("slopes", ["logcosh", "exp"])
def test_L22_T1_sources_up_to_sign_order_and_scale(slopes):
    S, X = cocktail(1)
    white = run(ica.whiten(X))
    begin = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    how = ica.log_cosh if slopes == "logcosh" else ica.bump
    reference = run(ica.deflation(white["Z"], begin, how))
    assert matched(S, reference["S"]).min() > 0.99
    together = run(ica.symmetric(white["Z"], begin, how))
    assert matched(S, together["S"]).min() > 0.99
    for algorithm, book in (("deflation", reference), ("parallel", together)):
        fast = kg.FastICA(algorithm=algorithm, fun=slopes, random_state=0, tol=1e-10).fit(X)
        near = 0.9999 if algorithm == "parallel" else 0.998  # the first source bends the others
        assert matched(book["S"], fast.transform(X)).min() > near
        assert fast.n_iter_ < 30


@covers("lecture_notes L22.T2")
def test_L22_T2_gaussian_sources_leave_nothing_to_find():
    X = cocktail(2)[1]
    assert (kg.FastICA(random_state=0).fit(X).negentropy_ > 1e-4).all()
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((20_000, 2))
    model = kg.FastICA(random_state=0, max_iter=1000).fit(Z)
    assert (model.negentropy_ < 1e-4).all()
    turned = matched(Z, kg.FastICA(random_state=3, max_iter=1000).fit(Z[:5000]).transform(Z))
    assert turned.min() < 0.999  # another sample, another rotation
    # of all densities of variance 1 the Gaussian has the largest entropy
    assert 0.5 * np.log(2 * np.pi * np.e) > 1 + np.log(np.sqrt(2)) > np.log(np.sqrt(12))


@covers("lecture_notes L22.X1")
def test_L22_X1_the_old_direction_not_its_inverse():
    X = cocktail(3)[1]
    Z = run(ica.whiten(X))["Z"]
    w = run(ica.deflation(Z, np.eye(3), tol=1e-14))["W"][:, 0]
    first, second = ica.log_cosh(Z @ w)
    v = Z.T @ first / len(Z) - second.mean() * w
    assert abs(v @ w) / np.linalg.norm(v) == pytest.approx(1.0, abs=1e-6)
    printed = Z.T @ first / len(Z) - second.mean() / w  # (w)^-1, entry by entry
    assert abs(printed @ w) / np.linalg.norm(printed) < 0.999
