"""What trees and forests share: their parameters checked, rows gathered, answers block by block."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.arrays.rows_stream import stack_rows
from kilogram.base import Estimator
from kilogram.base.checks import number
from kilogram.base.labels import all_classes, codes_of, enter_labels, largest
from kilogram.models.densities.density import check_count, host
from kilogram.models.regression.targets import enter_gathered, enter_rows
from kilogram.models.trees.nodes import Trees
from kilogram.native.trees import Limits, Target
from kilogram.operators.memory_plan import human_bytes, memory_limit

DEEPEST = 2**31 - 1
SMALL, LARGE = 1e-100, 1e100  # targets whose squares, summed, stay in the range of floats
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

    def _limits(self, n: int, d: int, total: float) -> Limits:
        me: Any = self
        check_count(me, "max_depth", none=True)
        if not 0 <= number(me.min_weight_fraction_leaf) <= 0.5:
            raise ValueError(
                "min_weight_fraction_leaf must lie between 0 and 1/2, "
                f"got {me.min_weight_fraction_leaf!r}."
            )
        for name in ("min_impurity_decrease", "ccp_alpha"):
            if not 0 <= number(getattr(me, name)) < np.inf:
                raise ValueError(f"{name} must be a number >= 0, got {getattr(me, name)!r}.")
        return Limits(
            DEEPEST if me.max_depth is None else int(me.max_depth),
            rows_meant(me, "min_samples_split", n, 2),
            rows_meant(me, "min_samples_leaf", n, 1),
            columns_tried(me.max_features, d),
            float(me.min_weight_fraction_leaf) * total,
            float(me.min_impurity_decrease),
        )

    def _check_criterion(self, allowed: tuple[str, ...]) -> str:
        found = getattr(self, "criterion", None)
        if found not in allowed:
            raise ValueError(f"criterion must be one of {allowed}, got {found!r}.")
        return str(found)

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


class TreeRegressor(TreeModel):
    """Numbers, and the mean of the leaves as the answer."""

    def _enter_numbers(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), y (n,) and weights (n,) on the host."""
        rows = enter_gathered(self, enter_rows(self, X, y, w))
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        dense = self._dense(rows.X)
        target = host(rows.Y)[:, 0]
        return dense, target, np.ones(len(target)) if rows.w is None else host(rows.w)

    def _predict(self, X: Any) -> Any:
        return map_rows(lambda v: v[:, 0], self._values(X))


class Shifted(NamedTuple):
    """A target whose squares keep their digits: y = scale * target + shift."""

    target: Target
    scale: float
    shift: float

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray) -> Shifted:
        """y as it is, unless its mean is far from 0 or its squares leave the range of floats."""
        largest = float(np.abs(y).max())
        scale = 1.0 if SMALL < largest < LARGE or largest == 0 else largest
        z, share = y / scale, w / w.sum()
        mean = float(share @ z)
        spread = float(np.sqrt(share @ (z - mean) ** 2))
        shift = mean if abs(mean) > 8 * spread > 0 else 0.0
        return cls(Target.numbers(z - shift), scale, scale * shift)

    def restore(self, trees: Trees) -> None:
        """The values of the leaves in units of y."""
        if self.scale != 1.0 or self.shift:
            trees.value[:] = self.scale * trees.value + self.shift


class TreeClassifier(TreeModel):
    """Classes: shares of the leaves, and the class of the largest."""

    classes_: np.ndarray

    def _enter_classes(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), codes (n,) of the labels and weights (n,) on the host."""
        X, y, w = enter_labels(self, X, y, w)
        if is_streamed(X):
            names = getattr(self, "feature_names_in_", None)
            parts = list(zip(*row_blocks(X, y, w), strict=True))
            X, y, w = (None if part[0] is None else stack_rows(list(part)) for part in parts)
            X, y, w = enter_labels(self, X, y, w)
            if names is not None:
                self.feature_names_in_ = names
        self.classes_ = all_classes(y)
        self.n_classes_ = len(self.classes_)
        weights = np.ones(len(y)) if w is None else host(w)
        chosen: Any = getattr(self, "class_weight", None)
        if chosen is not None:
            counted = y if w is None else np.asarray(y)
            weights = weights * compute_sample_weight(chosen, counted)
        return self._dense(X), codes_of(y, self.classes_), weights

    def predict_proba(self, X: Any) -> Any:
        """The shares of the classes in the leaves, (n, n_classes), averaged over trees."""
        return self._values(X)

    def decision_function(self, X: Any) -> Any:
        """The shares of the classes; of two, that of the second less that of the first, (n,)."""
        shares = self._values(X)
        if len(self.classes_) != 2:
            return shares
        return map_rows(lambda p: p[:, 1] - p[:, 0], shares)

    def predict(self, X: Any) -> Any:
        """The class of the largest share, (n,); the first of several.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)

        Returns
        -------
        y : array of shape (n,)
        """
        return map_rows(lambda p: largest(np.asarray(to_numpy(p)), self.classes_), self._values(X))
