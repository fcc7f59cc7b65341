"""A First Encounter, chapter 11: kernel k-means relaxed, and spectral clustering."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from sklearn.metrics import adjusted_rand_score

import kilogram as kg
from kilogram.textbook import k_means, spectral
from kilogram.textbook.state import run

X = np.random.default_rng(0).standard_normal((40, 3))
KERNEL = kg.Gaussian(1.0)
NARROW = kg.Gaussian(0.7)


def two_rings(inner=50, outer=150):
    """Rings of radius 0.5 and 2, evenly filled: K without degrees minds uneven density."""
    counts = [inner, outer]
    angle = 2 * np.pi * np.arange(sum(counts)) / np.repeat(counts, counts)
    noise = 0.05 * np.random.default_rng(0).standard_normal(sum(counts))
    radius = np.repeat([0.5, 2.0], counts) + noise
    side = np.repeat([0, 1], counts)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), side


RINGS, SIDE = two_rings()


def blocks(sizes=(5, 8, 11)):
    """A kernel matrix of perfect clusters: 1 inside, 0 between."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return (labels[:, None] == labels).astype(float), labels


def rotations(k, seed=0):
    """An orthogonal matrix that turns, and one that also mirrors."""
    R = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0]
    mirror = R.copy()
    mirror[:, 0] *= -1
    return R, mirror


@covers("first_encounter FE11.3", "first_encounter T11.7", "first_encounter E11.5")
def test_FE11_3_the_relaxation_is_solved_by_eigenvectors_times_any_orthogonal_matrix():
    K = KERNEL(X)
    reference = run(spectral.relaxation(K, 4))
    H = reference["H"]
    best = np.trace(H.T @ K @ H)
    assert best == pytest.approx(reference["Lambda"].sum())
    for R in rotations(4):
        assert np.trace((H @ R).T @ K @ (H @ R)) == pytest.approx(best)
    assert {round(float(np.linalg.det(R))) for R in rotations(4)} == {-1, 1}  # not rotations only
    for seed in range(20):
        other = np.linalg.qr(np.random.default_rng(seed).standard_normal((40, 4)))[0]
        assert np.trace(other.T @ K @ other) < best
    fast = kg.SpectralClustering(4, affinity=KERNEL, relaxation="trace", random_state=0).fit(X)
    assert fast.bound_ == pytest.approx(best)


@covers("first_encounter E11.5", "first_encounter FE11.5")
def test_E11_5_thresholding_depends_on_the_matrix_that_is_free():
    H, labels = spectral.leading(blocks()[0], 3)[1], blocks()[1]
    R = rotations(3)[0]
    assert ((H @ R) @ R.T).argmax(axis=1).tolist() == H.argmax(axis=1).tolist()
    assert (H @ R).argmax(axis=1).tolist() != H.argmax(axis=1).tolist()
    turned = spectral.unit_rows(H @ R)  # k-means does not mind
    c = run(k_means.lloyd(turned, spectral.farthest(turned, 3)))["c"]
    assert adjusted_rand_score(labels, c) == 1.0


@covers("first_encounter FE11.4", "first_encounter X11.b", "first_encounter D.10")
def test_X11_b_rings_by_eigenvectors_where_k_means_fails():
    reference = run(spectral.spectral_clustering(NARROW(RINGS), 2))["c"]
    fast = kg.SpectralClustering(2, affinity=NARROW, relaxation="trace", random_state=0).fit(RINGS)
    assert adjusted_rand_score(SIDE, reference) == 1.0
    assert adjusted_rand_score(SIDE, fast.labels_) == 1.0
    plain = kg.KMeans(2, n_init=10, random_state=0).fit(RINGS)
    assert adjusted_rand_score(SIDE, plain.labels_) < 0.1


@covers("first_encounter FE11.5", "first_encounter X11.c")
def test_X11_c_a_threshold_works_less_well_than_k_means():
    """Two heaps that mirror each other: the eigenvectors are their sum and their difference."""
    heap = 0.5 * np.random.default_rng(1).standard_normal((60, 2)) + [2.0, 0.0]
    points, side = np.vstack([heap, -heap]), np.repeat([0, 1], 60)
    K = kg.Gaussian(1.0)(points)
    by_means = run(spectral.spectral_clustering(K, 2))["c"]
    by_entry = run(spectral.threshold(K, 2))["c"]
    assert adjusted_rand_score(side, by_means) == 1.0
    assert adjusted_rand_score(side, by_entry) < 0.9
    how = {"affinity": kg.Gaussian(1.0), "relaxation": "trace", "random_state": 0}
    for assign, least, most in (("kmeans", 1, 1), ("cluster_qr", 1, 1), ("threshold", -1, 0.9)):
        model = kg.SpectralClustering(2, assign_labels=assign, **how).fit(points)
        assert least <= adjusted_rand_score(side, model.labels_) <= most


@covers("first_encounter X11.d")
def test_X11_d_rows_lie_on_the_unit_sphere_in_two_heaps():
    H = run(spectral.spectral_clustering(NARROW(RINGS), 2))["H_hat"]
    assert np.allclose((H**2).sum(axis=1), 1)
    between = np.abs(H[SIDE == 0] @ H[SIDE == 1].T)
    within = np.abs(H[SIDE == 0] @ H[SIDE == 0].T)
    assert between.max() < 0.5 < 0.9 < within.min()
    fast = kg.SpectralClustering(2, affinity=NARROW, relaxation="trace", random_state=0).fit(RINGS)
    assert np.allclose(np.abs(fast.embedding_ @ fast.embedding_.T), np.abs(H @ H.T), atol=1e-5)


@covers("first_encounter X11.e")
def test_X11_e_the_gap_between_the_relaxation_and_the_best_memberships():
    K = KERNEL(X)
    gaps = []
    for k in (1, 2, 4, 8):
        bound = float(run(spectral.relaxation(K, k))["bound"])
        cost = kg.KernelKMeans(k, kernel=KERNEL, n_init=20, random_state=0).fit(X).inertia_
        gaps.append(cost - bound)
    assert min(gaps) > 0
    perfect, labels = blocks()
    assert float(run(spectral.relaxation(perfect, 3))["bound"]) == pytest.approx(0.0, abs=1e-9)
    assert run(k_means.kernel_k_means(perfect, labels)).objective == pytest.approx(0.0, abs=1e-9)


@covers("first_encounter T11.8")
def test_T11_8_perfect_blocks_make_the_relaxation_tight_and_rows_equal_or_orthogonal():
    K, labels = blocks()
    H = run(spectral.spectral_clustering(K, 3))["H_hat"]
    assert np.allclose(H @ H.T, K)  # 1 for the same cluster, 0 for another
    fast = kg.SpectralClustering(3, affinity="precomputed", relaxation="trace", random_state=0)
    assert adjusted_rand_score(labels, fast.fit(K).labels_) == 1.0
    assert fast.bound_ == pytest.approx(np.trace(K))


@covers("first_encounter E11.3")
def test_E11_3_eigenvectors_of_the_largest_eigenvalues_and_orthonormal():
    K = KERNEL(X)
    Lambda, H = spectral.leading(K, 4)
    assert np.allclose(H.T @ H, np.eye(4))
    assert np.allclose(Lambda, np.sort(np.linalg.eigvalsh(K))[::-1][:4])
    scaled = H * np.sqrt(np.arange(1, 5))  # proportional to them, but not of length 1
    assert np.trace(scaled.T @ K @ scaled) > Lambda.sum()  # and no bound on anything


@covers("first_encounter E11.6")
def test_E11_6_rows_are_scaled_by_the_columns_kept_and_zeros_stay():
    U = spectral.leading(KERNEL(X), 40)[1]
    assert np.allclose((U**2).sum(axis=1), 1)  # over all columns nothing would be left to scale
    H = spectral.unit_rows(U[:, :3])
    assert np.allclose((H**2).sum(axis=1), 1)
    assert not np.allclose((U[:, :3] ** 2).sum(axis=1), 1)
    assert (spectral.unit_rows(np.zeros((2, 3))) == 0).all()
    K = np.zeros((7, 7))
    K[:6, :6] = blocks((3, 3))[0]  # the last row is like no other, not even itself
    fast = kg.SpectralClustering(2, affinity="precomputed", relaxation="trace", random_state=0)
    assert np.isfinite(fast.fit(K).embedding_).all()


@covers("first_encounter E11.7", "cookbook P8")
def test_E11_7_degrees_make_another_clustering():
    """A dense heap and a thin one: without degrees the dense one is cut in two."""
    rng = np.random.default_rng(0)
    heap, thin = rng.standard_normal((300, 2)), rng.normal([8.0, 0.0], 1.0, (30, 2))
    points, side = np.vstack([heap, thin]), np.repeat([0, 1], [300, 30])
    kernel = kg.Gaussian(1.0)
    scores = {}
    versions = {"trace": spectral.spectral_clustering, "ncut": spectral.normalised_cut}
    for how, textbook in versions.items():
        reference = run(textbook(kernel(points), 2))["c"]
        fast = kg.SpectralClustering(2, affinity=kernel, relaxation=how, random_state=0).fit(points)
        scores[how] = [adjusted_rand_score(side, c) for c in (reference, fast.labels_)]
    assert scores["ncut"] == [1.0, 1.0]
    assert max(scores["trace"]) < 0.5
