"""Slides, lecture 10, and lecture notes, L22 and L23: trees of clusters, and how many there are."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from book_checks import covers
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import kilogram as kg
from kilogram.functions.distances import city_block, hamming
from kilogram.functions.encodings import ordinal
from kilogram.textbook import choose_k, hierarchical
from kilogram.textbook.state import run

matplotlib.use("Agg")
THREE = [[0.0, 0.0], [8.0, 0.0], [4.0, 7.0]]
X, Y = make_blobs(90, centers=THREE, random_state=0)
LINKAGES = ["single", "complete", "average", "medoid"]


@covers("lecture_notes L22.M3", "lecture_notes L22.T3", "slides B10.9")
@pytest.mark.parametrize("name", LINKAGES)
def test_L22_M3_all_linkages_agree_on_separate_clusters(name):
    rows, y = X[::2], Y[::2]
    D = cdist(rows, rows)
    s = run(hierarchical.agglomerate(D, name))
    assert len(s["heights"]) == len(rows) - 1  # n - 1 mergers
    if name != "medoid":
        assert (np.diff(s["heights"]) >= -1e-12).all()
    book = hierarchical.cut(D, name, 3)
    fast = kg.AgglomerativeClustering(3, linkage=name).fit(rows)
    assert adjusted_rand_score(y, book) == adjusted_rand_score(y, fast.labels_) == 1.0
    np.testing.assert_allclose(fast.distances_, s["heights"])
    height = (s["heights"][-3] + s["heights"][-2]) / 2  # cut there: three are left
    cut = kg.AgglomerativeClustering(None, linkage=name, distance_threshold=height).fit(rows)
    assert adjusted_rand_score(book, cut.labels_) == 1.0


@covers("lecture_notes L22.M3", "lecture_notes L22.T3")
def test_L22_M3_means_as_representatives():
    rows, y = X[::3], Y[::3]
    D = cdist(rows, rows)
    s = run(hierarchical.agglomerate(D, "mean", rows))
    fast = kg.AgglomerativeClustering(3, linkage="centroid").fit(rows)
    np.testing.assert_allclose(np.sort(fast.distances_), np.sort(s["heights"]))
    assert adjusted_rand_score(y, hierarchical.cut(D, "mean", 3, rows)) == 1.0
    assert adjusted_rand_score(y, fast.labels_) == 1.0


@covers("lecture_notes L22.M4", "lecture_notes L22.T3", "slides B10.9")
def test_L22_M4_single_linkage_is_the_spanning_tree_without_its_longest_edges():
    D = cdist(X, X)
    s = run(hierarchical.kruskal(D))
    fast = kg.AgglomerativeClustering(4, linkage="single").fit(X)
    np.testing.assert_allclose(fast.distances_, s["lengths"])
    states = list(hierarchical.kruskal(D))
    assert adjusted_rand_score(states[len(X) - 4]["c"], fast.labels_) == 1.0


@covers("lecture_notes L22.G1", "lecture_notes L22.E2")
def test_L22_G1_the_widest_step_is_a_good_cut():
    s = run(hierarchical.agglomerate(cdist(X, X), "average"))
    assert hierarchical.widest_step(s["heights"]) == 3
    model = kg.AgglomerativeClustering("gap", linkage="average").fit(X)
    assert model.n_clusters_ == 3
    brackets = kg.dendrogram(model, max_leaves=len(X)).collections[0].get_segments()
    assert sorted(b[:, 1].max() for b in brackets) == pytest.approx(model.distances_)


@covers("lecture_notes L22.E3", "lecture_notes L22.T3", "slides B10.9")
def test_L22_E3_single_chains_and_complete_is_compact():
    """Two clouds and a bridge of points: single linkage runs over it, complete does not."""
    rng = np.random.default_rng(0)
    clouds = rng.standard_normal((120, 2)) + 9 * np.outer(np.arange(120) >= 60, [1, 0])
    bridge = np.c_[np.arange(1.5, 8.0, 0.5), np.zeros(13)]
    rows, y = np.r_[clouds, bridge], np.repeat([0, 1, -1], [60, 60, 13])
    found = {
        name: kg.AgglomerativeClustering(2, linkage=name).fit(rows).labels_ for name in LINKAGES
    }
    agreed = {name: adjusted_rand_score(y[:120], c[:120]) for name, c in found.items()}
    assert agreed["single"] < 0.1
    assert min(agreed["complete"], agreed["average"]) > 0.8
    widths = {
        name: max(cdist(g, g).max() for g in (rows[c == 0], rows[c == 1]))
        for name, c in found.items()
    }
    assert widths["complete"] == min(widths.values())
    # complete linkage parts points that are nearer than others it puts together
    line = np.array([0.0, 1.0, 2.1, 3.3, 4.6, 6.0])[:, None]
    c = kg.AgglomerativeClustering(2, linkage="complete").fit(line).labels_
    D = cdist(line, line)
    assert D[c[:, None] != c[None]].min() < D[c[:, None] == c[None]].max()


@covers("slides B10.9")
def test_B10_9_groups_of_genes_in_a_synthetic_expression_matrix():
    rng = np.random.default_rng(1)
    profiles = np.array([np.sin(np.linspace(0, t, 12)) for t in (3.0, 6.0, 12.0, 20.0)])
    own = rng.integers(0, 4, 80)
    genes = profiles[own] * rng.uniform(0.5, 2.0, (80, 1)) + 0.1 * rng.standard_normal((80, 12))
    model = kg.AgglomerativeClustering(4, linkage="average", metric="correlation").fit(genes)
    assert adjusted_rand_score(own, model.labels_) > 0.95


@covers("slides B10.4", "slides B10.6")
def test_B10_4_three_separate_clouds_are_stable_as_three():
    s = run(choose_k.instability(X, 5, 8, np.random.default_rng(0)))
    assert s["instability"][1] == 0.0  # k = 3
    assert (np.delete(s["instability"], 1) > 0.02).all()
    found = kg.choose_k(
        X, 5, criteria=["instability"], n_resamples=8, n_references=4, random_state=0
    )
    assert found.choices["instability"] == 3
    assert found.table["instability"][2] == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(found.table["instability"][0])  # k = 1 is trivially stable
    once = kg.KMeans(init="random", n_init=1)  # a single start: bad luck looks like instability
    found = kg.choose_k(
        X, 3, criteria=["instability"], estimator=once, n_references=2, random_state=0
    )
    assert found.table["instability"][2] > 0.02


@covers("slides B10.5")
def test_B10_5_a_resample_outside_the_loop_hides_instability():
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(80, 2))
    printed = run(choose_k.instability(rows, 4, 8, np.random.default_rng(1), inside=False))
    right = run(choose_k.instability(rows, 4, 8, np.random.default_rng(1)))
    assert np.mean(printed["instability"]) < 0.5 * np.mean(right["instability"])
    found = kg.choose_k(rows, 4, criteria=["instability"], n_references=2, random_state=0)
    ours = found.table["instability"][1:]
    np.testing.assert_allclose(ours.mean(), np.mean(right["instability"]), rtol=0.4)
    assert (ours > 0.5 * np.asarray(right["instability"])).all()


@covers("slides B10.11")
def test_B10_11_distance_of_clusterings():
    rng = np.random.default_rng(2)
    a, b, c = rng.integers(0, 3, (3, 40))
    assert choose_k.clustering_distance(a, (a + 1) % 3) == 0.0
    assert choose_k.clustering_distance(a, b) == choose_k.clustering_distance(b, a)
    assert kg.clustering_distance(a, b) == pytest.approx(choose_k.clustering_distance(a, b))
    ab, bc, ac = (kg.clustering_distance(*pair) for pair in ((a, b), (b, c), (a, c)))
    assert ac <= ab + bc + 1e-12


@covers("slides B10.12")
def test_B10_12_results_depend_on_the_distance():
    length = np.r_[np.linspace(0.1, 1, 8), np.linspace(9, 10, 8)]
    turn = np.tile([0.0, 0.6], 8)
    rows = length[:, None] * np.c_[np.cos(turn), np.sin(turn)]
    by_length = kg.KMedoids(2, init="build").fit(rows).labels_
    by_angle = kg.KMedoids(2, metric="cosine", init="build").fit(rows).labels_
    assert adjusted_rand_score(turn > 0, by_angle) == 1.0
    assert adjusted_rand_score(length > 5, by_length) == 1.0


@covers("slides B10.7", "slides B10.8")
def test_B10_7_distances():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((6, 5))
    np.testing.assert_allclose(city_block(A), cdist(A, A, "cityblock"))
    far = np.vstack([A, A[0] + 50.0 * np.eye(5)[0]])
    fraction = cdist(far, far, "cityblock")[0, -1] / cdist(far, far, "sqeuclidean")[0, -1]
    assert fraction < 0.1  # an outlier weighs less by the city block than by squares
    words = np.array([[0, 1, 2], [0, 2, 2], [1, 0, 0]])
    np.testing.assert_array_equal(hamming(words)[0], [0, 1, 3])
    np.testing.assert_allclose(ordinal(np.array([1, 2, 3]), 3), [1 / 3, 2 / 3, 1])  # low to high
    # standardised: sum 0 and sum of squares 1 in each vector; then |x - y|^2 = 2 (1 - r)
    Z = A - A.mean(axis=1, keepdims=True)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    r = np.corrcoef(A)
    np.testing.assert_allclose(cdist(Z, Z, "sqeuclidean"), 2 * (1 - r), atol=1e-12)
    cosine = A @ A.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(A, axis=1))
    assert not np.allclose(cosine, r)  # only after centring


@covers("lecture_notes L23.M5", "lecture_notes L23.E2", "summary A8.2")
def test_L23_M5_elbow_and_a_case_without_one():
    s = run(choose_k.elbow(X, 6, np.random.default_rng(0)))
    assert s["choice"] == 3
    found = kg.choose_k(X, 6, criteria=["elbow"], random_state=0)
    assert found.k == 3
    np.testing.assert_allclose(found.table["elbow"][:3], s["fraction"][:3], rtol=1e-6)
    flat = np.random.default_rng(0).uniform(size=(90, 2))
    smooth = run(choose_k.elbow(flat, 6, np.random.default_rng(0)))["fraction"]
    fall, even = -np.diff(s["fraction"]), -np.diff(smooth)
    assert (fall[:-1] / fall[1:]).max() > 10  # after the third cluster hardly anything is left
    assert (even[:-1] / even[1:]).max() < 5  # no step stands out
    assert s["sharpest"] == 3  # the other reading of an elbow: where it bends most
    assert choose_k.thumb(len(X)) == choose_k.thumb(len(flat)) == 7  # it never looks at the points


@covers("lecture_notes L23.X2")
def test_L23_X2_held_out_D_in_falls_with_every_cluster():
    """D_in / D on held-out points favours ever more clusters: it needs an elbow or a penalty."""
    fractions = run(choose_k.held_out(X, 8, 3, np.random.default_rng(0)))["fraction"]
    assert fractions[0] == pytest.approx(1.0)
    assert (np.diff(fractions[[0, 2, 4, 7]]) < 0).all()  # in trend: the most clusters seem the best
    assert 1 + np.argmin(fractions) > 3
    assert 2 + np.argmax(np.diff(fractions, 2)) == 3  # its elbow knows better
    bits = [
        run(choose_k.two_part_code(X, kg.KMeans(k, n_init=5, random_state=0).fit(X).labels_))
        for k in (1, 3, 6, 12)
    ]
    assert np.argmin([s.objective for s in bits]) == 1  # the code charges for clusters: 3


def test_the_code_of_choose_k_is_the_books():
    found = kg.choose_k(X, 4, criteria=["compression"], random_state=0)
    reference = [
        run(choose_k.two_part_code(X, kg.KMeans(k, n_init=5, random_state=0).fit(X).labels_))
        for k in (1, 2, 3, 4)
    ]
    want = np.array([s.objective for s in reference])
    np.testing.assert_allclose(found.table["compression"], want - want[0], rtol=0.02, atol=2)
