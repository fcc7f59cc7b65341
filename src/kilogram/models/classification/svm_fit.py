"""All machines of a classifier: each duel on its rows, coefficients gathered on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.rows import take_rows
from kilogram.kernels import Precomputed
from kilogram.models.classification.svm_kernel import Setting, precomputed_rows
from kilogram.models.classification.svm_machines import Duel, duels
from kilogram.models.classification.svm_small import all_at_once, solve_small
from kilogram.solvers.smo import KernelRows, Machine, StoredRows, kernel_rows, scaled, soft_margin
from kilogram.solvers.smo.rows import WHOLE
from kilogram.solvers.solution import Solution

Array = np.ndarray


class Labelled(NamedTuple):
    """Rows, their class codes, and weights or None."""

    X: Any
    codes: Array
    w: Array | None


class Active(NamedTuple):
    """Rows that count: positions in the rows given, their class codes and penalties C > 0."""

    X: Any
    codes: Array
    C: Array
    where: Array
    n: int


class Start(NamedTuple):
    """Dual points of a fit, to start the next one from: by machine, with the penalties they had."""

    b: tuple[Array, ...]
    C: Array
    codes: Array


class Fitted(NamedTuple):
    """Machines side by side: coefficients (n, machines) of all rows, biases, certificates."""

    coef: Array
    bias: Array
    steps: Array
    objective: float
    gap: float
    violation: float
    summary: Solution
    start: Start
    #: Calibration of the decision values, if it was asked for.
    slopes: Any = None


def penalties(C: float, rows: Labelled, class_weight: Array) -> Array:
    """C_i = C times the weights of the class and of the row, (n,)."""
    out = float(C) * class_weight[rows.codes]
    with np.errstate(invalid="ignore"):
        out = out if rows.w is None else out * rows.w.astype(np.float64)
    return np.where(np.isnan(out), 0.0, out)  # inf * 0: a row that does not count


def drop_weightless(rows: Labelled, C: Array, classes: Array) -> Active:
    """The rows with C_i > 0; every class must keep some."""
    if not (C >= 0).all():
        raise ValueError("class_weight must not be negative: a row cannot have a negative price.")
    where = np.nonzero(C > 0)[0]
    n = C.shape[0]
    left = np.unique(rows.codes[where])
    if left.shape[0] < classes.shape[0]:
        lost = [classes[i] for i in range(classes.shape[0]) if i not in left]
        raise ValueError(
            f"All rows of the classes {lost!r} have weight zero, so they cannot be learnt; leave "
            "the rows out, or give them weight."
        )
    if where.shape[0] == n:
        return Active(rows.X, rows.codes, C, where, n)
    return Active(take_rows(rows.X, where), rows.codes[where], C[where], where, n)


def fit_duels(setting: Setting, active: Active, model: Any, start: Start | None = None) -> Fitted:
    """Every machine of the model's classes on the rows it concerns."""
    return fit_duels_along(setting, active, model, (1.0,), start)[0]


def fit_duels_along(
    setting: Setting,
    active: Active,
    model: Any,
    factors: Sequence[float],
    start: Start | None = None,
) -> list[Fitted]:
    """The machines for all penalties times each factor, one after the other on the same rows."""
    plan = duels(int(active.codes.max()) + 1, model.multi_class)
    if len(plan) > 1 and plan[0].second is not None and active.codes.shape[0] <= WHOLE:
        active = class_by_class(active, setting)
    shared = shared_rows(setting, active, plan)
    if start is None and len(factors) == 1 and isinstance(shared, StoredRows):
        small = fit_small(setting, active, model, plan, shared)
        if small is not None:
            return [small]
    usable = start is not None and np.array_equal(start.codes, active.codes)
    coef = np.zeros((len(factors), active.n, len(plan)))
    found: list[list[Machine]] = [[] for _ in factors]
    for position, duel in enumerate(plan):
        at = duel.rows(active.codes)
        begin: Any = None
        if usable and start is not None and position < len(start.b):
            begin = start.b[position] * ratio(factors[0] * active.C[at], start.C[at])
        X, rows = points(setting, active, shared, at)
        y = duel.signs(active.codes[at])
        for k, factor in enumerate(factors):
            P = soft_margin(y, factor * active.C[at], slack=model.slack)
            machine = setting.fit(X, P, rows=rows, start=begin)
            coef[k, active.where[at], position] = machine.coef
            found[k].append(machine._replace(rows=None))
            rows = machine.rows if len(factors) > 1 else rows
            if k + 1 < len(factors):
                begin = scaled(machine.dual, factors[k + 1] / factor)
    return [
        gather(
            coef[k], found[k], Start(tuple(m.dual.b for m in found[k]), f * active.C, active.codes)
        )
        for k, f in enumerate(factors)
    ]


def fit_small(
    setting: Setting, active: Active, model: Any, plan: list[Duel], rows: StoredRows
) -> Fitted | None:
    """All machines in one compiled call, where that is quick and nobody watches; else None."""
    tol, C = setting.options.tol, active.C
    if rows.n > WHOLE or not all_at_once(model, C, setting.options.max_steps):
        return None
    found = solve_small(rows.K, active, plan, model.slack, tol)
    if found is None:
        return None
    steps, bias, objective, gap, violation = found.results.T
    return Fitted(
        found.coef,
        bias.copy(),
        steps.astype(np.int64),
        float(objective.sum()),
        float(gap.sum()),
        float(violation.max()),
        Solution(None, int(steps.sum()), None, True, ""),
        Start(found.b, C, active.codes),
    )


def class_by_class(active: Active, setting: Setting) -> Active:
    """The rows class after class: the square of a pair is then read from four patches of K."""
    if isinstance(setting.kernel, Precomputed):
        return active
    order = np.argsort(active.codes, kind="stable")
    return active._replace(
        X=take_rows(active.X, order),
        codes=active.codes[order],
        C=active.C[order],
        where=active.where[order],
    )


def ratio(new: Array, old: Array) -> float:
    """How all penalties changed; scaling a dual point by it keeps sum b = 0 and the box."""
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.nanmin(new / old)
    return float(change) if np.isfinite(change) else 1.0


def shared_rows(setting: Setting, active: Active, plan: list[Duel]) -> KernelRows | None:
    """One kernel matrix, or one cache of rows, for all machines; None: each makes its own."""
    n = active.codes.shape[0]
    if isinstance(setting.kernel, Precomputed):
        return precomputed_rows(active.X, active.where)
    if n <= WHOLE or (len(plan) > 1 and plan[0].second is None):
        return kernel_rows(setting.kernel, active.X, limit=setting.limit, shared=True)
    return None


def points(
    setting: Setting, active: Active, shared: KernelRows | None, at: Array
) -> tuple[Any, KernelRows | None]:
    """The points of one machine, and the kernel rows they share with the others."""
    if at.shape[0] == active.codes.shape[0]:
        return active.X, shared
    if isinstance(shared, StoredRows):
        return None, StoredRows(shared.square(at))
    return take_rows(active.X, at), None


def gather(coef: Array, machines: list[Machine], start: Start) -> Fitted:
    """The machines as one: sums of objectives and gaps, the worst violation, one message."""
    certificates = [m.certificate for m in machines]
    slow = [m.found for m in machines if not m.found.converged]
    steps = np.array([m.found.n_iter for m in machines])
    message = slow[0].message if slow else ""
    if len(machines) > 1 and slow:
        message = f"{len(slow)} of {len(machines)} machines are unfinished; in the first, {message}"
    return Fitted(
        coef,
        np.array([c.bias for c in certificates]),
        steps,
        float(sum(c.objective for c in certificates)),
        float(sum(c.gap for c in certificates)),
        max(c.violation for c in certificates),
        Solution(None, int(steps.sum()), None, not slow, message),
        start,
    )


def primal_objective(values: Array, norms: Array, active: Active, model: Any) -> float:
    """sum over machines of 1/2 |w|^2 + sum_i C_i xi_i^slack, from values (n, machines)."""
    total = 0.0
    for position, duel in enumerate(duels(int(active.codes.max()) + 1, model.multi_class)):
        at = duel.rows(active.codes)
        margin = duel.signs(active.codes[at]) * values[at, position]
        xi = np.maximum(0.0, 1.0 - margin)
        if np.isinf(active.C).any():  # hard margin: the plane scaled to margins of 1
            total += 0.5 * float(norms[position]) / min(1.0, float(margin.min())) ** 2
        else:
            total += 0.5 * float(norms[position]) + float(active.C[at] @ xi**model.slack)
    return total
