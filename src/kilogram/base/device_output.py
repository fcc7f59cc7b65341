"""Predictions in the library and on the device of the rows they are for.

Labels are looked up among `classes_`, which stay on the host, and scores are averages of a few
numbers: a model works with NumPy there. What a user gets back belongs to the array that came in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import array_api_compat
import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from kilogram.arrays.namespace import (
    is_foreign,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
)


def like_rows(found: np.ndarray, block: Any, *, wide: bool) -> Any:
    """Values computed on the host for a block of rows, in its library and on its device.

    In its float type, or with `wide` in the widest of its device: float32 only if the targets were.
    """
    if is_sparse(block):
        return found if wide else found.astype(block.dtype)
    ref = block[:0, :]
    if wide:
        xp = namespace(ref)
        ref = xp.astype(ref, sum_dtype(ref, xp))
    return like(found, ref)


def follow_rows(cls: type) -> None:
    """Wrap `predict`, and `score` where it is the one of scikit-learn."""
    predict = inspect.getattr_static(cls, "predict", None)  # what is available conditionally stays
    if inspect.isfunction(predict) and not hasattr(predict, "follows_rows"):
        cls.predict = _like_rows(predict)  # type: ignore[attr-defined]
    score = getattr(cls, "score", None)
    if score in (ClassifierMixin.score, RegressorMixin.score):
        cls.score = _on_host(score)  # type: ignore[attr-defined]


def _like_rows(predict: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(predict)
    def predict_like(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found = predict(self, X, *args, **kwargs)
        if type(X) is np.ndarray or not isinstance(found, np.ndarray) or not is_foreign(X):
            return found
        if found.dtype.kind not in "biuf":  # words exist in NumPy only
            return found
        return namespace(X).asarray(found, device=array_api_compat.device(X))

    predict_like.follows_rows = True  # type: ignore[attr-defined]
    return predict_like


def _on_host(score: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(score)
    def score_on_host(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if not any(map(is_foreign, (X, y, sample_weight))):
            return score(self, X, y, sample_weight)
        metric = accuracy_score if is_classifier(self) else r2_score
        predicted = to_numpy(self.predict(X))
        return metric(to_numpy(y), predicted, sample_weight=to_numpy(sample_weight))

    return score_on_host
