"""A network for regression (summary ch. 5; slides lecture 11), backpropagation line by line.

    x_1 = x,   z_{l+1} = W_l x_l,   x_l = sigma(z_l) for l = 2..L,   f = z_{L+1},   c = (f - y)^2

    delta_{L+1} = 2 (f - y)',   delta_l = (delta_{l+1} W_l) x_l (1 - x_l),   W_l: (x_l delta_{l+1})'

The page has no offsets: one hidden layer then obeys f(x) + f(-x) = 2 f(0), and x^2 or XOR of -1 and
1 cannot be learned. `offsets` appends a constant 1 to every layer, which is the page with B11's
offsets. The page adds up the gradients of all rows with a step of 0.1, which diverges: the mean is
taken here.
"""

from __future__ import annotations

import itertools

import numpy as np

from kilogram.textbook.state import Array, State, States, begin


def sigma(z: Array) -> Array:
    """The logistic function."""
    return 0.5 * (1.0 + np.tanh(0.5 * z))


def initial_weights(
    sizes: list[int], rng: np.random.Generator, *, offsets: bool = True
) -> list[Array]:
    """W_l of shape (units of layer l + 1, units of layer l), at random: equal units stay equal."""
    extra = 1 if offsets else 0
    return [
        rng.standard_normal((b, a + extra)) / np.sqrt(a + extra)
        for a, b in itertools.pairwise(sizes)
    ]


def _with_one(x: Array, W: Array) -> Array:
    """x and, where W has a column for it, the constant 1."""
    return np.append(x, 1.0) if W.shape[1] == len(x) + 1 else x


def forward(x: Array, weights: list[Array]) -> list[Array]:
    """The layers x_1 .. x_L of one row, each with its constant, and the output f at the end."""
    layers = [_with_one(x, weights[0])]
    for l, W in enumerate(weights):
        z = W @ layers[-1]
        last = l == len(weights) - 1
        layers.append(z if last else _with_one(sigma(z), weights[l + 1]))
    return layers


def outputs(X: Array, weights: list[Array]) -> Array:
    """f of every row, (N, K)."""
    return np.array([forward(x, weights)[-1] for x in X])


def cost(X: Array, Y: Array, weights: list[Array]) -> float:
    """C = 1/N sum_i |f(x_i) - y_i|^2."""
    return float(np.mean(np.sum((outputs(X, weights) - Y) ** 2, axis=1)))


def backpropagation(x: Array, y: Array, weights: list[Array]) -> States:
    """The gradient of one row's cost, layer by layer from the output."""
    layers = forward(x, weights)
    f = layers[-1]
    delta = 2.0 * (f - y)
    yield (s := begin("forward pass", float(np.sum((f - y) ** 2)), f=f))
    yield (s := s.then("error of the output", s.objective, delta=delta))
    for l in range(len(weights) - 1, -1, -1):
        gradient = np.outer(delta, layers[l])
        s = s.then(f"gradient of W_{l + 1}", s.objective, **{f"dW_{l + 1}": gradient})
        yield s
        if l:
            x_l = layers[l]
            delta = (delta @ weights[l]) * x_l * (1.0 - x_l)  # 0 for the constant
            delta = delta[: weights[l - 1].shape[0]]
            yield (s := s.then(f"error of layer {l + 1}", s.objective, delta=delta))
    return s


def gradient(X: Array, Y: Array, weights: list[Array]) -> list[Array]:
    """The gradient of C: the mean over the rows."""
    total = [np.zeros_like(W) for W in weights]
    for x, y in zip(X, Y, strict=True):
        for s in backpropagation(x, y, weights):
            last = s
        for l in range(len(weights)):
            total[l] = total[l] + last[f"dW_{l + 1}"] / len(X)
    return total


def gradient_descent(
    X: Array,
    Y: Array,
    weights: list[Array],
    *,
    alpha: float = 0.1,
    steps: int = 1000,
    summed: bool = False,
) -> States:
    """W <- W - alpha dC/dW; `summed` adds up the gradients of the rows, as the page prints it."""
    Y = Y.reshape(len(X), -1)
    names = [f"W_{l + 1}" for l in range(len(weights))]
    factor = alpha * (len(X) if summed else 1.0)
    yield (
        s := begin("start", cost(X, Y, weights), X=X, Y=Y, **dict(zip(names, weights, strict=True)))
    )
    for step in range(1, steps + 1):
        found = gradient(X, Y, weights)
        weights = [W - factor * g for W, g in zip(weights, found, strict=True)]
        now = dict(zip(names, weights, strict=True))
        yield (s := s.then(f"step {step}", cost(X, Y, weights), **now))
    return s


def weights_of(state: State, layers: int) -> list[Array]:
    """W_1 .. W_L of a state."""
    return [state[f"W_{l + 1}"] for l in range(layers)]
