"""Algorithms as they are misprinted, run by the switches of the pages.

Each follows its printed page, error included; the corrected ones are in `kilogram.textbook`. The
states have the letters of the corrected version, so that the same picture shows both.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kilogram.book.textbook_steps import Step
from kilogram.textbook import begin
from kilogram.textbook.boosting import best_stump, stump_values
from kilogram.textbook.robust import huber_loss
from kilogram.textbook.state import Array, State, States

TINY = 1e-12  # keeps a division by zero away; far below all data of the pages


def printed_steps(states: Iterable[State]) -> list[Step]:
    """The states of a misprinted algorithm: no line of the corrected code belongs to them."""
    return [Step(state, None) for state in states]


def logistic_uphill(X: Array, y: Array, rng: np.random.Generator, steps: int = 240) -> States:
    """Cookbook, algorithm 18: W <- W + (1/t) x_i (p_i - y_i), a step up the loss."""
    X1 = np.column_stack([np.ones(len(X)), X])
    w = np.zeros(3)
    yield (s := begin("start", float(len(y) * np.log(2)), w=w))
    for t in range(1, steps + 1):
        i = rng.integers(len(X1))
        p = 1 / (1 + np.exp(-np.clip(X1[i] @ w, -50, 50)))
        w = w + (p - y[i]) * X1[i] / t
        if t % 20 == 0:
            loss = float(np.sum(np.logaddexp(0, -(2 * y - 1) * (X1 @ w))))
            yield (s := s.then(f"step {t}", loss, w=w))
    return s


def variances_of_one_row(Z: Array, y: Array, rounds: int = 12) -> tuple[float, Array]:
    """Lecture notes, L12: sigma_i = |r_i| for every row by itself. Offset and coefficients."""
    A, v = np.column_stack([np.ones(len(Z)), Z]), np.ones(len(Z))
    w = np.zeros(A.shape[1])
    for _ in range(rounds):
        w = np.linalg.lstsq(np.sqrt(v)[:, None] * A, np.sqrt(v) * y, rcond=1e-12)[0]
        v = 1 / np.maximum((y - A @ w) ** 2, 1e-10)
    return float(w[0]), w[1:]


def huber_by_loss(X: Array, y: Array, kappa: float, steps: int = 12) -> States:
    """Lecture notes, L17: the weights of Huber's loss are rho / r^2 where psi / r belongs."""
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    yield (s := begin("1 least squares", beta=beta, w=np.ones(len(y))))
    for _ in range(steps):
        r = y - X @ beta
        w = huber_loss(r, kappa) / np.maximum(r**2, TINY)
        beta = np.linalg.lstsq(np.sqrt(w)[:, None] * X, np.sqrt(w) * y, rcond=None)[0]
        loss = float(huber_loss(y - X @ beta, kappa).sum())
        yield (s := s.then("2 weighted least squares", loss, beta=beta, w=w))
    return s


def adaboost_uphill(X: Array, y: Array, rounds: int) -> States:
    """Lecture notes, lecture 27: with the loss exp(+y f), right points gain weight."""
    w, f = np.ones(len(y)), np.zeros(len(y))
    stumps: list[Array] = []
    beta: list[float] = []
    errors: list[float] = []
    before: list[Array] = []
    s = begin("f = 0, w = 1", w=w, f=f)
    for t in range(1, rounds + 1):
        error, stump = best_stump(X, y, w)
        error = float(np.clip(error, TINY, 0.5))
        b = 0.5 * float(np.log((1 - error) / error))
        before.append(w / w.sum())
        g = stump_values(X, stump)
        w, f = w * np.exp(y * b * g), f + b * g
        w = w / w.sum()
        stumps.append(stump)
        beta.append(b)
        errors.append(error)
        yield (s := s.then(f"{t}", w=np.array(before), f=f, stumps=stumps, beta=beta, err=errors))
    return s


def factors_at_once(X: Array, W: Array, H: Array, rounds: int = 60) -> States:
    """Lecture notes, lecture 21: both factors are updated from the old ones."""
    J = float(np.sum((X - W @ H) ** 2))
    yield (s := begin("1 factors", J, W=W, H=H))
    for _ in range(rounds):
        W, H = W * (X @ H.T) / (W @ (H @ H.T) + TINY), H * (W.T @ X) / (W.T @ W @ H + TINY)
        J = float(np.sum((X - W @ H) ** 2))
        yield (s := s.then("2 both factors", J, W=W, H=H))
    return s


def weights_of_length_one(X: Array, near: Array, components: int = 2) -> Array:
    """Lecture notes, lecture 20: coordinates from weights divided by their norm, not their sum."""
    W = np.zeros((len(X), len(X)))
    for i, row in enumerate(near):
        C = (X[row] - X[i]) @ (X[row] - X[i]).T
        w = np.linalg.solve(C + 1e-3 * np.trace(C) * np.eye(len(row)), np.ones(len(row)))
        W[i, row] = w / np.linalg.norm(w)
    M = (np.eye(len(X)) - W).T @ (np.eye(len(X)) - W)
    return np.asarray(np.linalg.eigh(M)[1][:, 1 : components + 1])
