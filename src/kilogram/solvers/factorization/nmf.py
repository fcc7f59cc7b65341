"""Alternating non-negative least squares: loadings for the components, components for the loadings.

    F(W, H) = 1/2 |X - W H|^2 + penalties         or         sum x log(x / wh) - x + wh + penalties

Each half is convex, both together are not: F never rises and ends in a local minimum. The products
with X cost far more than a sweep over the coordinates, so every half makes several sweeps (Gillis
and Glineur 2012), and the components run ahead along their last change, as far as F goes on falling
(Ang and Gillis 2019):

    H+ = max(0, H + b (H - H_before)),     b grows while F falls; when F rises, b shrinks and H+ = H
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.native.factorization import HalfUpdateRule
from kilogram.solvers.solution import Solution

# Steps between two looks at a loss that costs a pass of its own: scikit-learn's number.
LOSS_EVERY = 10


@dataclass(frozen=True)
class Plan:
    """The two rules, the squares of X, and what ends the work."""

    rows: HalfUpdateRule
    columns: HalfUpdateRule
    squares: float
    max_iter: int
    tol: float
    missing: bool = False


def alternate(table: Any, H: Any, plan: Plan, tick: Any) -> Solution:
    """Both halves in turn, from the loadings in `table` and the components H."""
    if plan.rows.update != "cd" or plan.missing:
        return _scaling(table, H, plan, tick)
    free = plan.rows.l1 + plan.rows.l2 + plan.columns.l1 + plan.columns.l2 == 0
    if free or plan.max_iter < 2:
        return _descent(table, H, plan, tick)
    # Penalties met before the parts have taken shape put some of them to 0 for good.
    begun = _descent(table, H, _unpenalised_steps(plan), tick)
    rest = replace(plan, max_iter=plan.max_iter - begun.n_iter)
    found = _descent(table, begun.value, rest, tick)
    return replace(found, n_iter=begun.n_iter + found.n_iter)


def _unpenalised_steps(plan: Plan) -> Plan:
    """A few steps of it without penalties."""
    rows, columns = (rule._replace(l1=0.0, l2=0.0) for rule in (plan.rows, plan.columns))
    few = min(LOSS_EVERY, plan.max_iter // 2)
    return replace(plan, rows=rows, columns=columns, max_iter=few, tol=0.0)


def balance(gram: Any, H: Any, plan: Plan) -> Any:
    """c (k,): how much larger W's columns, and smaller H's rows, make the penalties least.

    W H stays the same. Descent alone drifts along this valley for hundreds of steps.
    """
    w, h, k = plan.rows, plan.columns, gram.shape[0]
    if not (w.l1 + w.l2 > 0 and h.l1 + h.l2 > 0):
        return None
    xp = namespace(H)
    rise = (np.asarray(w.l1 * gram[:, k]), np.asarray(w.l2 * np.diag(gram[:, :k])))
    sums, squares = (np.asarray(to_numpy(xp.sum(v, axis=1)), float) for v in (H, H * H))
    fall = (h.l1 * sums, h.l2 * squares)
    t = np.zeros(k)  # log c, by Newton's method on a convex function
    for _ in range(30):
        up = (rise[0] * np.exp(t), rise[1] * np.exp(2 * t))
        down = (fall[0] * np.exp(-t), fall[1] * np.exp(-2 * t))
        slope = up[0] + up[1] - down[0] - down[1]
        curve = up[0] + 2 * up[1] + down[0] + 2 * down[1]
        t -= np.clip(np.where(curve > 0, slope / np.where(curve > 0, curve, 1.0), 0.0), -1.0, 1.0)
    live = (sum(rise) > 0) & (sum(fall) > 0)  # what is 0 has no scale
    return np.where(live, np.exp(t), 1.0)


def penalty(gram: Any, rule: HalfUpdateRule) -> float:
    """l1 sum W + l2 / 2 |W|^2, weighted, from the sums of a half step."""
    k = gram.shape[0]
    return rule.l1 * float(gram[:, k].sum()) + 0.5 * rule.l2 * float(gram[:, :k].trace())


def _weight_of(H: Any, rule: HalfUpdateRule) -> float:
    xp = namespace(H)
    return rule.l1 * float(xp.sum(H)) + 0.5 * rule.l2 * float(xp.sum(H * H))


def _descent(table: Any, H: Any, plan: Plan, tick: Any) -> Solution:
    xp = namespace(H)
    best, before, ahead, F, first = H, H, H, float("inf"), 0.0
    b, ceiling, message, step, still = 0.5, 1.0, "", 0, 0
    eps = float(xp.finfo(H.dtype).eps)
    for step in range(1, plan.max_iter + 1):
        met, _ = table.loadings(ahead, plan.rows)
        H, more, value = table.components(ahead, plan.columns)
        now = 0.5 * plan.squares + value + penalty(table.gram, plan.rows)
        c = balance(table.gram, H, plan)
        if c is not None:
            now -= _weight_of(H, plan.columns) + penalty(table.gram, plan.rows)
            table.scale(c)
            H = H / like(c, H)[:, None]
            now += _weight_of(H, plan.columns) + penalty(table.gram, plan.rows)
        violation = met + more
        first = first or violation
        still = still + 1 if abs(F - now) <= 4 * eps * plan.squares else 0
        if violation <= plan.tol * first or still == 3:  # or rounding is all that moves
            return Solution(H, step, now)
        if now > F:  # ran too far: back to the best, and a shorter run next time
            ceiling, b, ahead, F = b, b / 1.5, best, float("inf")
        else:
            before, best, F = best, H, now
            ahead = table.extrapolate(H, before, b)
            b, ceiling = min(ceiling, 1.05 * b), min(1.0, 1.01 * ceiling)
        message = "the projected gradient is above tol times that of the start."
        if tick(step, now):
            message = f"the time was up, and {message}"
            break
    return Solution(best, step, F, False, message)


def _scaling(table: Any, H: Any, plan: Plan, tick: Any) -> Solution:
    """Multiplicative updates, and rows with holes: F is looked at every few steps."""
    last, start, message, step = None, None, "", 0
    for step in range(1, plan.max_iter + 1):
        look = step % LOSS_EVERY == 1 or step == plan.max_iter
        _, loss = table.loadings(H, plan.rows, look)
        H, _, _ = table.components(H, plan.columns)
        loss = max(loss, 0.0) ** 0.5
        if look and last is not None and last - loss <= plan.tol * (start or 1.0):
            return Solution(H, step, loss)
        if look:
            start, last = (loss if start is None else start), loss
        message = f"the loss fell by more than tol in the last {LOSS_EVERY} iterations."
        if tick(step, loss):
            message = f"the time was up, and {message}"
            break
    return Solution(H, step, None, False, message)
