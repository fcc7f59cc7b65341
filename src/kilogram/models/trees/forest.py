"""Growth of many trees on bootstrap samples.

Columns are sorted once for all trees. The bootstrap sample of a tree follows from its seed, so its
out-of-bag rows are known later without being stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.threads import map_cancellable
from kilogram.base import Estimate
from kilogram.base.constraints import Boolean, Constraint, Function, Integer, Null, Real
from kilogram.base.random_state import as_generator
from kilogram.base.tree_parameters import features_per_split
from kilogram.models.trees.proximity import leaf_proximity
from kilogram.models.trees.tree_model import TreeModel
from kilogram.native.cancel import CancelFlag
from kilogram.native.threads import thread_count
from kilogram.native.trees import CodedColumns, GrownNodes, Target, grow_tree
from kilogram.operators.cost import rates
from kilogram.solvers.trees.nodes import Trees
from kilogram.solvers.trees.pruning import cost_complexity_pruned

# parameters that a forest shares with the trees in it
OF_TREES = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
    "categorical_features",
)


class Sampling(NamedTuple):
    """How rows are drawn: `rows` of weight above 0 (None: all n of them), `draws` for each tree."""

    rows: np.ndarray | None
    n: int
    draws: int | None  # None: every tree has all rows

    def drawn(self, seed: int) -> np.ndarray:
        """The rows of one tree, with repetitions, as positions in the training data."""
        at = np.arange(self.n) if self.draws is None else bootstrap_draws(seed, self.n, self.draws)
        return at if self.rows is None else self.rows[at]

    def out_of_bag(self, seed: int) -> np.ndarray:
        """The rows that one tree has not drawn."""
        at = np.flatnonzero(bootstrap_counts(seed, self.n, self.draws or 0) == 0)
        return at if self.rows is None else self.rows[at]


def bootstrap_draws(seed: int, n: int, m: int) -> np.ndarray:
    """Which of n rows are drawn in m draws with replacement, (m,)."""
    return np.random.default_rng(seed).integers(0, n, m)


def bootstrap_counts(seed: int, n: int, m: int) -> np.ndarray:
    """How often each of n rows is drawn in m draws, (n,)."""
    return np.bincount(bootstrap_draws(seed, n, m), minlength=n)


class Forest(TreeModel):
    """Growth of many trees, and predictions of the out-of-bag rows."""

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **TreeModel.parameter_constraints,
        "n_estimators": Integer(1),
        "bootstrap": Boolean(),
        "oob_score": Boolean() | Function(),
        "n_jobs": Integer(1) | Integer(high=-1) | Null(),
        "verbose": Integer(0) | Boolean(),
        "warm_start": Boolean(),
        "max_samples": Integer(1) | Real(0.0, np.inf, "neither") | Null(),
    }

    def __init__(
        self,
        *,
        n_estimators: int,
        bootstrap: bool,
        oob_score: Any,
        n_jobs: int | None,
        verbose: int,
        warm_start: bool,
        max_samples: Any,
        **shared: Any,
    ):
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start
        self.max_samples = max_samples

    def _n_draws(self, n: int) -> int | None:
        """Rows drawn for each tree; None grows every tree on all rows."""
        if not self.bootstrap:
            if self.oob_score:
                raise ValueError("Out of bag estimation only available if bootstrap=True")
            if self.max_samples is not None:
                raise ValueError(
                    "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                    "`bootstrap=True` or set `max_sample=None`."
                )
            return None
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, (int, np.integer)):
            return int(self.max_samples)
        return max(round(float(self.max_samples) * n), 1)

    def _oob_metric(self, default: Callable[..., float]) -> Callable[..., float]:
        """metric(y, predicted, weights): the given function, which takes no weights, or R^2."""
        if callable(self.oob_score):
            return lambda y, found, w: float(self.oob_score(y, found))
        return lambda y, found, w: float(default(y, found, sample_weight=w))

    tree_class: ClassVar[type]
    _seeds: np.ndarray
    _n_columns: int  # of the rows that the trees were grown on
    _sampling: Sampling

    def _random_splits(self) -> bool:
        return bool(self.tree_class().splitter == "random")

    def _bootstrap_factors(self, target: Target, rows: np.ndarray, counts: np.ndarray) -> Any:
        """Factors (rows,) of the weights in one bootstrap sample; none by default."""
        return None

    def _grow(
        self, X: np.ndarray, target: Target, w: np.ndarray, inverse: Callable[[Any], Any]
    ) -> tuple[Trees, Any]:
        rows = np.flatnonzero(w > 0)
        sampling = Sampling(
            None if len(rows) == len(X) else rows, len(rows), self._n_draws(len(rows))
        )
        earlier = self._earlier_trees(target, X.shape[1])
        seeds = as_generator(self.random_state).integers(2**32, size=int(self.n_estimators))
        if earlier is not None:
            seeds = np.concatenate([self._seeds, seeds[len(earlier) :]])
        fresh = seeds[0 if earlier is None else len(earlier) :].tolist()
        trees = earlier
        if fresh:
            new = self._grow_fresh(X, target, w, rows, sampling, fresh)
            grown = Trees.of([tree._replace(value=inverse(tree.value)) for tree in new])
            trees = grown if earlier is None else earlier.with_more(grown)
        assert trees is not None
        self.max_features_ = features_per_split(self.max_features, X.shape[1])
        self._seeds, self._sampling, self._n_columns = seeds, sampling, X.shape[1]
        return trees, out_of_bag_means(trees, seeds, sampling, X) if self.oob_score else None

    def _earlier_trees(self, target: Target, d: int) -> Trees | None:
        """The trees that a warm start keeps; None without one."""
        if not self.warm_start or "trees_" not in vars(self):
            return None
        have, want = len(self.trees_), int(self.n_estimators)
        if self.trees_.value.shape[1] != target.width:
            raise ValueError("warm_start=True needs the same classes and targets as before.")
        if self._n_columns != d:
            raise ValueError(
                f"warm_start=True needs the same features as before: {self._n_columns}, got {d}."
            )
        if want < have:
            raise ValueError(
                f"n_estimators={want} must be larger or equal to len(estimators_)={have} when "
                "warm_start==True"
            )
        if want == have:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
                stacklevel=5,
            )
        return self.trees_

    def _grow_fresh(
        self,
        X: np.ndarray,
        target: Target,
        w: np.ndarray,
        rows: np.ndarray,
        sampling: Sampling,
        seeds: list[int],
    ) -> Iterator[GrownNodes]:
        columns = CodedColumns.of(X)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        if limits.columns == X.shape[1]:  # in random order: ties then vary from tree to tree
            limits = limits._replace(columns=0)
        rules = self._rules(target, columns)

        def grow(seed: int, cancel: CancelFlag) -> GrownNodes:
            part, weights = rows, w
            if sampling.draws is not None:
                counts = bootstrap_counts(seed, len(rows), sampling.draws)
                part, weights = rows[counts > 0], w.copy()
                weights[rows] *= counts
                factors = self._bootstrap_factors(target, rows, counts)
                if factors is not None:
                    weights[rows] *= factors
            own = int(as_generator(seed).integers(2**62))  # as a single tree draws it
            grown = grow_tree(columns, target, weights, part, rules, limits, own, cancel)
            if self.ccp_alpha > 0:
                tree = Trees.of([grown])
                grown = cost_complexity_pruned(tree, float(self.ccp_alpha)).grown()
            return grown

        for i, tree in enumerate(map_cancellable(grow, seeds, thread_count(self.n_jobs))):
            if self.verbose:
                print(f"tree {i + 1} of {len(seeds)}: {len(tree.threshold)} nodes")
            yield tree

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for each tree, with repetitions, as positions in the training data."""
        check_is_fitted(self, "trees_")
        kind = np.int32 if self._sampling.n < 2**31 else np.int64
        return [self._sampling.drawn(int(seed)).astype(kind) for seed in self._seeds]

    @property
    def estimators_(self) -> list[Any]:
        """The trees, as fitted estimators; their classes are positions in `classes_`."""
        check_is_fitted(self, "trees_")
        found = vars(self).get("_estimators")
        if found is None or found[0] is not self.trees_:
            self._estimators = found = (self.trees_, self._as_estimators())
        return found[1]

    @property
    def estimator_(self) -> Any:
        """The unfitted tree whose parameters all trees have."""
        check_is_fitted(self, "trees_")
        return self.tree_class(**{name: getattr(self, name) for name in OF_TREES})

    def _as_estimators(self) -> list[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def proximity(self, X: Any, Z: Any = None, *, out_of_bag: bool = False) -> np.ndarray:
        """The fraction of trees in which two rows share a leaf.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Z : array-like of shape (m, d), default=None
            Other rows; None compares the rows of X with each other.
        out_of_bag : bool, default=False
            X are the training rows; a pair counts the trees that have drawn neither of both, so
            that a row is not near another one because a tree was grown on both.

        Returns
        -------
        ndarray of shape (n, m)
            NaN where no tree counts.
        """
        leaves = self._leaf_table(X)[1]
        if not out_of_bag:
            return leaf_proximity(leaves, leaves if Z is None else self._leaf_table(Z)[1])
        size = self._sampling.n if self._sampling.rows is None else len(leaves)
        if Z is not None or len(leaves) != size or self._sampling.draws is None:
            raise ValueError(
                "out_of_bag=True needs the training rows as X, no Z, and a forest fitted with "
                "bootstrap=True."
            )
        counts = np.zeros(leaves.shape, dtype=bool)
        for t, seed in enumerate(self._seeds):
            counts[self._sampling.out_of_bag(int(seed)), t] = True
        return leaf_proximity(leaves, leaves, counts)

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
        return self._costs(n, d, f"{self.n_estimators} trees", work, 24 * n * d + 100 * n)


def out_of_bag_means(
    trees: Trees, seeds: np.ndarray, sampling: Sampling, X: np.ndarray
) -> np.ndarray:
    """For each row the mean over the trees that have not drawn it, (n, width); NaN without any."""
    total, number = np.zeros((len(X), trees.value.shape[1])), np.zeros(len(X))
    for t, seed in enumerate(seeds.tolist()):
        rows = sampling.out_of_bag(seed)
        if not len(rows):
            continue
        total[rows] += trees.one(t).mean(X[rows])
        number[rows] += 1
    without = int((number[slice(None) if sampling.rows is None else sampling.rows] == 0).sum())
    if without:
        warnings.warn(
            f"Some inputs do not have OOB scores: {without} rows were drawn by every tree. Use "
            "more trees.",
            UserWarning,
            stacklevel=4,
        )
    with np.errstate(invalid="ignore"):
        return total / number[:, None]
