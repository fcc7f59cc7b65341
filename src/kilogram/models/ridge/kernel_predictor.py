"""Predictions of kernel ridge regression: f(x) = sum_j a_j k(x, z_j) + b, in blocks of rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import MultiOutputMixin, RegressorMixin

from kilogram.arrays.namespace import is_array, is_sparse, like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator
from kilogram.base.fitted import check_is_fitted
from kilogram.base.regression_data import validate_regression_data, weighted_objective
from kilogram.kernels import Kernel, is_precomputed
from kilogram.models.features.fourier_moments import feature_products
from kilogram.models.ridge.kernel_solvers import KernelFit
from kilogram.solvers.least_squares.data import RegressionData, check_alpha, in_precision_of


class KernelPredictor(MultiOutputMixin, RegressorMixin, Estimator):
    """The fitted attributes, predictions and objective of `KernelRidge` and `KernelRidgeCV`."""

    def _store(self, fit: KernelFit, kernel: Kernel, rows: RegressionData) -> None:
        """Store the kernel, the coefficients and the offset in the shape of the targets."""
        a, b = fit.found.value
        if is_array(rows.X):
            a, b = like(a, rows.X), like(b, rows.X)
        a = a[:, 0] if fit.flat else a
        host = namespace(b) is namespace()
        offset = (float(b[0]) if host else b[0]) if fit.flat else b
        for name in ("dual_coef_", "X_fit_", "coef_", "features_"):
            self.__dict__.pop(name, None)
        self.kernel_ = kernel
        self.intercept_ = offset if self.fit_intercept else 0.0
        if fit.features is None:
            self.dual_coef_, self.X_fit_ = a, fit.centres
        else:
            self.coef_, self.features_ = a, fit.features
        found = fit.found
        self.n_iter_, self.objective_ = found.n_iter, found.objective
        self.converged_ = found.converged

    def predict(self, X: Any) -> Any:
        """Predict the targets of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)
            With a precomputed kernel, its values between these rows and those of `fit`, (m, n).

        Returns
        -------
        y : array of shape (m,) or (m, n_targets)
            Lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        b, phi = self.intercept_, getattr(self, "features_", None)
        if phi is not None:
            coef = self.coef_

            def rows(block: Any) -> Any:
                block = in_precision_of(coef, block)
                return feature_products(phi, block, like(coef, block)) + b

        else:
            kernel, Z, a = self.kernel_, self.X_fit_, self.dual_coef_

            def rows(block: Any) -> Any:
                block = in_precision_of(a, block)
                near = Z if is_sparse(block) or is_sparse(Z) else like(Z, block)
                return kernel.matmul(block, near, like(a, block)) + b

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2 of the fitted model on these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        f = self.predict(rows.X)
        residual = rows.Y - (f[:, None] if f.ndim == 1 else f)
        phi = getattr(self, "features_", None)
        a = self.dual_coef_ if phi is None else self.coef_
        a = a[:, None] if a.ndim == 1 else a
        Ka = a if phi is not None else self.kernel_.matmul(self.X_fit_, None, a)
        squares = namespace(a).sum(a * Ka, axis=0)
        chosen = getattr(self, "alpha_", None)
        alpha = check_alpha(self.alpha if chosen is None else chosen, a.shape[1])
        norms = [p * float(squares[j]) for j, p in enumerate(alpha)]
        return weighted_objective(residual, rows.w, norms)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
