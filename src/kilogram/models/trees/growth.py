"""Growth of many trees on bootstrap samples; forest.py tells the page.

Columns are sorted once for all trees. A tree's seed gives its draws, so what it has not seen can be
told afterwards without being kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.threads import n_threads
from kilogram.base import Estimate
from kilogram.base.checks import number
from kilogram.base.estimate import within
from kilogram.models.densities.density import check_count, generator
from kilogram.models.trees.nodes import Trees
from kilogram.models.trees.params import TreeModel, columns_tried, is_count
from kilogram.models.trees.pruning import simplified
from kilogram.native.trees import CodedColumns, Grown, Target, grow_tree, sum_leaves
from kilogram.operators.memory_plan import rates

NO_ROWS, ROOT = np.empty(0, np.int64), np.zeros(1, np.int64)


def bootstrap_counts(seed: int, n: int, m: int) -> np.ndarray:
    """How often each of n rows is drawn in m draws, (n,)."""
    return np.bincount(np.random.default_rng(seed).integers(0, n, m), minlength=n)


def each(one: Callable[[int], Any], seeds: list[int], threads: int) -> Iterator[Any]:
    """What `one` makes of every seed, in order; growth leaves the interpreter's lock."""
    if threads == 1:
        yield from map(one, seeds)
        return
    with ThreadPoolExecutor(threads) as team:
        yield from team.map(one, seeds)


class OneTree(NamedTuple):
    """A tree, the rows it has not seen and its values there."""

    grown: Grown
    away: np.ndarray
    values: np.ndarray


class Forest(TreeModel):
    """Growth of many trees, and what rows out of their bags say."""

    def __init__(
        self,
        *,
        n_estimators: int,
        bootstrap: bool,
        oob_score: bool,
        n_jobs: int | None,
        max_samples: Any,
        **shared: Any,
    ):
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.max_samples = max_samples

    def _rows_drawn(self, n: int) -> int | None:
        if not self.bootstrap:
            if self.oob_score or self.max_samples is not None:
                raise ValueError("oob_score and max_samples need bootstrap=True.")
            return None
        share = self.max_samples
        if share is None:
            return n
        if is_count(share, 1):
            return min(int(share), n)
        if isinstance(share, float) and 0 < share <= 1:
            return max(round(share * n), 1)
        raise ValueError(
            f"max_samples must be None, a number of rows or a share of them, got {share!r}."
        )

    def _team(self) -> int:
        n_jobs = self.n_jobs
        if n_jobs is None:
            return n_threads()
        if n_jobs == 0 or number(n_jobs) != int(n_jobs):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
        return int(n_jobs) if n_jobs > 0 else max(1, n_threads() + 1 + int(n_jobs))

    def _grow(self, X: np.ndarray, target: Target, w: np.ndarray) -> np.ndarray | None:
        check_count(self, "n_estimators")
        rows = np.flatnonzero(w > 0)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        draws, columns = self._rows_drawn(len(rows)), CodedColumns.of(X)
        self._seeds = generator(self.random_state).integers(2**62, size=self.n_estimators)

        def one(seed: int) -> OneTree:
            part, weights, away = rows, w, NO_ROWS
            if draws is not None:
                counts = bootstrap_counts(seed, len(rows), draws)
                part, weights = rows[counts > 0], w.copy()
                weights[rows] *= counts
                away = rows[counts == 0] if self.oob_score else NO_ROWS
            grown = grow_tree(columns, target, weights, part, self.criterion, limits, seed)
            if self.ccp_alpha > 0:
                grown = _as_grown(simplified(Trees.of([grown]), float(self.ccp_alpha)))
            if not len(away):
                return OneTree(grown, away, grown.value[:0])
            held = sum_leaves(grown.links, grown.threshold, ROOT, grown.value, X[away])
            return OneTree(grown, away, held)

        bag = OutOfBag.over(len(X), max(target.classes, 1))
        found = [bag.hear(tree) for tree in each(one, self._seeds.tolist(), self._team())]
        self.trees_ = Trees.of(found)
        self.feature_importances_ = self.trees_.importances(X.shape[1])
        return bag.mean(rows) if self.oob_score else None

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        tried = columns_tried(self.max_features, d)
        work = 40.0 * self.n_estimators * n * tried * np.log2(n + 2) / rates(8).multiply_adds
        return within(self, n, d, f"{self.n_estimators} trees", work, 24 * n * d + 100 * n)


def _as_grown(tree: Trees) -> Grown:
    return Grown(tree.links, tree.threshold, tree.weight, tree.impurity, tree.value)


class OutOfBag(NamedTuple):
    """Sums over the trees that have not seen a row, and how many these are."""

    total: np.ndarray
    votes: np.ndarray

    @classmethod
    def over(cls, n: int, width: int) -> OutOfBag:
        return cls(np.zeros((n, width)), np.zeros(n))

    def hear(self, tree: OneTree) -> Grown:
        """Add what a tree says of the rows it has not seen; the tree itself."""
        self.total[tree.away] += tree.values
        self.votes[tree.away] += 1
        return tree.grown

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """The mean answer at every row; NaN where there is none, which is said of `rows`."""
        alone = int((self.votes[rows] == 0).sum())
        if alone:
            warnings.warn(
                f"{alone} rows were drawn by every tree and have no out-of-bag answer. More trees "
                "have one for all.",
                UserWarning,
                stacklevel=4,
            )
        with np.errstate(invalid="ignore"):
            return self.total / self.votes[:, None]
