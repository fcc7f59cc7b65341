"""Logistic regression with an elastic-net penalty: proximal Newton steps.

    step    min_D  <G, D> + 1/2 <D, (H + Lambda) D> + sum_kj mu_j |W_kj + D_kj|

by coordinate descent on the curvature H, then a line search along D. With many features only a
working set of those that are not 0, or violate the optimality conditions, is solved; the others are
checked whenever it has converged.

Certificate    distance of the gradient from [-mu, mu] where W is 0, from -mu sign(W) elsewhere.

Reference: Friedman, Hastie and Tibshirani 2010; Yuan, Ho and Lin 2012.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kilogram.arrays.namespace import is_sparse
from kilogram.native.logistic import elastic_step
from kilogram.solvers.newton.lbfgs import GradientStop, kind_of, stop_message
from kilogram.solvers.newton.softmax import Array, Problem, SoftmaxIterate
from kilogram.solvers.solution import Solution

# Coefficients t D up to which no working set is used. Measured on 500 to 20 000 rows: with 100 to
# 200 coefficients 1.1 to 3.2 times faster for C = 0.1 and 1, 0.5 to 0.9 times for C = 0.01; with
# 300 to 1 000 as fast for C = 0.1 and 1, 0.1 to 0.3 times for C = 0.01.
FEW = 200
# t D up to which the whole Hessian is used: up to 18 times faster for 4 to 10 classes, C = 1.
FULL = 1000
# Features in the first working set: with 8 to 128 of 2 000 a fit takes the same time.
FIRST = 32


def violation(problem: Problem, point: SoftmaxIterate) -> Array:
    """Distance of -gradient from the slopes of the absolute values, (t, D)."""
    mu, W, G = problem.absolute, point.W, point.gradient
    inside = np.maximum(np.abs(G) - mu, 0.0)
    return np.where(W != 0, np.abs(G + mu * np.sign(W)), inside)


def total(problem: Problem, point: SoftmaxIterate) -> float:
    """F with the absolute values."""
    return point.value + float(np.sum(problem.absolute * np.abs(point.W)))


def direction(problem: Problem, point: SoftmaxIterate, tol: float) -> Array:
    """D that minimises the quadratic model."""
    H, W, G = point.H, point.W, point.gradient
    assert H is not None
    mu, t = problem.absolute, problem.t
    if H.ndim == 3:  # a diagonal
        curve = np.maximum(H[:, 0] + problem.quadratic, 1e-12)
        z = W - G / curve
        return np.sign(z) * np.maximum(np.abs(z) - mu / curve, 0.0) - W
    if len(H) == t * problem.D:
        H = H + np.diag(np.tile(problem.quadratic, t))
        return elastic_step(H, G.ravel(), W.ravel(), np.tile(mu, t), tol=tol).reshape(W.shape)
    H = H + np.diag(problem.quadratic)  # one for all classes
    return np.stack([elastic_step(H, g, w, mu, tol=tol) for g, w in zip(G, W, strict=True)])


def minimise_elastic(
    problem: Problem, W: Array, stop: GradientStop, *, in_memory: bool
) -> Solution:
    """Minimise F from W; the value is a Point."""
    if in_memory and problem.t * problem.D > FEW:
        return _working_sets(problem, W, stop)
    return proximal_newton(problem, W, stop)


def proximal_newton(problem: Problem, W: Array, stop: GradientStop) -> Solution:
    """All features at once."""
    kind = "full" if problem.t * problem.D <= FULL else kind_of(problem)
    point, step = problem.at(W, kind), 0
    problem.ensure_finite(point.gradient)
    while True:
        worst = float(violation(problem, point).max())
        if worst <= stop.tol * problem.total:
            return Solution(point, step, total(problem, point))
        message = stop_message(problem, point, step, stop)
        if message:
            return Solution(point, step, total(problem, point), False, message)
        D = direction(problem, point, 1e-3 * worst)
        if not problem.intercept:
            D[:, -1] = 0.0
        new = _backtracking(problem, point, D, kind)
        if new is None:
            why = f"rounding errors leave a violation of {worst / problem.total:.2g}."
            done = worst <= 1e-5 * problem.total
            return Solution(point, step, total(problem, point), done, "" if done else why)
        point, step = new, step + 1


def _backtracking(
    problem: Problem, point: SoftmaxIterate, D: Array, kind: str
) -> SoftmaxIterate | None:
    """Backtracking: the first of W + D, W + D/2, ... with a sufficient decrease of F."""
    mu, before = problem.absolute, total(problem, point)
    fall = float(np.sum(point.gradient * D))
    fall += float(np.sum(mu * (np.abs(point.W + D) - np.abs(point.W))))
    t = 1.0
    while t > 1e-8:
        new = problem.at(point.W + t * D, kind)
        value = total(problem, new)
        if math.isfinite(value) and value <= before + 0.01 * t * fall + 1e-14 * abs(before):
            return new if new.value != point.value or fall < 0 else None
        t *= 0.5
    return None


def _columns(problem: Problem, at: Array) -> Problem:
    """The problem on some of the columns."""
    keep = np.append(at, problem.D - 1)
    return replace(
        problem,
        rows=(problem.rows[0][:, at], *problem.rows[1:]),
        shift=problem.shift[at],
        quadratic=problem.quadratic[keep],
        absolute=problem.absolute[keep],
    )


def _working_sets(problem: Problem, W: Array, stop: GradientStop) -> Solution:
    """Working sets of features that are not 0 or violate their bound, doubled until none does."""
    X = problem.rows[0]
    wide = replace(problem, rows=(X.tocsc() if is_sparse(X) else X, *problem.rows[1:]))
    point, steps, size = problem.at(W), 0, FIRST
    problem.ensure_finite(point.gradient)
    while True:
        outside = violation(problem, point)[:, :-1].max(axis=0)
        intercept = float(violation(problem, point)[:, -1].max()) if problem.intercept else 0.0
        if max(float(outside.max()), intercept) <= stop.tol * problem.total:
            return Solution(point, steps, total(problem, point))
        used = np.any(point.W[:, :-1] != 0, axis=0)
        size = max(size, 2 * int(used.sum()))
        ranked = np.argsort(-np.where(used, np.inf, outside), kind="stable")[:size]
        at = np.sort(ranked[used[ranked] | (outside[ranked] > 0)])
        small = _columns(wide, at)
        if is_sparse(X):
            small = replace(small, rows=(small.rows[0].tocsr(), *small.rows[1:]))
        keep = np.append(at, problem.D - 1)
        inner = stop._replace(tol=0.3 * stop.tol, max_iter=stop.max_iter - steps)
        found = proximal_newton(small, point.W[:, keep], inner)
        W = np.zeros_like(W)
        W[:, keep] = found.value.W
        point, steps = problem.at(W), steps + found.n_iter
        if not found.converged:
            return Solution(point, steps, total(problem, point), False, found.message)
