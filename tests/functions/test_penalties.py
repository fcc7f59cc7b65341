"""Penalties of a coefficient: slopes against differences, minimisers against a search."""

import numpy as np
import pytest

from kilogram.functions.penalties import penalty_slope, penalty_value
from kilogram.native.coordinate import Penalty
from kilogram.solvers.coordinate.working_set import descend_quadratic

KINDS = [("l1", 3.0), ("mcp", 3.0), ("mcp", 1.5), ("scad", 3.7), ("scad", 2.5)]


@pytest.mark.parametrize(("kind", "gamma"), KINDS)
def test_the_slope_is_that_of_the_value(kind, gamma):
    t, h = np.array([0.05, 0.4, 0.9, 1.7, 2.6, 9.0]), 1e-6
    rise = penalty_value(t + h, 0.7, gamma, kind) - penalty_value(t - h, 0.7, gamma, kind)
    np.testing.assert_allclose(penalty_slope(t, 0.7, gamma, kind), rise / (2 * h), atol=1e-9)
    assert penalty_slope(np.zeros(1), 0.7, gamma, kind) == 0.7
    assert penalty_value(np.zeros(1), 0.7, gamma, kind) == 0.0


@pytest.mark.parametrize("kind", ["mcp", "scad"])
def test_a_concave_penalty_is_constant_beyond_gamma_alpha_and_tends_to_the_lasso(kind):
    ends = penalty_value(np.array([3.7 * 0.7, 50.0]), 0.7, 3.7, kind)
    assert ends[0] == pytest.approx(ends[1])
    t = np.linspace(0.0, 4.0, 9)
    np.testing.assert_allclose(penalty_value(t, 0.7, 1e9, kind), 0.7 * t, rtol=1e-8)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("curve", [0.8, 2.0])
@pytest.mark.parametrize(("kind", "gamma"), KINDS)
@pytest.mark.parametrize("c", [-3.0, -0.9, 0.2, 0.8, 1.3, 2.2, 5.0])
def test_one_coefficient_is_minimised(kind, gamma, curve, c, positive):
    """min_b curve / 2 b^2 - c b + P(|b|) + l2 / 2 b^2, against every point of a fine grid."""
    if kind != "l1" and curve + 0.1 <= 1 / (gamma - (kind == "scad")):
        pytest.skip("not convex: coordinate descent stays at 0 there")
    penalty = Penalty(np.array([0.7]), 0.1, positive, kind, gamma)
    G, q = np.array([[curve]]), np.array([c])
    b = descend_quadratic(G, q, penalty, (np.zeros(1), q.copy()), tol=1e-12, max_epochs=50)[0][0]

    def objective(b):
        return (curve + 0.1) / 2 * b**2 - c * b + penalty_value(np.abs(b), 0.7, gamma, kind)

    grid = np.linspace(0.0 if positive else -8.0, 8.0, 160_001)
    assert objective(np.array(b)) <= objective(grid).min() + 1e-9
    assert b >= 0 or not positive
