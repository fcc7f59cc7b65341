"""What trees and forests share: parameters, rows in memory, values block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator, ValidatedData
from kilogram.base.categories import CategoricalMixin
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.device_output import like_rows
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.tree_parameters import (
    MAX_FEATURES,
    Fraction,
    features_per_split,
    number_of_rows,
)
from kilogram.models.trees.constraints import monotone_directions
from kilogram.native.trees import (
    MAX_CATEGORIES,
    NO_LIMIT,
    ROWS_AT_ONCE,
    CodedColumns,
    GrowthLimits,
    SplitRules,
    Target,
)
from kilogram.solvers.trees.nodes import InfiniteRows, Trees

ALLOW_NAN = "allow-nan"
SYNONYMS = {"log_loss": "entropy", "friedman_mse": "squared_error"}
SPARSE_ROWS = 4096  # rows of a sparse matrix made dense at once


class TreeModel(CategoricalMixin, Estimator):
    """Limits of growth, and values from the nodes `trees_`."""

    trees_: Trees
    _float64_target: bool = False  # whether predictions need more digits than float32 rows have
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "max_depth": Integer(1) | Null(),
        "min_samples_split": Integer(2) | Fraction(),
        "min_samples_leaf": Integer(1) | Fraction(),
        "min_weight_fraction_leaf": Real(0.0, 0.5),
        "max_features": MAX_FEATURES,
        "random_state": RandomState(),
        "max_leaf_nodes": Integer(2) | Null(),
        "min_impurity_decrease": Real(0.0, np.inf, "left"),
        "ccp_alpha": Real(0.0, np.inf, "left"),
        "monotonic_cst": ArrayLike() | Null(),
        "categorical_features": OneOf("from_dtype") | ArrayLike() | Null(),
    }

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
        max_leaf_nodes: int | None,
        min_impurity_decrease: float,
        ccp_alpha: float,
        monotonic_cst: Any,
        categorical_features: Any,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features

    def _most_categories(self) -> int:
        return MAX_CATEGORIES

    def _validate(
        self, X: Any, y: Any = None, sample_weight: Any = None, **checks: Any
    ) -> ValidatedData:
        """X with numbers for categories, validated; a warm start keeps the categories."""
        reset = checks.get("reset", True)
        kept = getattr(self, "warm_start", False) and "trees_" in vars(self)
        if not (reset and is_streamed(X)):  # such rows are gathered, and validated again
            X = self._encoded(X, reset=reset and not kept)
        return super()._validate(X, y, sample_weight, **checks)

    @abstractmethod
    def _grow(
        self, X: np.ndarray, target: Target, w: np.ndarray, inverse: Callable[[Any], Any]
    ) -> tuple[Trees, Any]:
        """The trees, their values mapped by `inverse`, and out-of-bag values (n, width) or None."""

    def _limits(self, n: int, d: int, total: float) -> GrowthLimits:
        return GrowthLimits(
            NO_LIMIT if self.max_depth is None else min(int(self.max_depth), NO_LIMIT),
            number_of_rows(self.min_samples_split, n, 2),
            number_of_rows(self.min_samples_leaf, n, 1),
            features_per_split(self.max_features, d),
            float(self.min_weight_fraction_leaf) * total,
            float(self.min_impurity_decrease),
            0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
        )

    def _rules(self, target: Target, columns: CodedColumns) -> SplitRules:
        """What a split may be, from the criterion and the constraints."""
        d = columns.shape[1]
        criterion = SYNONYMS.get(self.criterion, self.criterion)
        monotone = monotone_directions(self.monotonic_cst, d, target)
        mask = np.empty(0) if self.is_categorical_ is None else self.is_categorical_
        categorical = mask.astype(np.uint8)
        if len(monotone) and len(categorical) and (monotone * categorical).any():
            raise ValueError(
                "Categorical features cannot have monotonic constraints: set monotonic_cst to 0 "
                "for them."
            )
        return SplitRules(criterion, self._random_splits(), monotone, categorical)

    def _random_splits(self) -> bool:
        """Whether one random threshold is tried for each feature instead of all."""
        raise NotImplementedError

    @property
    def feature_importances_(self) -> np.ndarray:
        """Decrease of the impurity by the splits of each feature, normalised to sum 1."""
        check_is_fitted(self, "trees_")
        return self.trees_.importances(self.n_features_in_)

    def _dense(self, X: Any) -> np.ndarray:
        """Rows as float64 in host memory: growth sorts every column, zeros included."""
        if not is_sparse(X):
            return as_float64(X)
        size = 8 * X.shape[0] * X.shape[1]
        if 3 * size > memory_limit():
            raise MemoryError(
                f"{type(self).__name__} sorts every column, and X of {X.shape[0]:,} x "
                f"{X.shape[1]:,} takes {human_bytes(3 * size)} when dense. Use fewer features (the "
                "most frequent, or a PCA of them), or a linear method."
            )
        return np.asarray(X.toarray(), dtype=np.float64)

    def _values(self, X: Any, finite: bool | str = ALLOW_NAN) -> Any:
        """The mean value of the leaves of every row, (n, width), in the library of X.

        In the float type of X, unless float64 targets ask for the wider one.
        """
        check_is_fitted(self, "trees_")
        late = type(X) is np.ndarray and finite == ALLOW_NAN  # trees look for infinity themselves
        rows = self._validate(X, reset=False, finite=not late and finite).X
        trees, wide = self.trees_, self._float64_target

        def values(block: Any) -> Any:
            dense = block.toarray() if is_sparse(block) else to_numpy(block)
            dense = dense if dense.dtype == np.float32 else as_float64(dense)
            return like_rows(trees.mean(dense, finite=late), block, wide=wide)

        try:
            if type(rows) is np.ndarray:
                return values(rows)
            return map_rows(values, rows, block_rows=_rows_at_once(rows))
        except InfiniteRows:
            self._validate(X, reset=False, finite=finite)  # the error that says where
            raise

    def _leaf_table(self, X: Any, finite: bool | str = ALLOW_NAN) -> tuple[np.ndarray, np.ndarray]:
        """Validated rows in host memory, and their leaves (n, trees), numbered in each tree."""
        check_is_fitted(self, "trees_")
        X = self._validate(X, reset=False, finite=finite).X
        rows = self._dense(rows_in_memory(X)[0])
        return rows, self.trees_.apply(rows) - self.trees_.roots

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


def _rows_at_once(X: Any) -> int | None:
    if is_streamed(X):
        return None
    most = SPARSE_ROWS if is_sparse(X) else ROWS_AT_ONCE
    return most if X.shape[0] > most else None
