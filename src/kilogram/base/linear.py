"""Answers that are linear in the rows: values f(x) = W x + b, and the class of the largest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base.estimator import Estimator
from kilogram.base.labels import largest


class LinearAnswers(Estimator):
    """`coef_` (t, d) and `intercept_` (t,), and the values of rows by them."""

    coef_: Any
    intercept_: Any

    def _keep_linear(self, W: np.ndarray, b: np.ndarray, X: Any) -> None:
        """Store W (t, d) and b (t,) in the float type of X."""
        dtype = np.float32 if "float32" in str(getattr(X, "dtype", "")) else np.float64
        self.coef_, self.intercept_ = W.astype(dtype), b.astype(dtype)

    def _machine(self) -> Callable[[Any], Any]:
        """Rows (m, d) -> their values (m, t), in the library of the rows."""
        W = np.ascontiguousarray(np.atleast_2d(to_numpy(self.coef_)).T)
        b = np.atleast_1d(to_numpy(self.intercept_))

        def values(block: Any) -> Any:
            if is_sparse(block):
                return np.asarray(block @ W) + b
            return block @ like(W, block) + like(b, block)

        return values

    def _values(self, X: Any, f: Callable[[Any], Any]) -> Any:
        """f of the values of the rows of X, as X came."""
        check_is_fitted(self)
        values = self._machine()

        def rows(block: Any) -> Any:
            return f(values(block))

        X = self._enter(X, reset=False).X
        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearAnswers):
    """One machine for each of `classes_`, or of two classes one for the second."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> Any:
        """Decision values of the rows of X; those of logistic models are log-odds.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        values : array of shape (m,) or (m, n_classes)
            Of two classes, positive for the second; else one for every class.
        """
        check_is_fitted(self)
        two = len(self.classes_) == 2
        return self._values(X, lambda Z: Z[:, 0] if two else Z)

    def predict(self, X: Any) -> Any:
        """The class of the largest value of each row of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        check_is_fitted(self)
        two, classes = len(self.classes_) == 2, self.classes_
        return self._values(X, lambda Z: largest(to_numpy(Z[:, 0] if two else Z), classes))
