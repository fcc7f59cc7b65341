"""Growth of many trees on bootstrap samples.

Columns are sorted once for all trees. The bootstrap sample of a tree follows from its seed, so its
out-of-bag rows are known later without being stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.threads import n_threads
from kilogram.base import Estimate
from kilogram.base.constraints import Boolean, Constraint, Integer, Null
from kilogram.base.estimate import within
from kilogram.base.random_state import as_generator
from kilogram.base.tree_parameters import Fraction, features_per_split
from kilogram.models.trees.parameters import TreeModel
from kilogram.native.trees import (
    CancelFlag,
    CodedColumns,
    Grown,
    Target,
    grow_tree,
    sum_leaves,
)
from kilogram.operators.cost import rates
from kilogram.solvers.trees.nodes import Trees
from kilogram.solvers.trees.pruning import cost_complexity_pruned

NO_ROWS, ROOT = np.empty(0, np.int64), np.zeros(1, np.int64)


def bootstrap_draws(seed: int, n: int, m: int) -> np.ndarray:
    """Which of n rows are drawn in m draws with replacement, (m,)."""
    return np.random.default_rng(seed).integers(0, n, m)


def bootstrap_counts(seed: int, n: int, m: int) -> np.ndarray:
    """How often each of n rows is drawn in m draws, (n,)."""
    return np.bincount(bootstrap_draws(seed, n, m), minlength=n)


def map_seeds(
    grow: Callable[[int, CancelFlag], BootstrapTree], seeds: list[int], threads: int
) -> Iterator[BootstrapTree]:
    """A tree for every seed, in order, on several threads; Ctrl-C cancels those being grown."""
    cancel = CancelFlag()
    if threads == 1:
        yield from (grow(seed, cancel) for seed in seeds)
        return
    with ThreadPoolExecutor(threads) as team:
        try:
            yield from team.map(lambda seed: grow(seed, cancel), seeds)
        except BaseException:
            cancel.set()
            raise


class BootstrapTree(NamedTuple):
    """A tree, its out-of-bag rows and its values there."""

    grown: Grown
    out_of_bag: np.ndarray
    values: np.ndarray


class Forest(TreeModel):
    """Growth of many trees, and predictions of the out-of-bag rows."""

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **TreeModel.parameter_constraints,
        "n_estimators": Integer(1),
        "bootstrap": Boolean(),
        "oob_score": Boolean(),
        "n_jobs": Integer(1) | Integer(high=-1) | Null(),
        "max_samples": Integer(1) | Fraction() | Null(),
    }

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

    def _n_draws(self, n: int) -> int | None:
        """Rows drawn for each tree; None grows every tree on all rows."""
        if not self.bootstrap:
            if self.oob_score or self.max_samples is not None:
                raise ValueError("oob_score and max_samples need bootstrap=True.")
            return None
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, (int, np.integer)):
            return min(int(self.max_samples), n)
        return max(round(float(self.max_samples) * n), 1)

    def _n_threads(self) -> int:
        if self.n_jobs is None:
            return n_threads()
        n_jobs = int(self.n_jobs)
        return n_jobs if n_jobs > 0 else max(1, n_threads() + 1 + n_jobs)

    def _bootstrap_factors(self, target: Target, rows: np.ndarray, counts: np.ndarray) -> Any:
        """Factors (rows,) of the weights in one bootstrap sample; none by default."""
        return None

    def _grow(self, X: np.ndarray, target: Target, w: np.ndarray) -> tuple[Trees, Any]:
        rows = np.flatnonzero(w > 0)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        draws, columns = self._n_draws(len(rows)), CodedColumns.of(X)
        seeds = as_generator(self.random_state).integers(2**62, size=int(self.n_estimators))
        criterion = self._native_criterion

        def grow(seed: int, cancel: CancelFlag) -> BootstrapTree:
            part, weights, out_of_bag = rows, w, NO_ROWS
            if draws is not None:
                counts = bootstrap_counts(seed, len(rows), draws)
                part, weights = rows[counts > 0], w.copy()
                weights[rows] *= counts
                factors = self._bootstrap_factors(target, rows, counts)
                if factors is not None:
                    weights[rows] *= factors
                out_of_bag = rows[counts == 0] if self.oob_score else NO_ROWS
            grown = grow_tree(columns, target, weights, part, criterion, limits, seed, cancel)
            if self.ccp_alpha > 0:
                tree = Trees.of([grown])
                grown = cost_complexity_pruned(tree, float(self.ccp_alpha)).grown()
            if not len(out_of_bag):
                return BootstrapTree(grown, out_of_bag, grown.value[:0])
            values = sum_leaves(grown.links, grown.threshold, ROOT, grown.value, X[out_of_bag])
            return BootstrapTree(grown, out_of_bag, values)

        means = OutOfBagMeans.zeros(len(X), max(target.classes, 1))
        grown = []
        for tree in map_seeds(grow, seeds.tolist(), self._n_threads()):
            means.add(tree)
            grown.append(tree.grown)
        self.max_features_ = limits.columns
        self._seeds = seeds
        self._sampling = (None if len(rows) == len(X) else rows, len(rows), draws)
        return Trees.of(grown), means.means(rows) if self.oob_score else None

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for each tree, with repetitions, as positions in the training data."""
        check_is_fitted(self)
        rows, n, draws = self._sampling
        if draws is None:
            return [np.arange(n) if rows is None else rows for _ in self._seeds]
        drawn = (bootstrap_draws(int(seed), n, draws) for seed in self._seeds)
        return [at if rows is None else rows[at] for at in drawn]

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of every row in every tree, (n, trees), numbered among the nodes of the tree."""
        return self._leaf_table(X)[1].astype(np.int64)

    def decision_path(self, X: Any) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
        """The nodes that each row passes through, in all trees.

        Returns
        -------
        indicator : csr_matrix of shape (n, nodes of all trees)
        n_nodes_ptr : ndarray of shape (trees + 1,)
            Columns n_nodes_ptr[t] to n_nodes_ptr[t + 1] belong to tree t.
        """
        rows, _ = self._leaf_table(X)
        ends = np.append(self.trees_.roots, self.trees_.links.shape[1])
        return self.trees_.decision_path(rows), ends

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        considered = features_per_split(self.max_features, d)
        work = 40.0 * self.n_estimators * n * considered * np.log2(n + 2) / rates(8).multiply_adds
        return within(self, n, d, f"{self.n_estimators} trees", work, 24 * n * d + 100 * n)


class OutOfBagMeans(NamedTuple):
    """For each row the sum over the trees whose sample lacks it, and their number."""

    total: np.ndarray
    trees: np.ndarray

    @classmethod
    def zeros(cls, n: int, width: int) -> OutOfBagMeans:
        return cls(np.zeros((n, width)), np.zeros(n))

    def add(self, tree: BootstrapTree) -> None:
        """Add the values of a tree at its out-of-bag rows."""
        self.total[tree.out_of_bag] += tree.values
        self.trees[tree.out_of_bag] += 1

    def means(self, rows: np.ndarray) -> np.ndarray:
        """The mean at every row; NaN, with a warning for `rows`, where every tree drew the row."""
        without = int((self.trees[rows] == 0).sum())
        if without:
            warnings.warn(
                f"{without} rows were drawn by every tree and have no out-of-bag prediction. Use "
                "more trees.",
                UserWarning,
                stacklevel=4,
            )
        with np.errstate(invalid="ignore"):
            return self.total / self.trees[:, None]
