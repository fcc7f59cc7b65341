"""A First Encounter, chapter 14: canonical correlations and their kernel twin."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, cloud, covers
from scipy.linalg import block_diag, eigh, sqrtm

import kilogram as kg
from kilogram.textbook import cca, kernels, pca
from kilogram.textbook.kernel_pca import centre
from kilogram.textbook.state import run


def reference_cca(X, Y):
    s = run(cca.two_views(X, Y))
    return s["rho"], s["A"], s["B"]


def fast_cca(X, Y):
    model = kg.CCA(min(X.shape[1], Y.shape[1]), scale=False).fit(X, Y)
    return model.correlations_, model.x_rotations_, model.y_rotations_


cca_sides = pytest.mark.parametrize("fit_cca", [reference_cca, fast_cca], ids=SIDES)


def pair(seed, n=120):
    X = cloud(seed, n, 3)
    return X, X[:, :2] @ cloud(seed + 1, 2, 2) + 2 * cloud(seed + 2, n, 2)


def corr(u, v):
    return float(np.corrcoef(np.ravel(u), np.ravel(v))[0, 1])


@covers("first_encounter FE14.1", "first_encounter T14.1", "first_encounter T14.4")
@covers("first_encounter D.14", "first_encounter E14.2")
@cca_sides
def test_T14_1_pairs_of_eigenvalues_are_singular_values(fit_cca):
    X, Y = pair(0)
    c = run(cca.two_views(X, Y))
    rho, A, B = fit_cca(X, Y)
    S_O = np.block([[np.zeros((3, 3)), c["C_xy"]], [c["C_xy"].T, np.zeros((2, 2))]])
    values = eigh(S_O, block_diag(c["C_x"], c["C_y"]))[0]
    assert np.allclose(values, -values[::-1], atol=1e-10)
    assert np.allclose(values[::-1][:2], rho)
    lam1 = A[:, 0] @ c["C_xy"] @ B[:, 0] / (A[:, 0] @ c["C_x"] @ A[:, 0])
    lam2 = B[:, 0] @ c["C_xy"].T @ A[:, 0] / (B[:, 0] @ c["C_y"] @ B[:, 0])
    assert np.isclose(lam1, rho[0], rtol=1e-6)
    assert np.isclose(lam2, rho[0], rtol=1e-6)
    # a maximum over a and b: no other pair of directions correlates more
    rng = np.random.default_rng(0)
    tries = [corr(X @ rng.standard_normal(3), Y @ rng.standard_normal(2)) for _ in range(200)]
    assert max(np.abs(tries)) < rho[0]


@covers("first_encounter T14.2", "first_encounter T14.3", "first_encounter X14.b")
@cca_sides
def test_T14_3_identical_views_and_known_correlations(fit_cca):
    X, Y = pair(3)
    T = np.random.default_rng(3).standard_normal((3, 3))
    assert np.allclose(fit_cca(X @ T, Y)[0], fit_cca(X, Y)[0])
    rho, A, B = fit_cca(X, X.copy())
    assert np.allclose(rho, 1)
    assert np.allclose(X @ A, X @ A @ np.linalg.solve(A, B) @ np.linalg.solve(B, A), atol=1e-6)
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((20_000, 2))
    W = 0.6 * Z + 0.8 * rng.standard_normal((20_000, 2))
    assert np.allclose(fit_cca(Z, W)[0], 0.6, atol=0.03)


@covers("first_encounter FE14.2", "first_encounter T14.6", "first_encounter E14.6")
def test_E14_6_full_rank_kernels_agree_perfectly():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((2, 25, 2))
    K_x, K_y = (kernels.gaussian(V, V, 0.4) for V in (X, Y))
    assert np.linalg.matrix_rank(K_x) == np.linalg.matrix_rank(K_y) == 25
    alpha = rng.standard_normal(25)
    beta = np.linalg.solve(K_y, K_x @ alpha)  # any alpha has a partner with u = v
    assert np.isclose(corr(K_x @ alpha, K_y @ beta), 1)
    C_x, C_y = centre(K_x), centre(K_y)
    assert np.linalg.matrix_rank(C_x) == 24  # centred: one less, and perfect on that space
    gamma = np.linalg.lstsq(C_y, C_x @ alpha, rcond=1e-10)[0]
    assert np.isclose(corr(C_x @ alpha, C_y @ gamma), 1)
    wide = np.ones((25, 1)) @ np.ones((1, 25)) + 1e-3 * X @ X.T  # rank 3: not so
    assert np.linalg.matrix_rank(wide) == 3
    assert run(cca.kernel_cca([wide, wide[::-1, ::-1]], 1e-9))["Lambda"][0] < 0.99


@covers("first_encounter FE14.3", "first_encounter X14.c", "first_encounter T14.7")
@covers("first_encounter D.15", "first_encounter E14.8")
def test_X14_c_the_ridge_brings_noise_down():
    rng = np.random.default_rng(6)
    X, Y, new_x, new_y = rng.standard_normal((4, 30, 2))
    Ks = [kernels.gaussian(V, V) for V in (X, Y)]
    values = []
    for eta in (1e-6, 1e-3, 1e-1, 1.0, 10.0):
        s = run(cca.kernel_cca(Ks, eta, penalty="coefficients"))
        values.append(float(s["Lambda"][0]))
        for K, a in ((centre(Ks[0]), s["A0"]), (centre(Ks[1]), s["A1"])):
            assert np.isclose((a.T @ (K @ K + eta * np.eye(30)) @ a)[0, 0], 30, rtol=1e-4)  # N
    assert values[0] > 0.99
    assert (np.diff(values) < 0).all()
    assert values[-1] < 0.5
    fast = [
        kg.KernelCCA(1, kernel=kg.Gaussian(sigma=1.0), alpha=a, random_state=0).fit(X, Y)
        for a in (1e-3, 1e-1, 1.0)
    ]
    assert (np.diff([f.values_[0] for f in fast]) < 0).all()
    assert fast[0].correlations_[0] > 0.9
    assert abs(corr(*fast[0].transform(new_x, new_y))) < 0.6  # held out


@covers("first_encounter T14.5")
def test_T14_5_linear_kernels_and_no_ridge_are_cca():
    X, Y = pair(7, 40)
    book = run(cca.two_views(X, Y))["rho"]
    for penalty in ("norm", "coefficients"):
        s = run(cca.kernel_cca([X @ X.T, Y @ Y.T], 1e-7, 2, penalty=penalty))
        assert np.allclose(s["Lambda"], book, atol=1e-3)
    fast = kg.KernelCCA(2, kernel="linear", alpha=1e-7, random_state=0).fit(X, Y)
    assert np.allclose(fast.correlations_, book, atol=1e-4)


@covers("first_encounter FE14.4", "first_encounter X14.a", "first_encounter X14.d")
@covers("first_encounter E14.9")
def test_X14_a_documents_in_two_languages():
    rng = np.random.default_rng(8)
    topic = rng.dirichlet([0.3, 0.3, 0.3], 200)
    english, german = (
        np.array([rng.multinomial(200, p) for p in topic @ rng.dirichlet([0.2] * d, 3)]).astype(
            float
        )
        for d in (15, 12)
    )
    s = run(cca.two_views(english, german, 2, kappa=1.0))
    fast = kg.CCA(2, scale=False, alpha=1.0).fit(english, german)
    assert np.allclose(
        fast.x_rotations_ * np.sign(np.sum(fast.x_rotations_ * s["A"], axis=0)), s["A"]
    )
    # the pairs span the topics: two numbers tell three shares
    design = np.column_stack([s["U"], np.ones(200)])
    fit = design @ np.linalg.lstsq(design, topic, rcond=None)[0]
    assert np.sum((topic - fit) ** 2) < 0.2 * np.sum((topic - topic.mean(axis=0)) ** 2)
    # latent semantic analysis: PCA of the documents merges words that come together
    scores = run(pca.pca(english, 2))["X_hat"]
    fit = (d := np.column_stack([scores, np.ones(200)])) @ np.linalg.lstsq(d, topic, rcond=None)[0]
    assert np.sum((topic - fit) ** 2) < 0.3 * np.sum((topic - topic.mean(axis=0)) ** 2)
    words = 'the cat and the dog saw "the" rest'.replace('"', "").split()
    assert words.count("the") == 3  # X_1(doc): how often word 1 appears


@covers("first_encounter E14.1", "first_encounter E14.10")
def test_E14_1_the_off_diagonal_part_has_no_real_root():
    X, Y = pair(9)
    c = run(cca.two_views(X, Y))
    S_O = np.block([[np.zeros((3, 3)), c["C_xy"]], [c["C_xy"].T, np.zeros((2, 2))]])
    assert np.linalg.eigvalsh(S_O)[0] < -0.1  # indefinite
    assert np.abs(np.imag(sqrtm(S_O))).max() > 0.1
    D = block_diag(c["C_x"], c["C_y"])
    half = cca.inverse_root(D)
    values, W = np.linalg.eigh(half @ S_O @ half)
    assert np.allclose(values[::-1][:2], c["rho"])
    plus, minus = half @ W[:, -1], half @ W[:, 0]
    u, v = X @ plus[:3], Y @ plus[3:]
    assert np.isclose(corr(u, v), c["rho"][0])
    assert np.isclose(corr(X @ minus[:3], Y @ minus[3:]), -c["rho"][0])  # b with the other sign
    assert kg.CCA(1).fit(X, Y).correlations_[0] > 0


@covers("first_encounter E14.3")
@cca_sides
def test_E14_3_variances_are_one_not_lengths(fit_cca):
    X, Y = pair(10)
    _, A, B = fit_cca(100 * X, Y)
    u, v = 100 * X @ A[:, 0], Y @ B[:, 0]
    assert np.isclose(u.std(), 1, rtol=0.01)
    assert np.isclose(v.std(), 1, rtol=0.01)
    assert not np.isclose(np.linalg.norm(A[:, 0]), 1, rtol=0.1)


@covers("first_encounter E14.4", "first_encounter E14.5")
def test_E14_4_the_kernel_matrix_has_an_entry_per_pair():
    X, Y = pair(11, 20)
    K = X @ X.T
    printed = sum(x @ x for x in X)  # sum_i Phi(x_i)'Phi(x_i): one number
    assert np.isscalar(float(printed))
    assert np.isclose(printed, np.trace(K))
    s = run(cca.kernel_cca([K, Y @ Y.T], 0.1))
    assert np.allclose(s["K0"], centre(K))
    # (14.11): the system has no sum over i around it
    a, b = s["A0"][:, 0], s["A1"][:, 0]
    left, right = s["K0"] @ s["K1"] @ b, s["Lambda"][0] * (s["R"][:20, :20] @ a)
    assert np.allclose(left, right, atol=1e-6 * np.abs(left).max())
    assert np.isclose(left.sum(), 0, atol=1e-6 * np.abs(left).max())  # summed it says nothing


@covers("first_encounter E14.7")
def test_E14_7_the_value_is_not_the_correlation_once_regularised():
    X, Y = pair(12, 40)
    s = run(cca.kernel_cca([kernels.gaussian(V, V, 3.0) for V in (X, Y)], 0.05))
    assert s["Lambda"][0] < s["rho"][0] - 0.05
    fast = kg.KernelCCA(1, kernel=kg.Gaussian(sigma=3.0), alpha=0.05, random_state=0).fit(X, Y)
    assert np.isclose(fast.values_[0], s["Lambda"][0], atol=1e-5)
    assert np.isclose(fast.correlations_[0], s["rho"][0], atol=1e-4)
    assert np.isclose(corr(*fast.transform(X, Y)), fast.correlations_[0], atol=1e-6)
