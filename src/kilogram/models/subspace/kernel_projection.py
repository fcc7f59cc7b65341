"""Onto the components of kernel PCA and back: what a fitted model does with new rows.

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

from kilogram.arrays.namespace import is_sparse, like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import as_written, warn_if_unfinished
from kilogram.base.door import is_foreign
from kilogram.kernels import Linear
from kilogram.models.subspace.columns import columns_of
from kilogram.models.subspace.preimages import FixedPoint
from kilogram.models.subspace.projection import Projection
from kilogram.operators import CentredCross, Gram

BLOCK_ENTRIES = 2**22  # features held at once on the approximate roads


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
        X = self._enter(X, reset=False).X
        if self.approximation is not None:
            scores = self._through_features()
            return map_rows(scores, X, block_rows=feature_block(self.n_features))
        scores = self._through_kernel()
        return map_rows(scores, X) if is_streamed(X) else scores(X)

    def _through_kernel(self: Any) -> Callable[[Any], Any]:
        if self._linear is not None:
            return self._linear
        kernel, rows, means, A = self.kernel_, self.X_fit_, self.kernel_means_, self._dual_axes()

        def scores(block: Any) -> Any:
            block = matched(block, rows)
            return CentredCross(Gram(kernel, block, rows, store=False), means) @ A

        return scores

    def _keep_training(self: Any, rows: Any) -> None:
        """The training rows; the linear kernel needs d numbers for each component in use."""
        weights, linear = self.kernel_means_.weights, isinstance(self.kernel_, Linear)
        self.X_fit_ = rows
        self._linear = linear_scores(rows, weights, self._dual_axes()) if linear else None

    def _through_features(self: Any) -> Callable[[Any], Any]:
        phi, project = as_written(self.feature_map_), Projection(self.mean_, self.components_)

        def scores(block: Any) -> Any:
            return project(phi(block))

        return scores

    def _dual_axes(self) -> Any:
        """A: eigenvectors over the roots of their eigenvalues, zero where there is no variance."""
        xp, values = namespace(self.eigenvalues_), self.eigenvalues_
        roots = xp.sqrt(xp.where(values > 0, values, xp.ones_like(values)))
        return self.eigenvectors_ * xp.where(values > 0, 1.0 / roots, xp.zeros_like(values))

    def inverse_transform(self: Any, X: Any) -> Any:
        """Rows of the input space whose scores are near these.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Scores, as `transform` gives them.

        Returns
        -------
        X_original : array of shape (n, d)
            By ridge regression, or from the fixed point nearest to a training row, as `preimage`
            says.
        """
        check_is_fitted(self)
        Z = X if is_foreign(X) else check_array(X, dtype=["float64", "float32"], input_name="X")
        if self.preimage == "fixed_point":
            search = self._fixed_point()
            Z = like(Z, search.X)
            return self._rested(search, Z, search.nearest(Z, self._training_scores()))
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The way back was not learned: set fit_inverse_transform=True before fitting, or "
                "preimage='fixed_point' with a Gaussian kernel."
            )
        return self.kernel_.matmul(Z, self.X_transformed_fit_, self.dual_coef_)

    def denoise(self: Any, X: Any) -> Any:
        """The rows as the kept components see them, in the input space.

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
        X = self._enter(X, reset=False, sparse=False).X
        return self._rested(search, as_written(self)(X), X)

    def _fixed_point(self: Any) -> FixedPoint:
        if self.approximation is not None:
            raise ValueError("pre-images need the training rows: fit with approximation=None.")
        means = self.kernel_means_
        A = self._dual_axes()
        xp = namespace(A)
        centred = A - means.weights[:, None] * xp.sum(A, axis=0)[None, :]
        return FixedPoint(self.kernel_, self.X_fit_, centred, means.weights)

    def _rested(self: Any, search: FixedPoint, Z: Any, start: Any) -> Any:
        found = search.solve(Z, start)
        warn_if_unfinished("KernelPCA", found, "A wider kernel or more components may help.")
        return found.value

    def _training_scores(self: Any) -> Any:
        return self._through_kernel()(self.X_fit_)

    @property
    def _n_features_out(self) -> int:
        return int(self.eigenvalues_.shape[0])


def linear_scores(X: Any, w: Any, A: Any) -> Projection:
    """Onto the dual axes A (n, k) of training rows X (n, d) whose weights w (n,) sum to 1."""
    found = columns_of(X, w)
    if is_sparse(X):
        V = X.T @ A - found.mean[:, None] * namespace(A).sum(A, axis=0)
        return Projection(found.mean.astype(X.dtype), V.T.astype(X.dtype), None, found.far)
    m = namespace(X).astype(found.mean, X.dtype)
    # blocks are centred before the product: a difference of scores has fewer digits
    return Projection(m, ((X - m).T @ A).T, None, far=True)


def matched(block: Any, rows: Any) -> Any:
    """The block as sparse or as dense as the training rows it is compared with."""
    if is_sparse(block) and not is_sparse(rows):
        return block.toarray()
    if is_sparse(rows) and not is_sparse(block):
        return type(rows)(block)
    return block


def feature_block(n_features: int) -> int:
    """Rows whose features are made at once."""
    return max(256, BLOCK_ENTRIES // max(1, n_features))
