"""What boosted models share after the fit: raw predictions, and what is made of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator
from kilogram.base.categories import CategoricalMixin
from kilogram.base.device_output import like_rows
from kilogram.base.host_rows import as_float64
from kilogram.base.labels import (
    class_weights,
    codes_of,
    distinct_classes,
    largest,
    refuse_unknown,
)
from kilogram.functions.boosting_losses import BoostingLoss
from kilogram.models.boosting.early_stopping import ValidationRows
from kilogram.models.boosting.validated_rows import dense_rows, labelled_rows, target_rows

# Rows predicted in one native call, some 0.1 s for 100 trees: Ctrl-C is handled in between.
PREDICTED_ROWS = 2**16


class BoostedModel(CategoricalMixin, Estimator):
    """Raw predictions in the library of X."""

    max_bins: int
    _loss: BoostingLoss
    _float64_target: bool = False

    @abstractmethod
    def _validated(self, X: Any, y: Any, w: Any, reset: bool) -> ValidationRows:
        """Validated rows, targets (codes of classes) and weights, in host memory."""

    @abstractmethod
    def _make_loss(self, y: np.ndarray, w: np.ndarray | None) -> BoostingLoss:
        """The loss for these targets."""

    @abstractmethod
    def _raw_rows(self, X: np.ndarray) -> np.ndarray:
        """Raw predictions (n, n_outputs) of dense rows in host memory."""

    def _most_categories(self) -> int:
        return self.max_bins

    def _validated_rows(self, X: Any) -> Any:
        """X validated against the fit, categories as numbers."""
        check_is_fitted(self)
        return self._validate(self._encoded(X, reset=False), reset=False, finite="allow-nan").X

    def _raw(self, X: Any) -> Any:
        """Raw predictions (n, n_outputs) of rows in the library of X."""
        X = self._validated_rows(X)
        if type(X) is np.ndarray and len(X) <= PREDICTED_ROWS:
            found = self._raw_rows(X)
            return found if self._float64_target else found.astype(X.dtype, copy=False)
        most = None if is_streamed(X) or X.shape[0] <= PREDICTED_ROWS else PREDICTED_ROWS
        return map_rows(self._raw_block, X, block_rows=most)

    def _raw_block(self, block: Any) -> Any:
        found = self._raw_rows(dense_rows(self, block))
        return like_rows(found, block, wide=self._float64_target)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class BoostedRegressor(RegressorMixin, BoostedModel):
    """Real targets: validation and predictions."""

    loss: str

    def _validated(self, X: Any, y: Any, w: Any, reset: bool) -> ValidationRows:
        """Validated rows, targets and weights, in host memory."""
        checks: dict[str, Any] = {"finite": "allow-nan", "reset": reset}
        dense, target, weights = target_rows(self, X, y, w, **checks)
        if reset:
            self._float64_target = target.dtype != namespace(target).float32
        y = np.ascontiguousarray(as_float64(target))
        if self.loss == "gamma" and y.min() <= 0:
            raise ValueError("loss='gamma' requires strictly positive y.")
        if self.loss == "poisson" and (y.min() < 0 or y.sum() <= 0):
            raise ValueError("loss='poisson' requires non-negative y and sum(y) > 0.")
        return ValidationRows(dense, y, weights)

    def _labels(self, y: np.ndarray) -> np.ndarray:
        """Targets as the user gave them."""
        return y

    def predict(self, X: Any) -> Any:
        """The predicted mean, median or quantile, (n,), in the library of X."""
        return map_rows(self._prediction, self._raw(X))

    def _prediction(self, raw: Any) -> Any:
        if self.loss in ("poisson", "gamma"):
            return namespace(raw).exp(raw[:, 0])
        return raw[:, 0]


class BoostedClassifier(ClassifierMixin, BoostedModel):
    """Classes: validation and predictions."""

    classes_: np.ndarray
    class_weight: Any

    def _validated(self, X: Any, y: Any, w: Any, reset: bool) -> ValidationRows:
        """Validated rows, codes of classes and weights, in host memory."""
        checks: dict[str, Any] = {"finite": "allow-nan", "reset": reset}
        dense, y, weights = labelled_rows(self, X, y, w, **checks)
        if reset:
            self.classes_ = distinct_classes(y)
        refuse_unknown(y, self.classes_, "the first fit")
        codes = codes_of(y, self.classes_)
        if self.class_weight is not None:
            factors = class_weights(self.class_weight, self.classes_, y, weights)[codes]
            weights = factors if weights is None else weights * factors
        return ValidationRows(dense, codes.astype(np.float64), weights)

    def _make_loss(self, y: np.ndarray, w: np.ndarray | None) -> BoostingLoss:
        if len(self.classes_) == 2:
            return BoostingLoss("binary_log_loss")
        return BoostingLoss("multinomial_log_loss", n_outputs=len(self.classes_))

    def _labels(self, y: np.ndarray) -> np.ndarray:
        """Classes as the user gave them, of their codes."""
        return self.classes_[y.astype(np.int64)]

    def decision_function(self, X: Any) -> Any:
        """Raw predictions: (n,) log-odds of the second of two classes, else (n, n_classes)."""
        raw = self._raw(X)
        return map_rows(lambda v: v[:, 0], raw) if self._loss.n_outputs == 1 else raw

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities (n, n_classes), in the library of X."""
        return map_rows(self._probabilities, self._raw(X))

    def _probabilities(self, raw: Any) -> Any:
        xp = namespace(raw)
        if self._loss.n_outputs == 1:
            raw = xp.concat([-raw / 2, raw / 2], axis=1)
        e = xp.exp(raw - xp.max(raw, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The class of the largest probability, (n,)."""

        def labels(raw: Any) -> Any:
            scores = np.asarray(to_numpy(raw))
            return largest(scores[:, 0] if scores.shape[1] == 1 else scores, self.classes_)

        return map_rows(labels, self._raw(X))
