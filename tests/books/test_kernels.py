"""Kernel design (first encounter B, cookbook A, lecture 15, summary 7) on the fast side."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest
from book_checks import cloud

import kilogram as kg
from kilogram.kernels import check_psd, is_psd
from kilogram.operators import Centred, Gram, centre

MADE = {
    "sum": kg.Gaussian(1.0) + kg.Polynomial(2),
    "product": kg.Gaussian(1.0) * kg.AllSubsets(),
    "scaled": 3.0 * kg.Laplacian(1.0),
    "columns": kg.OnColumns(kg.Gaussian(1.0), [0]) * kg.OnColumns(kg.Linear(), [1, 2]),
}


@pytest.mark.parametrize("name", MADE)
def test_TB_6_kernels_made_of_kernels_are_kernels(name):
    """FE TB.6, cookbook TA.1: positive semidefinite, closed under sum, product and scaling."""
    check_psd(MADE[name](cloud(0, 40, 3)))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_TB_2_the_polynomial_has_n_plus_d_over_d_features(n, d):
    """FE TB.2: (n + d)! / (n! d!) of them, all degrees up to d included (EB.1)."""
    kernel = kg.Polynomial(d, gamma=1.0, coef0=2.0)
    assert kernel.features(np.ones((1, n))).shape == (1, comb(n + d, d))


def test_TB_3_the_six_features_of_degree_two():
    """FE TB.3, L15.T2: 1, sqrt2 x1, sqrt2 x2, x1^2, sqrt2 x1 x2, x2^2."""
    phi = kg.Polynomial(2, gamma=1.0, coef0=1.0).features([[3.0, 5.0]])[0]
    want = [1.0, 3 * sqrt(2), 5 * sqrt(2), 9.0, 15 * sqrt(2), 25.0]
    assert np.allclose(phi, want)


def test_TB_7_a_larger_constant_lowers_the_weight_of_high_degrees():
    """FE TB.7, XB.c: squares against linear terms, as R grows."""
    shares = []
    for R in (0.5, 1.0, 4.0):
        phi = kg.Polynomial(2, gamma=1.0, coef0=R).features([[1.0]])[0]
        shares.append(phi[2] / phi[1])
    assert shares[0] > shares[1] > shares[2]


def test_EB_6_tiny_widths_underflow_to_the_identity():
    """FE EB.6, FEB.3: no NaN at any width; identity as sigma -> 0, ones as sigma -> infinity."""
    X = cloud(1, 20, 3)
    assert np.array_equal(kg.Gaussian(1e-150)(X), np.eye(20))
    assert np.allclose(kg.Gaussian(1e150)(X), 1.0)


def test_L15_T3_a_negative_distance_is_rejected():
    """L15.T3, A7.4: -|x - z| is no kernel and the checker says so; nor is a shifted Gaussian."""
    X = cloud(2, 20, 2)
    distance = kg.FromCallable(lambda x, z: -float(np.linalg.norm(x - z)))
    shifted = kg.FromCallable(lambda x, z: float(np.exp(-((np.linalg.norm(x - z) - 1) ** 2) / 2)))
    assert not is_psd(distance(X))
    assert not is_psd(shifted(X))
    assert is_psd(kg.Gaussian(1.0)(X))


def test_EA_9_negative_constants_and_broken_powers_are_refused():
    """Cookbook EA.9: require c >= 0 and an integer p."""
    X = cloud(3, 5, 2)
    for kernel in (kg.Polynomial(3, coef0=-1.0), kg.Polynomial(2.5), kg.Polynomial(0)):
        with pytest.raises(ValueError, match=r"coef0|degree"):
            kernel(X)


def test_FE12_6_new_points_are_centred_with_the_training_means():
    """FE12.5, FE12.6, T12.4, T12.6, E8.1: both centrings from explicit features."""
    X, new, kernel = cloud(4, 25, 3), cloud(5, 7, 3), kg.Polynomial(2)
    phi, psi = kernel.features(X), kernel.features(new)
    mean = phi.mean(axis=0)
    A = Centred(Gram(kernel, X))
    size = np.abs(A.dense()).max()
    assert np.allclose(A.dense(), (phi - mean) @ (phi - mean).T, atol=1e-12 * size)
    assert np.allclose(A.dense().sum(axis=0), 0.0, atol=1e-11 * size)
    crossed = A.cross(Gram(kernel, new, X)).dense()
    assert np.allclose(crossed, (psi - mean) @ (phi - mean).T, atol=1e-12 * size)
    assert np.allclose(centre(kernel(X), A.means), A.dense(), atol=1e-12 * size)
