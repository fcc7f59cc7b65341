"""Weak learners of AdaBoost that are fitted on columns sorted once."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from kilogram.models.boosting.rounds import Learner
from kilogram.native.boosting import SortedColumns, Stump
from kilogram.native.trees import Grown
from kilogram.solvers.trees.nodes import Trees


class DecisionStump(ClassifierMixin, BaseEstimator):
    """One threshold of one feature, and a class on either side; fitted by `AdaBoostClassifier`."""

    def __init__(self, stump: Stump | None = None, classes: Any = None):
        self.stump = stump
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.classes)

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Positions of the predicted classes."""
        assert self.stump is not None
        if self.stump.column < 0:
            return np.full(len(X), self.stump.left)
        low = X[:, self.stump.column] <= self.stump.threshold
        return np.where(low, self.stump.left, self.stump.right)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the side of each row."""
        return self.classes_[self.codes(np.asarray(X))]


def stump_learner(X: np.ndarray, codes: np.ndarray, classes: np.ndarray, *, gini: bool) -> Learner:
    """A function of weights: the best stump, and its classes (positions) of the rows."""
    columns, label = SortedColumns(X), codes.astype(np.int32)

    def learner(w: np.ndarray) -> tuple[DecisionStump, np.ndarray]:
        made = DecisionStump(columns.best_stump(label, w, len(classes), gini), classes)
        return made, made.codes(X)

    return learner


class ShallowTree(RegressorMixin, BaseEstimator):
    """A regression tree of depth 3; fitted by `AdaBoostRegressor`."""

    def __init__(self, trees: Trees | None = None):
        self.trees = trees

    @classmethod
    def of(cls, grown: Grown) -> ShallowTree:
        return cls(Trees.of([grown]))

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the leaf of each row."""
        assert self.trees is not None
        return self.trees.mean(np.asarray(X, dtype=np.float64))[:, 0]
