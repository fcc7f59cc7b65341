"""Numeric columns: cells as floats, then one of the usual scales.

standard   (x - mean) / sd, sd with divisor N; a constant column becomes 0
whiten     rotated to the axes of the covariance, then standard: covariance I
minmax     (x - min) / (max - min), in [0, 1] on the rows it was fitted on
rank       fraction of the rows below x: invariant under increasing transforms of x
log        log(a + x), a = 1 - min(0, least x), then standard: for long tails to the right
none       as it is

With a reach r, values are first clipped to the range of the training rows, extended by r times its
length: 200 rows show little of a long tail, and a linear extrapolation to a hundred times their
spread is useless (R2 of -6 on the other rows of the California table, 0.62 with r = 1/2).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

SCALES = ("standard", "whiten", "minmax", "rank", "log", "none")
_QUANTILES = 1000  # scikit-learn's number


class FloatColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cells of an object array as float64; stateless.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.kitchen.features import FloatColumns
    >>> FloatColumns().fit_transform(np.array([["1.5"], [2]], dtype=object))
    array([[1.5],
           [2. ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = np.asarray(X).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.asarray(X, dtype=np.float64)


class ColumnScaler(TransformerMixin, BaseEstimator):
    """Columns on the scale named `kind`; see the table above.

    Parameters
    ----------
    kind : {"standard", "whiten", "minmax", "rank", "log", "none"}, default="standard"
    reach : float, default=None
        Values are clipped to the range of the training rows, extended by this many times its
        length. None: no clipping.

    Examples
    --------
    >>> from kilogram.kitchen.features import ColumnScaler
    >>> ColumnScaler().fit([[0.0], [0.0], [1.0], [1.0]]).transform([[2.0]])
    array([[3.]])
    >>> ColumnScaler(reach=0.0).fit([[0.0], [0.0], [1.0], [1.0]]).transform([[2.0]])
    array([[1.]])
    """

    def __init__(self, kind: str = "standard", reach: float | None = None):
        self.kind = kind
        self.reach = reach

    def fit(self, X: Any, y: Any = None) -> Self:
        if self.kind not in SCALES:
            raise ValueError(f"kind must be one of {', '.join(SCALES)}; got {self.kind!r}.")
        if self.reach is not None and not self.reach >= 0:
            raise ValueError(f"reach must be 0 or more, or None; got {self.reach!r}.")
        X = validate_data(self, X, dtype=np.float64)
        self.ends_ = None if self.reach is None else _ends(X, self.reach)
        self.shift_ = 1.0 - np.minimum(X.min(axis=0), 0.0) if self.kind == "log" else None
        self.scaler_ = _scaler(self.kind, X)
        if self.scaler_ is not None:
            self.scaler_.fit(self._logged(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "scaler_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        X = X if self.ends_ is None else np.clip(X, *self.ends_)
        return X if self.scaler_ is None else self.scaler_.transform(self._logged(X))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The columns as they were."""
        check_is_fitted(self, "scaler_")
        X = np.asarray(X, dtype=np.float64)
        X = X if self.scaler_ is None else self.scaler_.inverse_transform(X)
        return X if self.shift_ is None else np.exp(X) - self.shift_

    def _logged(self, X: np.ndarray) -> np.ndarray:
        if self.shift_ is None:
            return X
        # below the smallest training value the logarithm diverges: clip there, where a + x is 1
        return np.log(np.maximum(X + self.shift_, 1.0))


def _ends(X: np.ndarray, reach: float) -> np.ndarray:
    """(2, d): the smallest and the largest value of each column after clipping."""
    low, high = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore"):  # an infinite range clips nothing
        beyond = reach * (high - low)
        return np.stack([low - beyond, high + beyond])


def _scaler(kind: str, X: np.ndarray) -> Any:
    if kind == "none":
        return None
    if kind == "whiten":
        spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        # an axis without spread has no scale to divide by
        return PCA(n_components=max(int(np.sum(spread > 1e-8 * spread[0])), 1), whiten=True)
    if kind == "minmax":
        return MinMaxScaler()
    if kind == "rank":
        return QuantileTransformer(n_quantiles=min(len(X), _QUANTILES), subsample=None)
    return StandardScaler()
