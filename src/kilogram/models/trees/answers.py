"""What trees answer: the mean of numbers or the shares of classes; fits, out-of-bag scores."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.arrays.rows_stream import stack_rows
from kilogram.base.labels import all_classes, codes_of, enter_labels, largest
from kilogram.models.densities.density import host
from kilogram.models.regression.targets import enter_gathered, enter_rows
from kilogram.models.trees.params import TreeModel
from kilogram.native.trees import Target

SMALL, LARGE = 1e-100, 1e100  # targets whose squares, summed, stay in the range of floats


class TreeRegressor(TreeModel):
    """Numbers, and the mean of the leaves as the answer."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow on rows and numbers.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Gathered and made dense: every column is sorted.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._check_criterion("squared_error")
        X, y, w = self._enter_numbers(X, y, sample_weight)
        shifted = Shifted.of(y, w)
        away = self._grow(X, shifted.target, w)
        self.trees_.value[:] = shifted.back(self.trees_.value)
        if away is not None:
            self.oob_prediction_ = shifted.back(away)[:, 0]
            known = np.isfinite(self.oob_prediction_)
            said = self.oob_prediction_[known]
            self.oob_score_ = float(r2_score(y[known], said, sample_weight=w[known]))
        return self

    def _enter_numbers(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), y (n,) and weights (n,) on the host."""
        rows = enter_gathered(self, enter_rows(self, X, y, w))
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        dense = self._dense(rows.X)
        target = host(rows.Y)[:, 0]
        return dense, target, np.ones(len(target)) if rows.w is None else host(rows.w)

    def predict(self, X: Any) -> Any:
        """The mean of the leaf of each row, over all trees, (n,), as X came."""
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

    def back(self, values: np.ndarray) -> np.ndarray:
        """Values of leaves in units of y."""
        return self.scale * values + self.shift if self.scale != 1.0 or self.shift else values


class TreeClassifier(TreeModel):
    """Classes: shares of the leaves, and the class of the largest."""

    classes_: np.ndarray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow on rows and labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Gathered and made dense: every column is sorted.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._check_criterion("gini", "entropy")
        X, codes, w = self._enter_classes(X, y, sample_weight)
        away = self._grow(X, Target.labels(codes, len(self.classes_)), w)
        if away is not None:
            self.oob_decision_function_ = away
            known = np.isfinite(away[:, 0])
            said = np.argmax(away[known], axis=1)
            self.oob_score_ = float(accuracy_score(codes[known], said, sample_weight=w[known]))
        return self

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
        """The class of the largest share, (n,); the first of several."""
        return map_rows(lambda p: largest(np.asarray(to_numpy(p)), self.classes_), self._values(X))
