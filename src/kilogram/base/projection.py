"""Onto the principal axes and back: scores, reconstruction, denoising.

    z = V (x - m) / scale          x_I = m + sum_{i in I} v_i v_i'(x - m)

I is any set of components. Keeping the first ones drops noise of small variance; removing the first
ones, x - sum_{i in I} v_i v_i'(x - m), drops an artifact that is stronger than the signal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sklearn.base import TransformerMixin

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base.fitted import check_is_fitted
from kilogram.base.validation.validate import validate_inverse_input
from kilogram.kernels import Kernel
from kilogram.operators import CentredCross, Gram, KernelMeans
from kilogram.solvers.eigen.signs import signed
from kilogram.statistics.centred_columns import FAR, columns_of

__all__ = [
    "KernelProjection",
    "LinearSubspace",
    "Projection",
    "linear_projection",
    "owned_copy",
    "signed",
    "storage_reference",
]


@dataclass(frozen=True, eq=False)
class Projection:
    """Blocks of rows to scores: mean (d,), axes (k, d), scale (k,) or None."""

    mean: Any
    axes: Any
    scale: Any = None
    far: bool = False

    def __call__(self, block: Any) -> Any:
        m, V = (self.mean, self.axes) if is_sparse(block) else self._parameters_like(block)
        if self.far and not is_sparse(block):
            Z = (block - m) @ V.T  # the mean is large: subtracting scores would cost digits
        else:
            Z = block @ V.T
            Z -= m @ V.T
        if self.scale is not None:
            Z /= self.scale if is_sparse(block) else like(self.scale, block)
        return Z

    def _parameters_like(self, block: Any) -> tuple[Any, Any]:
        return like(self.mean, block), like(self.axes, block)


@dataclass(frozen=True, eq=False)
class KernelProjection:
    """Blocks of rows to scores on components of a kernel: k_c(block, X) A.

    rows X (n, d), the training means of the kernel, and the dual axes A (n, k).
    """

    kernel: Kernel
    rows: Any
    means: KernelMeans
    axes: Any

    def __call__(self, block: Any) -> Any:
        block = _matched(block, self.rows)
        gram = Gram(self.kernel, block, self.rows, store=False)
        return CentredCross(gram, self.means) @ self.axes


def linear_projection(X: Any, w: Any, A: Any) -> Projection:
    """The projection of the linear kernel: V (x - m) with V = A'(X - 1 m'), as in PCA.

    A (n, k) are the dual axes of training rows X (n, d) whose weights w (n,) sum to 1.
    """
    found = columns_of(X, w)
    if is_sparse(X):
        V = X.T @ A - found.mean[:, None] * namespace(A).sum(A, axis=0)
        return Projection(found.mean.astype(X.dtype), V.T.astype(X.dtype), None, found.far)
    m = namespace(X).astype(found.mean, X.dtype)
    # blocks are centred before the product: a difference of scores has fewer digits
    return Projection(m, ((X - m).T @ A).T, None, far=True)


def _matched(block: Any, rows: Any) -> Any:
    """The block as sparse or as dense as the training rows it is compared with."""
    if is_sparse(block) and not is_sparse(rows):
        return block.toarray()
    if is_sparse(rows) and not is_sparse(block):
        return type(rows)(block)
    return block


class LinearSubspace(TransformerMixin):
    """Scores and reconstructions of a fitted PCA, by its `_projection` and `_prepared` rows.

    A transformer itself, so that `set_output` finds its `transform`.
    """

    mean_: Any
    components_: Any
    explained_variance_: Any
    noise_variance_: float
    whiten: bool

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _projection(self) -> Projection:
        xp = namespace(self.mean_)
        spread = float(xp.sum(self.explained_variance_)) + self.noise_variance_
        far = float(xp.sum(self.mean_ * self.mean_)) > FAR**2 * spread
        scale = None
        if self.whiten:
            deviation = xp.sqrt(self.explained_variance_)
            # scores on components without variance are 0, not rounding made large
            scale = xp.where(deviation > 0, deviation, math.inf * xp.ones_like(deviation))
        return Projection(self.mean_, self.components_, scale, far)

    def transform(self: Any, X: Any) -> Any:
        """The scores of the rows on the principal axes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            With `missing="em"`, missing values are replaced by what is expected given the others.

        Returns
        -------
        Z : array of shape (n, n_components)
            Lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=False).X
        Z = self._scores(X)
        if not is_streamed(X):
            self._ensure_finite(Z, X)
        return Z

    def _scores(self: Any, X: Any) -> Any:
        """The scores of validated rows."""
        project, prepared = self._projection(), self._prepared()
        if is_streamed(X):
            return map_rows(lambda block: project(prepared(block)), X)
        return project(prepared(X))

    def inverse_transform(self: Any, X: Any) -> Any:
        """The rows of the input space that have these scores: m + V'z.

        Parameters
        ----------
        X : array-like of shape (n, n_components)
            Scores, as `transform` gives them.

        Returns
        -------
        X_original : array of shape (n, d)
        """
        check_is_fitted(self)
        V, xp = self.components_, namespace(self.components_)
        if self.whiten:
            V = xp.sqrt(self.explained_variance_)[:, None] * V
        m = self.mean_
        X = validate_inverse_input(self, X, V.shape[0], "scores", "axes")

        def back(block: Any) -> Any:
            return block @ like(V, block) + like(m, block)

        return map_rows(back, X) if is_streamed(X) else back(X)

    def denoise(self: Any, X: Any, *, keep: Any = None, remove: Any = None) -> Any:
        """The rows with only some of their principal components left, in the input space.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask or streamed rows of shape (n, d)
        keep : sequence of int or slice, default=None
            Components to keep; None keeps all fitted ones and drops the rest of the space.
        remove : sequence of int or slice, default=None
            Components to remove instead, everything else staying (also what was not fitted).

        Returns
        -------
        X_denoised : array of shape (n, d), dense

        Examples
        --------
        >>> import numpy as np
        >>> from kilogram import PCA
        >>> X = np.array([[1.0, 1.0], [3.0, 3.0], [1.5, 2.5], [2.5, 1.5]])
        >>> PCA(1).fit(X).denoise(X)[3].round(2)
        array([2., 2.])
        """
        check_is_fitted(self)
        if keep is not None and remove is not None:
            raise ValueError("keep and remove cannot be given together. Set one of them to None.")
        X = self._validate(X, reset=False, finite=False).X
        V = _chosen_axes(self.components_, keep if remove is None else remove)
        m, prepared = self.mean_, self._prepared()

        def rebuilt(block: Any) -> Any:
            block = prepared(block)
            block = block.toarray() if is_sparse(block) else block
            mean, axes = like(m, block), like(V, block)
            part = (block - mean) @ axes.T @ axes
            return mean + part if remove is None else block - part

        if is_streamed(X):
            return map_rows(rebuilt, X)
        found = rebuilt(X)
        self._ensure_finite(found, X)
        return found

    def reconstruction_error(self: Any, X: Any) -> Any:
        """The squared distance of each row from its reconstruction, |x - m - V'V (x - m)|^2.

        Over the training rows it sums to the eigenvalues of the scatter matrix left out.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask or streamed rows of shape (n, d)

        Returns
        -------
        errors : array of shape (n,)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=False).X
        V, m, prepared = self.components_, self.mean_, self._prepared()

        def error(block: Any) -> Any:
            block = prepared(block)
            block = block.toarray() if is_sparse(block) else block
            R = block - like(m, block)
            axes = like(V, block)
            R = R - (R @ axes.T) @ axes
            return namespace(R).sum(R * R, axis=1)

        if is_streamed(X):
            return map_rows(error, X)
        errors = map_rows(error, X)
        self._ensure_finite(errors, X)
        return errors


def _chosen_axes(V: Any, chosen: Any) -> Any:
    """The axes of the chosen components, all if None."""
    if chosen is None:
        return V
    count = V.shape[0]
    listed = range(*chosen.indices(count)) if isinstance(chosen, slice) else list(chosen)
    for i in listed:
        if not -count <= i < count:
            raise ValueError(f"component {i} does not exist: {count} were fitted, numbered from 0.")
    xp = namespace(V)
    rows = [V[i % count, :] for i in listed]
    return xp.stack(rows, axis=0) if rows else V[:0, :]


def storage_reference(X: Any) -> Any:
    """What the fitted arrays are stored beside: X, or a float64 or float32 of NumPy."""
    if is_streamed(X):
        return None
    return namespace(X).empty(0, dtype=X.dtype) if is_sparse(X) else X


def owned_copy(array: Any, ref: Any) -> Any:
    """A copy, row after row, that does not keep a larger array alive."""
    array = array if ref is None else like(array, ref)
    return array.copy(order="C") if is_numpy(array) else namespace(array).asarray(array, copy=True)
