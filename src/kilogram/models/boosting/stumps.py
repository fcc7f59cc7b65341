"""Weak learners of AdaBoost that are fitted on columns sorted once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from kilogram.arrays.namespace import is_sparse
from kilogram.models.boosting.adaboost_rounds import Learner
from kilogram.models.boosting.validated_rows import sparse_columns
from kilogram.native.boosting import SortedColumns, Stump
from kilogram.native.trees import NO_CATEGORIES, GrownNodes
from kilogram.solvers.trees.nodes import Trees

PURE = 1e-15  # of the squares of y, some eps: deviations of a node that are rounding


class DecisionStump(ClassifierMixin, BaseEstimator):
    """One threshold of one feature, and a class on either side; fitted by `AdaBoostClassifier`."""

    def __init__(self, stump: Stump | None = None, classes: Any = None):
        self.stump = stump
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.classes)

    def codes(self, X: Any) -> np.ndarray:
        """Positions of the predicted classes of dense rows or of sparse columns."""
        assert self.stump is not None
        if self.stump.column < 0:
            return np.full(X.shape[0], self.stump.left)
        # float32 values are compared with the threshold, not with its rounding
        threshold = np.float64(self.stump.threshold)
        if is_sparse(X):
            a, b = X.indptr[self.stump.column : self.stump.column + 2]
            low = np.full(X.shape[0], threshold >= 0)
            low[X.indices[a:b]] = X.data[a:b] <= threshold
        else:
            low = X[:, self.stump.column] <= threshold
        return np.where(low, self.stump.left, self.stump.right)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the side of each row."""
        return self.classes_[self.codes(sparse_columns(X) if is_sparse(X) else np.asarray(X))]


def stump_learner(X: Any, codes: np.ndarray, classes: np.ndarray, *, gini: bool) -> Learner:
    """A function of weights: the best stump, and its classes (positions) of the rows."""
    X = sparse_columns(X) if is_sparse(X) else X
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
    def of(cls, grown: GrownNodes) -> ShallowTree:
        return cls(Trees.of([grown]))

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the leaf of each row."""
        assert self.trees is not None
        if is_sparse(X):  # only the columns that are asked
            used = np.unique(self.trees.links[0][self.trees.links[0] >= 0])
            links = self.trees.links.copy()
            links[0] = np.where(links[0] >= 0, np.searchsorted(used, links[0]), -1)
            rows = np.zeros((X.shape[0], max(len(used), 1)))
            rows[:, : len(used)] = scipy.sparse.csc_array(sparse_columns(X)[:, used]).toarray()
            return replace(self.trees, links=links).mean(rows)[:, 0]
        return self.trees.mean(np.asarray(X, dtype=np.float64))[:, 0]


def sparse_tree(columns: SortedColumns, y: np.ndarray, w: np.ndarray, depth: int) -> ShallowTree:
    """A regression tree of rows with w > 0, grown as `grow_tree` does, on sorted sparse columns."""
    nodes: list[list[float]] = []
    links: list[list[int]] = []

    def add(here: np.ndarray, level: int) -> int:
        number, total = len(nodes), here.sum()
        mean = float(here @ y / total)
        squares = float(here @ (y - mean) ** 2)
        nodes.append([0.0, total, squares / total, float(np.count_nonzero(here)), mean])
        links.append([-1, -1, -1])
        if level == depth or not squares > PURE * float(here @ y**2):
            return number
        column, threshold = columns.best_squares_cut(y - mean, here)
        if column < 0:
            return number
        low = columns.low_rows(column, threshold)
        links[number][0], nodes[number][0] = column, threshold
        links[number][1] = add(np.where(low, here, 0.0), level + 1)
        links[number][2] = add(np.where(low, 0.0, here), level + 1)
        return number

    add(w, 0)
    table, count = np.array(nodes), len(nodes)
    return ShallowTree.of(
        GrownNodes(
            np.array(links, np.int32).T.copy(), table[:, 0], table[:, 1], table[:, 2], table[:, 3],
            table[:, 4:], np.zeros(count, np.uint8), NO_CATEGORIES,
        )
    )  # fmt: skip
