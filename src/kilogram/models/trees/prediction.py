"""Regression and classification with trees: fits, predictions, out-of-bag scores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import map_rows
from kilogram.base.host_rows import as_float64
from kilogram.base.labels import largest
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.models.trees.targets import ScaledTarget, TreeRows, labelled_rows
from kilogram.models.trees.tree_model import ALLOW_NAN, TreeModel
from kilogram.native.trees import Target


class TreeRegressor(TreeModel):
    """Real targets: the prediction is the mean (absolute error: the median) of the leaf."""

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Grow on rows X and targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense: every column is sorted. NaN is a missing value.
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : float or array-like of shape (n,), default=None
        check_input : bool, default=True
            False skips the search for infinite values.

        Returns
        -------
        self
        """
        X, Y, w = self._validated(X, y, sample_weight, ALLOW_NAN if check_input else False)
        scaled = ScaledTarget.of(Y, w, self.criterion)
        # impurities stay in units of the scaled target: those of y may overflow
        self.trees_, out_of_bag = self._grow(X, scaled.target, w, scaled.inverse)
        self.n_outputs_ = Y.shape[1]
        if out_of_bag is not None:
            found, y = (out_of_bag[:, 0], Y[:, 0]) if self.n_outputs_ == 1 else (out_of_bag, Y)
            known = np.isfinite(out_of_bag[:, 0])
            self.oob_prediction_ = found
            self.oob_score_ = self._oob_metric(r2_score)(y[known], found[known], w[known])
        return self

    def _validated(
        self, X: Any, y: Any, w: Any, finite: bool | str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X (n, d), Y (n, outputs) and weights (n,) in host memory."""
        rows = validate_regression_data(self, X, y, w, finite=finite)
        rows = gather_regression_data(self, rows, finite=finite)
        if rows.flat is False and rows.Y.shape[1] == 1:
            column_or_1d(to_numpy(rows.Y), warn=True)
        self._float64_target = rows.Y.dtype != namespace(rows.Y).float32
        Y = as_float64(rows.Y)
        weights = np.ones(len(Y)) if rows.w is None else as_float64(rows.w)
        return self._dense(rows.X), Y, weights

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """The value of the leaf of each row, averaged over all trees, in the library of X.

        (n,), or (n, n_outputs) of several targets; in float64 unless both the targets and X are
        float32. `check_input=False` skips the search for infinite values.
        """
        values = self._values(X, ALLOW_NAN if check_input else False)
        return values if self.n_outputs_ > 1 else map_rows(lambda v: v[:, 0], values)


class TreeClassifier(TreeModel):
    """Class labels: class proportions of the leaves, and the most frequent class."""

    classes_: Any

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> Self:
        """Grow on rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense: every column is sorted. NaN is a missing value.
        y : array-like of shape (n,) or (n, n_outputs)
            Labels of any kind.
        sample_weight : float or array-like of shape (n,), default=None
        check_input : bool, default=True
            False skips the search for infinite values.

        Returns
        -------
        self
        """
        finite = ALLOW_NAN if check_input else False
        rows = labelled_rows(self, X, y, sample_weight, finite)
        rows = rows._replace(w=self._class_weighted(rows))
        classes = [len(c) for c in rows.classes]
        self.n_outputs_ = len(classes)
        single = self.n_outputs_ == 1
        self.classes_ = rows.classes[0] if single else rows.classes
        self.n_classes_ = classes[0] if single else np.array(classes)
        target = Target.labels(rows.codes, classes)
        self.trees_, out_of_bag = self._grow(self._dense(rows.X), target, rows.w, lambda p: p)
        if out_of_bag is not None:
            self._store_oob(out_of_bag, rows)
        return self

    def _store_oob(self, out_of_bag: np.ndarray, rows: TreeRows) -> None:
        known = np.isfinite(out_of_bag[:, 0])
        parts = self._outputs(out_of_bag)
        if self.n_outputs_ == 1:
            self.oob_decision_function_ = out_of_bag
            y, predicted = rows.y, self._labels(out_of_bag)
        elif all(len(c) == 2 for c in rows.classes):
            self.oob_decision_function_ = np.stack(parts, axis=2)
            y = rows.codes
            predicted = np.column_stack([(p[:, 1] > p[:, 0]).astype(int) for p in parts])
        else:
            raise ValueError(
                "The type of target cannot be used to compute OOB estimates. Got "
                "multiclass-multioutput while only the following are supported: continuous, "
                "continuous-multioutput, binary, multiclass, multilabel-indicator."
            )
        metric = self._oob_metric(accuracy_score)
        self.oob_score_ = metric(y[known], predicted[known], rows.w[known])

    def _class_weighted(self, rows: TreeRows) -> np.ndarray:
        """The weights of the rows times the factors of their classes."""
        class_weight = self._class_weight()
        if class_weight is None:
            return rows.w
        weights = rows.w * compute_sample_weight(class_weight, rows.y)
        if not weights.any():
            raise ValueError(
                f"class_weight={class_weight!r} gives every row the weight 0. Give at least one "
                "class of y a positive weight."
            )
        return weights

    def _class_weight(self) -> Any:
        """Factors of the rows' weights by class that hold for all trees."""
        return getattr(self, "class_weight", None)

    def _outputs(self, values: Any) -> list[Any]:
        """The columns of each output."""
        ends = np.concatenate([[0], np.cumsum(np.atleast_1d(self.n_classes_))])
        return [values[:, int(a) : int(b)] for a, b in pairwise(ends)]

    def _labels(self, values: Any) -> np.ndarray:
        """The class of the largest probability for every output."""
        p = np.asarray(to_numpy(values))
        if self.n_outputs_ == 1:
            return largest(p, self.classes_)
        parts = zip(self._outputs(p), self.classes_, strict=True)
        return np.column_stack([largest(part, classes) for part, classes in parts])

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """The class proportions of the leaves, (n, n_classes), averaged over the trees.

        A list with one array for every output if there are several. `check_input=False` skips the
        search for infinite values.
        """
        values = self._values(X, ALLOW_NAN if check_input else False)
        return values if self.n_outputs_ == 1 else self._outputs(values)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`, (n, n_classes); -inf for a class no leaf has."""

        def logarithm(p: Any) -> Any:
            with np.errstate(divide="ignore"):
                return namespace(p).log(p)

        found = map_rows(logarithm, self._values(X))
        return found if self.n_outputs_ == 1 else self._outputs(found)

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """The class of the largest probability, (n,) or (n, n_outputs); the first of several.

        `check_input=False` skips the search for infinite values.
        """
        values = self._values(X, ALLOW_NAN if check_input else False)
        return map_rows(self._labels, values)


class MultiLabelMixin(ClassifierMixin):
    """A classifier that takes several columns of labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
