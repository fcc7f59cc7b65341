"""Decision trees: columns coded by rank, growth, and the leaves of rows in many trees.

The oracle in `tests/native` grows the same tree with plain NumPy, column by column, gap by gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.threads import n_threads

CRITERIA = ("squared_error", "gini", "entropy")
NO_NUMBERS = np.empty(0)
NO_LABEL = np.empty(0, np.int32)
INTERRUPTIBLE = 2**21  # values sorted in one call: about 0.2 s


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """codes (d, n): the place of a value among the distinct ones of its column, in `values`."""

    codes: Array
    values: Array
    starts: Array  # (d + 1)

    @classmethod
    def of(cls, X: Array) -> CodedColumns:
        """Of rows X (n, d): sorted once, for any number of trees."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        n, d = X.shape
        if n >= 2**31:
            raise ValueError(f"a tree takes fewer than 2^31 rows, got {n}")
        codes, values = np.empty((d, n), np.uint32), np.empty((d, n))
        counts = np.empty(d, np.int64)
        step = max(INTERRUPTIBLE // n, n_threads())
        for first in range(0, d, step):  # between two calls Python handles signals
            part = slice(first, first + step)
            rows = X if step >= d else np.ascontiguousarray(X[:, part])
            work = 20.0 * n * rows.shape[1]
            run(_core.code_columns, work, rows, codes[part], values[part], counts[part])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        kept = np.concatenate([values[k, : counts[k]] for k in range(d)])
        return cls(codes, kept, starts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.codes.shape[1], self.codes.shape[0]


class Target(NamedTuple):
    """Numbers y (n,), or labels (n,) of so many classes."""

    y: Array
    label: Array
    classes: int

    @classmethod
    def numbers(cls, y: Array) -> Target:
        return cls(np.ascontiguousarray(y, dtype=np.float64), NO_LABEL, 0)

    @classmethod
    def labels(cls, codes: Array, classes: int) -> Target:
        return cls(NO_NUMBERS, np.ascontiguousarray(codes, dtype=np.int32), classes)


class Grown(NamedTuple):
    """Nodes: links (3, nodes) are the column (-1 in leaves) and the children."""

    links: Array
    threshold: Array
    weight: Array
    impurity: Array
    samples: Array  # rows in the node
    value: Array  # (nodes, classes), or (nodes, 1)


class Limits(NamedTuple):
    """When growth stops: rows and weights of nodes, decrease of the impurity, leaves."""

    max_depth: int
    min_split: int
    min_leaf: int
    columns: int  # considered for each split
    min_weight: float
    min_decrease: float
    max_leaves: int = 0  # 0: no limit


class Cancelled(Exception):
    """Another thread has cancelled the growth of a tree."""


class CancelFlag:
    """Shared by the threads that grow trees: once set, all of them stop within milliseconds."""

    def __init__(self) -> None:
        self.value = np.zeros(1, np.int32)

    def set(self) -> None:
        self.value[0] = 1


def grow_tree(
    X: CodedColumns,
    target: Target,
    w: Array,
    rows: Array,
    criterion: str,
    limits: Limits,
    seed: int,
    cancel: CancelFlag | None = None,
) -> Grown:
    """Grow a tree on these rows (m,) with weights w (n,), which must be above 0 there."""
    m = len(rows)
    leaves = max(m // max(limits.min_leaf, 1), 1)
    room = 2 * (min(leaves, limits.max_leaves) if limits.max_leaves else leaves) + 1
    links, numbers = np.empty((3, room), np.int32), np.empty((4, room))
    value = np.empty((room, max(target.classes, 1)))
    w = np.ascontiguousarray(w, dtype=np.float64)
    count = _core.grow_tree(
        X.codes,
        X.values,
        X.starts,
        *target,
        w,
        np.array(rows, dtype=np.int32),  # a copy: growth brings it in the order of the leaves
        CRITERIA.index(criterion),
        np.array([*limits[:4], limits.max_leaves], np.int64),
        np.array([limits.min_weight, limits.min_decrease, float(w[rows].sum())]),
        seed,
        (CancelFlag() if cancel is None else cancel).value,
        links,
        numbers,
        value,
    )
    if count < 0:
        raise Cancelled
    kept = (links[:, :count].copy(), *(a[:count].copy() for a in (*numbers, value)))
    return Grown(*kept)


def sum_leaves(links: Array, threshold: Array, roots: Array, values: Array, X: Array) -> Array:
    """The sum over the trees of `values` (nodes, width) at the leaves of the rows, (n, width)."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.zeros((len(X), values.shape[1]))
    work = 100.0 * len(X) * len(roots)
    run(_core.sum_leaves, work, links, threshold, roots, values, X, out)
    return out


def find_leaves(links: Array, threshold: Array, roots: Array, X: Array) -> Array:
    """The leaf of every row in every tree, (n, trees)."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty((len(X), len(roots)), np.int32)
    run(_core.find_leaves, 100.0 * out.size, links, threshold, roots, X, out)
    return out
