"""Solves all binary problems of a support vector classifier on one set of rows.

Several problems of few rows: one kernel matrix and one compiled call for all of them. Ten classes
are 45 problems of a few dozen pair steps each, and the calls around the steps would take most of
the time. A problem that does not end soon goes to block SMO, which checks the clock and calls
callbacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.rows import take_rows
from kilogram.kernels import Precomputed
from kilogram.models.svm.kernel_machine import SMOSettings, precomputed_rows
from kilogram.models.svm.multiclass import BinaryProblem, binary_problems
from kilogram.native.svm import BinaryProblems, solve_binary_problems
from kilogram.solvers.smo import (
    BinaryMachine,
    KernelRows,
    StoredRows,
    kernel_rows,
    scaled,
    soft_margin,
)
from kilogram.solvers.smo.row_storage import WHOLE
from kilogram.solvers.solution import Solution

Array = np.ndarray
# Rows of a problem up to which the one call pays: 1.1 to 3.4 times faster for 3 to 10 classes of
# 150 to 1 000 rows; beyond, copying the square of each problem costs more than the calls saved.
AT_ONCE = 1000
# Pair steps for every row in the one call; most problems need one or two, so only slow ones leave
# it.
VISITS = 64
# LIBSVM's least bound; a smaller max_iter is the user's: block SMO counts it exactly.
DEFAULT_MAX_STEPS = 10_000_000


class LabelledRows(NamedTuple):
    """Rows, their class codes, and weights or None."""

    X: Any
    codes: Array
    w: Array | None


class PenalisedRows(NamedTuple):
    """Rows with C_i > 0: class codes, penalties, and positions among all n rows."""

    X: Any
    codes: Array
    C: Array
    where: Array
    n: int


class DualStart(NamedTuple):
    """Dual points of a fit, one per binary problem, with their penalties: a start for the next."""

    b: tuple[Array, ...]
    C: Array
    codes: Array


class FittedMachines(NamedTuple):
    """All binary machines: coefficients (n, machines) of all rows, biases, certificates."""

    coef: Array
    bias: Array
    steps: Array
    objective: float
    gap: float
    violation: float
    summary: Solution
    start: DualStart
    #: Calibration of the decision values, for probability=True.
    calibration: Any = None


def penalties(C: float, rows: LabelledRows, class_weight: Array) -> Array:
    """C_i = C times the weights of the class and of the row, (n,)."""
    out = float(C) * class_weight[rows.codes]
    with np.errstate(invalid="ignore"):
        out = out if rows.w is None else out * rows.w.astype(np.float64)
    return np.where(np.isnan(out), 0.0, out)  # inf * 0: a row without weight


def drop_weightless(rows: LabelledRows, C: Array, classes: Array) -> PenalisedRows:
    """The rows with C_i > 0; every class must keep some."""
    where = np.nonzero(C > 0)[0]
    n = C.shape[0]
    left = np.unique(rows.codes[where])
    if left.shape[0] < classes.shape[0]:
        lost = [classes[i] for i in range(classes.shape[0]) if i not in left]
        raise ValueError(
            f"All rows of the classes {lost!r} have weight zero. Leave these rows out, or give "
            "some of them a positive sample_weight and class_weight."
        )
    if where.shape[0] == n:
        return PenalisedRows(rows.X, rows.codes, C, where, n)
    return PenalisedRows(take_rows(rows.X, where), rows.codes[where], C[where], where, n)


def fit_binary_problems(
    settings: SMOSettings,
    rows: PenalisedRows,
    multi_class: str,
    factors: Sequence[float] = (1.0,),
    start: DualStart | None = None,
    *,
    at_once: bool = True,
) -> list[FittedMachines]:
    """All machines for penalties times each factor, one factor after the other on the same rows.

    `at_once` allows the one compiled call, which no callback or time limit interrupts.
    """
    problems = binary_problems(int(rows.codes.max()) + 1, multi_class)
    pairs = len(problems) > 1 and problems[0].second is not None
    if pairs and rows.codes.shape[0] <= WHOLE:
        rows = sorted_by_class(rows, settings)
    shared = shared_kernel_rows(settings, rows, problems)
    if at_once and start is None and len(factors) == 1 and isinstance(shared, StoredRows):
        found = fit_at_once(settings, rows, problems, shared)
        if found is not None:
            return [found]
    usable = start is not None and np.array_equal(start.codes, rows.codes)
    coef = np.zeros((len(factors), rows.n, len(problems)))
    machines: list[list[BinaryMachine]] = [[] for _ in factors]
    for position, problem in enumerate(problems):
        at = problem.rows(rows.codes)
        begin: Any = None
        if usable and start is not None and position < len(start.b):
            begin = start.b[position] * penalty_ratio(factors[0] * rows.C[at], start.C[at])
        X, K = points(rows, shared, at)
        y = problem.signs(rows.codes[at])
        for k, factor in enumerate(factors):
            P = soft_margin(y, factor * rows.C[at], slack=settings.slack)
            machine = settings.fit(X, P, rows=K, start=begin)
            coef[k, rows.where[at], position] = machine.coef
            machines[k].append(machine._replace(rows=None))
            K = machine.rows if len(factors) > 1 else K
            if k + 1 < len(factors):
                begin = scaled(machine.dual, factors[k + 1] / factor)
    return [
        combine_machines(
            coef[k], found, DualStart(tuple(m.dual.b for m in found), f * rows.C, rows.codes)
        )
        for k, (found, f) in enumerate(zip(machines, factors, strict=True))
    ]


def fit_at_once(
    settings: SMOSettings, rows: PenalisedRows, problems: list[BinaryProblem], shared: StoredRows
) -> FittedMachines | None:
    """All machines in one compiled call on K (n, n); None where one does not end soon."""
    usual = settings.options.max_steps >= DEFAULT_MAX_STEPS
    if shared.n > WHOLE or len(problems) == 1 or not usual or not np.isfinite(rows.C).all():
        return None
    members = rows_of_problems(rows.codes, problems)
    at, sizes = np.concatenate(members), np.array([len(m) for m in members])
    if sizes.max() > AT_ONCE:
        return None
    y = [p.signs(rows.codes[m]) for p, m in zip(problems, members, strict=True)]
    start = np.concatenate([[0], np.cumsum(sizes)])
    C = np.ascontiguousarray(rows.C[at], dtype=np.float64)
    tol = settings.options.tol
    found = solve_binary_problems(
        shared.K,
        BinaryProblems(at, start, np.concatenate(y), C),
        slack=settings.slack,
        tol=tol,
        visits=VISITS,
    )
    steps, bias, objective, gap, violation = found.results.T
    if (violation > tol).any():
        return None
    coef = np.zeros((rows.n, len(problems)))
    coef[rows.where[at], np.repeat(np.arange(len(problems)), sizes)] = found.b
    return FittedMachines(
        coef,
        bias.copy(),
        steps.astype(np.int64),
        float(objective.sum()),
        float(gap.sum()),
        float(violation.max()),
        Solution(None, int(steps.sum()), None, True, ""),
        DualStart(tuple(np.split(found.b, start[1:-1])), rows.C, rows.codes),
    )


def rows_of_problems(codes: Array, problems: list[BinaryProblem]) -> list[Array]:
    """The rows of every problem; of codes in sorted order, found by the ends of the classes."""
    if problems[0].second is None or len(problems) == 1 or (np.diff(codes) < 0).any():
        return [problem.rows(codes) for problem in problems]
    ends = np.searchsorted(codes, np.arange(codes[-1] + 2))
    rows = np.arange(codes.shape[0])
    members = [rows[a:b] for a, b in pairwise(ends)]
    return [np.concatenate([members[i], members[j]]) for i, j in problems if j is not None]


def sorted_by_class(rows: PenalisedRows, settings: SMOSettings) -> PenalisedRows:
    """The rows class after class: the square of a pair is then read from four blocks of K."""
    if isinstance(settings.kernel, Precomputed):
        return rows
    order = np.argsort(rows.codes, kind="stable")
    return rows._replace(
        X=take_rows(rows.X, order),
        codes=rows.codes[order],
        C=rows.C[order],
        where=rows.where[order],
    )


def penalty_ratio(new: Array, old: Array) -> float:
    """How all penalties changed; scaling a dual point by it keeps sum b = 0 and the box."""
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.nanmin(new / old)
    return float(change) if np.isfinite(change) else 1.0


def shared_kernel_rows(
    settings: SMOSettings, rows: PenalisedRows, problems: list[BinaryProblem]
) -> KernelRows | None:
    """One kernel matrix, or one cache of rows, for all problems; None: each makes its own."""
    n = rows.codes.shape[0]
    if isinstance(settings.kernel, Precomputed):
        return precomputed_rows(rows.X, rows.where)
    if n <= WHOLE or (len(problems) > 1 and problems[0].second is None):
        return kernel_rows(settings.kernel, rows.X, limit=settings.limit, shared=True)
    return None


def points(rows: PenalisedRows, shared: KernelRows | None, at: Array) -> tuple[Any, Any]:
    """The points of one problem, and the kernel rows it shares with the others, or None."""
    if at.shape[0] == rows.codes.shape[0]:
        return rows.X, shared
    if isinstance(shared, StoredRows):
        return None, StoredRows(shared.square(at))
    return take_rows(rows.X, at), None


def combine_machines(
    coef: Array, machines: list[BinaryMachine], start: DualStart
) -> FittedMachines:
    """Sums of objectives and gaps, the largest violation, one message."""
    certificates = [m.certificate for m in machines]
    slow = [m.found for m in machines if not m.found.converged]
    steps = np.array([m.found.n_iter for m in machines])
    message = slow[0].message if slow else ""
    if len(machines) > 1 and slow:
        message = (
            f"{len(slow)} of {len(machines)} binary problems did not converge; in the first, "
            f"{message}"
        )
    return FittedMachines(
        coef,
        np.array([c.bias for c in certificates]),
        steps,
        float(sum(c.objective for c in certificates)),
        float(sum(c.gap for c in certificates)),
        max(c.violation for c in certificates),
        Solution(None, int(steps.sum()), None, not slow, message),
        start,
    )


def primal_objective(
    values: Array, norms: Array, rows: PenalisedRows, multi_class: str, slack: int
) -> float:
    """Sum over machines of 1/2 |w|^2 + sum_i C_i xi_i^slack, from values (n, machines)."""
    total = 0.0
    for position, problem in enumerate(binary_problems(int(rows.codes.max()) + 1, multi_class)):
        at = problem.rows(rows.codes)
        margin = problem.signs(rows.codes[at]) * values[at, position]
        xi = np.maximum(0.0, 1.0 - margin)
        if np.isinf(rows.C).any():  # hard margin: the hyperplane scaled to margins of 1
            total += 0.5 * float(norms[position]) / min(1.0, float(margin.min())) ** 2
        else:
            total += 0.5 * float(norms[position]) + float(rows.C[at] @ xi**slack)
    return total
