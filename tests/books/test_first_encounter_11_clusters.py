"""A First Encounter, chapter 11: k-means and kernel k-means by the trace form."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import k_means
from kilogram.textbook.state import run

X = np.random.default_rng(0).standard_normal((40, 3))
LABELS = np.arange(40) % 4
KERNEL = kg.Gaussian(1.0)


def memberships(labels):
    Z = np.eye(labels.max() + 1)[labels]
    return Z, np.diag(1 / Z.sum(axis=0))


@covers("first_encounter FE11.1", "first_encounter FE11.2", "first_encounter T11.5")
def test_FE11_2_the_cost_is_a_difference_of_traces():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    K, labels = points @ points.T, np.array([0, 0, 1, 1])
    Z, L = memberships(labels)
    second = np.trace(np.sqrt(L) @ Z.T @ K @ Z @ np.sqrt(L))
    assert np.allclose((np.trace(K), second), (222.0, 221.0))
    for first in ([0, 1, 0, 1], [0, 1, 1, 1]):
        cost = run(k_means.kernel_k_means(K, np.array(first))).objective
        assert cost == pytest.approx(1.0) or cost == pytest.approx(182 / 3)
    twin = kg.KernelKMeans(2, kernel=kg.Linear(), random_state=0).fit(points)
    assert twin.inertia_ == pytest.approx(1.0)
    assert kg.KMeans(2, random_state=0).fit(points).inertia_ == pytest.approx(1.0)


@covers("first_encounter FE11.2", "first_encounter D.9")
def test_FE11_2_distances_from_kernel_values():
    Phi, (Z, L) = X, memberships(LABELS)
    s = next(s for s in k_means.kernel_k_means(Phi @ Phi.T, LABELS) if "D" in s.arrays)
    means = L @ Z.T @ Phi
    assert np.allclose(s["D"], ((Phi[:, None] - means) ** 2).sum(axis=2))
    fast = kg.KernelKMeans(4, kernel=KERNEL, init=LABELS).fit(X)
    book = run(k_means.kernel_k_means(KERNEL(X), LABELS))
    assert (fast.labels_ == book["c"]).all()
    assert fast.inertia_ == pytest.approx(book.objective)


@covers("first_encounter T11.2", "first_encounter T11.3", "first_encounter T11.4")
def test_T11_3_the_memberships_make_a_projection_on_the_means():
    Z, L = memberships(LABELS)
    assert np.allclose(Z.T @ Z, np.linalg.inv(L))
    P = Z @ L @ Z.T
    for A in (P, np.eye(40) - P):
        assert np.allclose(A @ A, A)
    M = X.T @ P  # points are columns in the text
    assert np.allclose(M.T, [X[c == LABELS].mean(axis=0) for c in LABELS])
    fast = kg.KernelKMeans(4, kernel=kg.Linear(), init=LABELS).fit(X)
    Z, L = memberships(fast.labels_)
    assert np.allclose(fast.dual_centers_, Z @ L)  # the means as combinations of the points
    means = kg.KMeans(4, init=L @ Z.T @ X, max_iter=1).fit(X).cluster_centers_
    assert np.allclose(fast.dual_centers_.T @ X, means)


@covers("first_encounter T11.6")
def test_T11_6_no_clustering_costs_less_than_the_eigenvalues_left_over():
    K = KERNEL(X)
    values = np.linalg.eigvalsh(K)[::-1]
    for k in (2, 4, 7):
        bound = np.trace(K) - values[:k].sum()
        model = kg.KernelKMeans(k, kernel=KERNEL, n_init=10, random_state=0).fit(X)
        assert bound <= model.inertia_ + 1e-9


@covers("first_encounter X11.f")
def test_X11_f_the_linear_kernel_gives_k_means():
    start = np.array([X[c == LABELS].mean(axis=0) for c in range(4)])
    one = kg.KMeans(4, init=start, tol=0).fit(X)
    two = kg.KernelKMeans(4, kernel=kg.Linear(), init=LABELS).fit(X)
    assert (one.labels_ == two.labels_).all()
    assert one.inertia_ == pytest.approx(two.inertia_)


@covers("first_encounter E11.1")
def test_E11_1_each_row_of_Z_is_a_case():
    Z = next(s for s in k_means.kernel_k_means(X @ X.T, LABELS) if "Z" in s.arrays)["Z"]
    assert Z.shape == (40, 4)
    assert (Z[np.arange(40), LABELS] == 1).all()
    assert (Z.sum(axis=1) == 1).all()  # one 1 in every row
    assert not (Z.sum(axis=0) == 1).all()  # as printed: one 1 in every column


@covers("first_encounter E11.2", "first_encounter E11.8")
def test_E11_2_a_local_minimum_only_so_starts_matter():
    points = np.array([[0.0, 0.0], [0.0, 1.0], [6.0, 0.0], [6.0, 1.0]])
    bad = kg.KMeans(2, init=np.array([[3.0, 0.0], [3.0, 1.0]])).fit(points)
    best = kg.KMeans(2, init="random", n_init=20, random_state=0).fit(points)
    assert bad.inertia_ == pytest.approx(36.0)  # it rests, far above
    assert best.inertia_ == pytest.approx(1.0)
