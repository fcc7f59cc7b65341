"""Decision trees: columns coded by rank, growth, and the leaves of rows in many trees.

The oracle in `tests/native` grows the same tree with plain NumPy, column by column, gap by gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run
from kilogram.native.cancel import CancelFlag, Cancelled
from kilogram.native.threads import n_threads

CRITERIA = ("squared_error", "gini", "entropy", "absolute_error", "poisson")
NO_LIMIT = 2**31 - 1  # of depth or leaves: the largest number of the compiled type
MAX_CATEGORIES = 256  # the bits of a category set: four words
CATEGORY_WORDS = MAX_CATEGORIES // 64
NO_NUMBERS = np.empty((0, 1))
NO_LABEL = np.empty((0, 1), np.int32)
NO_CLASSES = np.empty(0, np.int64)
NO_CATEGORIES = np.empty((0, CATEGORY_WORDS), np.uint64)
INTERRUPTIBLE = 2**21  # values sorted in one call: about 0.1 s
WORK_OF_ROW = 400.0  # multiplications that take as long as one row in one tree
ROWS_AT_ONCE = 2**16  # rows predicted in one native call
SHARED = 2**17  # values of a training set from which threads share one tree: some 0.1 ms a level


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """codes (d, n): the place of a value among the distinct ones of its column, in `values`."""

    codes: Array
    values: Array
    starts: Array  # (d + 1)
    missing: Array  # (d,) whether a column has NaN, whose code is above all others

    @classmethod
    def of(cls, X: Array) -> CodedColumns:
        """Of rows X (n, d): sorted once, for any number of trees."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        n, d = X.shape
        if n >= 2**31:
            raise ValueError(f"a tree takes fewer than 2^31 rows, got {n}")
        codes, values = np.empty((d, n), np.uint32), np.empty((d, n))
        counts, missing = np.empty(d, np.int64), np.empty(d, np.uint8)
        step = max(INTERRUPTIBLE // n, n_threads())
        for first in range(0, d, step):  # between two calls Python handles signals
            part = slice(first, first + step)
            rows = X if step >= d else np.ascontiguousarray(X[:, part])
            found = (a[part] for a in (codes, values, counts, missing))
            run(_core.code_columns, 20.0 * n * rows.shape[1], rows, *found)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        kept = np.concatenate([values[k, : counts[k]] for k in range(d)])
        return cls(codes, kept, starts, missing)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.codes.shape[1], self.codes.shape[0]


class Target(NamedTuple):
    """Numbers y (n, outputs), or labels (n, outputs) of so many classes each."""

    y: Array
    label: Array
    classes: Array

    @classmethod
    def numbers(cls, y: Array) -> Target:
        y = np.ascontiguousarray(y, dtype=np.float64)
        return cls(y[:, None] if y.ndim == 1 else y, NO_LABEL, NO_CLASSES)

    @classmethod
    def labels(cls, codes: Array, classes: Any) -> Target:
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        codes = codes[:, None] if codes.ndim == 1 else codes
        return cls(NO_NUMBERS, codes, np.atleast_1d(np.asarray(classes, np.int64)))

    @property
    def width(self) -> int:
        """Numbers in the value of a node."""
        return int(self.classes.sum()) if len(self.classes) else self.y.shape[1]


class GrownNodes(NamedTuple):
    """Nodes: links (3, nodes) are the column (-1 in leaves) and the children."""

    links: Array
    threshold: Array
    weight: Array
    impurity: Array
    samples: Array  # rows in the node
    value: Array  # (nodes, width)
    missing_left: Array  # the side of NaN
    categories: Array  # (nodes, 4): bits of the categories that go left; (0, 4) without any


class GrowthLimits(NamedTuple):
    """When growth stops: rows and weights of nodes, decrease of the impurity, leaves."""

    max_depth: int
    min_split: int
    min_leaf: int
    columns: int  # considered for each split; 0: all, in random order
    min_weight: float
    min_decrease: float
    max_leaves: int = 0  # 0: no limit


class SplitRules(NamedTuple):
    """Restrictions on the splits of a tree."""

    criterion: str
    random: bool = False  # one random threshold for each column
    monotone: Array = np.empty(0, np.int8)  # (d,) -1, 0, 1; or none
    categorical: Array = np.empty(0, np.uint8)  # (d,) 1 where values are categories; or none


def grow_tree(
    X: CodedColumns,
    target: Target,
    w: Array,
    rows: Array,
    rules: SplitRules,
    limits: GrowthLimits,
    seed: int,
    cancel: CancelFlag | None = None,
    threads: int = 1,
) -> GrownNodes:
    """Grow a tree on these rows (m,) with weights w (n,), which must be above 0 there."""
    m = len(rows)
    leaves = max(m // max(limits.min_leaf, 1), 1)
    capacity = 2 * (min(leaves, limits.max_leaves) if limits.max_leaves else leaves) + 1
    links, numbers = np.empty((3, capacity), np.int32), np.empty((4, capacity))
    value, missing_left = np.empty((capacity, target.width)), np.empty(capacity, np.uint8)
    categories = np.empty((capacity if len(rules.categorical) else 0, CATEGORY_WORDS), np.uint64)
    w = np.ascontiguousarray(w, dtype=np.float64)
    count = _core.grow_tree(
        X.codes,
        X.values,
        X.starts,
        X.missing,
        *target,
        w,
        np.array(rows, dtype=np.int32),  # a copy: growth brings it in the order of the leaves
        CRITERIA.index(rules.criterion),
        np.array([*limits[:4], limits.max_leaves, rules.random], np.int64),
        np.array([limits.min_weight, limits.min_decrease, float(w[rows].sum())]),
        np.ascontiguousarray(rules.monotone, np.int8),
        np.ascontiguousarray(rules.categorical, np.uint8),
        seed,
        (CancelFlag() if cancel is None else cancel).value,
        links,
        numbers,
        value,
        missing_left,
        categories,
        threads if X.codes.size >= SHARED else 1,
    )
    if count < 0:
        raise Cancelled
    parts = (*numbers, value, missing_left, categories)
    return GrownNodes(links[:, :count].copy(), *(a[:count].copy() for a in parts))


def prepare_trees(
    links: Array,
    threshold: Array,
    missing_left: Array,
    categories: Array,
    roots: Array,
    values: Array,
) -> _core.PreparedTrees:
    """Nodes with values (nodes, width), checked and prepared for predictions."""
    return _core.PreparedTrees(
        np.ascontiguousarray(links, np.int32),
        np.ascontiguousarray(threshold, np.float64),
        np.ascontiguousarray(missing_left, np.uint8),
        np.ascontiguousarray(categories, np.uint64),
        np.ascontiguousarray(roots, np.int64),
        np.ascontiguousarray(values, np.float64),
    )


def sum_leaves(
    trees: _core.PreparedTrees, n_trees: int, width: int, X: Array
) -> tuple[Array, bool]:
    """The sum over the trees of the values of the leaves of the rows, (n, width).

    And whether X has infinite values: this takes no pass over the rows of its own.
    """
    X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    out = np.zeros((len(X), width))
    infinite = False
    for first in range(0, len(X), ROWS_AT_ONCE):  # between two calls Python handles signals
        part = slice(first, first + ROWS_AT_ONCE)
        work = WORK_OF_ROW * len(X[part]) * n_trees
        infinite |= run(_core.sum_leaves, work, trees, X[part], out[part])
    return out, infinite


def find_leaves(trees: _core.PreparedTrees, n_trees: int, X: Array) -> Array:
    """The leaf of every row in every tree, (n, trees)."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty((len(X), n_trees), np.int32)
    run(_core.find_leaves, WORK_OF_ROW * out.size, trees, X, out)
    return out
