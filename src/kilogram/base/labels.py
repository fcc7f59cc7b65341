"""Class labels as targets of a regression, and scores as labels."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import is_array, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base.estimator import Estimator
from kilogram.base.validation.validate import ValidatedData
from kilogram.native.class_sums import labels_present
from kilogram.statistics import Counts

MISSING = {"NoneType": "None", "NAType": "NA", "NaTType": "NaT"}  # types of missing labels
# Integer labels in a range this small are looked up instead of sorted: 5 times faster for 200 000
# labels; the table fits in the second-level cache.
TABLE = 2**16


def validate_labels(
    model: Estimator, X: Any, y: Any, sample_weight: Any, **checks: Any
) -> ValidatedData:
    """Validated X, labels and weights; labels on the host unless they stream."""
    if is_array(y):
        y = to_numpy(y)
    if getattr(getattr(y, "dtype", None), "kind", "O") == "O" and hasattr(y, "dtype"):
        y = plain_labels(y)
    X, y, w = model._validate(X, y, sample_weight, numeric_y=False, **checks)
    if y is None:
        name = type(model).__name__
        raise ValueError(f"This {name} requires y to be passed, but the target y is None")
    if not is_streamed(X):
        y = column_or_1d(to_numpy(y), warn=True)
        if y.dtype.kind not in "iub":  # whole numbers are classes: no need to sort them to see it
            check_classification_targets(y)
    return ValidatedData(X, y, w)


def plain_labels(y: Any) -> Any:
    """Labels that are objects, none of them missing: words as they are, numbers as numbers."""
    if is_streamed(y):
        return y
    values = np.asarray(y, dtype=object)
    kinds = {type(label): label for label in values.ravel().tolist()}
    gaps = [MISSING[kind.__name__] for kind in kinds if kind.__name__ in MISSING]
    if float in kinds and any(label != label for label in values.ravel()):
        gaps.append("NaN")
    if gaps:
        raise ValueError(f"Input y contains {gaps[0]}: leave out the rows without a label.")
    words = [kind.__name__ for kind in kinds if issubclass(kind, str)]
    others = [kind.__name__ for kind in kinds if not issubclass(kind, str)]
    if words and others:
        raise ValueError(
            f"y mixes labels of the types {words[0]} and {others[0]}, which have no order: make "
            "them all words, by y.astype(str) for example."
        )
    numbers = all(issubclass(kind, (Real, np.bool_)) for kind in kinds)
    return np.asarray(values.tolist()) if kinds and numbers else y


def signs(y: Any, classes: np.ndarray) -> np.ndarray:
    """-1 and +1, one column per class, a single one for two classes."""
    is_class = np.asarray(to_numpy(y)).reshape(-1, 1) == classes[None, :]
    coded = np.where(is_class, 1.0, -1.0)
    return coded[:, 1:] if len(classes) == 2 else coded


def all_classes(y: Any) -> np.ndarray:
    """The classes of the labels, sorted."""
    if is_streamed(y):
        return np.asarray(reduce_rows(Counts.of, y).classes)
    y = to_numpy(y)
    if y.dtype == np.int64 and y.ndim == 1 and y.size > TABLE:  # one pass instead of three
        present = labels_present(y, TABLE)
        if present is not None:
            return np.flatnonzero(present)
    low = _lookup_start(y)
    if low is None:
        return np.unique(y)
    return (np.flatnonzero(np.bincount(_offset_from(y, low))) + low).astype(y.dtype)


def codes_of(y: Any, classes: np.ndarray) -> np.ndarray:
    """Positions of the labels among the sorted classes, which must hold them all."""
    y = to_numpy(y)
    low = _lookup_start(classes) if y.dtype.kind in "iu" and classes.dtype.kind in "iu" else None
    if low is None:
        return np.searchsorted(classes, y).astype(np.int64)
    if low == 0 and int(classes[-1]) == len(classes) - 1:
        return y.astype(np.int64, copy=False)  # the classes are their own positions
    place = np.zeros(int(classes[-1]) - low + 1, dtype=np.int64)
    place[_offset_from(classes, low)] = np.arange(len(classes))
    return place[_offset_from(y, low)]


def _lookup_start(labels: np.ndarray) -> int | None:
    """The smallest of whole-number labels that lie close enough for a table; None for others."""
    if labels.dtype.kind not in "iu" or labels.size == 0:
        return None
    low, high = int(labels.min()), int(labels.max())
    return low if high - low < TABLE and low > -(2**62) and high < 2**62 else None


def _offset_from(labels: np.ndarray, low: int) -> np.ndarray:
    """labels - low, which may be too wide for a small type; no copy where low is 0."""
    return labels.astype(np.int64) - low if low else labels


def distinct_classes(y: Any) -> np.ndarray:
    """The classes of the labels, at least two."""
    found = all_classes(y)
    if len(found) < 2:
        raise ValueError(
            f"The labels have one class only, {found.tolist()[0]!r}; a classifier needs two "
            "classes or more."
        )
    return found


def class_weights(class_weight: Any, classes: np.ndarray, y: Any, w: Any = None) -> np.ndarray:
    """One factor per class from `class_weight`: None, "balanced" or a dict.

    "balanced" counts a row as often as its weight `w`; a class without weight gets a factor of 0.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}."
            )
        found = reduce_rows(Counts.of, y, w)
        counts = np.zeros(len(classes))
        counts[np.searchsorted(classes, found.classes)] = found.counts
        return counts.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), float)
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise ValueError(
            f"class_weight must have finite values of at least 0, got {class_weight!r}."
        )
    if not factors.any():
        raise ValueError(
            f"class_weight is 0 for every class of y, got {class_weight!r}. Give at least one "
            "class a positive weight."
        )
    return factors


def refuse_unknown(
    y: Any, classes: np.ndarray, first: str = "the first call of partial_fit"
) -> None:
    """Refuse labels that are none of the classes, which `first` was given."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has the classes {unknown.tolist()}, which {first} did not list: "
            f"{classes.tolist()}. Pass all classes there."
        )


def largest(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class of the largest score; of two classes, by the sign of the second's score."""
    if scores.ndim == 1:
        return classes[(scores > 0).astype(int)]
    if scores.shape[1] == 2:  # a third of argmax's time
        return classes[(scores[:, 1] > scores[:, 0]).astype(int)]
    return classes[np.argmax(scores, axis=1)]
