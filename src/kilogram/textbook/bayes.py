"""Bayes' rule and the errors of simple rules (lecture_notes L02, L03).

    p(y | x) = p(x | y) p(y) / p(x);   the least error is E[1 - max_y p(y | x)]

The toy of both lectures: equal priors on [0, 1] with p(x | 0) = 2 - 2x and p(x | 1) = 2x, so that
p(1 | x) = x. Rule a predicts 0 iff x <= t, rule b predicts 1 iff x <= t.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def bayes_rule(likelihood: Array, prior: Array) -> States:
    """likelihood (x, y) of every value of a discrete x: evidence, posterior, decision, error."""
    joint = likelihood * prior
    evidence = joint.sum(axis=1)
    yield (s := begin("1 evidence", evidence=evidence))
    posterior = joint / evidence[:, None]
    yield (s := s.then("2 posterior", posterior=posterior, decision=posterior.argmax(axis=1)))
    yield (s := s.then("3 error", error=float(evidence @ (1 - posterior.max(axis=1)))))
    return s


def confusion(labels: Array, predicted: Array, C: int) -> States:
    """Rows the true class, columns the answer; the error is what lies off the diagonal."""
    table = np.zeros((C, C))
    np.add.at(table, (labels, predicted), 1)
    error = 1 - np.trace(table) / table.sum()
    yield (s := begin("1 table", table=table, error=error))
    return s


def threshold_errors(t: Array) -> States:
    """Errors of rules a and b on the toy, by their integrals."""
    a = t**2 / 2 + ((1 - t) - (1 - t**2) / 2)  # int_0^t x dx + int_t^1 (1 - x) dx
    yield (s := begin("1 rule a", a=a))
    yield (s := s.then("2 rule b", b=1 - a))
    return s


def toy(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points of the toy by inversion: 1 - sqrt(1 - u) of class 0, sqrt(u) of class 1."""
    labels, u = rng.integers(0, 2, n), rng.random(n)
    return np.where(labels == 1, np.sqrt(u), 1 - np.sqrt(1 - u)), labels


def one_prototype_each(steps: int = 400) -> States:
    """L03: one random point of each class, threshold in the middle; error by quadrature.

    The density of (rule a, t, h) with prototypes t - h and t + h is 2 (2 - 2(t - h)) 2(t + h).
    """
    t = (np.arange(steps) + 0.5) / steps
    most = np.minimum(t, 1 - t)
    h = most[:, None] * (np.arange(steps) + 0.5) / steps
    area = (most / steps / steps)[:, None]
    zero, one = (lambda x: 2 - 2 * x), (lambda x: 2 * x)
    a = np.sum(2 * zero(t[:, None] - h) * one(t[:, None] + h) * area, axis=1)
    b = np.sum(2 * one(t[:, None] - h) * zero(t[:, None] + h) * area, axis=1)
    yield (s := begin("1 chances of the rules", p_a=a.sum(), p_b=b.sum()))
    error_a = 0.25 + (t - 0.5) ** 2
    yield (s := s.then("2 expected error", error=float(a @ error_a + b @ (1 - error_a))))
    return s
