"""A First Encounter, chapter 13: Fisher's discriminant and its kernel twin."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, cloud, covers, gaussian, linear, rings
from scipy.linalg import eigh, sqrtm

import kilogram as kg
from kilogram.textbook import fisher, kernels, pca, ridge
from kilogram.textbook.state import run


def reference_kernel_fisher(kernel, X, labels, beta):
    s = run(fisher.kernel_fisher(kernel.reference(X, X), labels, beta))
    return s["Lambda"], lambda new: kernel.reference(new, X) @ s["A"]


def fast_kernel_fisher(kernel, X, labels, beta):
    model = kg.KernelFisherDiscriminant(kernel=kernel.fast, alpha=beta).fit(X, labels)
    return model.eigenvalues_, model.transform


kernel_fisher_sides = pytest.mark.parametrize(
    "fit_kernel_fisher", [reference_kernel_fisher, fast_kernel_fisher], ids=SIDES
)


def classes(seed, n=90, d=3, k=3):
    X, labels = cloud(seed, n, d), np.arange(n) % k
    return X + 2.0 * np.eye(k, d)[labels], labels


def ratio(S_W, S_B, w):
    return float(w @ S_B @ w / (w @ S_W @ w))


def cosine(a, b):
    return abs(float(a @ b)) / (np.linalg.norm(a) * np.linalg.norm(b))


@covers("first_encounter FE13.1", "first_encounter T13.1", "first_encounter E13.2")
@covers("first_encounter T13.8", "first_encounter E13.10")
def test_T13_1_total_is_within_plus_between():
    X, labels = classes(0)
    S_W, S_B = fisher.scatters(X, labels)
    centred = X - X.mean(axis=0)
    assert np.allclose(S_W + S_B, centred.T @ centred)
    assert np.linalg.matrix_rank(S_B) == 2
    # a sum over points: not the sum of class variances, which counts every class alike
    covariances = sum(np.cov(X[labels == c].T, bias=True) for c in range(3))
    assert np.allclose(S_W, 30 * covariances)
    assert not np.allclose(S_W, covariances)


@covers("first_encounter T13.2", "first_encounter E13.3")
def test_T13_2_two_classes_have_one_gap():
    X, labels = classes(1, 60, k=2)
    X, labels = X[:45], np.r_[labels[:40], np.zeros(5, int)]
    counts = np.bincount(labels)
    gap = np.subtract(*fisher.class_means(X, labels))
    assert np.allclose(
        fisher.scatters(X, labels)[1], counts[0] * counts[1] / 45 * np.outer(gap, gap)
    )
    assert not np.allclose(
        fisher.scatters(X, labels)[1], counts[0] * counts[1] * np.outer(gap, gap)
    )


@covers("first_encounter FE13.2", "first_encounter FE13.3", "first_encounter T13.3")
@covers("first_encounter T13.4", "first_encounter T13.5", "first_encounter D.12")
def test_T13_4_the_quotient_is_the_eigenvalue_and_has_no_scale():
    X, labels = classes(2)
    S_W, S_B = fisher.scatters(X, labels)
    s = run(fisher.fisher(X, labels))
    fast = kg.FisherDiscriminant().fit(X, labels)
    for W in (s["W"], fast.scalings_):
        assert W.shape == (3, 2)  # C - 1 directions; the page keeps one
        for k in range(2):
            assert np.isclose(ratio(S_W, S_B, W[:, k]), s["Lambda"][k])
            assert np.isclose(ratio(S_W, S_B, -5 * W[:, k]), s["Lambda"][k])
    others = np.random.default_rng(2).standard_normal((500, 3))
    assert max(ratio(S_W, S_B, w) for w in others) < s["Lambda"][0]
    total = ratio(S_W, S_W + S_B, s["W"][:, 0])
    assert np.isclose(total - 1, s["Lambda"][0])
    scaled = eigh(S_B / 90, S_W / 90)[1][:, -1]
    assert np.isclose(cosine(scaled, s["W"][:, 0]), 1)


@covers("first_encounter T13.9")
def test_T13_9_the_least_squares_direction():
    X, labels = classes(3, 80, k=2)
    X, labels = X[:60], np.r_[labels[:50], np.zeros(10, int)]  # unequal classes
    w = run(ridge.ridge(X, 2.0 * labels - 1, 0.0))["W"]
    assert np.isclose(cosine(w, run(fisher.fisher(X, labels))["W"][:, 0]), 1)
    assert np.isclose(cosine(w, kg.FisherDiscriminant().fit(X, labels).scalings_[:, 0]), 1)


@covers("first_encounter X13.a")
def test_X13_a_two_cigars():
    rng = np.random.default_rng(4)
    labels = np.arange(400) % 2
    X = rng.standard_normal((400, 2)) * [5.0, 0.2]
    X[:, 1] += 2.0 * labels - 1

    def best_threshold(z):
        right = np.array([np.mean((z > t) == labels) for t in z])
        return max(right.max(), 1 - right.min())

    assert best_threshold(run(pca.pca(X, 1))["X_hat"][:, 0]) < 0.6
    assert best_threshold(X @ run(fisher.fisher(X, labels))["W"][:, 0]) == 1
    assert best_threshold(kg.FisherDiscriminant().fit_transform(X, labels)[:, 0]) == 1


@covers("first_encounter FE13.4", "first_encounter T13.6", "first_encounter T13.7")
def test_T13_6_kernel_scatters_of_the_linear_kernel():
    X, labels = classes(5, 30)
    S_W, S_B = fisher.kernel_scatters(X @ X.T, labels)
    within, between = fisher.scatters(X, labels)
    assert np.allclose(S_W, X @ within @ X.T)
    assert np.allclose(S_B, X @ between @ X.T)
    K = kernels.gaussian(X, X, 2.0)
    H = np.eye(30) - 1 / 30
    assert np.allclose(sum(fisher.kernel_scatters(K, labels)), K @ H @ K)


@covers("first_encounter FE13.5", "first_encounter FE13.6", "first_encounter E13.9")
@covers("first_encounter D.13", "first_encounter T13.10")
@kernel_fisher_sides
def test_E13_9_the_ridge_on_the_function_has_a_linear_twin(fit_kernel_fisher):
    X, labels = classes(6, 40)
    new = cloud(66, 10, 3)
    values, project = fit_kernel_fisher(linear(), X, labels, 0.2)
    reference = run(fisher.fisher(X, labels, beta=0.2))
    assert np.allclose(values, reference["Lambda"], rtol=1e-5)
    shift = X.mean(axis=0) @ reference["W"]
    here = project(new) - project(X).mean(axis=0)
    assert np.allclose(np.abs(here), np.abs(new @ reference["W"] - shift), rtol=1e-4, atol=1e-5)
    printed = run(fisher.kernel_fisher(X @ X.T, labels, 0.2 * 40, penalty="coefficients"))
    assert not np.allclose(printed["Lambda"], reference["Lambda"], rtol=1e-3)
    # T13.10: a part of w orthogonal to the data changes no projection
    wide = np.hstack([X, np.zeros((40, 1))])
    w = np.r_[reference["W"][:, 0], 17.0]
    assert np.allclose(wide @ w, X @ reference["W"][:, 0])


@covers("first_encounter X13.b", "first_encounter E13.6")
@kernel_fisher_sides
def test_X13_b_rings_and_the_ridge(fit_kernel_fisher):
    X, labels = rings(7, (1, 1.6), 80, noise=0.35)
    new, truth = rings(77, (1, 1.6), 200, noise=0.35)

    def accuracy(beta):
        _, project = fit_kernel_fisher(gaussian(0.3), X, labels, beta)
        z, z_new = project(X)[:, 0], project(new)[:, 0]
        rule = [run(fisher.nearest_in_line(z, labels, t))["label"] for t in (z, z_new)]
        return np.mean(rule[0] == labels), np.mean(rule[1] == truth)

    weak, strong = accuracy(1e-7), accuracy(0.1)
    assert weak[0] > 0.98  # perfect on the training points,
    assert weak[1] < strong[1]  # worse on new ones
    K = kernels.gaussian(X, X, 0.3)
    assert np.linalg.matrix_rank(fisher.kernel_scatters(K, labels)[0]) <= 78  # N - C: singular
    with pytest.raises(ValueError, match="alpha"):
        kg.KernelFisherDiscriminant(kernel="rbf", alpha=0.0).fit(X, labels)


@covers("first_encounter FE13.7", "first_encounter X13.c", "first_encounter E13.7")
def test_E13_7_squared_distances_without_log_variances_and_priors():
    rng = np.random.default_rng(8)
    labels = np.arange(4000) % 2
    z = np.where(labels, 4 + 2.0 * rng.standard_normal(4000), 0.5 * rng.standard_normal(4000))
    rule = run(fisher.nearest_in_line(z, labels, z))
    midpoint = (z > 2).astype(int)
    assert np.mean(rule["label"] == labels) > np.mean(midpoint == labels)
    s, m = rule["sd"], rule["m"]
    assert np.allclose(rule["distance"], ((z[:, None] - m) / s) ** 2)  # the square of a distance
    bayes = (rule["distance"] + 2 * np.log(s)).argmin(axis=1)
    assert np.mean(bayes == labels) > np.mean(rule["label"] == labels)
    fast = kg.FisherDiscriminant(rule="per_class").fit(z[:, None], labels)
    assert np.mean(fast.predict(z[:, None]) == bayes) > 0.999


@covers("first_encounter X13.d", "first_encounter E13.8")
def test_X13_d_three_classes_by_the_mahalanobis_rule():
    X, labels = classes(9)
    s = run(fisher.fisher(X, labels))
    reference = run(fisher.classify(X, s["mu"], s["W"], s["counts"] / 90))["index"]
    S = fisher.scatters(X, labels)[0] / 90
    gap = X[:, None] - s["mu"][None]
    mahalanobis = np.einsum("ncd,de,nce->nc", gap, np.linalg.inv(S), gap).argmin(axis=1)
    assert (reference == mahalanobis).all()
    assert (kg.FisherDiscriminant().fit(X, labels).predict(X) == reference).all()
    assert np.mean(reference == labels) > 0.7


@covers("first_encounter E13.1")
def test_E13_1_all_n_kappas_must_go():
    X, labels = classes(10, 30)
    K = kernels.gaussian(X, X, 1.5)
    S_W, S_B = fisher.kernel_scatters(K, labels)
    kappa = K.mean(axis=0)
    printed = S_B + (30 - 3) * np.outer(kappa, kappa)  # one per class instead of one per point
    alpha, wrong = (eigh(B, S_W + 0.1 * np.eye(30))[1][:, -1] for B in (S_B, printed))
    assert cosine(alpha, wrong) < 0.9
    linear_S_B = fisher.kernel_scatters(X @ X.T, labels)[1]
    assert np.allclose(linear_S_B, X @ fisher.scatters(X, labels)[1] @ X.T)
    reference = run(fisher.kernel_fisher(K, labels, 0.1, penalty="coefficients"))["A"][:, 0]
    assert cosine(reference, alpha) > 0.999
    fast = kg.KernelFisherDiscriminant(kernel=kg.Gaussian(1.5), alpha=0.1).fit(X, labels)
    right = run(fisher.kernel_fisher(K, labels, 0.1))["A"]
    assert abs(np.corrcoef(fast.transform(X)[:, 0], K @ right[:, 0])[0, 1]) > 0.999
    H = np.eye(30) - 1 / 30
    assert np.allclose((H @ K @ H).mean(axis=0), 0)  # centred, the two agree


@covers("first_encounter E13.4")
def test_E13_4_the_eigenvector_is_the_root_times_w():
    X, labels = classes(11)
    S_W, S_B = fisher.scatters(X, labels)
    w = run(fisher.fisher(X, labels))["W"][:, 0]
    root = np.real(sqrtm(S_B))
    M = root @ np.linalg.inv(S_W) @ root
    lam = ratio(S_W, S_B, w)
    v = root @ w
    assert np.allclose(M @ v, lam * v, atol=1e-6 * np.linalg.norm(v))
    assert np.linalg.norm(M @ w - lam * w) > 0.01 * np.linalg.norm(w)  # w itself is none


@covers("first_encounter E13.5")
def test_E13_5_the_dual_has_the_right_sign():
    """min -1/2 w'S_B w s.t. w'S_W w = 1: the dual is finite for lam S_W - S_B >= 0 only."""
    X, labels = classes(12)
    S_W, S_B = fisher.scatters(X, labels)
    top = run(fisher.fisher(X, labels))["Lambda"][0]
    lams = np.linspace(0.5, 2, 61) * top
    finite = [np.linalg.eigvalsh(lam * S_W - S_B).min() >= -1e-8 for lam in lams]
    dual = np.where(finite, -lams / 2, -np.inf)
    w = run(fisher.fisher(X, labels))["W"][:, 0]
    primal = -ratio(S_W, S_B, w) / 2
    assert np.isclose(dual.max(), primal, rtol=0.03)
    assert dual.max() <= primal + 1e-9
    assert lams[np.argmax(dual)] >= top - 1e-9


@covers("first_encounter FE13.8")
def test_FE13_8_fisher_as_a_constrained_least_squares_problem():
    """The empty section 13.2: min |xi|^2 s.t. Xw + b = y + xi, sums of xi zero in each class."""
    X, labels = classes(13, 60, k=2)
    y = np.where(labels, 1.0, -1.0)
    # zero sums fix the projected means at -1 and 1: then minimise the scatter within
    S_W, _ = fisher.scatters(X, labels)
    gap = np.subtract(*fisher.class_means(X, labels)[::-1])
    w = np.linalg.solve(S_W, gap)
    w = 2 * w / (w @ gap)
    b = -(X @ w).mean() + y.mean()
    xi = X @ w + b - y
    assert max(abs(xi[labels == c].sum()) for c in (0, 1)) < 1e-8
    assert np.isclose(cosine(w, run(fisher.fisher(X, labels))["W"][:, 0]), 1)
    for step in np.random.default_rng(13).standard_normal((50, 3)):
        other = w + 0.1 * (step - step @ gap / (gap @ gap) * gap)  # keeps the means
        assert np.sum((X @ other - (X @ other).mean() - y + y.mean()) ** 2) >= xi @ xi - 1e-9
