"""The perceptron (slides lecture 7; first_encounter ch. 7) and its remedies.

    error     E_P(w) = -sum_{m wrong} y_m w'x_m,   y = +-1        step    w <- w + eta y_m x_m

The bias is the weight of a leading column of ones. w = 0 has E_P = 0 and decides nothing: training
ends when no point is wrong, and a point on the boundary is wrong. Separable classes end after at
most (R / gamma)^2 mistakes from w = 0; others never, so every variant has a cap.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def with_ones(X: Array) -> Array:
    """The column of ones that carries the bias."""
    return np.column_stack([np.ones(len(X)), X])


def wrong(X1: Array, y: Array, w: Array) -> Array:
    """Which points are misclassified; on the boundary counts as wrong."""
    return y * (X1 @ w) <= 0


def error(X1: Array, y: Array, w: Array) -> float:
    """E_P(w)."""
    return float(np.sum(np.maximum(-y * (X1 @ w), 0.0)))


def mistakes(
    X: Array, y: Array, rng: np.random.Generator, *, eta: float = 1.0, max_steps: int = 10_000
) -> States:
    """Variant A: while a point is wrong, take a random wrong one; constant eta."""
    X1 = with_ones(X)
    w = np.ones(X1.shape[1]) / X1.shape[1]
    yield (s := begin("start", error(X1, y, w), X=X1, w=w, wrong=wrong(X1, y, w)))
    for step in range(1, max_steps + 1):
        bad = np.nonzero(wrong(X1, y, w))[0]
        if len(bad) == 0:
            break
        m = rng.choice(bad)
        w = w + eta * y[m] * X1[m]
        yield (s := s.then(f"step {step}", error(X1, y, w), w=w, wrong=wrong(X1, y, w)))
    return s


def draws(
    X: Array, y: Array, rng: np.random.Generator, *, eta: float = 1.0, its: int = 1000
) -> States:
    """Variant B (algorithm 1): a random point each time; if wrong, a step of eta / it."""
    X1 = with_ones(X)
    w = np.ones(X1.shape[1]) / X1.shape[1]
    yield (s := begin("start", error(X1, y, w), X=X1, w=w, wrong=wrong(X1, y, w)))
    for it in range(1, its + 1):
        i = rng.integers(len(X1))
        if wrong(X1[i : i + 1], y[i : i + 1], w)[0]:
            w = w + (eta / it) * y[i] * X1[i]
            yield (s := s.then(f"draw {it}", error(X1, y, w), w=w, wrong=wrong(X1, y, w)))
    yield (s := s.then("end", error(X1, y, w), w=w, wrong=wrong(X1, y, w)))
    return s


def averaged(
    X: Array, y: Array, rng: np.random.Generator, *, passes: int = 10, eta: float = 1.0
) -> States:
    """Freund and Schapire's remedy: remember every w with the number of points it survived.

    `V` holds the vectors and `c` their votes: sign(sum_v c_v sign(v'x)) is the voted perceptron,
    the mean `w_bar` = sum_v c_v v / sum_v c_v the averaged one.
    """
    X1 = with_ones(X)
    w = np.zeros(X1.shape[1])
    vectors, votes = [w], [0]
    yield (s := begin("start", X=X1, w=w, V=np.array(vectors), c=np.array(votes)))
    for sweep in range(1, passes + 1):
        for i in rng.permutation(len(y)):
            if y[i] * (X1[i] @ w) <= 0:
                w = w + eta * y[i] * X1[i]
                vectors.append(w)
                votes.append(0)
            votes[-1] += 1
        V, c = np.array(vectors), np.array(votes)
        yield (s := s.then(f"pass {sweep}", error(X1, y, w), w=w, V=V, c=c, w_bar=c @ V / c.sum()))
    return s


def vote(X: Array, V: Array, c: Array) -> Array:
    """The voted perceptron's label of every row: +1 or -1."""
    return np.where(np.where(with_ones(X) @ V.T > 0, 1.0, -1.0) @ c > 0, 1.0, -1.0)


def one_versus_rest(
    X: Array, y: Array, rng: np.random.Generator, *, max_steps: int = 2000
) -> States:
    """One perceptron per class; the label is the class of the largest w_k'x."""
    X1, K = with_ones(X), int(np.max(y)) + 1
    W = np.zeros((X1.shape[1], K))
    yield (s := begin("start", X=X1, W=W))
    for k in range(K):
        own = np.where(y == k, 1.0, -1.0)
        W = W.copy()
        for state in mistakes(X, own, rng, max_steps=max_steps):
            W[:, k] = state["w"]
        right = float(np.mean(np.argmax(X1 @ W, axis=1) == y))
        yield (s := s.then(f"class {k} against the rest", right, W=W))
    return s
