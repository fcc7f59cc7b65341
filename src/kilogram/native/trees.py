"""Decision trees: columns coded by rank, growth, and the leaves of rows in many trees.

The oracle in `tests/native` grows the same tree with plain NumPy, column by column, gap by gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kilogram.native import _core
from kilogram.native.buffers import Array, run

CRITERIA = ("squared_error", "gini", "entropy")
NOBODY = np.empty(0)
NO_LABEL = np.empty(0, np.int32)


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
        run(_core.code_columns, 20.0 * n * d, X, codes, values, counts)
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
        return cls(NOBODY, np.ascontiguousarray(codes, dtype=np.int32), classes)


class Grown(NamedTuple):
    """links (3, nodes): column (-1 in leaves), children; threshold, weight, impurity, value."""

    links: Array
    threshold: Array
    weight: Array
    impurity: Array
    value: Array  # (nodes, classes), or (nodes, 1)


class Limits(NamedTuple):
    """When a tree stops: numbers of rows, weight of a leaf, fall of the impurity; columns tried."""

    max_depth: int
    min_split: int
    min_leaf: int
    columns: int
    min_weight: float
    min_decrease: float


def grow_tree(
    X: CodedColumns,
    target: Target,
    w: Array,
    rows: Array,
    criterion: str,
    limits: Limits,
    seed: int,
) -> Grown:
    """Grow a tree on these rows (m,) with weights w (n,), which must be above 0 there."""
    m = len(rows)
    room = 2 * max(m // max(limits.min_leaf, 1), 1) + 1
    links, numbers = np.empty((3, room), np.int32), np.empty((3, room))
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
        np.array(limits[:4], np.int64),
        np.array([limits.min_weight, limits.min_decrease, float(w[rows].sum())]),
        seed,
        links,
        numbers,
        value,
    )
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
