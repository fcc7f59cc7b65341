"""Coefficients and predictions of fitted logistic models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base.linear import LinearClassifier
from kilogram.functions.logistic import log_sigmoid, log_softmax
from kilogram.models.logistic.problem import coefficients
from kilogram.solvers.newton.softmax import Problem
from kilogram.solvers.solution import Solution


class LogisticPredictor(LinearClassifier):
    """`classes_`, `coef_` and `intercept_`, and the probabilities they give."""

    def _store(self, problem: Problem, found: Solution, X: Any, C: float) -> None:
        """Store the coefficients beside X, and the certificate, in the scale of 1/2 |W|^2."""
        W, b = coefficients(problem, found.value.W)
        self._keep_linear(W, b, X)
        if not is_streamed(X) and not is_sparse(X) and not is_numpy(X):
            self.coef_, self.intercept_ = like(self.coef_, X), like(self.intercept_, X)
        self.n_iter_ = np.array([found.n_iter], dtype=np.int32)
        self.objective_ = float(found.objective or 0.0) * (1.0 if math.isinf(C) else C)
        self.gradient_norm_ = float(np.abs(found.value.gradient).max()) / problem.total

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities, accurate where a probability is tiny.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        logs : array of shape (m, n_classes)
            float64 for NumPy and sparse rows.
        """

        def logs(Z: Any) -> Any:
            # float32 cannot resolve probabilities near 1; their logarithms would not match
            Z = Z.astype(np.float64) if is_numpy(Z) else Z
            if len(self.classes_) > 2:
                return log_softmax(Z)
            return namespace(Z).stack([log_sigmoid(-Z[:, 0]), log_sigmoid(Z[:, 0])], axis=1)

        return self._values(X, logs)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; every row sums to 1.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        P : array of shape (m, n_classes)
        """
        logs = self.predict_log_proba(X)
        if is_streamed(logs):
            return map_rows(lambda block: namespace(block).exp(block), logs)
        return namespace(logs).exp(logs)
