"""Losses of a linear predictor: derivatives against differences, duals against a search."""

import numpy as np
import pytest

from kilogram.functions.hinge_losses import Hinge, Tube
from kilogram.functions.logistic import log_sigmoid, log_softmax, logistic_terms, softmax_terms
from kilogram.functions.online_losses import LOSSES as ONLINE
from kilogram.functions.row_losses import (
    Gamma,
    Huber,
    Logistic,
    Poisson,
    SquaredError,
    SquaredHinge,
)

STEP = 1e-6
NUMBERS, COUNTS, SIGNS = (
    np.array([-1.7, 0.2, 2.4]),
    np.array([0.3, 1.0, 4.0]),
    np.array([-1.0, 1, 1]),
)
PREDICTORS = np.array([0.4, -1.1, 0.75])
ROW_LOSSES = [
    (SquaredError(), NUMBERS),
    (Huber(0.9), NUMBERS),
    (Poisson(), COUNTS),
    (Gamma(), COUNTS),
    (Logistic(), SIGNS),
    (SquaredHinge(), SIGNS),
]


def slope(f, z):
    return (f(z + STEP) - f(z - STEP)) / (2 * STEP)


@pytest.mark.parametrize(("loss", "y"), ROW_LOSSES)
def test_terms_are_the_loss_and_its_derivatives(loss, y):
    terms = loss.terms(y, PREDICTORS)
    np.testing.assert_allclose(terms[1], slope(lambda z: loss.value(y, z), PREDICTORS), rtol=1e-7)
    np.testing.assert_allclose(
        terms[1], slope(lambda z: loss.terms(y, z)[0], PREDICTORS), rtol=1e-7
    )
    curvature = slope(lambda z: loss.terms(y, z)[1], PREDICTORS)
    convex = curvature > 1e-3  # elsewhere a small positive number stands for it
    np.testing.assert_allclose(terms[2][convex], curvature[convex], rtol=1e-6)


@pytest.mark.parametrize(("loss", "y"), ROW_LOSSES)
def test_the_dual_is_the_least_value_of_the_loss_plus_a_line(loss, y):
    """dual(y, t) = min_z value(y, z) + t z, for t minus a slope that the loss takes."""
    t = -loss.terms(y, PREDICTORS)[1]
    z = np.linspace(-12, 12, 240_001)[:, None]
    np.testing.assert_allclose(loss.dual(y, t), (loss.value(y, z) + t * z).min(axis=0), atol=1e-7)


@pytest.mark.parametrize(("loss", "y"), ROW_LOSSES)
def test_the_predictor_of_the_mean_minimises_the_summed_loss(loss, y):
    if isinstance(loss, Huber | SquaredHinge):
        pytest.skip("the mean is a start there, not the minimum")
    z = loss.predictor(float(y.mean()))
    np.testing.assert_allclose(loss.terms(y, np.full(3, z))[1].sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(ONLINE))
def test_the_slope_of_an_online_loss(name):
    loss = ONLINE[name]
    found = slope(lambda f: loss.value(SIGNS, f), PREDICTORS)
    np.testing.assert_allclose(loss.slope(SIGNS, PREDICTORS), found, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", [Hinge(), Hinge().smoothed(0.3), Tube(epsilon=0.2)])
def test_the_pull_of_a_hinge_is_the_size_of_its_slope(loss):
    y = SIGNS if isinstance(loss, Hinge) else NUMBERS
    found = slope(lambda f: loss.value(y, f), PREDICTORS)
    pull = -loss.sign(y, PREDICTORS) * loss.pull(y, PREDICTORS)
    np.testing.assert_allclose(pull, found, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", [Hinge(), Tube(epsilon=0.1)])
def test_a_smoothed_hinge_is_below_the_hinge_by_half_its_width_at_most(loss):
    f = np.linspace(-3, 3, 61)
    smooth = loss.smoothed(0.2)
    gap = smooth.limit(1.0, f) - smooth.value(1.0, f)
    assert (gap >= -1e-12).all()
    assert gap.max() <= 0.1 + 1e-12


def test_logistic_terms():
    c = np.array([0.5, 2.0, 1.0])
    terms = logistic_terms(PREDICTORS, SIGNS, c)
    assert terms[0] == pytest.approx(-c @ log_sigmoid(SIGNS * PREDICTORS))
    want = slope(lambda z: -c * log_sigmoid(SIGNS * z), PREDICTORS)
    np.testing.assert_allclose(terms[1], want, rtol=1e-7)
    want = slope(lambda z: logistic_terms(z, SIGNS, c)[1], PREDICTORS)
    np.testing.assert_allclose(terms[2], want, rtol=1e-6)


def test_softmax_terms():
    rng = np.random.default_rng(0)
    Z, y, c = rng.standard_normal((5, 3)), np.array([0, 2, 1, 1, 0]), rng.random(5)
    terms = softmax_terms(Z.copy(), y, c, keep=True)

    def loss(Z):
        return float(-c @ log_softmax(Z)[np.arange(5), y])

    assert terms[0] == pytest.approx(loss(Z))
    for i in range(5):
        for k in range(3):
            E = np.zeros_like(Z)
            E[i, k] = STEP
            assert terms[1][i, k] == pytest.approx(
                (loss(Z + E) - loss(Z - E)) / (2 * STEP), abs=1e-8
            )
    np.testing.assert_allclose(terms[2], c[:, None] * np.exp(log_softmax(Z)), rtol=1e-12)


def test_softmax_of_two_classes_is_the_logistic_loss():
    """And neither overflows."""
    z, c = np.array([-900.0, 0.3, 700.0]), np.ones(3)
    Z = np.stack([np.zeros(3), z], axis=1)
    want = logistic_terms(z, np.array([1.0, -1.0, 1.0]), c)
    found = softmax_terms(Z, np.array([1, 0, 1]), c)
    assert found[0] == pytest.approx(want[0])
    np.testing.assert_allclose(found[1][:, 1], want[1], rtol=1e-12, atol=1e-300)
