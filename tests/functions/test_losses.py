"""Derivatives of losses and activations, against differences; minima, against a search."""

import numpy as np
import pytest

from kilogram.functions.activations import (
    ACTIVATIONS,
    HIDDEN,
    loss_rows,
    output_delta,
    times_derivative,
)
from kilogram.functions.boosting_losses import BoostingLoss
from kilogram.functions.clipped_loss import ClippedLoss
from kilogram.functions.deviances import Tweedie
from kilogram.functions.m_losses import LOSSES

STEP = 1e-6


def slope(f, z):
    """The derivative of f by z, by a central difference."""
    return (f(z + STEP) - f(z - STEP)) / (2 * STEP)


@pytest.mark.parametrize("name", HIDDEN)
def test_an_activation_and_its_derivative(name):
    z = np.array([[-2.0, -0.3, 0.4, 1.7]])
    D = times_derivative(name, ACTIVATIONS[name](z.copy()), np.full_like(z, 3.0))
    expected = slope(lambda v: ACTIVATIONS[name](v.copy()), z)
    np.testing.assert_allclose(D, 3.0 * expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("loss", "output"),
    [("squared_error", "identity"), ("log_loss", "logistic"), ("log_loss", "softmax")],
)
def test_the_delta_of_an_output(loss, output):
    Z, Y = np.array([[0.3, -0.8, 0.1], [1.2, 0.4, -2.0]]), np.array([[0.0, 1, 0], [1, 0, 0]])

    def losses(Z):
        return loss_rows(loss, output, Y, ACTIVATIONS[output](Z.copy()))

    found = output_delta(loss, output, Y, ACTIVATIONS[output](Z.copy()))
    for k in range(3):
        e = STEP * np.eye(3)[k]
        np.testing.assert_allclose(
            found[:, k], (losses(Z + e) - losses(Z - e)) / (2 * STEP), rtol=1e-6
        )


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_weight_and_slope_of_an_m_loss(name):
    """psi = rho' = z weight(z), and the slope is psi'."""
    loss, c = LOSSES[name], 1.3
    z = np.array([0.2, 0.9, 1.6, 2.4, 3.1])
    np.testing.assert_allclose(z * loss.weight(z, c), slope(lambda v: loss.rho(v, c), z), atol=1e-8)
    psi = slope(lambda v: v * loss.weight(v, c), z)
    np.testing.assert_allclose(loss.slope(z, c), psi, atol=1e-8)
    if loss.bounded:
        np.testing.assert_allclose(loss.relative(np.array([50.0 * c]), c), 1.0)


def test_the_influence_is_clipped():
    loss, r = ClippedLoss(-0.2, 0.5, 0.4), np.array([-3.0, -0.05, 0.1, 2.0])
    np.testing.assert_allclose(loss.pull(r), slope(loss.value, r), rtol=1e-8)
    assert (loss.pull(r)[[0, -1]] == [-0.2, 0.5]).all()


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("link", ["log", "identity"])
def test_terms_of_a_deviance(power, link):
    family, y, z = Tweedie(power, link), np.array([0.5, 2.0, 3.0]), np.array([0.4, 1.1, 2.5])
    terms = family.terms(y, z)
    np.testing.assert_allclose(
        terms.gradient, slope(lambda v: family.terms(y, v).loss, z), rtol=1e-7
    )
    exact = family.mean(z)
    np.testing.assert_allclose(family.terms(exact, z).gradient, 0, atol=1e-12)
    np.testing.assert_allclose(family.deviance(exact, exact), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("squared_error", 0.0), ("absolute_error", 0.0), ("quantile", 0.8), ("poisson", 0.0),
     ("gamma", 0.0), ("binary_log_loss", 0.0)],
)  # fmt: skip
def test_the_baseline_of_boosting_has_the_least_loss(name, parameter):
    rng = np.random.default_rng(0)
    y, w = rng.gamma(2.0, size=51), rng.integers(1, 4, 51).astype(float)
    y = (y > 2).astype(float) if name == "binary_log_loss" else y
    loss = BoostingLoss(name, parameter)
    best = loss.baseline(y, w)
    least = loss.value(y, np.full((1, 51), best[0]), w)
    for shift in (-0.2, -0.01, 0.01, 0.2):
        assert least <= loss.value(y, np.full((1, 51), best[0] + shift), w) + 1e-12
