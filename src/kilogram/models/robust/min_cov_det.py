"""Robust location and covariance: the half of the rows of smallest determinant (FAST-MCD)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.stats
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.base import Estimate, Estimator, Laws
from kilogram.base.constraints import Boolean, Constraint, Null, RandomState, Real
from kilogram.base.random_state import as_generator
from kilogram.base.warnings import warn
from kilogram.models.robust.concentration import smallest_determinant
from kilogram.models.robust.in_memory_predictor import DENSE, DRAWN
from kilogram.models.robust.standardised import column_scales
from kilogram.operators.cost import rates

Array = np.ndarray
STARTS = 500  # of Rousseeuw and van Driessen's FAST-MCD, 1999
STEPS = 100  # an upper bound: concentration steps end by themselves
TAIL = 0.025  # of good rows left out of the reweighted estimate: Rousseeuw and van Driessen's 2.5 %


def consistency_factor(d: int, fraction: float) -> float:
    """Covariance of a normal divided by that of its central part of this fraction."""
    if fraction >= 1.0:
        return 1.0
    q = scipy.stats.chi2.ppf(fraction, d)
    return float(fraction / scipy.stats.chi2.cdf(q, d + 2))


class MinCovDet(Estimator, EmpiricalCovariance):
    """Minimum covariance determinant: robust location and covariance, robust distances.

    The mean and covariance of the h rows whose covariance has the smallest determinant, corrected
    for normal rows, then of all rows within the 97.5 % ellipsoid of that. Takes scikit-learn's
    parameters.

    Parameters
    ----------
    store_precision : bool, default=True
        Store the inverse of the covariance.
    assume_centered : bool, default=False
        Whether to take the location as 0.
    support_fraction : float or None, default=None
        h / n, in (0, 1]; None: h = (n + d + 1) / 2, the largest breakdown point.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the subsets from which the search starts.

    Attributes
    ----------
    raw_location_, raw_covariance_, raw_support_ : ndarray
        Of the h rows, before correction and reweighting.
    location_ : ndarray of shape (d,)
        Robust location.
    covariance_ : ndarray of shape (d, d)
        Robust covariance.
    precision_ : ndarray of shape (d, d)
        Pseudo-inverse of the covariance, if stored.
    support_ : ndarray of shape (n,)
        True for the rows of the reweighted estimate.
    dist_ : ndarray of shape (n,)
        Squared robust distances of the training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    outlier_report : Robust distances beside the residuals of a regression.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MinCovDet
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> X[:40] += 20.0
    >>> bool(np.abs(MinCovDet(random_state=0).fit(X).location_).max() < 0.3)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="takes no weights: h counts rows",
        permutation=DRAWN,
        sparse=DENSE,
        textbook="no text prints it (Rousseeuw and Van Driessen 1999)",
        example={"random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "store_precision": Boolean(),
        "assume_centered": Boolean(),
        "support_fraction": Real(0, 1, closed="right") | Null(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        store_precision: bool = True,
        assume_centered: bool = False,
        support_fraction: float | None = None,
        random_state: Any = None,
    ):
        self.store_precision = store_precision
        self.assume_centered = assume_centered
        self.support_fraction = support_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the h rows, correct and reweight their covariance.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : ignored

        Returns
        -------
        self
        """
        rows = self._validate(X, y, min_samples=2, sparse=False).X
        if is_streamed(rows):
            names = getattr(self, "feature_names_in_", None)
            rows = self._validate(stack_rows([block for block, *_ in row_blocks(rows)])).X
            if names is not None:
                self.feature_names_in_ = names
        self._ensure_squares(rows)
        Z = np.asarray(to_numpy(rows), dtype=np.float64)
        n, d = Z.shape
        if self.support_fraction is None:
            h = min(n, int(np.ceil(0.5 * (n + d + 1))))
        else:
            h = min(n, max(int(self.support_fraction * n), 1))
        self._search(Z, h)
        self.location_, self.support_ = self.raw_location_, self.raw_support_
        self.correct_covariance(Z)
        self.reweight_covariance(Z)
        return self

    def _search(self, Z: Array, h: int) -> None:
        """The raw estimates of the h rows."""
        n, d = Z.shape
        middle = np.median(Z, axis=0)
        scale = column_scales(Z - middle)
        unit = (Z - middle) / scale
        rank = np.linalg.matrix_rank(np.clip(unit, -1e6, 1e6) - unit.mean(axis=0))
        if rank < d:
            warn("The covariance matrix associated to your dataset is not full rank.")
        kept = np.ones(n, dtype=bool)
        if h < n:
            rng = as_generator(self.random_state)
            kept = smallest_determinant(unit, h, STARTS, rng, STEPS)
        m = np.zeros(d) if self.assume_centered else _mean(Z[kept])
        self.raw_location_, self.raw_support_ = m, kept
        self.raw_covariance_ = (Z[kept] - m).T @ (Z[kept] - m) / kept.sum()
        self.dist_ = _squared_distances(Z - m, self.raw_covariance_)

    def correct_covariance(self, data: Any) -> Array:
        """The raw covariance, made consistent for normal rows; rescales `dist_`.

        Parameters
        ----------
        data : array-like of shape (n, d)
            The training rows.
        """
        n, kept = len(self.dist_), int(self.raw_support_.sum())
        if kept < n and not np.any(self.raw_covariance_):
            raise ValueError(
                "The covariance matrix of the support data is equal to 0, try to increase "
                "support_fraction"
            )
        factor = consistency_factor(self.raw_covariance_.shape[0], kept / n)
        self.dist_ = self.dist_ / factor
        return self.raw_covariance_ * factor

    def reweight_covariance(self, data: Any) -> tuple[Array, Array, Array]:
        """Location and covariance of the rows within the 97.5 % ellipsoid of the raw estimate.

        Parameters
        ----------
        data : array-like of shape (n, d)
            The training rows.
        """
        Z = np.asarray(data, dtype=np.float64)
        d = Z.shape[1]
        near = self.dist_ < scipy.stats.chi2.isf(TAIL, d)
        if near.sum() < 2:
            near = self.raw_support_.copy()
        location = np.zeros(d) if self.assume_centered else Z[near].mean(axis=0)
        covariance = (Z[near] - location).T @ (Z[near] - location) / near.sum()
        self._set_covariance(covariance * consistency_factor(d, 1.0 - TAIL))
        self.location_, self.support_ = location, near
        self.dist_ = _squared_distances(Z - location, self.covariance_)
        return location, covariance, near

    def _set_covariance(self, covariance: Array) -> None:
        self.covariance_ = covariance
        self.precision_ = _inverse(covariance) if self.store_precision else None

    def get_precision(self) -> Array:
        """The pseudo-inverse of the covariance."""
        check_is_fitted(self)
        return _inverse(self.covariance_) if self.precision_ is None else self.precision_

    def mahalanobis(self, X: Any) -> Any:
        """Squared robust distances of the rows of X.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        distances : array of shape (m,)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        P, m = self.get_precision(), self.location_

        def rows(block: Any) -> Any:
            Z = np.asarray(to_numpy(block), dtype=np.float64) - m
            return like(((Z @ P) * Z).sum(axis=1), block)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def score(self, X_test: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows under the normal distribution of this estimate."""
        check_is_fitted(self)
        d = len(self.location_)
        P = self.get_precision()
        sign, logdet = np.linalg.slogdet(P)
        mean = float(np.mean(to_numpy(self.mahalanobis(X_test))))
        return 0.5 * ((logdet if sign > 0 else -np.inf) - mean - d * np.log(2.0 * np.pi))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 4.0 * STARTS * min(n, 1500) * (d + 20) ** 2 + 100.0 * n * d * d
        size = 8.0 * (6 * n * d + 6 * 2**22)
        return self._costs(n, d, "concentration steps", work / rates(8).multiply_adds, size)


def _mean(Z: Array) -> Array:
    """Of columns; of a column of equal numbers without rounding, so that its variance is 0."""
    return np.where(np.ptp(Z, axis=0) == 0, Z[0], Z.mean(axis=0))


def _inverse(C: Array) -> Array:
    """The pseudo-inverse of a covariance, judged in units of its standard deviations."""
    s = np.sqrt(np.maximum(np.diag(C), 0.0))
    s = np.where(s > 0, s, 1.0)
    return np.linalg.pinv(C / np.outer(s, s), rcond=1e-13, hermitian=True) / np.outer(s, s)


def _squared_distances(Z: Array, C: Array) -> Array:
    return ((Z @ _inverse(C)) * Z).sum(axis=1)
