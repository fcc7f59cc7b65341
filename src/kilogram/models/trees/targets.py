"""Validated targets: one or several columns of numbers or of class labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets

from kilogram.arrays.namespace import is_array, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Estimator
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.labels import all_classes, codes_of, plain_labels, validate_labels
from kilogram.native.trees import Target

SMALL, LARGE = 1e-100, 1e100  # targets whose squares, summed, stay in the range of floats


class SparseTargetError(ValueError, TypeError):
    """Labels are a sparse matrix; scikit-learn has a TypeError for trees, else a ValueError."""


class TreeRows(NamedTuple):
    """Rows X, labels (n,) or (n, outputs), weights, and for each output classes and codes."""

    X: Any
    y: np.ndarray
    w: np.ndarray
    classes: list[np.ndarray]
    codes: np.ndarray  # (n, outputs)


def labelled_rows(model: Estimator, X: Any, y: Any, w: Any, finite: bool | str) -> TreeRows:
    """Validated rows and labels in host memory."""
    if scipy.sparse.issparse(y):
        raise SparseTargetError("sparse multilabel-indicator for y is not supported.")
    if is_streamed(X) or n_columns(y) == 1:
        X, y, w = validate_labels(model, X, y, w, finite=finite)
        if is_streamed(X):
            names = getattr(model, "feature_names_in_", None)
            X, y, w = validate_labels(model, *rows_in_memory(X, y, w), finite=finite)
            if names is not None:
                model.feature_names_in_ = names
        classes = [all_classes(y)]
        codes = codes_of(y, classes[0])[:, None]
    else:
        y = plain_labels(to_numpy(y) if is_array(y) else y)
        X, y, w = model._validate(X, y, w, numeric_y=False, finite=finite)
        y = to_numpy(y)
        check_classification_targets(y)
        classes = [np.unique(column) for column in y.T]
        codes = np.column_stack([codes_of(c, k) for c, k in zip(y.T, classes, strict=True)])
    weights = np.ones(len(y)) if w is None else as_float64(w)
    return TreeRows(X, y, weights, classes, codes)


def n_columns(y: Any) -> int:
    """Columns of a target in memory; 1 for a vector and for None."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)) and y and np.ndim(y[0]) == 1:
        shape = (len(y), len(y[0]))
    return int(shape[1]) if shape is not None and len(shape) == 2 else 1


class ScaledTarget(NamedTuple):
    """A target whose squares keep their digits: y = scale * target + shift."""

    target: Target
    scale: float
    shift: np.ndarray  # (outputs,)

    @classmethod
    def of(cls, Y: np.ndarray, w: np.ndarray, criterion: str) -> ScaledTarget:
        """Y unchanged, unless its mean is far from 0 or its squares leave the range of floats."""
        if criterion == "poisson":
            _refuse_negative(Y)
        size = float(np.abs(Y).max())
        scale = 1.0 if SMALL < size < LARGE or size == 0 else size
        Z, fraction = Y / scale, w / w.sum()
        mean = fraction @ Z
        spread = np.sqrt(fraction @ (Z - mean) ** 2)
        far = (np.abs(mean) > 8 * spread) & (spread > 0) & (criterion != "poisson")
        shift = np.where(far, mean, 0.0)
        return cls(Target.numbers(Z - shift), scale, scale * shift)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Values of leaves in units of y."""
        if self.scale == 1.0 and not self.shift.any():
            return values
        return self.scale * values + self.shift


def _refuse_negative(Y: np.ndarray) -> None:
    if (Y < 0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression."
        )
    if Y.sum() <= 0:
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression."
        )
