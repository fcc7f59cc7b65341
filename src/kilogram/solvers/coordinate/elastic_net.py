"""The elastic net and its relatives by coordinate descent on a growing working set.

    min_b  1/2 |y - X b|^2 + l1 sum_j f_j |b_j| + l2 / 2 |b|^2           X, y centred, |.|^2 a mean

Working set     the columns that have ever been needed along the path. Their Gram matrix is stored,
                so an epoch of coordinate descent costs m^2 at most, whatever the number of rows.
Entry           at a new l1 the sequential strong rule proposes columns; after the descent those
                enter whose correlation with the residual exceeds l1.
Direct step     where epochs converge slowly, the linear system of the support gives the solution
                for the present signs; a step towards it ends at the first change of sign.
Certificate     the duality gap, relative to |y|^2: it must fall below tol.

References: Friedman, Hastie and Tibshirani 2010 (covariance updates); Tibshirani et al. 2012
(strong rules); Zhang 2010 (MCP); Fan and Li 2001 (SCAD).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kilogram.native.coordinate import Penalty, gram_descent
from kilogram.solvers.coordinate.designs import Design

Array = np.ndarray[Any, np.dtype[Any]]
Tick = Callable[[int, float | None], bool]

#: Epochs before a direct step is tried: designs of low correlation need 10 to 30 in all.
PATIENCE = 30
#: Columns that may enter an empty working set at once: Gram entries of more cost more than rounds.
FIRST_COLUMNS = 100


@dataclass(frozen=True)
class PathPoint:
    """The solution at one strength: coefficients (p,), duality gap relative to |y|^2, epochs.

    `objective` has the absolute values as penalty, whatever the penalty was.
    """

    coef: Array
    gap: float
    objective: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class ElasticNetOptions:
    """What does not change along a path: factors f_j of the penalty, signs, tolerance, limits."""

    factors: Array | None = None
    positive: bool = False
    penalty: str = "l1"
    gamma: float = 3.0
    tol: float = 1e-4
    max_iter: int = 1000


@dataclass
class WorkingSet:
    """Columns, their Gram matrix with spare capacity, coefficients, correlations."""

    columns: Array
    G: Array
    b: Array
    h: Array  # q - G b

    @classmethod
    def empty(cls) -> WorkingSet:
        return cls(np.empty(0, dtype=np.int64), np.empty((0, 0)), np.empty(0), np.empty(0))

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def gram(self) -> Array:
        return self.G[: self.size, : self.size]

    def add(self, design: Design, new: Array) -> None:
        """Columns `new` enter at 0."""
        m, k = self.size, len(new)
        if m + k > len(self.G):
            capacity = min(max(2 * (m + k), 64), max(m + k, len(design.q)))
            grown = np.zeros((capacity, capacity))
            grown[:m, :m] = self.gram
            self.G = grown
        cross = design.gram(self.columns, new) if m else np.empty((0, k))
        self.G[:m, m : m + k] = cross
        self.G[m : m + k, :m] = cross.T
        self.G[m : m + k, m : m + k] = design.gram(new, new)
        self.h = np.concatenate([self.h, design.q[new] - cross.T @ self.b])
        self.b = np.concatenate([self.b, np.zeros(k)])
        self.columns = np.concatenate([self.columns, new])


def strength_max(design: Design, factors: Array | None, positive: bool) -> float:
    """The smallest l1 at which all penalised coefficients are 0."""
    c = design.q if positive else np.abs(design.q)
    if factors is not None:
        penalised = factors > 0
        c = c[penalised] / factors[penalised]
    return max(float(c.max(initial=0.0)), 0.0)


def elastic_net_path(
    design: Design,
    strengths: Sequence[tuple[float, float]],
    options: ElasticNetOptions,
    *,
    start: Array | None = None,
    tick: Tick | None = None,
) -> list[PathPoint]:
    """Solutions at each (l1, l2), each started from the one before; fewer if `tick` ends it."""
    p = len(design.q)
    factors = np.ones(p) if options.factors is None else options.factors
    work = WorkingSet.empty()
    if start is not None and np.any(start):
        support = np.flatnonzero(start)
        work.add(design, support)
        work.b = np.ascontiguousarray(start[support], dtype=np.float64)
        work.h = design.q[support] - work.gram @ work.b
    else:
        free = np.flatnonzero(factors == 0)
        if len(free):
            work.add(design, free)
    correlations = design.q.copy()
    previous = strength_max(design, options.factors, options.positive)
    found = []
    for number, (l1, l2) in enumerate(strengths):
        _admit(design, work, correlations, factors * max(2 * l1 - previous, 0.9 * l1), options)
        point, correlations = _solve(design, work, l1, l2, factors, options, correlations)
        found.append(point)
        previous = l1
        if tick is not None and tick(number + 1, None):
            break
    return found


def _admit(
    design: Design, work: WorkingSet, correlations: Array, threshold: Array,
    options: ElasticNetOptions,
) -> int:  # fmt: skip
    """Columns whose correlation exceeds the threshold enter the working set; how many."""
    c = correlations if options.positive else np.abs(correlations)
    wanted = (c > threshold) & (design.norms > 0)
    wanted[work.columns] = False
    new = np.flatnonzero(wanted)
    most = max(FIRST_COLUMNS, work.size)  # the working set at most doubles
    if len(new) > most:  # those that exceed their threshold most
        excess = c[new] - threshold[new]
        new = np.sort(new[np.argpartition(-excess, most)[:most]])
    if len(new):
        work.add(design, new)
    return len(new)


def _solve(
    design: Design,
    work: WorkingSet,
    l1: float,
    l2: float,
    factors: Array,
    options: ElasticNetOptions,
    correlations: Array,
) -> tuple[PathPoint, Array]:
    """Descend on the working set, let columns enter that are needed, until the gap is small."""
    goal = options.tol * max(design.yy, np.finfo(float).tiny)
    # without absolute values the dual has no interior, with concave ones there is none
    certified = options.penalty == "l1" and l1 > 0
    inner = np.sqrt(goal) * (0.1 if certified else 1e-3)
    epochs, gap, settled = 0, np.inf, False
    while True:
        finest = max(inner, _finest_move(design))
        taken, settled = _descend(work, design.q, l1, l2, factors, options, finest, epochs)
        epochs += taken
        support = np.flatnonzero(work.b)
        columns = work.columns[support]
        correlations, rr = design.correlations(work.b[support], columns, None)
        entered = _admit(design, work, correlations, l1 * factors * (1 + 1e-10), options)
        if certified:
            gap = _duality_gap(design, work, correlations, rr, l1, l2, factors, options.positive)
        done = entered == 0 and (gap <= goal if certified else settled)
        if done or epochs >= options.max_iter:
            break
        if entered == 0:
            if inner <= _finest_move(design):
                done = gap <= goal + _rounding_of_gap(design, rr, l1)
                break
            inner *= 0.1
            work.h = design.q[work.columns] - work.gram @ work.b  # without the drift of many moves
    coef = np.zeros(len(design.q))
    coef[work.columns] = work.b
    reached = gap / max(design.yy, np.finfo(float).tiny) if certified else 0.0
    absolute = float(factors[work.columns] @ np.abs(work.b))
    value = 0.5 * rr + l1 * absolute + 0.5 * l2 * float(work.b @ work.b)
    return PathPoint(coef, float(reached), value, max(epochs, 1), bool(done)), correlations


def _rounding_of_gap(design: Design, rr: float, l1: float) -> float:
    """By how much the rounding of correlations, of size |x_j| |y|, changes the duality gap."""
    error = np.finfo(float).eps * float(design.norms.max(initial=0.0)) * np.sqrt(design.yy)
    return 8.0 * error / l1 * max(rr, design.yy) if l1 > 0 else 0.0


def _finest_move(design: Design) -> float:
    """The size of moves that are rounding, in the units of `gram_descent`."""
    return 16.0 * float(np.finfo(float).eps) * float(np.sqrt(design.yy))


def _descend(
    work: WorkingSet,
    q: Array,
    l1: float,
    l2: float,
    factors: Array,
    options: ElasticNetOptions,
    tol: float,
    before: int,
) -> tuple[int, bool]:
    """Coordinate descent on the working set, with direct steps; epochs, and whether it settled."""
    if work.size == 0:
        return 1, True
    strengths = np.ascontiguousarray(l1 * factors[work.columns])
    penalty = Penalty(strengths, l2, options.positive, options.penalty, options.gamma)
    own = np.ascontiguousarray(q[work.columns])
    b, h = np.ascontiguousarray(work.b), np.ascontiguousarray(work.h)
    work.b, work.h, epochs, settled = descend_quadratic(
        work.gram, own, penalty, (b, h), tol=tol, max_epochs=options.max_iter - before
    )
    return epochs, settled


def descend_quadratic(
    G: Array, q: Array, penalty: Penalty, start: tuple[Array, Array], *, tol: float, max_epochs: int
) -> tuple[Array, Array, int, bool]:
    """Minimise 1/2 b'G b - q'b + penalty(b) by coordinate descent with direct steps.

    From b and h = q - G b, which are changed; b, h, the epochs and whether moves fell below tol.
    """
    b, h = start
    epochs, settled = 0, False
    while epochs < max_epochs and not settled:
        most = min(PATIENCE, max_epochs - epochs)
        taken, change = gram_descent(G, q, penalty, b, h, tol=tol, max_epochs=most)
        epochs += taken
        settled = change <= tol
        if not settled and penalty.kind == "l1":
            b = _direct_step(G, q, penalty.l1, penalty.l2, b)
            h = q - G @ b
    return b, h, epochs, settled


def _direct_step(G: Array, q: Array, l1: Array, l2: float, b: Array) -> Array:
    """Towards the solution for the present signs, up to the first change of a sign."""
    support = np.flatnonzero(b)
    if not len(support):
        return b
    now = b[support]
    A = G[np.ix_(support, support)]
    A[np.diag_indices_from(A)] += l2
    try:
        target = cho_solve(cho_factor(A, lower=True), q[support] - l1[support] * np.sign(now))
    except LinAlgError:
        return b
    move = target - now
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(target * now < 0, -now / move, np.inf)
    length = min(1.0, float(steps.min(initial=np.inf)))
    there = b.copy()
    there[support] = now + length * move
    if length < 1.0:
        there[support[np.argmin(steps)]] = 0.0
    return there


def _duality_gap(
    design: Design,
    work: WorkingSet,
    correlations: Array,
    rr: float,
    l1: float,
    l2: float,
    factors: Array,
    positive: bool,
) -> float:
    """Primal minus dual objective; the ridge term counts as extra rows sqrt(l2) I of X."""
    b, f = work.b, factors[work.columns]
    bb = float(b @ b)
    c = correlations.copy()
    c[work.columns] -= l2 * b
    size = c if positive else np.abs(c)
    penalised = factors > 0
    with np.errstate(divide="ignore"):
        largest = float((size[penalised] / factors[penalised]).max(initial=0.0))
    ry = float(rr + b @ correlations[work.columns])  # r'y = r'r + (X b)'r
    primal = 0.5 * rr + l1 * float(f @ np.abs(b)) + 0.5 * l2 * bb
    return scaled_gap(primal, ry, rr + l2 * bb, l1, largest)


def scaled_gap(primal: float, ry: float, rr: float, l1: float, largest: float) -> float:
    """Primal minus dual at the residual, scaled until its largest correlation is at most l1."""
    scale = 1.0 if largest <= l1 else l1 / largest
    return max(primal - (scale * ry - 0.5 * scale**2 * rr), 0.0)
