"""The dual of the support vector machine and three ways to its optimum (first_encounter ch. 8).

    min_{w, b, xi}  1/2 |w|^2 + C sum_i xi_i^k    s.t.  y_i (w'x_i + b) >= 1 - xi_i,  xi_i >= 0

    max_alpha  sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j k(x_i, x_j)
               s.t.  sum_i alpha_i y_i = 0
               k = 1: 0 <= alpha_i <= C     k = 2: 0 <= alpha_i, and 1/(2C) on the diagonal of K

    f(x) = sum_i alpha_i y_i k(x_i, x) + b,   w = sum_i alpha_i y_i x_i

C = inf is the hard margin. b comes from the free vectors 0 < alpha_i < C, where y_i f(x_i) = 1: on
the others it does not hold. The texts write -b (first_encounter) or d (summary). Also in:
lecture_notes L24, L25; summary section 3.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.quadratic_program import quadratic_program
from kilogram.textbook.state import Array, States, begin, run


def with_slack(K: Array, C: float, slack: int) -> tuple[Array, float]:
    """Kernel matrix and upper bound of alpha: quadratic slack moves C into the diagonal."""
    return (K, C) if slack == 1 else (K + np.eye(len(K)) / (2 * C), np.inf)


def dual_value(K: Array, y: Array, alpha: Array) -> float:
    return float(alpha.sum() - (alpha * y) @ K @ (alpha * y) / 2)


def offset(K: Array, y: Array, alpha: Array, bound: float, *, tol: float = 1e-5) -> float:
    """Mean of y_i - sum_j alpha_j y_j K_ij over free vectors, else the middle of what is left."""
    at_zero = alpha <= tol * alpha.max(initial=tol)
    at_bound = alpha >= bound * (1 - tol)
    wanted = y - K @ (alpha * y)
    if not (at_zero | at_bound).all():
        return float(wanted[~(at_zero | at_bound)].mean())
    from_below = (at_zero & (y > 0)) | (at_bound & (y < 0))  # these want b at least this large
    return float((wanted[from_below].max() + wanted[~from_below].min()) / 2)


def conditions(
    K: Array, y: Array, alpha: Array, b: float, C: float, *, slack: int = 1
) -> dict[str, float]:
    """Largest violation of every KKT condition (8.25-8.33), with the gap; w = sum alpha y phi."""
    f = K @ (alpha * y) + b
    # the multiplier of xi >= 0, or of nothing: quadratic slack sets xi itself
    xi = np.maximum(0, 1 - y * f) if slack == 1 else alpha / (2 * C)
    mu = C - alpha if slack == 1 and np.isfinite(C) else np.zeros(len(y))
    if not np.isfinite(C):
        xi = np.zeros(len(y))
    margin = y * f - 1 + xi
    penalty = C * np.sum(xi**slack) if np.isfinite(C) else 0.0
    norm = (alpha * y) @ K @ (alpha * y)
    own = alpha @ alpha / (2 * C) if slack == 2 else 0.0
    return {
        "sum alpha y = 0": abs(float(alpha @ y)),
        "y f >= 1 - xi": float(np.maximum(-margin, 0).max()),
        "xi >= 0": float(np.maximum(-xi, 0).max()),
        "alpha >= 0": float(np.maximum(-alpha, 0).max()),
        "mu = C - alpha >= 0": float(np.maximum(-mu, 0).max()),
        "alpha (y f - 1 + xi) = 0": float(np.abs(alpha * margin).max()),
        "mu xi = 0": float(np.abs(mu * xi).max()),
        "primal - dual": float(norm / 2 + penalty - (alpha.sum() - norm / 2 - own / 2)),
    }


def _refuse_inseparable(K: Array, y: Array, alpha: Array) -> None:
    """A hard margin's dual grows for ever once the convex hulls of the classes meet."""
    half = alpha.sum() / 2
    if half > 0 and (alpha * y) @ K @ (alpha * y) < 1e-10 * half**2 * np.diag(K).max():
        raise ValueError("no plane separates the classes: a hard margin needs a finite C")


def svm(K: Array, y: Array, C: float, *, slack: int = 1) -> States:
    """The dual as a quadratic programme (8.35), then b, then every KKT condition."""
    Q, bound = with_slack(K, C, slack)
    yield (s := begin("1 kernel matrix", K=K, y=y))
    n = len(y)
    lower = (-np.eye(n), np.zeros(n))
    box = lower
    if np.isfinite(bound):
        box = np.vstack([lower[0], np.eye(n)]), np.concatenate([lower[1], np.full(n, bound)])
    alpha = np.zeros(n)
    equal = y[None, :].astype(float), np.zeros(1)
    for state in quadratic_program(Q * np.outer(y, y), -np.ones(n), *box, *equal):
        alpha = np.clip(state["x"], 0, bound)
        if slack == 1 and not np.isfinite(C):
            _refuse_inseparable(K, y, alpha)
    yield (s := s.then("2 quadratic programme", dual_value(Q, y, alpha), alpha=alpha))
    b = offset(Q, y, alpha, bound)
    yield (s := s.then("3 offset from free vectors", s.objective, b=b))
    report = conditions(K, y, alpha, b, C, slack=slack)
    yield (s := s.then("4 conditions", s.objective, violation=max(report.values())))
    return s


def smo(
    K: Array, y: Array, C: float, *, slack: int = 1, tol: float = 1e-6, max_steps: int = 5_000
) -> States:
    """Sequential minimal optimisation: the worst pair, solved exactly, until none is left.

    Along alpha_i y_i + alpha_j y_j = const the dual is a parabola; its top is clipped to the box.
    """
    Q, bound = with_slack(K, C, slack)
    alpha, error = np.zeros(len(y)), -y.astype(float)  # error: sum_j alpha_j y_j K_ij - y_i
    yield (s := begin("start", 0.0, alpha=alpha, violation=2.0))
    for step in range(1, max_steps + 1):
        can_rise = np.where(y > 0, alpha < bound, alpha > 0)  # alpha_i y_i may grow
        can_fall = np.where(y > 0, alpha > 0, alpha < bound)
        i = int(np.argmin(np.where(can_rise, error, np.inf)))
        j = int(np.argmax(np.where(can_fall, error, -np.inf)))
        violation = error[j] - error[i]
        if violation < tol:
            break
        curvature = max(Q[i, i] + Q[j, j] - 2 * Q[i, j], 1e-12)
        slack_i = bound - alpha[i] if y[i] > 0 else alpha[i]
        slack_j = alpha[j] if y[j] > 0 else bound - alpha[j]
        move = min(violation / curvature, slack_i, slack_j)
        alpha = alpha.copy()
        alpha[i] += y[i] * move
        alpha[j] -= y[j] * move
        alpha[[i, j]] = np.clip(alpha[[i, j]], 0, bound)
        error = error + move * (Q[:, i] - Q[:, j])
        if slack == 1 and not np.isfinite(C):
            _refuse_inseparable(K, y, alpha)
        value = dual_value(Q, y, alpha)
        yield (
            s := s.then(f"step {step}: points {i}, {j}", value, alpha=alpha, violation=violation)
        )
    else:
        if not np.isfinite(C):
            raise ValueError(f"{max_steps} steps found no plane that separates: give a finite C")
    yield (s := s.then("offset", s.objective, b=offset(Q, y, alpha, bound)))
    return s


def coordinate_descent(
    X: Array,
    y: Array,
    C: float,
    rng: np.random.Generator,
    *,
    slack: int = 1,
    tol: float = 1e-6,
    max_passes: int = 1000,
) -> States:
    """Linear machines one alpha at a time (lecture_notes L25; Hsieh et al. 2008).

    The offset is the weight of a column of ones, penalised with the others: then no equality ties
    the alphas together, and w = sum_i alpha_i y_i x_i is all that a step must keep up to date.
    """
    X1 = np.column_stack([np.ones(len(X)), X])
    diagonal, bound = (0.0, C) if slack == 1 else (1 / (2 * C), np.inf)
    alpha, w = np.zeros(len(y)), np.zeros(X1.shape[1])
    yield (s := begin("start", 0.0, X=X1, alpha=alpha, w=w))
    for sweep in range(1, max_passes + 1):
        steepest = 0.0
        alpha = alpha.copy()
        for i in rng.permutation(len(y)):
            slope = y[i] * (X1[i] @ w) - 1 + diagonal * alpha[i]
            new = np.clip(alpha[i] - slope / (X1[i] @ X1[i] + diagonal), 0, bound)
            steepest = max(steepest, abs(new - alpha[i]) * (X1[i] @ X1[i] + diagonal))
            w = w + (new - alpha[i]) * y[i] * X1[i]
            alpha[i] = new
        value = float(alpha.sum() - w @ w / 2 - diagonal * alpha @ alpha / 2)
        yield (s := s.then(f"pass {sweep}", value, alpha=alpha, w=w, steepest=steepest))
        if steepest < tol:
            break
    return s


def margin(K: Array, y: Array, alpha: Array) -> float:
    """2 / |w|: the distance between the two support planes."""
    return float(2 / np.sqrt((alpha * y) @ K @ (alpha * y)))


def perceptron(X: Array, y: Array, rng: np.random.Generator, *, max_passes: int = 1000) -> States:
    """Rosenblatt's rule finds some separating plane (w, b); how far is it from the widest one?

    Every state has the margin so far: the smallest distance y_i (w'x_i + b) / |w|, doubled.
    """
    w, b = np.zeros(X.shape[1]), 0.0
    yield (s := begin("start", w=w, b=b, margin=-np.inf))
    for sweep in range(1, max_passes + 1):
        mistakes = 0
        for i in rng.permutation(len(y)):
            if y[i] * (X[i] @ w + b) <= 0:
                w, b, mistakes = w + y[i] * X[i], b + y[i], mistakes + 1
        width = 2 * np.min(y * (X @ w + b)) / max(float(np.linalg.norm(w)), 1e-300)
        yield (s := s.then(f"pass {sweep}", float(mistakes), w=w, b=b, margin=width))
        if mistakes == 0:
            break
    return s


def widest(X: Array, y: Array) -> States:
    """From the perceptron's plane to the widest margin: the hard-margin machine in w and b."""
    dual = run(svm(X @ X.T, y, np.inf))
    yield (s := begin("1 dual of the hard margin", dual.objective, alpha=dual["alpha"]))
    w = X.T @ (dual["alpha"] * y)
    width = 2 / np.linalg.norm(w)
    yield (s := s.then("2 w = X'(alpha y)", dual.objective, w=w, b=dual["b"], margin=width))
    return s
