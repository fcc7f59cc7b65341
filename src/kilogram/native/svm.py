"""Loops of support vector machines: pair steps on a small dual problem, the choice of a block,
gradients from kernel rows.

The dual in signed variables, with f = (K + diag(s)) b - t its gradient:

    min  1/2 b'(K + diag(s)) b - t'b    subject to    sum b fixed,  lower <= b <= upper
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.kernels import _MAP_WORK
from kilogram.native.threads import SMALL_WORK, n_threads

# Entries of kernel squares from which a second thread is faster: milliseconds of steps.
_BINARY_WORK = 200_000


class PairSteps(NamedTuple):
    """What `pair_steps` did: the number of steps, and the violation it left."""

    steps: int
    violation: float


def pair_steps(
    K: Array,
    s: Array,
    lower: Array,
    upper: Array,
    f: Array,
    b: Array,
    *,
    tol: float,
    max_steps: int,
) -> PairSteps:
    """Sequential minimal optimisation on K (q, q); f and b (q,), float64, are changed in place."""
    return PairSteps(*_core.smo_pairs(K, s, lower, upper, f, b, tol, max_steps))


class BinaryProblems(NamedTuple):
    """One-vs-one (or one-vs-rest) problems on rows of one matrix K: problem k has the rows
    at[start[k] : start[k + 1]], with signs y and penalties C."""

    at: Array
    start: Array
    y: Array
    C: Array


class BinarySolutions(NamedTuple):
    """Dual points b, ordered as the rows of `BinaryProblems`, and for each problem its pair steps,
    bias, primal objective, duality gap and violation, (t, 5)."""

    b: Array
    results: Array


def solve_binary_problems(
    K: Array, problems: BinaryProblems, *, slack: int, tol: float, visits: int
) -> BinarySolutions:
    """Soft margins on K (n, n), each by at most `visits` pair steps for every row it has."""
    b, results = np.empty(problems.at.shape[0]), np.empty((problems.start.shape[0] - 1, 5))
    sizes = np.diff(problems.start)
    threads = 1 if float(np.sum(sizes * sizes)) < _BINARY_WORK else n_threads()
    _core.smo_one_vs_one(K, *problems, slack, tol, visits, b, results, threads)
    return BinarySolutions(b, results)


class WorkingSetSelection(NamedTuple):
    """Variables that violate most, and the two ends of the violation."""

    chosen: Array
    smallest: float
    largest: float


def select_block(
    variables: tuple[Array, ...], b: Array, g: Array, kept: Array, ask: int, f: Array
) -> WorkingSetSelection:
    """The `ask` worst violators not marked in `kept`; fills f = g[point] + s b - t.

    `variables` is (point, t, s, lower, upper), each (m,).
    """
    point, t, s, lower, upper = variables
    chosen, ends = np.empty(max(ask, 0), dtype=np.int64), np.empty(2)
    count = _core.smo_select(point, t, s, lower, upper, b, g, kept, max(ask, 0), f, chosen, ends)
    return WorkingSetSelection(chosen[:count], float(ends[0]), float(ends[1]))


def add_rows(cache: Array, slots: Array, delta: Array, g: Array) -> None:
    """g (n,) += sum_i delta_i cache[slots_i]; rows float32 or float64, the sum in float64."""
    threads = 1 if slots.shape[0] * g.shape[0] < SMALL_WORK else n_threads()
    _core.smo_add(cache, slots, delta, g, threads)


def square_of(K: Array, at: Array) -> Array:
    """K[at, at], (q, q), of a matrix in memory."""
    at = np.ascontiguousarray(at, dtype=np.int64)
    return square_from(K, at, at, np.empty((0, 0), dtype=K.dtype))


def square_from(cache: Array, slots: Array, at: Array, made: Array) -> Array:
    """K[at, at], (q, q), where cache[slots_i] is row at_i of K.

    Rows that are not in the cache (slot -1) are taken from the others by symmetry; `made` (m, m)
    is K among themselves.
    """
    out = np.empty((at.shape[0], at.shape[0]), dtype=cache.dtype)
    threads = 1 if out.size < SMALL_WORK else n_threads()
    _core.smo_square(cache, slots, at, made, out, threads)
    return out


class NewRows(NamedTuple):
    """Rows A (m, d) whose kernel rows are to be made, where to keep them (-1: nowhere), deltas."""

    A: Array
    slots: Array
    delta: Array


class OldRows(NamedTuple):
    """Slots of kernel rows in the cache, and their deltas."""

    slots: Array
    delta: Array


def add_kernel_rows(
    kind: str,
    params: tuple[float, ...],
    X: Array,
    new: NewRows,
    cache: Array,
    old: OldRows,
    g: Array,
) -> None:
    """g += delta' K(A, X) + old_delta' cache[old]; rows of distance kernels must be near 0."""
    work = new.A.shape[0] * X.shape[0] * (X.shape[1] + _MAP_WORK) + old.slots.shape[0] * g.shape[0]
    run(
        _core.smo_gradient,
        work,
        kind,
        X,
        new.A,
        params,
        new.slots,
        new.delta,
        cache,
        old.slots,
        old.delta,
        g,
    )


_BIT_WORK = 8  # multiplications that take as long as one word of bits: load, xor, count


def add_bit_rows(
    bits: Array, A: Array, delta: Array, table: Array, g: Array, *, differing: bool
) -> None:
    """g (n,) += sum_i delta_i table[h_ij], h the bits in which A_i and bits_j differ, or share."""
    work = A.shape[0] * bits.shape[0] * A.shape[1] * _BIT_WORK
    threads = 1 if work < SMALL_WORK else n_threads()
    _core.smo_add_bits(bits, A, delta, table, differing, g, threads)


def bit_square(bits: Array, table: Array, out: Array, *, differing: bool) -> Array:
    """out (q, q) = table[h_ij] of rows of bits, h as in `add_bit_rows`; of the table's type."""
    q, words = bits.shape
    threads = 1 if q * q * words * _BIT_WORK < SMALL_WORK else n_threads()
    _core.smo_bit_square(bits, table, differing, out, threads)
    return out


class RowBuffers(NamedTuple):
    """Rows for `coordinate_passes`: entries, columns and row starts; the last two None if dense."""

    data: Array
    indices: Array | None
    indptr: Array | None
    d: int


class DescentProgress(NamedTuple):
    """Where coordinate descent stands: rows seen in the last call, how many of `order` still take
    part, how far from moving a row is left out, the violation of the last pass, the seed."""

    seen: int
    active: int
    far: float
    violation: float
    seed: int


def coordinate_passes(
    rows: RowBuffers,
    terms: Array,
    dual: tuple[Array, Array],
    order: Array,
    standing: DescentProgress,
    *,
    scale: float,
    eps: float,
    goal: float,
    visits: int,
) -> DescentProgress:
    """Passes of dual coordinate descent until the violation is at most goal, or visits are spent.

    terms (5, n) holds |x~|^2, t, s, lower and upper; dual = (b, w = X~'b) and order, the rows that
    take part first, are changed in place.
    """
    b, w = dual
    _, active, far, _, seed = standing
    found = _core.coordinate_passes(
        *rows, scale, eps, terms, b, w, order, active, far, seed, goal, visits
    )
    return DescentProgress(*found)
