"""Lecture notes, L22 and L23, summary, section 8, and slides, lecture 10: k-means and its kin."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from sklearn.datasets import make_blobs

import kilogram as kg
from kilogram.textbook import k_means, robust
from kilogram.textbook.state import run


def within(X, c):
    """D_in = 1/2 sum over pairs of one cluster of |x - x'|^2, and the plain sum of squares."""
    groups = [X[c == k] for k in np.unique(c)]
    pairs = [((g[:, None] - g[None]) ** 2).sum() / 2 for g in groups]
    squares = [((g - g.mean(axis=0)) ** 2).sum() for g in groups]
    return float(sum(pairs)), float(sum(squares)), [len(g) for g in groups], squares


@covers("lecture_notes L22.M2")
def test_L22_M2_mean_and_medoid():
    X = np.random.default_rng(0).standard_normal((30, 2))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    s = run(k_means.k_medoids(D, [0]))
    assert s["medoids"][0] == D.sum(axis=0).argmin()
    fast = kg.KMedoids(1).fit(X)
    assert fast.medoid_indices_[0] == D.sum(axis=0).argmin()
    assert fast.inertia_ == pytest.approx(D.sum(axis=0).min())
    assert np.allclose(kg.KMeans(1).fit(X).cluster_centers_[0], X.mean(axis=0))


@covers("lecture_notes L23.M1", "lecture_notes L23.T1")
def test_L23_T1_distances_within_and_between_add_up():
    X = np.random.default_rng(1).standard_normal((40, 3))
    c = np.arange(40) % 5
    D_in, _, counts, squares = within(X, c)
    assert D_in == pytest.approx(float(np.dot(counts, squares)))
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    between = D[c[:, None] != c[None]].sum() / 2
    assert D.sum() / 2 == pytest.approx(D_in + between)
    model = kg.KMeans(5, n_init=1, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(within(X, model.labels_)[1])


@covers("lecture_notes L23.X1")
def test_L23_X1_k_means_lowers_the_sum_of_squares_not_D_in():
    rng, rises = np.random.default_rng(0), 0
    for _ in range(400):
        X = rng.standard_normal((12, 1)) * rng.choice([1.0, 4.0], (12, 1))
        c = [s["c"] for s in k_means.lloyd(X, X[:3]) if s.step.startswith("2")]
        seen = [within(X, labels) for labels in c]
        assert (np.diff([squares for _, squares, _, _ in seen]) <= 1e-9).all()
        rises += (np.diff([D_in for D_in, *_ in seen]) > 1e-9).any()
    assert rises > 5


@covers("lecture_notes L23.M2", "lecture_notes L23.E1", "lecture_notes L23.M3", "summary A8.2")
def test_L23_M3_far_starts_beat_random_ones():
    X, _ = make_blobs(300, 2, centers=8, cluster_std=0.5, random_state=0)
    rng = np.random.default_rng(0)
    spread, drawn = [], []
    for _ in range(30):
        spread.append(run(k_means.lloyd(X, run(k_means.plus_plus(X, 8, rng))["mu"])).objective)
        drawn.append(run(k_means.lloyd(X, X[rng.choice(300, 8, replace=False)])).objective)
    assert np.mean(spread) < np.mean(drawn)
    s = run(k_means.plus_plus(X, 3, rng))
    assert s["p"].sum() == pytest.approx(1.0)
    assert (s["p"][s["chosen"][:2]] == 0).all()  # a centre is at no distance from itself
    assert kg.KMeans(8, n_init=10, random_state=0).fit(X).inertia_ <= min(drawn) + 1e-6


@covers("lecture_notes L23.M4")
def test_L23_M4_medoids_take_any_distance():
    rng = np.random.default_rng(2)
    X = np.r_[rng.standard_normal((20, 2)), 6 + rng.standard_normal((20, 2)), [[40.0, 40.0]]]
    D = np.abs(X[:, None] - X[None]).sum(axis=2)  # city block
    costs = [s.objective for s in k_means.k_medoids(D, [0, 1]) if s.objective is not None]
    assert (np.diff(costs) <= 1e-9).all()
    s = run(k_means.k_medoids(D, [0, 25]))
    assert len(set(s["c"][:20])) == len(set(s["c"][20:])) == 1  # the outlier drags no medoid
    assert all(i < 40 for i in s["medoids"])
    for model, rows in ((kg.KMedoids(2, metric="cityblock", random_state=0), X),
                        (kg.KMedoids(2, metric="precomputed", random_state=0), D)):  # fmt: skip
        model.fit(rows)
        assert model.inertia_ <= s.objective + 1e-9  # swaps go on where the alternation rests
        assert (np.sort(model.medoid_indices_) == np.sort(s["medoids"])).all()
        assert len(set(model.labels_[:20])) == len(set(model.labels_[20:])) == 1
    dragged = kg.KMeans(2, n_init=10, random_state=0).fit(X)
    assert (np.bincount(dragged.labels_) == 1).any()  # k-means gives it a centre of its own


@covers("lecture_notes L23.M6", "lecture_notes L23.E3")
def test_L23_M6_clusters_around_lines():
    rng = np.random.default_rng(3)
    t, own = rng.uniform(-5, 5, 200), np.arange(200) % 2
    X = np.where(own[:, None], np.c_[t, t], np.c_[t, -t]) + 0.05 * rng.standard_normal((200, 2))
    best = min(
        (run(k_means.k_lines(X, rng.integers(0, 2, 200))) for _ in range(10)),
        key=lambda s: s.objective,
    )
    same = np.mean(best["c"] == own)
    assert max(same, 1 - same) > 0.95
    assert kg.KMeans(2, n_init=5, random_state=0).fit(X).inertia_ > 20 * best.objective
    fast = kg.KLines(2, random_state=0).fit(X)
    assert fast.inertia_ == pytest.approx(best.objective)
    assert np.mean(fast.labels_ == best["c"]) in (0.0, 1.0)


@covers("lecture_notes L23.E3")
def test_L23_E3_three_noisy_lines_by_k_lines_and_by_ransac_in_turn():
    """RANSAC takes a line, removes its points and looks again; k-lines fits all three together."""
    rng = np.random.default_rng(4)
    turn, away = np.array([0.2, 1.3, 2.4]), np.array([0.5, -1.0, 1.5])
    own, t = np.arange(240) % 3, rng.uniform(-5, 5, 240)
    normal = np.c_[-np.sin(turn), np.cos(turn)]
    X = t[:, None] * np.c_[np.cos(turn), np.sin(turn)][own] + (away[:, None] * normal)[own]
    X = X + 0.05 * rng.standard_normal((240, 2))
    together = kg.KLines(3, random_state=0).fit(X)
    left, lines = X, []
    for _ in range(3):
        s = run(robust.ransac(left, 0.15, 60, rng, robust.line, robust.line_distance, 2))
        lines.append(s["model"])
        left = left[~s["inliers"]]

    def worst(normals, offsets):
        """The largest error of a true line: of its direction and of its distance from 0."""
        cosine = np.abs(normals @ normal.T)
        found = cosine.argmax(axis=0)
        assert len(set(found)) == 3
        return max((1 - cosine.max(axis=0)).max(), np.abs(np.abs(offsets[found]) - abs(away)).max())

    n = together.directions_ @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert worst(n, (n * together.points_).sum(axis=1)) < 0.03
    lines = np.array(lines)
    assert worst(lines[:, :2], lines[:, 2]) < 0.1
    distances = np.abs(X @ lines[:, :2].T - lines[:, 2]).min(axis=1)
    assert together.inertia_ < (distances**2).sum()


@covers("summary A8.1", "slides B10.1", "summary C1")
def test_A8_1_resting_centres_and_repeated_labels_are_one_stop():
    X, _ = make_blobs(100, 2, centers=3, random_state=1)
    states = list(k_means.lloyd(X, X[:3]))
    centres = [s["mu"] for s in states]
    assert np.array_equal(centres[-1], centres[-2])  # labels repeat: the means are those again
    fast = kg.KMeans(3, init=X[:3], tol=0).fit(X)
    assert np.allclose(fast.cluster_centers_, centres[-1])
