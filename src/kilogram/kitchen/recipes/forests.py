"""Forests for tables with gaps: ours, with every cut free to send the gaps to either side.

A column with gaps comes twice, its gaps below all other values in one copy and above them in the
other, so a cut of the first takes them along to the left and a cut of the second to the right; the
cut beside them tells the gaps from the rest. A gap in a column that had none goes with the larger
part of the rows.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kilogram.models.trees.parameters import TreeModel
from kilogram.models.trees.random_forest import RandomForestClassifier, RandomForestRegressor
from kilogram.models.trees.tree_arrays import Arrays, answers

# Beyond the numbers of any table, and so many of them still have a sum.
END = 1e300


class MissingValueForest(TreeModel):
    """What both forests add to ours; `gaps_` are the columns that had some."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees on (n, d) cells, NaN where there is none."""
        self.gaps_ = np.flatnonzero(np.isnan(X).any(axis=0))
        return super().fit(self._filled(X), y, sample_weight)

    def _filled(self, X: np.ndarray) -> np.ndarray:
        """The columns, gaps low, and once more those that had gaps, with these high."""
        missing = np.isnan(X[:, self.gaps_])
        filled = np.column_stack([X, np.where(missing, END, X[:, self.gaps_])])
        filled[:, self.gaps_] = np.where(missing, -END, X[:, self.gaps_])
        return filled

    def _values(self, X: Any) -> np.ndarray:
        """(n, width) means of the trees."""
        X = np.asarray(X, dtype=np.float64)
        filled = self._filled(X)
        # gaps where there were none have no place among the values of their column
        return answers(self.arrays(), X) if np.isnan(filled).any() else self.trees_.mean(filled)

    def arrays(self) -> Arrays:
        """The trees as a model file holds them: of d columns, with a side for the gaps."""
        trees = self.trees_
        feature, left, right = trees.links
        d, inner = self.n_features_in_ - len(self.gaps_), feature >= 0
        column = np.concatenate([np.arange(d), self.gaps_])[feature]
        larger = trees.weight[left] >= trees.weight[right]
        low = np.where(np.isin(feature, self.gaps_), True, larger & (feature < d))
        return {
            "feature": np.where(inner, column, 0).astype(np.int32),
            "threshold": trees.threshold, "leaf": ~inner, "value": trees.value,
            "left": np.maximum(left, 0), "right": np.maximum(right, 0),
            "missing_left": inner & low, "roots": trees.roots.astype(np.int32),
            "outputs": np.zeros(len(trees), np.int32), "columns": trees.value.shape[1],
            "depth": trees.depth(), "start": np.zeros(trees.value.shape[1]),
            "factor": 1.0 / len(trees), "single": False,
        }  # fmt: skip


class ForestRegressor(MissingValueForest, RandomForestRegressor):
    """Means of numbers. Parameters: see RandomForestRegressor."""


class ForestClassifier(MissingValueForest, RandomForestClassifier):
    """Shares of classes. Parameters: see RandomForestClassifier."""
