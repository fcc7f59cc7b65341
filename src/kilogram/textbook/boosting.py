"""AdaBoost and rejection cascades: lecture_notes L27, corrected.

AdaBoost    f_0 = 0, w_i = 1; for t = 1 .. T: the stump g_t of least weighted error,
            err_t = sum w_i [y_i != g_t(x_i)] / sum w_i, beta_t = log((1 - err_t) / err_t) / 2,
            w_i <- w_i exp(-y_i beta_t g_t(x_i)), f_t = f_{t-1} + beta_t g_t; predict sign f_T
loss        sum_i exp(-y_i f(x_i)) (printed with a plus, by which errors would be rewarded)
bound       training error <= exponential loss / n = prod_t 2 sqrt(err_t (1 - err_t))
gradient    squared loss: g_t is fitted to the residuals y - f_{t-1}, f_t = f_{t-1} + nu g_t
additive    as gradient, but the features take turns: g_t is a stump of feature t mod d, so that
            f is a sum of functions of one feature (Lou et al. 2012)
cascade     stage s accepts f_s(x) >= c_s with c_s the epsilon-quantile of the positives' scores;
            the next stage is trained on what was accepted. All T stages: (1 - epsilon)^T
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from kilogram.textbook.state import Array, States, begin


def stump_values(X: Array, stump: Array) -> Array:
    """Of rows: stump = (feature, threshold, left value, right value)."""
    return np.where(X[:, int(stump[0])] <= stump[1], stump[2], stump[3])


def best_stump(X: Array, y: Array, w: Array) -> tuple[float, Array]:
    """Least weighted 0-1 loss over all features, gaps and signs; y is -1 or +1.

    Both sides may have the same sign: f then gets its constant.
    """
    best, found = np.inf, np.zeros(4)
    for j in range(X.shape[1]):
        for a, b in pairwise(np.unique(X[:, j])):
            for left, right in product((-1.0, 1.0), repeat=2):
                stump = np.array([j, (a + b) / 2, left, right])
                loss = float(w[stump_values(X, stump) != y].sum())
                if loss < best - 1e-12 * w.sum():
                    best, found = loss, stump
    return best / float(w.sum()), found


def adaboost(X: Array, y: Array, rounds: int) -> States:
    """Stumps (t, 4), beta (t,), err (t,), weights w and scores f after every round."""
    w, f = np.ones(len(y)), np.zeros(len(y))
    stumps: list[Array] = []
    beta: list[float] = []
    errs: list[float] = []
    yield (s := begin("f = 0, w = 1", float(len(y)), w=w, f=f, stumps=np.empty((0, 4))))
    for t in range(1, rounds + 1):
        err, stump = best_stump(X, y, w)
        if err >= 0.5 or err <= 0:  # no better than chance; or beta would be infinite
            break
        b = 0.5 * np.log((1 - err) / err)
        g = stump_values(X, stump)
        w, f = w * np.exp(-y * b * g), f + b * g
        stumps.append(stump)
        beta.append(float(b))
        errs.append(err)
        loss = float(np.exp(-y * f).sum())
        yield (s := s.then(f"{t}", loss, w=w, f=f, stumps=stumps, beta=beta, err=errs))
    return s


def gradient_boosting(X: Array, y: Array, rounds: int, nu: float = 0.1) -> States:
    """Squared loss: stumps of the residuals, least squares; f after every round."""
    f = np.full(len(y), y.mean())
    yield (s := begin("mean", float(np.sum((y - f) ** 2)), f=f))
    for t in range(1, rounds + 1):
        r = y - f
        best, g = np.inf, np.full(len(y), r.mean())
        for j in range(X.shape[1]):
            for a, _ in pairwise(np.unique(X[:, j])):
                low = X[:, j] <= a
                values = np.where(low, r[low].mean(), r[~low].mean())
                loss = float(np.sum((r - values) ** 2))
                if loss < best - 1e-12:
                    best, g = loss, values
        f = f + nu * g
        yield (s := s.then(f"{t}", float(np.sum((y - f) ** 2)), f=f, g=g))
    return s


def additive_boosting(X: Array, y: Array, rounds: int, nu: float = 0.1) -> States:
    """Squared loss: in each round every feature in turn gets a stump of the residuals.

    `parts` (n, d) are the shape functions at the rows.
    """
    mean, parts = y.mean(), np.zeros(X.shape)
    yield (s := begin("mean", float(np.sum((y - mean) ** 2)), parts=parts))
    for t in range(1, rounds + 1):
        for j in range(X.shape[1]):
            r = y - mean - parts.sum(axis=1)
            best, g = float(r.sum() ** 2 / len(r)) * (1 + 1e-10), np.zeros(len(y))
            for a, _ in pairwise(np.unique(X[:, j])):
                low = X[:, j] <= a
                gain = r[low].sum() ** 2 / low.sum() + r[~low].sum() ** 2 / (~low).sum()
                if gain > best * (1 + 1e-10):
                    best, g = gain, np.where(low, r[low].mean(), r[~low].mean())
            parts = parts + nu * g[:, None] * (np.arange(X.shape[1]) == j)
        loss = float(np.sum((y - mean - parts.sum(axis=1)) ** 2))
        yield (s := s.then(f"round {t}", loss, parts=parts))
    return s


def cascade(X: Array, y: Array, stages: int, rounds: int | list[int], epsilon: float) -> States:
    """Stages of AdaBoost; y is -1 or +1. `alive` are rows not yet rejected, `cost` the stumps.

    `rounds` is the number of stumps of a stage, or a list with one number for each.
    """
    sizes = [rounds] * stages if isinstance(rounds, int) else rounds
    alive = np.ones(len(y), dtype=bool)
    cost = np.zeros(len(y))
    yield (s := begin("all rows", alive=alive, cost=cost))
    for t in range(1, stages + 1):
        if not (y[alive] < 0).any() or not (y[alive] > 0).any():
            break
        f = np.full(len(y), -np.inf)
        *_, last = adaboost(X[alive], y[alive], sizes[t - 1])
        f[alive] = last["f"]
        c = np.quantile(f[alive & (y > 0)], epsilon, method="lower")
        cost = cost + alive * len(last["stumps"])
        alive = alive & (f >= c)
        yield (s := s.then(f"stage {t}", alive=alive, cost=cost, c=c))
    return s
