"""choose_k: right numbers, honest verdicts; silhouettes and distances of clusterings; bad input."""

from __future__ import annotations

import io
import itertools

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples as peer_samples
from sklearn.metrics import silhouette_score as peer_score

import kilogram as kg

matplotlib.use("Agg")
QUICK = {"n_references": 4, "n_resamples": 6, "random_state": 0}
FOUR = ["gap", "silhouette", "instability", "compression"]
rng = np.random.default_rng(0)
NOTHING = {
    "uniform": rng.uniform(size=(200, 2)),
    "uniform in five dimensions": rng.uniform(size=(200, 5)),
    "one Gaussian": rng.standard_normal((200, 2)),
    "a long Gaussian": rng.standard_normal((200, 2)) * [8.0, 1.0],
    "a line": rng.standard_normal((150, 1)),
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_structure_is_reported(name):
    found = kg.choose_k(NOTHING[name], 5, criteria=[*FOUR, "elbow"], **QUICK)
    assert (found.k, found.structure) == (1, False)
    assert "No structure found" in found.verdict
    assert found.choices["elbow"] > 1  # the elbow bends all the same


@pytest.mark.parametrize("k", [2, 3, 5])
def test_separate_blobs_are_counted(k):
    turn = 2 * np.pi * np.arange(k) / k
    centres = 2.5 * k * np.c_[np.cos(turn), np.sin(turn)]
    X, _ = make_blobs(50 * k, centers=centres, cluster_std=0.8, random_state=k)
    found = kg.choose_k(X, 6, criteria=[*FOUR, "bic"], **QUICK)
    assert found.structure
    assert found.choices == dict.fromkeys([*FOUR, "bic"], k)
    assert found.k == k
    assert f"{k} clusters" in str(found)


def test_table_and_picture():
    X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [4, 8]], random_state=0)
    found = kg.choose_k(X, 4, criteria=["elbow", "gap", "silhouette"], n_references=3)
    assert list(found.table) == ["k", "elbow", "gap", "silhouette"]
    np.testing.assert_array_equal(found.table["k"], [1, 2, 3, 4])
    assert found.table["elbow"][0] == 1.0
    assert np.isnan(found.table["silhouette"][0])
    figure = found.plot()
    assert sum(ax.get_visible() for ax in figure.axes) == 3
    assert {ax.get_xlabel() for ax in figure.axes} == {"number of clusters"}
    assert str(found).count("\n") >= 5


def test_the_words_of_a_picture_stay_on_it():
    """The verdict of a narrow one is broken into lines; titles of a panel do not meet."""
    found = kg.choose_k(NOTHING["a line"], 3, criteria=["gap"], n_references=3, random_state=0)
    figure = found.plot()
    figure.savefig(io.BytesIO(), format="png")
    across = figure.bbox.width
    words = figure.texts[0].get_window_extent()
    assert words.x0 >= 0
    assert words.x1 <= across
    ax = figure.axes[0]
    assert ax._left_title.get_window_extent().x1 < ax._right_title.get_window_extent().x0
    five = kg.choose_k(NOTHING["a line"], 3, criteria=[*FOUR, "elbow"], **QUICK).plot()
    assert len(five.axes) == 6  # two rows of three, not four and one


def test_another_estimator_and_many_rows():
    X, _ = make_blobs(600, centers=[[0, 0], [9, 0]], random_state=0)
    ask = {"criteria": ["silhouette", "compression"], "n_references": 3, "random_state": 0}
    medoids = kg.choose_k(X, 4, estimator=kg.KMedoids(), max_rows=200, **ask)
    assert medoids.k == 2
    assert kg.choose_k(sp.csr_array(X), 4, max_rows=100, **ask).k == 2
    with pytest.raises(ValueError, match="n_clusters or no predict"):
        kg.choose_k(X, estimator=kg.PCA())


def test_degenerate_rows():
    assert kg.choose_k(np.ones((9, 2))).k == 1
    two = kg.choose_k(np.repeat([[0.0], [1.0]], 20, axis=0), criteria=FOUR, **QUICK)
    assert len(two.ks) == 2
    assert np.isfinite(two.table["compression"]).all()
    few = kg.choose_k(rng.standard_normal((5, 3)), 10, criteria=FOUR, **QUICK)
    assert few.ks[-1] == 5
    assert all(np.isfinite(v[1:-1]).all() for v in few.table.values())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k_max": 1}, "k_max"),
        ({"criteria": ["best"]}, "criteria"),
        ({"criteria": "gap"}, "criteria"),
        ({"criteria": []}, "criteria"),
        ({"n_references": 0}, "n_references"),
        ({"n_resamples": 1.5}, "n_resamples"),
    ],
)
def test_bad_input(params, message):
    with pytest.raises(ValueError, match=message):
        kg.choose_k(NOTHING["uniform"], **params)


@pytest.mark.parametrize("bad", [[[np.nan, 1.0], [2.0, 3.0]], [[1.0, 2.0]], [1.0, 2.0]])
def test_bad_rows(bad):
    with pytest.raises(ValueError, match=r"(?i)nan|sample|2D"):
        kg.choose_k(bad)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean", "precomputed"])
@pytest.mark.parametrize("n", [5, 130, 1100])
def test_silhouettes_equal_scikit_learn(metric, n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    labels = np.arange(n) % 3
    labels[-1] = 7  # a cluster of one
    if metric == "precomputed":
        X = np.abs(X[:, None] - X[None]).sum(axis=2)
    ours = kg.silhouette_samples(X, labels, metric=metric)
    np.testing.assert_allclose(ours, peer_samples(X, labels, metric=metric), atol=1e-9)
    assert kg.silhouette_score(X, labels, metric=metric) == pytest.approx(ours.mean())


def test_weights_of_silhouettes_are_repetitions():
    X, labels = rng.standard_normal((40, 2)), np.arange(40) % 3
    w = rng.integers(1, 4, 40)
    many = kg.silhouette_score(np.repeat(X, w, axis=0), np.repeat(labels, w))
    # a row and its copy are sqrt(eps) apart, or 0, as the squares happen to round
    assert kg.silhouette_score(X, labels, sample_weight=w) == pytest.approx(many, abs=1e-8)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_silhouettes_need_two_clusters(labels):
    with pytest.raises(ValueError, match="Valid values"):
        kg.silhouette_score(np.eye(4), labels)


def test_distance_of_clusterings():
    a, b = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    ways = itertools.permutations(range(5), 4)
    least = min(np.mean([p[i] != j for i, j in zip(a, b, strict=True)]) for p in ways)
    assert kg.clustering_distance(a, b) == pytest.approx(least)
    assert kg.clustering_distance(a, b) == kg.clustering_distance(b, a)
    assert kg.clustering_distance(a, (a + 2) % 4) == 0
    w = rng.integers(1, 4, 60)
    many = kg.clustering_distance(np.repeat(a, w), np.repeat(b, w))
    assert kg.clustering_distance(a, b, w) == pytest.approx(many)
    with pytest.raises(ValueError, match="same rows"):
        kg.clustering_distance(a, b[:-1])


def test_silhouettes_of_frames_and_of_what_makes_none():
    """A data frame went to the slices as it was; two mistakes met errors from further down."""
    pd = pytest.importorskip("pandas")
    rows = np.random.default_rng(3).normal(size=(30, 3))
    labels = np.arange(30) % 3
    reference = kg.silhouette_samples(pd.DataFrame(rows), labels)
    np.testing.assert_allclose(reference, kg.silhouette_samples(rows, labels))
    with pytest.raises(ValueError, match="weights are zero"):
        kg.silhouette_score(rows, labels, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="square matrix"):
        kg.silhouette_score(rows, labels, metric="precomputed")


def test_more_clusters_than_rows_may_be_asked_for():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    found = kg.choose_k(rows, 100, criteria=("elbow", "silhouette"), random_state=0)
    assert "silhouette" in str(found)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("sparse", [False, True])
def test_silhouettes_do_not_depend_on_the_unit(metric, sparse):
    """They were 0 at 1e200 and at 1e-200, where squares leave the range of floats."""
    X = np.random.default_rng(0).standard_normal((30, 3)) + 5 * np.eye(3)[np.arange(30) % 3]
    form = sp.csr_array if sparse and metric == "euclidean" else np.asarray
    want = kg.silhouette_samples(form(X), np.arange(30) % 3, metric=metric)
    assert want.mean() > 0.3
    for far in (2.0**700, 2.0**-700, 2.0**-1000):
        got = kg.silhouette_samples(form(X * far), np.arange(30) % 3, metric=metric)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("estimator", [5, "KMeans", kg.KMeans])
def test_an_estimator_that_is_none_is_named(estimator):
    with pytest.raises(TypeError, match="estimator must be a clusterer"):
        kg.choose_k(np.arange(10.0)[:, None], 3, estimator=estimator)


def test_information_criteria_do_not_depend_on_the_unit():
    """A fixed ridge of 1e-6 hid all clusters of rows with a spread of 1e-3 or less."""
    X, _ = make_blobs(120, centers=[[0, 0], [6, 0], [3, 5]], cluster_std=0.6, random_state=0)
    for unit in (1e-6, 1.0, 1e6):
        found = kg.choose_k(unit * X, 4, criteria=["bic", "aic"], random_state=0)
        assert found.choices["bic"] == 3


def test_lists_are_sampled_too():
    X = np.random.default_rng(0).standard_normal((300, 2))
    ask = {"criteria": ["elbow"], "max_rows": 40, "random_state": 0}
    array, rows = (kg.choose_k(form, 3, **ask) for form in (X, X.tolist()))
    np.testing.assert_array_equal(array.table["elbow"], rows.table["elbow"])


@pytest.mark.parametrize("params", [{"metric": "minkowski", "p": 1}, {"sample_size": 20}])
def test_silhouettes_take_the_parameters_of_scikit_learn(params):
    rows, labels = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50) % 3
    got = kg.silhouette_score(rows, labels, random_state=3, **params)
    assert got == pytest.approx(peer_score(rows, labels, random_state=3, **params))
    D = np.linalg.norm(rows[:, None] - rows, axis=2)
    some = {"metric": "precomputed", "sample_size": 20, "random_state": 3}
    assert kg.silhouette_score(D, labels, **some) == pytest.approx(peer_score(D, labels, **some))
    with pytest.raises(ValueError, match="sample_size must be"):
        kg.silhouette_score(rows, labels, sample_size=51)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: -D, "negative"),
        (lambda D: np.exp(-D), "zero diagonal"),
        (lambda D: np.triu(D), "symmetric"),
    ],
)
def test_silhouettes_refuse_what_are_no_distances(change, message):
    rows = np.random.default_rng(0).standard_normal((30, 3))
    D, labels = np.linalg.norm(rows[:, None] - rows, axis=2), np.arange(30) % 3
    want = kg.silhouette_score(rows, labels)
    assert kg.silhouette_score(sp.csr_array(D), labels, metric="precomputed") == pytest.approx(want)
    with pytest.raises(ValueError, match=message):
        kg.silhouette_score(change(D), labels, metric="precomputed")


@pytest.mark.parametrize(
    ("labels", "w", "message"),
    [
        (np.ones((6, 2)) * np.arange(2), None, "1d array"),
        ([0, 0, 1, 1, np.nan, 1], None, "NaN"),
        (["a", "b", "a", "b", None, "b"], None, "None"),
        ([0, 0, 1, 1, 0, 1], np.ones((6, 1)), "1D array"),
        ([0, 0, 1, 1, 0, 1], -np.ones(6), "Negative"),
        ([0, 0, 1, 1, 0, 1], np.full(6, 1 / 6), "counts as so many rows"),
    ],
)
def test_silhouettes_refuse_what_are_no_labels_or_weights(labels, w, message):
    with pytest.raises(ValueError, match=message):
        kg.silhouette_score(np.eye(6), labels, sample_weight=w)
