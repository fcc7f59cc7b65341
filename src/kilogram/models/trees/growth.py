"""Growth of many trees on bootstrap samples; forest.py tells the page.

Columns are sorted once for all trees. A tree's seed gives its draws, so what it has not seen can be
told afterwards without being kept.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kilogram.arrays.threads import n_threads
from kilogram.base import Estimate
from kilogram.base.checks import number
from kilogram.base.estimate import within
from kilogram.models.densities.density import check_count, generator
from kilogram.models.trees.nodes import Trees
from kilogram.models.trees.params import TreeModel, columns_tried, is_count
from kilogram.models.trees.pruning import simplified
from kilogram.native.trees import CodedColumns, Grown, Target, grow_tree
from kilogram.operators.memory_plan import rates


def bootstrap_counts(seed: int, n: int, m: int) -> np.ndarray:
    """How often each of n rows is drawn in m draws, (n,)."""
    return np.bincount(np.random.default_rng(seed).integers(0, n, m), minlength=n)


class Forest(TreeModel):
    """Growth of many trees, and what rows out of their bags say."""

    def _rows_drawn(self, n: int) -> int | None:
        me: Any = self
        if not me.bootstrap:
            if me.oob_score or me.max_samples is not None:
                raise ValueError("oob_score and max_samples need bootstrap=True.")
            return None
        share = me.max_samples
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
        me: Any = self
        n_jobs = me.n_jobs
        if n_jobs is None:
            return n_threads()
        if n_jobs == 0 or number(n_jobs) != int(n_jobs):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
        return int(n_jobs) if n_jobs > 0 else max(1, n_threads() + 1 + int(n_jobs))

    def _grow(self, X: np.ndarray, target: Target, w: np.ndarray, criterion: str) -> None:
        me: Any = self
        check_count(me, "n_estimators")
        rows = np.flatnonzero(w > 0)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        draws, columns = self._rows_drawn(len(rows)), CodedColumns.of(X)
        rng = generator(me.random_state)
        self._seeds = rng.integers(2**62, size=me.n_estimators)

        def one(seed: int) -> Grown:
            part, weights = rows, w
            if draws is not None:
                counts = bootstrap_counts(seed, len(rows), draws)
                part, weights = rows[counts > 0], w.copy()
                weights[rows] *= counts
            return grow_tree(columns, target, weights, part, criterion, limits, seed)

        with ThreadPoolExecutor(self._team()) as team:  # growth leaves the interpreter's lock
            grown = list(team.map(one, [int(seed) for seed in self._seeds]))
        if me.ccp_alpha > 0:
            grown = [_as_grown(simplified(Trees.of([tree]), float(me.ccp_alpha))) for tree in grown]
        self.trees_ = Trees.of(grown)
        self.feature_importances_ = self.trees_.importances(X.shape[1])

    def _out_of_bag(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The mean over the trees that have not seen it of the answer at every row; NaN if none."""
        rows = np.flatnonzero(w > 0)
        draws = self._rows_drawn(len(rows))
        total, votes = np.zeros((len(X), self.trees_.value.shape[1])), np.zeros(len(X))
        for t, seed in enumerate(self._seeds):
            counts = bootstrap_counts(int(seed), len(rows), draws or 0)
            away = rows[counts == 0]
            if len(away):
                total[away] += self.trees_.one(t).mean(X[away])
                votes[away] += 1
        if (votes[rows] == 0).any():
            warnings.warn(
                f"{int((votes[rows] == 0).sum())} rows were drawn by every tree and have no "
                "out-of-bag answer. More trees have one for all.",
                UserWarning,
                stacklevel=3,
            )
        with np.errstate(invalid="ignore"):
            return total / votes[:, None]

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        me: Any = self
        tried = columns_tried(me.max_features, d)
        work = 40.0 * me.n_estimators * n * tried * np.log2(n + 2) / rates(8).multiply_adds
        return within(self, n, d, f"{me.n_estimators} trees", work, 24 * n * d + 100 * n)


def _as_grown(tree: Trees) -> Grown:
    return Grown(tree.links, tree.threshold, tree.weight, tree.impurity, tree.value)
