"""Multidimensional scaling: distances recovered, stress that never rises."""

import numpy as np
from scipy.spatial.distance import cdist

from kilogram.solvers.scaling.classical import classical_scaling
from kilogram.solvers.scaling.smacof import guttman, place_points, smacof

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 2))
D = cdist(X, X)


def stress(D, Z):
    return np.sum(np.triu(D - cdist(Z, Z), 1) ** 2)


def test_classical_scaling_recovers_the_distances_of_points():
    Z = classical_scaling(D, 2).place(D)
    np.testing.assert_allclose(cdist(Z, Z), D, atol=1e-10)


def test_the_transform_never_raises_the_stress():
    noisy = D * np.exp(0.2 * rng.standard_normal(D.shape))
    noisy = (noisy + noisy.T) / 2
    np.fill_diagonal(noisy, 0.0)
    Z = rng.standard_normal((30, 2))
    before = stress(noisy, Z)
    for _ in range(20):
        Z = guttman(noisy, Z, Z)
        assert stress(noisy, Z) <= before * (1 + 1e-12)
        before = stress(noisy, Z)


def test_the_stress_is_that_of_the_configuration():
    found = smacof(D, rng.standard_normal((30, 2)), max_iter=500, eps=1e-12)
    assert np.isclose(found.objective, stress(D, found.value.Z), rtol=1e-8, atol=1e-10)


def test_points_are_placed_where_their_distances_lead():
    Y = rng.standard_normal((4, 2))
    np.testing.assert_allclose(place_points(cdist(Y, X), X, max_iter=5000, tol=1e-14), Y, atol=1e-4)
