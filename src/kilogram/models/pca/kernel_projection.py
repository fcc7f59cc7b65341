"""Scores and pre-images of new rows under a fitted kernel PCA.

    z(t) = sum_i a_ij k_c(x_i, t) = k(t, X) A_c - kappa'A_c,     A_c = A - w 1'A

with A = (u_j / sqrt(lambda_j)) the dual axes, w the weights of the mean (sum 1) and kappa the
training means of the kernel: one product of k(t, X) with a thin matrix, made tile by tile. Under
the linear kernel it is a projection, z(t) = V (t - m) with V = A'(X - 1 m'), as in PCA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_is_fitted

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import as_written, warn_if_unfinished
from kilogram.base.projection import KernelProjection, Projection
from kilogram.base.validation.validate import is_foreign
from kilogram.models.pca.preimages import FixedPoint
from kilogram.solvers.eigen.kernel_components import dual_axes


class KernelSubspace(TransformerMixin):
    """Scores and pre-images of a fitted kernel PCA, exact or on features.

    A transformer itself, so that `set_output` finds its `transform`.
    """

    eigenvalues_: Any
    eigenvectors_: Any
    _linear: Projection | None = None

    def transform(self: Any, X: Any) -> Any:
        """The scores of the rows on the principal components.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            The kernel of new rows against the training rows, (n, n_train), if it is precomputed.

        Returns
        -------
        Z : array of shape (n, n_components)
            Lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        if self.approximation is not None:
            scores = self._through_features()
            return map_rows(scores, X, block_rows=feature_block(self.n_features))
        scores = self._through_kernel()
        return map_rows(scores, X) if is_streamed(X) else scores(X)

    def _through_kernel(self: Any) -> Callable[[Any], Any]:
        if self._linear is not None:
            return self._linear
        axes = dual_axes(self.eigenvalues_, self.eigenvectors_)
        return KernelProjection(self.kernel_, self.X_fit_, self.kernel_means_, axes)

    def _through_features(self: Any) -> Callable[[Any], Any]:
        phi, project = as_written(self.feature_map_), Projection(self.mean_, self.components_)

        def scores(block: Any) -> Any:
            return project(phi(block))

        return scores

    def inverse_transform(self: Any, X: Any) -> Any:
        """Rows of the input space whose scores are near these.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Scores, as `transform` gives them.

        Returns
        -------
        X_original : array of shape (n, d)
            By ridge regression, or from the fixed point nearest to a training row, by `preimage`.
        """
        check_is_fitted(self)
        Z = X if is_foreign(X) else check_array(X, dtype=["float64", "float32"], input_name="X")
        if self.preimage == "fixed_point":
            search = self._fixed_point()
            Z = like(Z, search.X)
            return self._preimages(search, Z, search.nearest(Z, self._training_scores()))
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "inverse_transform was not fitted: set fit_inverse_transform=True before fitting, "
                "or preimage='fixed_point' with a Gaussian kernel."
            )
        return self.kernel_.matmul(Z, self.X_transformed_fit_, self.dual_coef_)

    def denoise(self: Any, X: Any) -> Any:
        """The rows rebuilt from the kept components, in the input space.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        X_denoised : array of shape (n, d)
            With `preimage="fixed_point"` the search begins at the rows themselves.
        """
        check_is_fitted(self)
        if self.preimage != "fixed_point":
            return self.inverse_transform(as_written(self)(X))
        search = self._fixed_point()
        X = self._validate(X, reset=False, sparse=False).X
        return self._preimages(search, as_written(self)(X), X)

    def _fixed_point(self: Any) -> FixedPoint:
        if self.approximation is not None:
            raise ValueError("pre-images need the training rows: fit with approximation=None.")
        means = self.kernel_means_
        A = dual_axes(self.eigenvalues_, self.eigenvectors_)
        xp = namespace(A)
        centred = A - means.weights[:, None] * xp.sum(A, axis=0)[None, :]
        return FixedPoint(self.kernel_, self.X_fit_, centred, means.weights)

    def _preimages(self: Any, search: FixedPoint, Z: Any, start: Any) -> Any:
        found = search.solve(Z, start)
        warn_if_unfinished("KernelPCA", found, "A wider kernel or more components may help.")
        return found.value

    def _training_scores(self: Any) -> Any:
        return self._through_kernel()(self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        return int(self.eigenvalues_.shape[0])


def feature_block(n_features: int) -> int:
    """Rows whose features are made at once."""
    return max(256, BLOCK_ENTRIES // max(1, n_features))
