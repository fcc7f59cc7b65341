"""Kernels that are densities: their integrals, and draws from them."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

from kilogram.functions.density_kernels import COMPACT, KERNELS, draws, log_integral, profile


def radial(kind, d, power=0):
    """int profile(|x|^2) |x|^power over d dimensions, by one integral over the radius."""
    sphere = 2 * np.pi ** (d / 2) / gamma(d / 2)
    end = 1.0 if kind in COMPACT else 60.0

    def at(r):
        return float(profile(kind, np.array(r * r))) * r ** (d - 1 + power)

    return sphere * quad(at, 0.0, end, limit=200)[0]


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KERNELS)
def test_the_integral_of_a_kernel(kind, d):
    assert log_integral(kind, d) == pytest.approx(np.log(radial(kind, d)), abs=1e-6)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("kind", KERNELS)
def test_draws_have_the_second_moment_of_the_kernel(kind, d):
    drawn = draws(kind, 200_000, d, np.random.default_rng(0))
    squares = (drawn**2).sum(axis=1)
    want = radial(kind, d, power=2) / radial(kind, d)
    assert abs(squares.mean() - want) < 5 * squares.std() / np.sqrt(len(squares))
