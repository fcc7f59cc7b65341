"""Distances between the rows of two tables, against SciPy's."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kilogram.functions import distances

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((7, 4)), rng.standard_normal((5, 4))
CODES, OTHERS = rng.integers(0, 3, (7, 4)).astype(float), rng.integers(0, 3, (5, 4)).astype(float)


@pytest.mark.parametrize(
    ("function", "metric", "tables"),
    [
        (distances.squared_distances, "sqeuclidean", (X, Y)),
        (distances.euclidean, "euclidean", (X, Y)),
        (distances.city_block, "cityblock", (X, Y)),
        (lambda A, B: distances.hamming(A, B) / A.shape[1], "hamming", (CODES, OTHERS)),
    ],
)
def test_a_distance(function, metric, tables):
    np.testing.assert_allclose(function(*tables), cdist(*tables, metric), rtol=1e-12, atol=1e-12)


def test_mahalanobis():
    S = np.cov(X.T)
    want = cdist(X, Y, "mahalanobis", VI=np.linalg.inv(S)) ** 2
    np.testing.assert_allclose(distances.squared_mahalanobis(X, Y, S), want, rtol=1e-10)


def test_chi_squared():
    A, B = np.abs(X), np.abs(Y)
    want = [[np.sum((a - b) ** 2 / (a + b)) for b in B] for a in A]
    np.testing.assert_allclose(distances.chi_squared(A, B), want, rtol=1e-12)


def test_rows_far_from_the_origin_keep_their_digits():
    far = 1e6
    np.testing.assert_allclose(
        distances.squared_distances(X + far, Y + far), cdist(X, Y, "sqeuclidean"), rtol=1e-8
    )


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_a_common_scale_brings_squares_into_range(size):
    scale = distances.common_scale(X * size, Y * size)
    D = distances.squared_distances((X * size) / scale, (Y * size) / scale)
    assert np.isfinite(D).all()
    np.testing.assert_allclose(np.sqrt(D) * (scale / size), cdist(X, Y), rtol=1e-12)
