"""MDS by SMACOF: scikit-learn's from the same start, its stress, new rows, parameters."""

import numpy as np
import pytest
import sklearn.manifold
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances

import kilogram as kg
from kilogram.base.warnings import ConvergenceWarning
from kilogram.solvers.scaling.smacof import guttman

X = make_swiss_roll(80, random_state=0)[0]
D = pairwise_distances(X)
START = np.random.default_rng(0).random((80, 2))


@pytest.mark.parametrize("metric_mds", [True, False])
@pytest.mark.parametrize("normalized_stress", [True, False])
def test_scikit_learns_from_the_same_start(metric_mds, normalized_stress):
    want, stress, n_iter = sklearn.manifold.smacof(
        D, metric=metric_mds, init=START, n_init=1, max_iter=300, eps=1e-6, return_n_iter=True,
        normalized_stress=normalized_stress,
    )  # fmt: skip
    model = kg.MDS(
        metric="precomputed", metric_mds=metric_mds, normalized_stress=normalized_stress
    ).fit(D, init=START)
    np.testing.assert_allclose(model.embedding_, want, atol=1e-9 * np.abs(want).max())
    assert model.stress_ == pytest.approx(stress)
    assert model.n_iter_ == n_iter


def test_stress_is_that_of_the_embedding_and_less_than_classical_scalings():
    model = kg.MDS().fit(X)
    apart = pairwise_distances(model.embedding_)
    assert model.stress_ == pytest.approx(((apart - D) ** 2).sum() / 2)
    classical = pairwise_distances(kg.ClassicalMDS().fit_transform(X))
    assert model.stress_ < ((classical - D) ** 2).sum() / 2
    np.testing.assert_allclose(model.dissimilarity_matrix_, D, atol=1e-6)


def test_stress_never_rises():
    def stress(Z):
        return ((pairwise_distances(Z) - D) ** 2).sum()

    Z, seen = START, []
    for _ in range(30):
        Z = guttman(D, Z, Z)
        seen.append(stress(Z))
    assert (np.diff(seen) <= 1e-9 * seen[0]).all()


def test_only_the_order_counts_for_non_metric_scaling():
    one = kg.MDS(metric="precomputed", metric_mds=False).fit(D, init=START)
    # a monotone function changes the first iteration only: compare what is determined, the stress
    two = kg.MDS(metric="precomputed", metric_mds=False, eps=1e-9, max_iter=2000).fit(
        D**2 / D.max(), init=one.embedding_
    )
    assert two.stress_ <= one.stress_ + 1e-6


@pytest.mark.parametrize("metric_mds", [True, False])
def test_training_rows_keep_their_places(metric_mds):
    model = kg.MDS(metric_mds=metric_mds, eps=1e-12, max_iter=5000).fit(X)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=0.02 * size)


def test_more_random_starts_are_no_worse():
    one = kg.MDS(init="random", n_init=1, random_state=0).fit(X)
    more = kg.MDS(init="random", n_init=4, random_state=0).fit(X)
    assert more.stress_ <= one.stress_
    again = kg.MDS(init="random", n_init=4, random_state=0).fit(X)
    np.testing.assert_array_equal(more.embedding_, again.embedding_)


def test_parameters():
    old = kg.MDS(dissimilarity="precomputed").fit(D)
    new = kg.MDS(metric="precomputed").fit(D)
    np.testing.assert_array_equal(old.embedding_, new.embedding_)
    with pytest.raises(ValueError, match="exclude each other"):
        kg.MDS(dissimilarity="precomputed", metric="cityblock").fit(D)
    for bad in ({"n_init": 0}, {"init": "pca"}, {"eps": -1.0}, {"metric_mds": "yes"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            kg.MDS(**bad).fit(X)
    with pytest.raises(ValueError, match=r"\(80, 2\)"):
        kg.MDS().fit(X, init=START[:5])


def test_limits():
    with pytest.warns(ConvergenceWarning, match="MDS stopped after 1"):
        model = kg.MDS(max_time=1e-9).fit(X)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(MemoryError, match="ClassicalMDS"):
        kg.MDS(max_memory="10KiB").fit(X)


def test_equal_rows():
    model = kg.MDS().fit(np.ones((9, 3)))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(np.zeros((2, 3)))).all()
    assert np.isfinite(kg.MDS(metric_mds=False).fit_transform(np.ones((9, 3)))).all()
