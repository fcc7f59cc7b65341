"""Summary section 5 and slides lecture 11: neural networks."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import neural_network as net
from kilogram.textbook.state import run

XOR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
XOR_Y = np.array([0.0, 1.0, 1.0, 0.0])


def flat(weights):
    return np.concatenate([W.ravel() for W in weights])


def unflat(theta, like):
    cuts = np.cumsum([W.size for W in like])[:-1]
    return [part.reshape(W.shape) for part, W in zip(np.split(theta, cuts), like, strict=True)]


def trained(X, y, sizes, *, offsets, seed, steps, alpha=0.5):
    start = net.initial_weights(sizes, np.random.default_rng(seed), offsets=offsets)
    last = run(net.gradient_descent(X, y, start, alpha=alpha, steps=steps))
    return net.weights_of(last, len(sizes) - 1), last.objective


@covers("summary A5.1", "summary A5.4", "summary A5.5")
def test_A5_5_shapes_of_the_worked_example():
    weights = net.initial_weights([3, 10, 10, 1], np.random.default_rng(0), offsets=False)
    assert [W.shape for W in weights] == [(10, 3), (10, 10), (1, 10)]
    assert sum(W.size for W in weights) == 140
    x = np.array([0.2, -1.0, 0.5])
    W1, W2, W3 = weights
    want = W3 @ net.sigma(W2 @ net.sigma(W1 @ x))
    np.testing.assert_allclose(net.forward(x, weights)[-1], want)
    with pytest.raises(ValueError, match="matmul"):
        W1.T @ x  # the shapes as printed
    fast = kg.MLPRegressor(
        hidden_layer_sizes=(10, 10), activation="logistic", fit_intercept=False, max_iter=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast.fit(np.random.default_rng(0).standard_normal((9, 3)), np.arange(9.0))
    assert sum(W.size for W in fast.coefs_) == 140
    assert all(not b.any() for b in fast.intercepts_)


@covers("summary A5.2", "summary A5.9", "slides B11.2")
@pytest.mark.parametrize("offsets", [False, True])
def test_A5_9_the_gradient_in_every_layer_is_that_of_the_cost(offsets):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    weights = net.initial_weights([3, 4, 5, 2], rng, offsets=offsets)
    check = kg.check_gradient(
        lambda t: net.cost(X, Y, unflat(t, weights)),
        lambda t: flat(net.gradient(X, Y, unflat(t, weights))),
        flat(weights),
    )
    assert check.error < 1e-7, str(check)
    # the cost decreases in small steps, every one of them
    costs = [s.objective for s in net.gradient_descent(X, Y, weights, alpha=0.01, steps=20)]
    assert all(b < a for a, b in itertools.pairwise(costs))


@covers("summary A5.3", "summary A5.6")
def test_A5_6_the_summed_gradient_diverges():
    X = np.linspace(-3, 3, 100)[:, None]
    y = np.sin(X[:, 0])
    for seed in range(3):
        start = net.initial_weights([1, 10, 1], np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            worse = run(net.gradient_descent(X, y, start, steps=30, summed=True)).objective
        mean = run(net.gradient_descent(X, y, start, steps=30)).objective
        assert not worse < 1e3
        assert mean < 0.5


@covers("summary A5.7")
def test_A5_7_without_offsets_xor_cannot_be_learned():
    rng = np.random.default_rng(0)
    weights = net.initial_weights([2, 6, 1], rng, offsets=False)
    x = rng.standard_normal(2)
    f = [net.forward(v, weights)[-1] for v in (x, -x, 0 * x)]
    np.testing.assert_allclose(f[0] + f[1], 2 * f[2])
    _, stuck = trained(XOR, XOR_Y, [2, 4, 1], offsets=False, seed=0, steps=1500)
    assert stuck == pytest.approx(0.25, abs=1e-3)
    _, learned = trained(XOR, XOR_Y, [2, 4, 1], offsets=True, seed=0, steps=1500)
    assert learned < 1e-2
    params = {"activation": "logistic", "solver": "lbfgs", "alpha": 0.0, "max_iter": 2000}
    for intercept in (False, True):
        fast = kg.MLPRegressor(
            hidden_layer_sizes=(4,), fit_intercept=intercept, random_state=1, **params
        )
        mse = np.mean((fast.fit(XOR, XOR_Y).predict(XOR) - XOR_Y) ** 2)
        assert mse < 1e-3 if intercept else mse == pytest.approx(0.25, abs=1e-3)


@covers("summary A5.8")
def test_A5_8_equal_units_stay_equal():
    X = np.linspace(-1, 1, 12)[:, None]
    start = [np.full((4, 2), 0.3), np.full((1, 5), 0.2)]
    W, V = net.weights_of(run(net.gradient_descent(X, X[:, 0] ** 3, start, steps=20)), 2)
    np.testing.assert_allclose(W, np.tile(W[:1], (4, 1)))
    np.testing.assert_allclose(V[0, :4], V[0, 0])


@covers("summary C3")
def test_C3_identity_activation_is_linear_regression():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(60)
    linear = kg.LinearRegression().fit(X, y)
    network = kg.MLPRegressor(
        hidden_layer_sizes=(3,),
        activation="identity",
        solver="lbfgs",
        alpha=0.0,
        tol=1e-8,
        max_iter=3000,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(network.predict(X), linear.predict(X), atol=1e-3)
    slope = network.coefs_[0] @ network.coefs_[1]
    np.testing.assert_allclose(slope[:, 0], linear.coef_, atol=1e-3)


@covers("slides B11.1")
def test_B11_1_offsets_and_several_outputs():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 2))
    Y = np.column_stack([X[:, 0] + 1.0, X[:, 0] * X[:, 1]])
    model = kg.MLPRegressor(
        hidden_layer_sizes=(8, 6), activation="tanh", solver="lbfgs", max_iter=500, random_state=0
    ).fit(X, Y)
    assert [W.shape for W in model.coefs_] == [(2, 8), (8, 6), (6, 2)]
    assert [b.shape for b in model.intercepts_] == [(8,), (6,), (2,)]
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.99


@covers("slides B11.3", "slides B11.5")
def test_B11_3_xor_by_a_network_and_not_by_a_perceptron():
    y = XOR_Y.astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        perceptron = kg.Perceptron(random_state=0, max_iter=200).fit(XOR, y)
    assert perceptron.score(XOR, y) < 1.0
    network = kg.MLPClassifier((4,), activation="tanh", solver="lbfgs", random_state=0)
    assert network.fit(XOR, y).score(XOR, y) == 1.0


@covers("slides B11.4")
def test_B11_4_more_units_approximate_continuous_functions():
    """A smooth curve ever better with more units; a jump keeps its error next to it."""
    X = np.linspace(-3, 3, 121)[:, None]

    def worst(y, units):
        errors = []
        for seed in range(3):  # training need not find the best weights
            model = kg.MLPRegressor(
                hidden_layer_sizes=(units,),
                activation="tanh",
                solver="lbfgs",
                alpha=0.0,
                tol=1e-6,
                max_iter=600,
                random_state=seed,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            fine = np.linspace(-3, 3, 2401)[:, None]
            errors.append(np.abs(model.predict(fine) - np.interp(fine[:, 0], X[:, 0], y)).max())
        return min(errors)

    smooth = np.sin(2 * X[:, 0])
    errors = [worst(smooth, units) for units in (1, 3, 12)]
    assert errors[0] > 3 * errors[1] > 3 * errors[2]
    assert errors[2] < 0.1
    model = kg.MLPRegressor(
        hidden_layer_sizes=(12,), activation="tanh", solver="lbfgs", max_iter=300, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (X[:, 0] > 0).astype(float))
    near = np.linspace(-0.05, 0.05, 2001)[:, None]  # continuous, so half way somewhere
    assert np.abs(model.predict(near) - (near[:, 0] > 0)).max() > 0.4
