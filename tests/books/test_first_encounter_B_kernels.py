"""A First Encounter, appendix B: kernels and their features."""

from __future__ import annotations

from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from book_checks import all_subsets, cloud, covers, gaussian, linear, polynomial

import kilogram as kg
from kilogram.textbook import kernels

ALL = [linear(), gaussian(0.7), polynomial(3, 0.5), polynomial(2, 0.0), all_subsets()]
every_kernel = pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.name)


@covers(
    "first_encounter TB.1", "first_encounter FEB.1", "first_encounter FEB.2", "first_encounter XB.b"
)
def test_TB_1_kernels_are_inner_products_of_their_features():
    X, Y = cloud(0, 10, 4), cloud(1, 6, 4)
    maps = [lambda Z: kernels.polynomial_map(Z, 3, 2.0), kernels.all_subsets_map]
    values = [kernels.polynomial(X, Y, 3, 2.0), kernels.all_subsets(X, Y)]
    for phi, K in zip(maps, values, strict=True):
        assert np.allclose(phi(X) @ phi(Y).T, K)
    fast = [kg.Polynomial(degree=3, gamma=1.0, coef0=2.0), kg.AllSubsets()]
    for kernel, K in zip(fast, values, strict=True):
        assert np.allclose(kernel.features(X) @ kernel.features(Y).T, K)
        assert np.allclose(kernel(X, Y), K)


@covers("first_encounter TB.2", "first_encounter FEB.6")
def test_TB_2_numbers_of_features():
    X = cloud(2, 2, 3)
    assert kernels.polynomial_map(X, 3, 1.0).shape[1] == comb(6, 3) == 20
    assert kernels.all_subsets_map(X).shape[1] == 8
    homogeneous = kernels.polynomial_map(X, 3, 0.0)  # R = 0: only powers that sum to 3 remain
    assert np.sum(np.abs(homogeneous).sum(axis=0) > 0) == comb(5, 3)


@covers("first_encounter TB.3")
def test_TB_3_the_six_features_of_degree_two():
    x1, x2 = 0.3, -1.7
    expected = [1, np.sqrt(2) * x1, np.sqrt(2) * x2, x1**2, np.sqrt(2) * x1 * x2, x2**2]
    found = kernels.polynomial_map(np.array([[x1, x2]]), 2, 1.0)[0]
    assert np.allclose(np.sort(found), np.sort(expected))


@covers("first_encounter TB.4")
def test_TB_4_all_subsets_by_hand():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    assert kernels.all_subsets(x, y)[0, 0] == 36
    assert np.isclose(kg.AllSubsets()(x, y)[0, 0], 36)


@covers("first_encounter TB.5", "first_encounter FEB.3", "first_encounter XB.a")
def test_TB_5_limits_of_the_width():
    X = cloud(3, 15, 2)
    for k in (kernels.gaussian(X, X, 1.0), kg.Gaussian(sigma=1.0)(X)):
        assert np.allclose(np.diag(k), 1)
        assert (k > 0).all()
        assert (k <= 1).all()
    for sigma, limit in ((1e-4, np.eye(15)), (1e6, np.ones((15, 15)))):
        assert np.allclose(kernels.gaussian(X, X, sigma), limit)
        assert np.allclose(kg.Gaussian(sigma=sigma)(X), limit)


@covers("first_encounter TB.6", "first_encounter FEB.4", "first_encounter FEB.5")
@every_kernel
def test_TB_6_gram_matrices_are_positive_semidefinite(kernel):
    X = cloud(4, 30, 3)
    for K in (kernel.reference(X, X), np.asarray(kernel.fast(X))):
        assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()
    own = kg.FromCallable(lambda x, y: float(x @ y) ** 2)  # any callable will do
    assert np.allclose(own(X), (X @ X.T) ** 2)


@covers("first_encounter TB.7", "first_encounter XB.c")
def test_TB_7_a_larger_constant_favours_low_degrees():
    def weight_of_top_degree(R: float) -> float:
        ones = kernels.polynomial_map(np.ones((1, 2)), 3, R)[0] ** 2
        tops = kernels.polynomial_map(np.ones((1, 2)), 3, 0.0)[0] ** 2
        return tops.sum() / ones.sum()

    shares = [weight_of_top_degree(R) for R in (0.1, 1.0, 10.0)]
    assert (np.diff(shares) < 0).all()


@covers("first_encounter FEB.7")
def test_FEB_7_the_kernel_reproduces_its_functions():
    """phi(x) = k(x, .): the inner product of two of them is k(x, y)."""
    X = cloud(5, 12, 2)
    K = kernels.gaussian(X, X, 1.0)
    f, g = np.random.default_rng(5).standard_normal((2, 12))  # f = sum_i f_i k(x_i, .)
    assert np.isclose(f @ K @ np.eye(12)[3], (K @ f)[3])  # <f, k(x_3, .)> = f(x_3)
    assert np.isclose(f @ K @ g, g @ K @ f)


@covers("first_encounter EB.1")
def test_EB_1_the_top_degree_belongs_to_the_features():
    X = cloud(6, 10, 3)
    K = kernels.polynomial(X, X, 3, 1.0)

    def features(limit) -> np.ndarray:
        columns = []
        for powers in product(range(4), repeat=3):
            s = sum(powers)
            if limit(s):
                ways = factorial(3) / (factorial(3 - s) * prod(factorial(i) for i in powers))
                columns.append(np.sqrt(ways) * np.prod(X ** np.array(powers), axis=1))
        return np.column_stack(columns)

    printed, right = features(lambda s: s < 3), features(lambda s: s <= 3)
    assert printed.shape[1] == 10
    assert right.shape[1] == 20
    assert not np.allclose(printed @ printed.T, K, rtol=0.1)
    assert np.allclose(right @ right.T, K)


@covers("first_encounter EB.2")
def test_EB_2_the_root_covers_the_coefficient_only():
    x, y = np.array([1.5, 2.0]), np.array([0.5, 3.0])
    right = np.sqrt(2) * (x[0] * x[1]) * np.sqrt(2) * (y[0] * y[1])
    printed = np.sqrt(2 * x[0] * x[1]) * np.sqrt(2 * y[0] * y[1])  # the root over everything
    cross_term = 2 * x[0] * x[1] * y[0] * y[1]  # of (x'y)^2
    assert np.isclose(right, cross_term)
    assert not np.isclose(printed, cross_term)
    value = kg.Polynomial(2, gamma=1.0, coef0=0.0)(x[None], y[None])[0, 0]
    assert np.isclose(value, (x[0] * y[0]) ** 2 + right + (x[1] * y[1]) ** 2)


@covers("first_encounter EB.3")
def test_EB_3_pairs_are_counted_once():
    x, y = np.array([0.5, -2.0, 1.5]), np.array([2.0, 1.0, -1.0])
    z = x * y
    value = kernels.all_subsets(x[None], y[None])[0, 0]
    once = 1 + z.sum() + sum(z[i] * z[j] for i in range(3) for j in range(i + 1, 3)) + z.prod()
    twice = 1 + z.sum() + sum(z[i] * z[j] for i in range(3) for j in range(3)) + z.prod()
    assert np.isclose(once, value)
    assert np.isclose(once, kg.AllSubsets()(x[None], y[None])[0, 0])
    assert not np.isclose(twice, value)


@covers("first_encounter EB.4")
def test_EB_4_the_polynomial_kernel_was_not_met_before():
    """What chapter 7 had, squares and products without weights, is not (R + x'y)^2 for any R."""
    X = cloud(7, 8, 2)
    plain = np.column_stack([X**2, X[:, 0] * X[:, 1]])
    K = plain @ plain.T
    closest = min(np.abs(K - kernels.polynomial(X, X, 2, R)).max() for R in np.linspace(0, 5, 51))
    assert closest > 1
    weighted = kernels.polynomial_map(X, 2, 0.5)
    assert np.allclose(weighted @ weighted.T, kernels.polynomial(X, X, 2, 0.5))


@covers("first_encounter EB.5")
def test_EB_5_nonnegative_inner_products_need_not_fit_one_orthant():
    """A >= 0 and PSD, yet A = B B' with B >= 0 is impossible: a copositive matrix gives < 0."""
    A = np.array(
        [[1, 1, 0, 0, 1], [1, 2, 1, 0, 0], [0, 1, 2, 1, 0], [0, 0, 1, 2, 1], [1, 0, 0, 1, 6]], float
    )
    horn = np.array(
        [
            [1, -1, 1, 1, -1],
            [-1, 1, -1, 1, 1],
            [1, -1, 1, -1, 1],
            [1, 1, -1, 1, -1],
            [-1, 1, 1, -1, 1],
        ],
        float,
    )
    assert np.linalg.eigvalsh(A).min() > 0.05
    assert (A >= 0).all()
    rng = np.random.default_rng(8)
    nonnegative = rng.exponential(size=(20_000, 5)) * (rng.random((20_000, 5)) < 0.6)
    assert np.einsum("ni,ij,nj->n", nonnegative, horn, nonnegative).min() > -1e-12  # copositive
    d = np.array([0.68, 0.53, 0.40, 0.28, 0.16])
    assert np.sum(np.outer(d, d) * horn * A) < -0.01  # a B >= 0 would make this >= 0
    # the Gaussian kernel is a mean of products of positive functions: there one orthant does hold
    x, centres = np.linspace(-2, 2, 5)[:, None], np.linspace(-12, 12, 4001)[:, None]
    B = kernels.gaussian(x, centres, 1 / np.sqrt(2))  # B >= 0
    K = B @ B.T
    assert np.allclose(K / K[0, 0], kernels.gaussian(x, x, 1.0))


@covers("first_encounter EB.6")
def test_EB_6_outside_the_width_is_nearly_orthogonal_and_never_nan():
    X = np.array([[0.0], [1.0], [4.0]])
    K = kernels.gaussian(X, X, 1.0)
    assert 0 < K[0, 2] < 1e-3  # four widths away: small, not zero
    assert np.array_equal(kernels.gaussian(X, X, 1e-100), np.eye(3))
    for sigma in (1e-100, 1e-160, 1e-200):  # the last two squares are below the smallest float
        assert np.array_equal(kg.Gaussian(sigma=sigma)(X), np.eye(3))
    assert np.array_equal(kg.Gaussian(sigma=1e200)(X), np.ones((3, 3)))


@covers("first_encounter C.6")
def test_C_6_the_departures_of_these_chapters_are_registered():
    from kilogram.textbook.errata import errata

    known = {erratum.id for erratum in errata()}
    departures = ["E8.4", "E8.6", "E11.4", "E13.1", "E13.5", "E14.1", "EA.1", "EA.2", "EB.1"]
    assert {f"first_encounter {number}" for number in departures} <= known
