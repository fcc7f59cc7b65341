"""Support vector machines by stochastic gradients (cookbook ch. 20, 21; algorithms 19 and 20).

    linear   min_w  1/N sum_i max(0, 1 - y_i w'x_i) + lambda/2 |w|^2,      offset: a column of ones
    kernel   min_a  1/N sum_i max(0, 1 - y_i f(x_i)) + lambda/2 penalty

             f(x) = sum_j a_j k(x, x_j)
             penalty  a'K a = |f|^2, the machine of the other books, or |a|^2 as the page prints

One random point i gives the subgradient lambda w - [y_i f(x_i) <= 1] y_i x_i. Its mean over i
belongs to the MEAN of the losses: the page writes their sum, which is lambda_sum = N lambda. The
step at time t is 1/(lambda t), which cannot overshoot however large lambda is; the page's 1/t can.
The average of the iterates, later ones counting more, is the answer.

With C = 1/(lambda N) the linear machine is `svm_dual`'s with a penalised offset.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def hinge(f: Array, y: Array) -> Array:
    """How far each point is from a margin of 1."""
    return np.maximum(0, 1 - y * f)


def linear_cost(X1: Array, y: Array, w: Array, lam: float) -> float:
    """Mean hinge + lambda/2 |w|^2; X1 has the column of ones."""
    return float(hinge(X1 @ w, y).mean() + lam / 2 * w @ w)


def kernel_cost(K: Array, y: Array, a: Array, lam: float, penalty: str = "norm") -> float:
    """Mean hinge + lambda/2 a'K a ("norm") or lambda/2 |a|^2 ("coefficients")."""
    square = a @ K @ a if penalty == "norm" else a @ a
    return float(hinge(K @ a, y).mean() + lam / 2 * square)


def linear_svm(X: Array, y: Array, lam: float, passes: int, rng: np.random.Generator) -> States:
    """Algorithm 19: weights w with the offset first; a state after every N points."""
    X1 = np.column_stack([np.ones(len(X)), X])
    w = average = np.zeros(X1.shape[1])
    yield (s := begin("1 prepend ones, w = 0", linear_cost(X1, y, w, lam), X=X1, w=w))
    for t in range(1, passes * len(y) + 1):
        i = rng.integers(len(y))
        violated = y[i] * (X1[i] @ w) <= 1
        w = w - (lam * w - violated * y[i] * X1[i]) / (lam * t)
        average = average + 2 / (t + 1) * (w - average)
        if t % len(y) == 0:
            cost = linear_cost(X1, y, average, lam)
            yield (s := s.then(f"2 pass {t // len(y)}", cost, w=average, w_last=w))
    return s


def kernel_svm(
    K: Array,
    y: Array,
    lam: float,
    passes: int,
    rng: np.random.Generator,
    *,
    penalty: str = "norm",
) -> States:
    """Algorithm 20: coefficients a; K = k(X, centres) may have fewer columns than rows.

    With "norm" the step is taken in the space of functions: lambda f - y_i k(., x_i) changes one
    coefficient. Centres that are not all the points go with "coefficients".
    """
    a = average = np.zeros(K.shape[1])
    yield (s := begin("1 kernel matrix, a = 0", kernel_cost(K, y, a, lam, penalty), K=K, a=a))
    for t in range(1, passes * len(y) + 1):
        i = int(rng.integers(len(y)))
        violated = y[i] * (K[i] @ a) <= 1
        column = np.eye(1, len(a), i)[0] if penalty == "norm" else K[i]
        a = a - (lam * a - violated * y[i] * column) / (lam * t)
        average = average + 2 / (t + 1) * (a - average)
        if t % len(y) == 0:
            cost = kernel_cost(K, y, average, lam, penalty)
            yield (s := s.then(f"2 pass {t // len(y)}", cost, a=average, a_last=a))
    return s
