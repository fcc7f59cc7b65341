"""What fitted logistic models remember, and how they answer: values, chances, classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator
from kilogram.base.labels import largest
from kilogram.functions.logistic import log_sigmoid, log_softmax
from kilogram.models.classification.logistic_fit import coefficients
from kilogram.solvers.smooth.softmax import Problem
from kilogram.solvers.solution import Solution


class LogisticPredictor(ClassifierMixin, Estimator):
    """What logistic models remember (`classes_`, `coef_`, `intercept_`) and how they answer."""

    def _keep(self, problem: Problem, found: Solution, X: Any, C: float) -> None:
        """Store the coefficients beside X, and the certificate, in the scale of 1/2 |W|^2."""
        W, b = coefficients(problem, found.value.W)
        single = "float32" in str(getattr(X, "dtype", ""))
        W, b = (a.astype(np.float32 if single else np.float64) for a in (W, b))
        here = not is_streamed(X) and not is_sparse(X) and not is_numpy(X)
        self.coef_: Any = like(W, X) if here else W
        self.intercept_: Any = like(b, X) if here else b
        self.n_iter_ = np.array([found.n_iter], dtype=np.int32)
        self.objective_ = float(found.objective or 0.0) * (1.0 if math.isinf(C) else C)
        self.gradient_norm_ = float(np.abs(found.value.gradient).max()) / problem.total

    def _values(self, X: Any, f: Any) -> Any:
        """f of the decision values (n, t), as X came."""
        check_is_fitted(self)
        W = np.ascontiguousarray(np.atleast_2d(to_numpy(self.coef_)).T)
        b = np.atleast_1d(to_numpy(self.intercept_))

        def rows(block: Any) -> Any:
            if is_sparse(block):
                return f(np.asarray(block @ W) + b)
            return f(block @ like(W, block) + like(b, block))

        X = self._enter(X, reset=False).X
        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        values : array of shape (m,) or (m, n_classes)
            Of two classes, the log-odds of the second; else f_k of every class.
        """
        check_is_fitted(self)
        two = len(self.classes_) == 2
        return self._values(X, lambda Z: Z[:, 0] if two else Z)

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row of X.

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

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the chances of the classes, without loss where a chance is tiny.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        logs : array of shape (m, n_classes)
            float64 for NumPy and sparse rows.
        """
        check_is_fitted(self)

        def logs(Z: Any) -> Any:
            # float32 cannot tell chances near 1 apart; their logarithms would not match them
            Z = Z.astype(np.float64) if is_numpy(Z) else Z
            if len(self.classes_) > 2:
                return log_softmax(Z)
            return namespace(Z).stack([log_sigmoid(-Z[:, 0]), log_sigmoid(Z[:, 0])], axis=1)

        return self._values(X, logs)

    def predict_proba(self, X: Any) -> Any:
        """Chances of the classes; every row sums to 1.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        P : array of shape (m, n_classes)
        """
        logs = self.predict_log_proba(X)
        if is_streamed(logs):
            return map_rows(lambda block: namespace(block).exp(block), logs)
        return namespace(logs).exp(logs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
