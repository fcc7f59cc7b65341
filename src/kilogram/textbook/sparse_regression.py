"""Few columns: matching pursuit, lasso and its relatives (lecture_notes L12, L13).

    best subset     min |y - X beta|^2 with at most d' coefficients: every subset would have to be
                    tried
    OMP             one column at a time, the one most correlated with the residual, then OLS
    lasso           min |y - X beta|^2 / 2 + lambda |beta|_1, for every bound t some lambda
    LARS            the whole lasso path, piecewise linear in lambda, knot by knot
    elastic net     |y - X beta|^2 + tau_1 |beta|^2 + tau_2 |beta|_1
    group lasso     |y - X beta|^2 / 2 + lambda sum_g sqrt|g| |beta_g|

Columns are compared by r'X_j, so they have to be of one length: standardise first. No offset:
centre first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from kilogram.textbook.state import Array, States, begin


def matching_pursuit(X: Array, y: Array, columns: int, *, positive: bool = False) -> States:
    """OMP; `positive` takes the largest correlation, not the largest |correlation|: beta >= 0."""
    active: list[int] = []
    beta, r = np.zeros(X.shape[1]), y
    yield (s := begin("0 nothing active", float(r @ r), beta=beta, r=r, active=np.array(active)))
    for step in range(1, columns + 1):
        c = X.T @ r if positive else np.abs(X.T @ r)
        c[active] = -np.inf  # the test is j not in B
        j = int(np.argmax(c))
        if not c[j] > 1e-12 * np.linalg.norm(y):
            break
        active.append(j)
        chosen = X[:, active]
        solve = nnls(chosen, y)[0] if positive else np.linalg.lstsq(chosen, y, rcond=None)[0]
        beta = np.zeros(X.shape[1])
        beta[active] = solve
        r = y - X @ beta
        label = f"{step} add column {j}, least squares on the active ones"
        yield (s := s.then(label, float(r @ r), beta=beta, r=r, active=np.array(active)))
    return s


def matching_pursuit_qr(X: Array, y: Array, columns: int) -> States:
    """The same with reflections: columns and targets are turned together, R grows by one a step.

    After s reflections the residual is the rows from s on of y; so are the columns still outside.
    It ends early when no column left is independent of the active ones and correlated with y.
    """
    A, z, order = X.astype(float).copy(), y.astype(float).copy(), np.arange(X.shape[1])
    beta, lengths = np.zeros(X.shape[1]), np.linalg.norm(X, axis=0)
    start = begin("0 nothing active", float(z @ z), R=A.copy(), z=z.copy(), order=order, beta=beta)
    yield (s := start)
    for k in range(min(columns, *X.shape)):
        c = np.abs(A[k:, k:].T @ z[k:])
        # what is left of a column that depends on the active ones is rounding
        c[np.linalg.norm(A[k:, k:], axis=0) <= 1e-10 * lengths[order[k:]]] = 0.0
        j = k + int(np.argmax(c))
        if not c[j - k] > 1e-12 * lengths.max() * np.linalg.norm(y):
            break
        A[:, [k, j]], order[[k, j]] = A[:, [j, k]], order[[j, k]]
        v = A[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        A[k:] -= 2 * np.outer(v, v @ A[k:])
        z[k:] -= 2 * v * (v @ z[k:])
        beta = np.zeros(X.shape[1])
        beta[order[: k + 1]] = solve_triangular(A[: k + 1, : k + 1], z[: k + 1])
        left = float(np.sum(z[k + 1 :] ** 2))
        news = {"R": A.copy(), "z": z.copy(), "order": order.copy(), "beta": beta}
        yield (s := s.then(f"{k + 1} reflect", left, **news))
    return s


def lasso(X: Array, y: Array, lam: float, sweeps: int = 1000, *, ridge: float = 0.0) -> States:
    """Coordinate descent on |y - X beta|^2 / 2 + lam |beta|_1 + ridge |beta|^2 / 2.

    One coefficient at a time: the least-squares value, drawn towards 0 by lam (soft threshold). A
    column of zeros keeps the coefficient 0.
    """
    if lam < 0 or ridge < 0:
        raise ValueError(f"lam and ridge must not be negative, got {lam} and {ridge}.")
    beta, lengths = np.zeros(X.shape[1]), np.sum(X**2, axis=0)
    s = begin("0 all zero", float(y @ y) / 2, beta=beta)
    yield s
    for sweep in range(1, sweeps + 1):
        before, beta = beta, beta.copy()
        for j in np.flatnonzero(lengths):
            c = X[:, j] @ (y - X @ beta) + lengths[j] * beta[j]
            beta[j] = np.sign(c) * max(abs(c) - lam, 0.0) / (lengths[j] + ridge)
        r = y - X @ beta
        value = 0.5 * r @ r + lam * np.abs(beta).sum() + 0.5 * ridge * beta @ beta
        yield (s := s.then(f"sweep {sweep}", float(value), beta=beta))
        if np.abs(beta - before).max() <= 1e-14 * max(1.0, np.abs(beta).max()):
            break
    return s


def elastic_net(X: Array, y: Array, tau_1: float, tau_2: float) -> States:
    """|y - X beta|^2 + tau_1 |beta|^2 + tau_2 |beta|_1: half of it is the lasso with a ridge."""
    return (yield from lasso(X, y, tau_2 / 2, ridge=tau_1))


def lars(X: Array, y: Array) -> States:
    """The lasso path from beta = 0 to least squares; `knots` (k, d) at `lambdas` (k,).

    Active columns keep |correlation| = lambda. beta moves along their least-squares direction to
    the next event: a column outside reaches lambda (enters), or a coefficient reaches 0 (leaves).
    """
    d = X.shape[1]
    beta = np.zeros(d)
    c = X.T @ y
    lam = float(np.abs(c).max())
    active = [int(np.argmax(np.abs(c)))]
    lambdas, knots = [lam], [beta]
    yield (s := begin("0 all zero", knots=np.array(knots), lambdas=np.array(lambdas)))
    while lam > 1e-12 * lambdas[0]:
        signs = np.sign(c[active])
        move = np.zeros(d)
        move[active] = np.linalg.solve(X[:, active].T @ X[:, active], signs)
        fall = X.T @ (X @ move)  # how correlations fall as beta moves
        step, event, leaves = _next_event(c, fall, lam, beta, move, active)
        beta, lam = beta + step * move, lam - step
        c = X.T @ (y - X @ beta)
        if leaves and event is not None:
            beta[event] = 0.0
            active.remove(event)
        elif event is not None:
            active.append(event)
        lambdas, knots = [*lambdas, lam], [*knots, beta]
        label = "least squares" if event is None else f"{event} {'leaves' if leaves else 'enters'}"
        yield (s := s.then(label, knots=np.array(knots), lambdas=np.array(lambdas), beta=beta))
    return s


def _next_event(
    c: Array, fall: Array, lam: float, beta: Array, move: Array, active: list[int]
) -> tuple[float, int | None, bool]:
    """The shortest step to an event: the column it concerns, and whether that leaves."""
    best, event, leaves = lam, None, False
    tiny = 1e-12 * lam
    for j in range(len(c)):
        if j in active:
            steps = [-beta[j] / move[j]] if move[j] != 0 else []
        else:
            steps = [
                (lam - sign * c[j]) / (1 - sign * fall[j])
                for sign in (1.0, -1.0)
                if abs(1 - sign * fall[j]) > 1e-12
            ]
        for step in steps:
            if tiny < step < best - tiny:
                best, event, leaves = float(step), j, j in active
    return best, event, leaves


def group_lasso(
    X: Array, y: Array, groups: Sequence[Sequence[int]], lam: float, steps: int = 5000
) -> States:
    """Gradient steps, then every group drawn towards 0 as a whole."""
    beta, rate = np.zeros(X.shape[1]), 1.0 / np.linalg.norm(X, 2) ** 2
    yield (s := begin("0 all zero", beta=beta))
    for t in range(1, steps + 1):
        before, beta = beta, beta + rate * (X.T @ (y - X @ beta))
        for g in map(list, groups):
            size, pull = np.linalg.norm(beta[g]), rate * lam * np.sqrt(len(g))
            beta[g] *= max(0.0, 1 - pull / size) if size > 0 else 0.0
        r = y - X @ beta
        penalty = sum(np.sqrt(len(g)) * np.linalg.norm(beta[list(g)]) for g in groups)
        yield (s := s.then(f"step {t}", float(0.5 * r @ r + lam * penalty), beta=beta))
        if np.abs(beta - before).max() < 1e-13 * max(1.0, np.abs(beta).max()):
            break
    return s
