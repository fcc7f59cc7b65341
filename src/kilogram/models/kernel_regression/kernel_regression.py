"""Regression by local means (Nadaraya-Watson) or local lines (local_fits.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimate, Estimator, Laws
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, Real
from kilogram.base.device_output import like_rows
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.functions.density_kernels import KERNELS
from kilogram.models.kernel_regression.local_fits import LocalRows, candidate_bandwidths
from kilogram.operators.cost import rates

Array = np.ndarray
# Rows up to which "auto" truncates nothing: 25 million kernel values for their own predictions.
ALL_ROWS = 5000
NEAREST = 500  # rows of a local fit beyond: a tenth, as of the smallest truncated table


class KernelRegression(MultiOutputMixin, RegressorMixin, Estimator):
    """Kernel regression: a weighted mean or a weighted line around every query.

    ``f(x) = sum_i k_i y_i / sum_i k_i`` with ``k_i = w_i k(|x - x_i| / h)`` (degree 0), or the
    value at x of the line fitted with these weights (degree 1), which follows slopes up to the
    border of the data. The bandwidth h is given, or the best of `n_bandwidths` when every row is
    predicted from the others; distances are computed once for all of them.

    Parameters
    ----------
    bandwidth : float or "loo", default="loo"
        h, in units of the features: standardise them first. "loo": chosen by leave-one-out error.
    degree : {0, 1}, default=0
        0: local means (Nadaraya-Watson); 1: local lines.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
default="gaussian"
        The kernel, a density of the distance in units of the bandwidth.
    n_neighbors : int, "auto" or None, default="auto"
        Nearest rows used for a prediction; None: all. "auto": all of up to 5000 rows, else 500.
    n_bandwidths : int, default=20
        Bandwidths compared by "loo".

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used.
    bandwidths_ : ndarray
        Compared ones, ascending; only for "loo".
    loo_errors_ : ndarray
        Their mean squared leave-one-out errors; only for "loo".
    n_neighbors_ : int or None
        Rows of a local fit; None: all.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KernelRidge : Solves for the weights; smooth, not only a mean.
    KNeighborsRegressor : The mean of the k nearest rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KernelRegression
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelRegression(degree=1).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.0], [5.0]]).round(2)
    array([ 0.84, -0.96])
    """

    laws: ClassVar[Laws] = Laws(
        sparse="local fits of dense rows; sparse ones are refused",
        example={"bandwidth": 1.0},
        textbook=True,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "bandwidth": Real(0, closed="neither") | OneOf("loo"),
        "degree": OneOf(0, 1),
        "kernel": OneOf(*KERNELS),
        "n_neighbors": Integer(1) | OneOf("auto") | Null(),
        "n_bandwidths": Integer(1),
    }

    def __init__(
        self,
        bandwidth: float | str = "loo",
        *,
        degree: int = 0,
        kernel: str = "gaussian",
        n_neighbors: Any = "auto",
        n_bandwidths: int = 20,
    ):
        self.bandwidth = bandwidth
        self.degree = degree
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_bandwidths = n_bandwidths

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows, choose the bandwidth.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight, sparse=False)
        rows = gather_regression_data(self, rows)
        self._ensure_squares(rows.X)
        A = np.ascontiguousarray(to_numpy(rows.X), dtype=np.float64)
        Y = np.asarray(to_numpy(rows.Y), dtype=np.float64)
        w = np.ones(len(A)) if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
        on = w > 0
        if not on.all():
            A, Y, w = A[on], Y[on], w[on]
        self.n_neighbors_ = self._neighbours(len(A))
        local = LocalRows(A, Y, w, self.kernel, int(self.degree), self.n_neighbors_)
        for name in ("bandwidths_", "loo_errors_"):
            self.__dict__.pop(name, None)
        if self.bandwidth == "loo":
            if len(A) < 2:
                raise ValueError(
                    "bandwidth='loo' needs at least 2 samples, got n_samples = 1. Give a bandwidth."
                )
            self.bandwidths_ = candidate_bandwidths(local, int(self.n_bandwidths))
            self.loo_errors_ = local.leave_one_out(self.bandwidths_)
            self.bandwidth_ = float(self.bandwidths_[int(np.argmin(self.loo_errors_))])
        else:
            self.bandwidth_ = float(self.bandwidth)
        self._rows, self._flat = local, rows.flat is not False
        self._single = "float32" in str(rows.X.dtype) and "float32" in str(rows.Y.dtype)
        return self

    def _neighbours(self, n: int) -> int | None:
        k = self.n_neighbors
        if k == "auto":
            return None if n <= ALL_ROWS else NEAREST
        if k is not None and k > n:
            raise ValueError(
                f"n_neighbors must be at most n_samples, got n_neighbors={k} and n_samples={n}. "
                "Use n_neighbors=None for all rows."
            )
        return None if k is None or k == n else int(k)

    def predict(self, X: Any) -> Any:
        """The local mean, or the local line at each row of X.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,) or (m, n_targets)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X

        def rows(block: Any) -> Any:
            queries = np.ascontiguousarray(to_numpy(block), dtype=np.float64)
            with np.errstate(over="ignore"):
                found = self._rows.predict(queries, self.bandwidth_)
            found = found[:, 0] if self._flat else found
            return like_rows(found, block, wide=not self._single)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        near = n if n <= ALL_ROWS else NEAREST
        tried = self.n_bandwidths if self.bandwidth == "loo" else 0
        work = float(n) * near * (10.0 * d + tried * (10.0 + self.degree * d * d))
        size = 8.0 * (n * (d + 2) + 6 * 2**21)
        return self._costs(n, d, "local fits", work / rates(8).multiply_adds, size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
