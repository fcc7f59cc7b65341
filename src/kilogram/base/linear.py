"""Predictions that are linear in x: regression f(x) = <x, W> + b, and classes of the largest f."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import (
    as_type_of_block,
    is_array,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
    wide_enough,
)
from kilogram.arrays.rows import is_streamed, map_rows, row_slices
from kilogram.base.estimator import Estimator
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import largest
from kilogram.base.regression_data import validate_regression_data, weighted_objective
from kilogram.solvers.least_squares.data import RegressionData, check_alpha
from kilogram.solvers.least_squares.normal_equations import penalty
from kilogram.solvers.least_squares.tikhonov import check_penalty_matrix


class LinearModel(Estimator):
    """`coef_` (t, d) and `intercept_` (t,), and the values of rows by them."""

    coef_: Any
    intercept_: Any

    def _keep_linear(self, W: np.ndarray, b: np.ndarray, X: Any) -> None:
        """Store W (t, d) and b (t,) in the float type of X."""
        dtype = np.float32 if "float32" in str(getattr(X, "dtype", "")) else np.float64
        self.coef_, self.intercept_ = W.astype(dtype), b.astype(dtype)

    def _dense_coef(self) -> np.ndarray:
        """`coef_` on the host, an array also after `sparsify`."""
        return self.coef_.toarray() if is_sparse(self.coef_) else to_numpy(self.coef_)

    def _machine(self) -> Callable[[Any], Any]:
        """Rows (m, d) -> their values (m, t), in the library of the rows."""
        W = np.ascontiguousarray(np.atleast_2d(self._dense_coef()).T)
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

        X = self._validate(X, reset=False).X
        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearModel):
    """One machine for each of `classes_`, or of two classes one for the second."""

    classes_: np.ndarray

    def sparsify(self) -> Self:
        """Store `coef_` as a sparse matrix, which is smaller where most coefficients are zero.

        Predictions stay the same, and the next fit stores an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not is_sparse(self.coef_):
            self.coef_ = scipy.sparse.csr_matrix(to_numpy(self.coef_))
        return self

    def densify(self) -> Self:
        """Store `coef_` as an array again, as `fit` does.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if is_sparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

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


class LinearPredictor(MultiOutputMixin, RegressorMixin, Estimator):
    """A linear regression: `coef_` and `intercept_` in the shape of the targets, and predictions.

    Coefficients and predictions are float32 only if both X and y were: float32 features with
    float64 targets (timestamps, for example) are predicted in float64.
    """

    coef_: Any
    intercept_: Any
    fit_intercept: bool

    def _store_linear(
        self, value: tuple[Any, Any], rows: RegressionData, *, flat: bool | None
    ) -> None:
        """Store W (d, t) and b (t,) in the shape of the targets, on the device of the rows."""
        W, b = value
        self._ensure_representable(W, rows)
        if is_array(rows.X):
            ref = _wider(rows.X, rows.Y)
            W, b = like(W, ref), like(b, ref)
        # one column of targets gives a vector, also when it came as (n, 1): scikit-learn's shapes
        self.coef_ = W[:, 0] if W.shape[1] == 1 else namespace(W).matrix_transpose(W)
        self.intercept_ = b
        if flat:
            self.intercept_ = b[0]
        if not self.fit_intercept:
            self.intercept_ = 0.0

    def _ensure_representable(self, W: Any, rows: RegressionData) -> None:
        """Refuse coefficients that overflow, or that the float type of the rows cannot hold."""
        xp = namespace(W)
        ref = _wider(rows.X, rows.Y) if is_array(rows.X) else W
        most = float(namespace(ref).finfo(ref.dtype).max)
        top = float(xp.max(xp.abs(W))) if W.shape[0] else 0.0
        if top <= most:
            return
        reach = (
            f"reach {top:.2g}, which {ref.dtype} cannot hold" if np.isfinite(top) else "overflow"
        )
        raise ValueError(
            f"{type(self).__name__}: the coefficients {reach}: the values of X are too small for "
            "those of y. Multiply the features by a large number, or divide y by its scale."
        )

    def predict(self, X: Any) -> Any:
        """Predict the targets of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)

        Returns
        -------
        y : array of shape (n,) or (n, t)
            In the array library of X; lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        W, b = self.coef_ if self.coef_.ndim == 1 else self.coef_.T, self.intercept_

        def rows(block: Any) -> Any:
            if is_sparse(block):  # sparse rows are on the host, wherever the fit was
                return block @ to_numpy(W) + to_numpy(b)
            if _is_single(block) and not _is_single(W):
                return predict_wide(block, W, b)
            Z = wide_enough(block, W)
            return as_type_of_block(Z @ like(W, Z) + _offset_like(b, Z), block, Z)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i |y_i - f(x_i)|^2 + alpha |W|^2 of the fitted model on these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        f = self.predict(rows.X)
        W = self.coef_[:, None] if self.coef_.ndim == 1 else self.coef_.T
        chosen = getattr(self, "alpha_", None)
        alpha = check_alpha(self.alpha if chosen is None else chosen, W.shape[1])
        residual = rows.Y - (f[:, None] if f.ndim == 1 else f)
        G = getattr(self, "penalty_matrix", None)
        G = None if G is None else check_penalty_matrix(G, W)
        return weighted_objective(residual, rows.w, [penalty(W, alpha, G)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def inverse_link(z: Any, link: str) -> Any:
    """The mean whose link is the linear predictor z: exp(z) for "log", z for "identity"."""
    if link == "identity":
        return z
    if is_streamed(z):
        return map_rows(lambda block: namespace(block).exp(block), z)
    return namespace(z).exp(z)


def _is_single(x: Any) -> bool:
    return "float32" in str(x.dtype)


def _wider(X: Any, Y: Any) -> Any:
    """X or Y, whichever has the wider float type."""
    return Y if is_array(Y) and _is_single(X) and not _is_single(Y) else X


def _offset_like(b: Any, ref: Any) -> Any:
    return b if isinstance(b, float) else like(b, ref)


def predict_wide(block: Any, W: Any, b: Any) -> Any:
    """<x, W> + b of the rows in float64, some float32 rows at a time."""
    xp = namespace(block)
    if not _is_single(block):
        return block @ like(W, block) + _offset_like(b, block)
    found = []
    for rows in row_slices(block, block.shape[1], BLOCK_ENTRIES):
        Z = xp.astype(block[rows, :], sum_dtype(block, xp))
        found.append(Z @ like(W, Z) + _offset_like(b, Z))
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)
