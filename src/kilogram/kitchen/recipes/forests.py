"""Forests for tables with gaps, as a model file holds them: plain arrays."""

from __future__ import annotations

import numpy as np

from kilogram.models.trees.random_forest import RandomForestClassifier, RandomForestRegressor
from kilogram.models.trees.tree_arrays import Arrays
from kilogram.models.trees.tree_model import TreeModel


class MissingValueForest(TreeModel):
    """Mixin of forests for rows with missing values, stored as plain arrays."""

    def arrays(self) -> Arrays:
        """The trees as a model file holds them, with a side for missing values."""
        trees = self.trees_
        feature, left, right = trees.links
        inner = feature >= 0
        return {
            "feature": np.maximum(feature, 0),
            "threshold": trees.threshold, "leaf": ~inner, "value": trees.value,
            "left": np.maximum(left, 0), "right": np.maximum(right, 0),
            "missing_left": inner & (trees.missing_left > 0),
            "roots": trees.roots.astype(np.int32),
            "outputs": np.zeros(len(trees), np.int32), "columns": trees.value.shape[1],
            "depth": trees.depth(), "start": np.zeros(trees.value.shape[1]),
            "factor": 1.0 / len(trees), "single": False,
        }  # fmt: skip


class ForestRegressor(MissingValueForest, RandomForestRegressor):
    """Means of numbers. Parameters: see RandomForestRegressor."""


class ForestClassifier(MissingValueForest, RandomForestClassifier):
    """Fractions of classes. Parameters: see RandomForestClassifier."""
