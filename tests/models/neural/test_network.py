"""Backpropagation against central differences, for every activation and loss."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.functions.activations import ACTIVATIONS, HIDDEN, times_derivative
from kilogram.models.neural.network import Architecture, Backpropagation, forward

PAIRS = [
    ("squared_error", "identity"),
    ("poisson", "exp"),
    ("log_loss", "softmax"),
    ("log_loss", "logistic"),
    ("squared_error", "softmax"),
    ("squared_error", "logistic"),
]


def problem(loss, output, activation="tanh", seed=0, fit_intercept=True, sizes=(3, 5, 4, 3)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, sizes[0]))
    Y = np.eye(sizes[-1])[rng.integers(0, sizes[-1], 9)]
    if output in ("identity", "exp"):
        Y = rng.integers(0, 4, (9, sizes[-1])).astype(float)
    arch = Architecture(tuple(sizes), activation, output, loss, fit_intercept)
    theta = arch.draw(np.random.RandomState(seed)) + 0.05
    return arch, theta, X, Y


@pytest.mark.parametrize(("loss", "output"), PAIRS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_every_loss(loss, output, weighted):
    arch, theta, X, Y = problem(loss, output)
    w = np.linspace(0.5, 2.0, len(X)) if weighted else None
    step = Backpropagation(arch, 0.3, len(X))
    check = kg.check_gradient(lambda t: step(t, X, Y, w)[0], lambda t: step(t, X, Y, w)[1], theta)
    assert check.error < 1e-7, str(check)


@pytest.mark.parametrize("activation", HIDDEN)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_of_every_activation(activation, fit_intercept):
    arch, theta, X, Y = problem("log_loss", "softmax", activation, fit_intercept=fit_intercept)
    step = Backpropagation(arch, 0.0, len(X))
    found = kg.check_gradient(
        lambda t: step(t, X, Y, None)[0], lambda t: step(t, X, Y, None)[1], theta
    )
    assert found.error < 1e-7, str(found)


def test_gradient_under_dropout_is_that_of_the_thinned_network():
    arch, theta, X, Y = problem("squared_error", "identity")
    units = np.random.default_rng(5).random((9, 5))

    def draw(shape):
        return units[:, : shape[1]]

    step = Backpropagation(arch, 0.1, len(X), 0.6, draw)
    check = kg.check_gradient(
        lambda t: step(t, X, Y, None)[0], lambda t: step(t, X, Y, None)[1], theta
    )
    assert check.error < 1e-7, str(check)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize(("loss", "output"), PAIRS)
def test_other_libraries_agree(library, loss, output):
    xp = pytest.importorskip(library)
    arch, theta, X, Y = problem(loss, output, "relu")
    want, gradient = Backpropagation(arch, 0.3, len(X))(theta, X, Y, None)
    put = [xp.asarray(a) for a in (theta, X, Y)]
    got, found = Backpropagation(arch, 0.3, len(X))(*put, None)
    assert float(got) == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(np.asarray(found), gradient, rtol=1e-10, atol=1e-13)


def test_buffers_change_nothing():
    arch, theta, X, Y = problem("log_loss", "softmax")
    step, grad = Backpropagation(arch, 0.3, len(X)), np.empty_like(theta)
    want = Backpropagation(arch, 0.3, 9)(theta, X[:4], Y[:4], None)
    step(theta, X, Y, None, grad)
    got = step(theta, X[:4], Y[:4], None, grad)
    assert got[0] == want[0]
    np.testing.assert_array_equal(got[1], want[1])
    assert got[1] is grad


def test_unknown_hidden_activation():
    with pytest.raises(ValueError, match="softmax"):
        times_derivative("softmax", np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_large_values_are_finite_or_infinite_by_definition(name):
    Z = ACTIVATIONS[name](np.array([[-800.0, 0.0, 700.0]]))
    assert np.isfinite(Z).all()


def test_forward_of_one_layer_is_linear():
    arch = Architecture((2, 1), "relu", "identity", "squared_error")
    theta = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(forward(arch, *arch.unpack(theta), np.array([[3.0, 1.0]])), [[1.5]])
    coefs, intercepts = arch.unpack(theta)
    np.testing.assert_array_equal(arch.pack(coefs, intercepts), theta)


def test_check_gradient_refuses_bad_input():
    with pytest.raises(ValueError, match="shape"):
        kg.check_gradient(np.sum, lambda x: np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="finite"):
        kg.check_gradient(np.sum, np.ones_like, [np.nan])
    wrong = kg.check_gradient(
        lambda x: float(x[0] ** 2 + x[1]), lambda x: [2 * x[0], 3.0], [1.0, 1]
    )
    assert wrong.worst == (1,)
    assert "at [1] 3" in str(wrong)
