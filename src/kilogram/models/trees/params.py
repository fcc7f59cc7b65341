"""What trees and forests share: their parameters checked, rows gathered, answers block by block."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import map_rows
from kilogram.base import Estimator
from kilogram.base.checks import number
from kilogram.models.densities.density import check_count, host
from kilogram.models.trees.nodes import Trees
from kilogram.native.trees import Limits, Target
from kilogram.operators.memory_plan import human_bytes, memory_limit

DEEPEST = 2**31 - 1
SPARSE_ROWS = 4096  # rows of a sparse table made dense at once


def is_count(value: Any, least: int) -> bool:
    """A whole number of at least `least`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def columns_tried(spec: Any, d: int) -> int:
    """How many of d columns a split looks at."""
    if spec is None:
        return d
    if isinstance(spec, str) and spec in ("sqrt", "log2"):
        return max(int(d**0.5 if spec == "sqrt" else np.log2(d)), 1)
    if isinstance(spec, float) and 0 < spec <= 1:
        return max(int(spec * d), 1)
    if is_count(spec, 1):
        return min(int(spec), d)
    raise ValueError(
        "max_features must be None, 'sqrt', 'log2', a share of the columns or their number, "
        f"got {spec!r}."
    )


def rows_meant(model: Any, name: str, n: int, least: int) -> int:
    """A number of rows, given as such or as a share of n."""
    value = getattr(model, name)
    if is_count(value, least):
        return int(value)
    if isinstance(value, float) and 0 < value <= 1:
        return max(int(np.ceil(value * n)), least)
    raise ValueError(
        f"{name} must be an integer of at least {least}, or a share of the rows, got {value!r}."
    )


class TreeModel(Estimator):
    """Rows on the host, limits of growth, and answers from `trees_`."""

    trees_: Trees

    def __init__(
        self,
        *,
        criterion: str,
        max_depth: int | None,
        min_samples_split: float,
        min_samples_leaf: float,
        min_weight_fraction_leaf: float,
        max_features: Any,
        random_state: Any,
        min_impurity_decrease: float,
        ccp_alpha: float,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha

    @abstractmethod
    def _grow(self, X: np.ndarray, target: Target, w: np.ndarray) -> np.ndarray | None:
        """Set `trees_`; (n, width) answers of trees that have not seen the rows, if wanted."""

    def _limits(self, n: int, d: int, total: float) -> Limits:
        check_count(self, "max_depth", none=True)
        if not 0 <= number(self.min_weight_fraction_leaf) <= 0.5:
            raise ValueError(
                "min_weight_fraction_leaf must lie between 0 and 1/2, "
                f"got {self.min_weight_fraction_leaf!r}."
            )
        for name in ("min_impurity_decrease", "ccp_alpha"):
            if not 0 <= number(getattr(self, name)) < np.inf:
                raise ValueError(f"{name} must be a number >= 0, got {getattr(self, name)!r}.")
        return Limits(
            DEEPEST if self.max_depth is None else int(self.max_depth),
            rows_meant(self, "min_samples_split", n, 2),
            rows_meant(self, "min_samples_leaf", n, 1),
            columns_tried(self.max_features, d),
            float(self.min_weight_fraction_leaf) * total,
            float(self.min_impurity_decrease),
        )

    def _check_criterion(self, *allowed: str) -> None:
        if self.criterion not in allowed:
            raise ValueError(f"criterion must be one of {allowed}, got {self.criterion!r}.")

    def _dense(self, X: Any) -> np.ndarray:
        """Rows as float64 on the host: a tree sorts every column, zeros and all."""
        if not is_sparse(X):
            return host(X)
        size = 8 * X.shape[0] * X.shape[1]
        if 3 * size > memory_limit():
            raise MemoryError(
                f"{type(self).__name__} sorts every column: {X.shape[0]:,} x {X.shape[1]:,} rows "
                f"take {human_bytes(3 * size)} when dense. Take fewer columns (the most frequent, "
                "or a PCA of them), or a linear method."
            )
        return np.asarray(X.toarray(), dtype=np.float64)

    def _values(self, X: Any) -> Any:
        """The mean value of the leaves of every row, (n, width), as X came."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        trees = self.trees_

        def rows(block: Any) -> Any:
            if is_sparse(block):
                return trees.mean(np.asarray(block.toarray(), dtype=np.float64))
            return like(trees.mean(host(block)), block)

        return map_rows(rows, X, block_rows=SPARSE_ROWS if is_sparse(X) else None)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of every row: its number among the nodes of `trees_`, (n,) or (n, trees)."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        leaves = self.trees_.apply(self._dense(X))
        return (
            leaves[:, 0] if len(self.trees_) == 1 and not hasattr(self, "n_estimators") else leaves
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
