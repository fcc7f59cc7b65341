"""One pass of k-means: the nearest centre of every row and the sums of the clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector


class LloydStep(NamedTuple):
    """What a pass found: labels (n,), sums (k, d + 1), inertia, distances (n,) or None.

    The sums are of x - shift, their last column is the weight of the cluster.
    """

    labels: Array
    sums: Array
    inertia: float
    distances: Array | None


class PassInputs(NamedTuple):
    """A pass about to run: what native passes take first, labels and sums being overwritten."""

    x: Array
    w: Array | None
    shift: Array | None
    C: Array
    labels: Array
    sums: Array
    follow: bool  # labels and sums are those of an earlier pass

    @classmethod
    def of(
        cls,
        x: Array,
        w: Array | None,
        shift: Array | None,
        C: Array,
        labels: Array | None,
        sums: Array | None,
    ) -> PassInputs:
        (n, d), k = x.shape, len(C)
        C = np.ascontiguousarray(C, x.dtype)
        w, shift = vector(w, n, x.dtype, "w"), vector(shift, d, x.dtype, "shift")
        if labels is not None and sums is not None:
            return cls(x, w, shift, C, labels, sums, True)
        return cls(x, w, shift, C, np.empty(n, np.int32), np.empty((k, d + 1)), False)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        return run(function, float(self.x.size) * len(self.C), *self, *args)

    def step(self, inertia: float) -> LloydStep:
        return LloydStep(self.labels, self.sums, inertia, None)


def cluster_pass(
    X: Array,
    C: Array,
    w: Array | None = None,
    shift: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    distances: bool = False,
    inertia: bool = True,
) -> LloydStep:
    """The nearest centre of each row of X (n, d), C (k, d) being the centres less `shift` (d,).

    With the `labels` (n,) int32 and `sums` of an earlier pass only rows that move are summed; both
    are overwritten. Without `inertia` no exact distance is taken.
    """
    begun = PassInputs.of(matrix("X", X), w, shift, C, labels, sums)
    away = np.empty(len(X), begun.x.dtype) if distances else None
    found = begun.run(_core.cluster_pass, inertia or distances, away)
    return begun.step(found)._replace(distances=away)


class Bounds:
    """Bounds on the distances of every row from its centre and from groups of others.

    `size` centres that lie near each other make a group; at most 64 groups. `looked` is the
    fraction of rows and groups that the last pass had to look at.
    """

    def __init__(self, n: int, C: Array, size: int):
        line = 64 // C.itemsize  # the bounds of a row are whole cache lines
        padded = -(-len(C) // (size * line)) * line
        self.size, self.order = size, nearby_order(C, size)
        self.upper, self.least = np.empty(n, C.dtype), np.empty(n, C.dtype)
        self.lower = aligned_array(n * padded, C.dtype).reshape(n, padded)
        self.drift = np.zeros(padded, C.dtype)
        self.C: Array | None = None
        self.looked = 1.0

    def moved(self, C: Array) -> Array | None:
        """How far each centre went since the last pass, from above; None before the first."""
        if self.C is None:
            return None
        moved = np.sqrt(((C - self.C).astype(float) ** 2).sum(axis=1)) * (1 + 1e-5)
        places = np.zeros(len(self.drift) * self.size)
        places[: len(C)] = moved[self.order]
        step = places.reshape(-1, self.size).max(axis=1)
        self.drift = (self.drift + step * (1 + 1e-5)).astype(C.dtype)
        return moved.astype(C.dtype)


def bounded_pass(
    X: Array,
    C: Array,
    bounds: Bounds,
    w: Array | None = None,
    shift: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> LloydStep:
    """`cluster_pass` that leaves out what `bounds` say is far, and keeps them up to date.

    `labels` and `sums` must be those of the last pass with these bounds.
    """
    begun = PassInputs.of(matrix("X", X), w, shift, C, labels, sums)
    moved = bounds.moved(begun.C)
    found, bounds.looked = begun.run(
        _core.bounded_pass,
        inertia,
        bounds.order,
        bounds.size,
        moved,
        bounds.drift,
        bounds.upper,
        bounds.least,
        bounds.lower,
    )
    bounds.C = begun.C
    return begun.step(found if inertia else 0.0)


class CentreGroups(NamedTuple):
    """Centres beside those near them: the centre at each place, or -1, and where groups begin.

    Groups are whole blocks of four places. Without `starts` (groups + 1,) there are none.
    """

    order: Array
    starts: Array | None = None


class QuantisedRows:
    """The rows of X (n, d) less `shift` (d,) as bytes, by which far centres are left out.

    `unit` is about the length of a row. Of the last pass, `looked` is the number of exact distances
    per row and `opened` the fraction of the centres that were compared by codes.
    """

    def __init__(self, X: Array, shift: Array, unit: float):
        self.X, (n, d) = matrix("X", X), X.shape
        self.shift, self.unit = vector(shift, d, self.X.dtype, "shift"), float(unit)
        self.codes = aligned_array(
            n * -(-d // _core.CODE_LINE) * _core.CODE_LINE, np.dtype(np.uint8)
        )
        self.about = np.empty((n, 4), np.float32)
        given = (self.X, self.shift, self.unit, self.codes, self.about)
        self.balance: float = run(_core.encode_rows, float(n) * d, *given)
        self.reset()

    @property
    def arguments(self) -> tuple[float, float, Array, Array]:
        """The codes as native passes take them."""
        return self.unit, self.balance, self.codes, self.about

    def reset(self) -> None:
        """Before another start: nothing is known of distances."""
        self.C: Array | None = None
        self.looked, self.opened = 0.0, 1.0

    def moved(self, C: Array) -> Array | None:
        """How far each centre went since the last pass, in units, from above."""
        if self.C is None:
            return None
        moved = np.sqrt(((C - self.C).astype(float) ** 2).sum(axis=1))
        return (moved / self.unit * (1 + 1e-5)).astype(np.float32)


def has_fast_byte_products() -> bool:
    """Whether this machine has fast products of bytes."""
    return bool(_core.has_fast_byte_products())


def filtered_pass(
    rows: QuantisedRows,
    C: Array,
    places: CentreGroups,
    w: Array | None = None,
    *,
    labels: Array | None = None,
    sums: Array | None = None,
    inertia: bool = True,
) -> LloydStep:
    """`cluster_pass` over quantised `rows`: exact distances only from the candidates left by codes.

    Groups of `places` that lie far are left out whole. `labels` and `sums` must be those of the
    last pass with these rows.
    """
    begun = PassInputs.of(rows.X, w, rows.shift, C, labels, sums)
    found, looked, opened = begun.run(
        _core.filtered_pass,
        inertia,
        places.order,
        places.starts,
        rows.moved(begun.C) if begun.follow else None,
        *rows.arguments,
    )
    rows.C, rows.looked, rows.opened = begun.C, looked, opened
    return begun.step(found if inertia else 0.0)


def aligned_array(size: int, dtype: np.dtype) -> Array:
    """So many numbers, not set, that begin with a cache line."""
    memory = np.empty(size * dtype.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size * dtype.itemsize].view(dtype)


def nearby_order(C: Array, size: int) -> Array:
    """An order of the centres in which every run of `size` lies close together, (k,) int32."""
    C = np.asarray(C, float)
    far, order = (C * C).sum(axis=1), np.empty(len(C), np.int32)  # far: inf for those taken
    for start in range(0, len(C), size):
        first = int(np.argmax(far < np.inf))
        away = far - 2 * (C @ C[first])
        away[first] = -np.inf
        count = min(size, len(C) - start)
        near = np.argpartition(away, count - 1)[:count]
        order[start : start + count] = near
        far[near] = np.inf
    return order


def grouped(C: Array, seeds: Array, steps: int = 1) -> tuple[CentreGroups, Array]:
    """Places for the centres C (k, d) in groups around means, and these: k-means from `seeds`."""
    C = np.ascontiguousarray(C, C.dtype)
    for _ in range(steps):
        found = cluster_pass(C, seeds, inertia=False)
        there = found.sums[:, -1] > 0
        seeds = (found.sums[there, :-1] / found.sums[there, -1:]).astype(C.dtype)
    labels = cluster_pass(C, seeds, inertia=False).labels
    sizes = np.bincount(labels, minlength=len(seeds))
    sizes, seeds = sizes[sizes > 0], seeds[sizes > 0]
    starts = np.concatenate([[0], np.cumsum(-(-sizes // 4) * 4)])
    first = np.repeat(starts[:-1] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    order = np.full(starts[-1], -1, np.int32)
    order[np.arange(len(C)) + first] = np.argsort(labels, kind="stable")
    return CentreGroups(order, starts.astype(np.int32)), seeds


def distances_to(X: Array, C: Array, norms: Array, shift: Array | None = None) -> Array:
    """(k, n): squared distances of the rows of X from C; norms (n,) are |x - shift|^2.

    C (k, d) are the centres less `shift` (d,).
    """
    x = matrix("X", X)
    (n, d), k = x.shape, len(C)
    out = np.empty((k, n), x.dtype)
    C, norms = np.ascontiguousarray(C, x.dtype), np.ascontiguousarray(norms, x.dtype)
    moved = vector(shift, d, x.dtype, "shift")
    run(_core.distances_to, float(n) * d * k, x, moved, C, norms, out)
    return out
