"""KMeans: NaN where no weight is, batches that come and go, settings that change in between."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.base import ConvergenceWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 3)) + np.repeat(6 * np.eye(3), 30, axis=0)


@pytest.mark.parametrize("weight", [0.0, 1e-12])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, da.from_array])
def test_nan_in_a_row_of_no_weight_is_refused(form, weight):
    """Sums of weights do not see it; the inertia was NaN and the row had some label."""
    rows, w = X.copy(), np.ones(90)
    rows[7, 1], w[7] = np.nan, weight
    w = da.from_array(w) if form is da.from_array else w
    with pytest.raises(ValueError, match="NaN"):
        kg.KMeans(3, random_state=0).fit(form(rows), sample_weight=w)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, da.from_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_fit_stores_the_inertia_of_its_rows(form, weighted):
    """It was not there, or that of an earlier fit."""
    model, w = kg.KMeans(3, random_state=0).fit(X), None
    if weighted:
        w = np.random.default_rng(1).random(60)
        w = da.from_array(w) if form is da.from_array else w
    rows = form(2.0 * X[:60])
    model.partial_fit(rows, sample_weight=w)
    assert model.inertia_ == pytest.approx(model.objective(rows, sample_weight=w))
    assert model.objective_ == model.inertia_


def test_partial_fit_keeps_the_number_of_centres():
    model = kg.KMeans(3, random_state=0).partial_fit(X).set_params(n_clusters=5)
    with pytest.raises(ValueError, match="continues with 3 centres"):
        model.partial_fit(X)


@pytest.mark.parametrize("size", [2.5, True, "many"])
def test_batches_have_whole_numbers_of_rows(size):
    with pytest.raises(ValueError, match="batch_size must be an integer"):
        kg.KMeans(3, algorithm="minibatch", batch_size=size).fit(X)


def test_first_centres_may_be_sparse():
    want = kg.KMeans(3, init=X[[0, 30, 60]]).fit(X)
    got = kg.KMeans(3, init=sp.csr_array(X[[0, 30, 60]])).fit(X)
    np.testing.assert_array_equal(got.labels_, want.labels_)


@pytest.mark.parametrize(
    "model",
    [
        kg.KMeans(3, n_init=10**6),
        kg.KMedoids(3, n_init=10**6),
        kg.KLines(3, n_init=10**6),
        kg.KernelKMeans(3, n_init=10**6, max_iter=1000),
    ],
)
def test_starts_that_time_leaves_out_are_reported(model):
    # on a busy machine the time may end during the first start
    words = "of 1000000 starts|the time was up|max_time was reached"
    with pytest.warns(ConvergenceWarning, match=words):
        model.set_params(max_time=0.1, random_state=0).fit(X)


def test_any_number_of_rows_may_come_to_given_centres():
    """MacQueen's rule needs rows to draw a start from; where it is given, one is enough."""
    C = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    model = kg.KMeans(3, init=C).partial_fit([[5.0, 0.0]])
    np.testing.assert_array_equal(model.cluster_centers_, [[0, 0], [5, 0], [0, 4]])
    np.testing.assert_array_equal(model.counts_, [0, 1, 0])
    model.partial_fit([[0.0, 1.0], [7.0, 0.0]])
    np.testing.assert_allclose(model.cluster_centers_, [[0, 1], [6, 0], [0, 4]])
    whole = kg.KMeans(3, init=C).partial_fit([[5.0, 0.0], [0.0, 1.0], [7.0, 0.0]])
    np.testing.assert_allclose(whole.cluster_centers_, model.cluster_centers_)
    streamed = kg.KMeans(3, init=C).partial_fit([np.array([[5.0, 0.0]])])
    np.testing.assert_array_equal(streamed.counts_, [0, 1, 0])


@pytest.mark.parametrize("init", ["k-means++", "random", "farthest"])
def test_a_start_is_drawn_from_rows_enough(init):
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        kg.KMeans(3, init=init).partial_fit(X[:2])
    for algorithm in ("lloyd", "minibatch"):
        with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
            kg.KMeans(3, init=X[:3], algorithm=algorithm).fit(X[:2])
