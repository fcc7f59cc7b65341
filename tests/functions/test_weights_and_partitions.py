import numpy as np
import pytest

from kilogram.functions.correlation import angle, cosine, pearson
from kilogram.functions.partitions import clustering_distance
from kilogram.functions.weighted_medians import weighted_medians


@pytest.mark.parametrize("n", [7, 8])
def test_a_weighted_median_is_that_of_repeated_rows(n):
    rng = np.random.default_rng(n)
    X, w = rng.normal(size=(n, 4)), rng.integers(1, 5, n)
    repeated = np.median(np.repeat(X, w, axis=0), axis=0)
    np.testing.assert_allclose(weighted_medians(X, w.astype(float)), repeated)
    np.testing.assert_allclose(weighted_medians(X, None), np.median(X, axis=0))


def test_pearson_is_the_cosine_of_centred_vectors():
    v, w = np.random.default_rng(0).normal(size=(2, 30))
    assert np.isclose(pearson(v, w), np.corrcoef(v, w)[0, 1])
    assert np.isclose(pearson(v, w), cosine(v - v.mean(), w - w.mean()))
    assert np.isclose(np.cos(angle(v, w)), cosine(v, w))


def test_names_of_clusters_make_no_distance():
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert clustering_distance(labels, (labels + 1) % 3) == 0
    assert clustering_distance(labels, np.array([0, 0, 1, 1, 2, 1])) > 0
