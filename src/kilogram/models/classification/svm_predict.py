"""Answers of a fitted support vector classifier: decision values, classes, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import map_rows
from kilogram.base.labels import largest
from kilogram.models.classification.svm_kernel import KernelMachine
from kilogram.models.classification.svm_machines import one_against_rest_values, unpacked, votes
from kilogram.models.classification.svm_probability import class_probabilities


def _has_probability(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba is available with probability=True only")
    return True


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Decision values, classes and probabilities from the machines."""

    def _machine_values(self, X: Any) -> Any:
        """Values of all machines, (n, machines)."""
        check_is_fitted(self)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        return self._values(X, V, self.intercept_)

    def decision_function(self, X: Any) -> Any:
        """Decision values of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        values : array of shape (m,), (m, n_classes) or (m, n_classes * (n_classes - 1) / 2)
            Of two classes, positive for the second.
        """
        k = len(getattr(self, "classes_", ()))
        values = self._machine_values(X)
        if k == 2:
            return map_rows(lambda v: v[:, 0], values)
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return values
        return map_rows(lambda v: one_against_rest_values(v, k), values)

    def predict(self, X: Any) -> Any:
        """The class of each row of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return map_rows(self._decide, self._machine_values(X))

    def _decide(self, values: Any) -> np.ndarray:
        """Classes from the values of all machines."""
        values, k = to_numpy(values), len(self.classes_)
        if k == 2:
            return largest(values[:, 0], self.classes_)
        if self.probability:
            return self.classes_[np.argmax(self._probabilities(values), axis=1)]
        if self.multi_class == "ovr":
            return largest(values, self.classes_)
        score = one_against_rest_values if self.break_ties else votes
        return self.classes_[np.argmax(score(values, k), axis=1)]

    def _probabilities(self, values: Any) -> np.ndarray:
        p = self.calibration_.pairwise(to_numpy(values).astype(np.float64))
        return class_probabilities(p, len(self.classes_), self.multi_class)

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, (m, n_classes); the largest is that of `predict`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        p : ndarray of shape (m, n_classes)
        """
        return map_rows(self._probabilities, self._machine_values(X))

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        log_p : ndarray of shape (m, n_classes)
        """
        return map_rows(np.log, self.predict_proba(X))

    @property
    def coef_(self) -> Any:
        """w of the machines, (machines, d), for the linear kernel."""
        check_is_fitted(self)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        return self._linear_coef(V)
