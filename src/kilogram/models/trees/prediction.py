"""Regression and classification with trees: validated targets, fits, predictions, OOB scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.labels import all_classes, codes_of, largest, validate_labels
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.models.trees.parameters import TreeModel
from kilogram.native.trees import Target

SMALL, LARGE = 1e-100, 1e100  # targets whose squares, summed, stay in the range of floats


class TreeRegressor(TreeModel):
    """Real targets: the prediction is the mean of the leaf."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow on rows X and targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense: every column is sorted.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, y, w = self._validated(X, y, sample_weight)
        scaled = ScaledTarget.of(y, w)
        trees, out_of_bag = self._grow(X, scaled.target, w)
        # impurities stay in units of the scaled target: those of y may overflow
        self.trees_ = replace(trees, value=scaled.inverse(trees.value))
        self.n_outputs_ = 1
        if out_of_bag is not None:
            found = scaled.inverse(out_of_bag)[:, 0]
            known = np.isfinite(found)
            self.oob_prediction_ = found
            self.oob_score_ = float(r2_score(y[known], found[known], sample_weight=w[known]))
        return self

    def _validated(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), y (n,) and weights (n,) in host memory."""
        rows = gather_regression_data(self, validate_regression_data(self, X, y, w))
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        self._float64_target = rows.Y.dtype != namespace(rows.Y).float32
        target = as_float64(rows.Y)[:, 0]
        weights = np.ones(len(target)) if rows.w is None else as_float64(rows.w)
        return self._dense(rows.X), target, weights

    def predict(self, X: Any) -> Any:
        """The mean of the leaf of each row, averaged over all trees, (n,), in the library of X.

        In float64 unless both the targets and X are float32.
        """
        return map_rows(lambda v: v[:, 0], self._values(X))


class ScaledTarget(NamedTuple):
    """A target whose squares keep their digits: y = scale * target + shift."""

    target: Target
    scale: float
    shift: float

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray) -> ScaledTarget:
        """y unchanged, unless its mean is far from 0 or its squares leave the range of floats."""
        size = float(np.abs(y).max())
        scale = 1.0 if SMALL < size < LARGE or size == 0 else size
        z, fraction = y / scale, w / w.sum()
        mean = float(fraction @ z)
        spread = float(np.sqrt(fraction @ (z - mean) ** 2))
        shift = mean if abs(mean) > 8 * spread > 0 else 0.0
        return cls(Target.numbers(z - shift), scale, scale * shift)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Values of leaves in units of y."""
        return self.scale * values + self.shift if self.scale != 1.0 or self.shift else values


class TreeClassifier(TreeModel):
    """Class labels: class proportions of the leaves, and the most frequent class."""

    classes_: np.ndarray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow on rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense: every column is sorted.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, codes, w = self._validated(X, y, sample_weight)
        target = Target.labels(codes, len(self.classes_))
        self.trees_, out_of_bag = self._grow(X, target, w)
        self.n_outputs_ = 1
        if out_of_bag is not None:
            known = np.isfinite(out_of_bag[:, 0])
            predicted = np.argmax(out_of_bag[known], axis=1)
            self.oob_decision_function_ = out_of_bag
            self.oob_score_ = float(accuracy_score(codes[known], predicted, sample_weight=w[known]))
        return self

    def _validated(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), codes (n,) of the labels and weights (n,) in host memory."""
        X, y, w = validate_labels(self, X, y, w)
        if is_streamed(X):
            names = getattr(self, "feature_names_in_", None)
            X, y, w = validate_labels(self, *rows_in_memory(X, y, w))
            if names is not None:
                self.feature_names_in_ = names
        self.classes_ = all_classes(y)
        self.n_classes_ = len(self.classes_)
        weights = np.ones(len(y)) if w is None else as_float64(w)
        class_weight = self._class_weight()
        if class_weight is not None:
            weights = weights * compute_sample_weight(class_weight, y)
            if not weights.any():
                raise ValueError(
                    f"class_weight={class_weight!r} gives every row the weight 0. Give at least "
                    "one class of y a positive weight."
                )
        return self._dense(X), codes_of(y, self.classes_), weights

    def _class_weight(self) -> Any:
        """Factors of the rows' weights by class that hold for all trees."""
        return getattr(self, "class_weight", None)

    def predict_proba(self, X: Any) -> Any:
        """The class proportions of the leaves, (n, n_classes), averaged over the trees."""
        return self._values(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`, (n, n_classes); -inf for a class no leaf has."""

        def logarithm(p: Any) -> Any:
            with np.errstate(divide="ignore"):
                return namespace(p).log(p)

        return map_rows(logarithm, self._values(X))

    def predict(self, X: Any) -> Any:
        """The class of the largest probability, (n,); the first of several."""
        return map_rows(lambda p: largest(np.asarray(to_numpy(p)), self.classes_), self._values(X))
