"""From validated rows to the design that coordinate descent works on, and back to coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.solvers.coordinate.design_columns import SMALL_SPARSE
from kilogram.solvers.coordinate.designs import (
    DenseDesign,
    Design,
    MomentDesign,
    ShiftedDesign,
    SparseDesign,
    column_squares,
)
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.ridge import joint_moments
from kilogram.statistics import JointMoments

Array = np.ndarray[Any, np.dtype[Any]]

#: Up to this many columns, and with as many rows, all Gram entries are computed in one pass: at 500
#: columns it takes about as long as the products with residuals that a path needs.
MOMENT_COLUMNS = 500
#: For one alpha the Gram matrix of up to this many columns is always made; that of more only if
#: more than a part of them may be needed.
SURE_COLUMNS, FEW_NEEDED = 100, 0.25
#: Larger targets, or products with them, overflow float32.
FLOAT32_TARGET = 1e18
#: Entries of X from which a copy of it shows beside a fit.
SHIFTED_SIZE = 1_000_000
#: The variance of a column relative to its mean square below which X is centred before products.
FLATTEST = 1e-2


@dataclass(frozen=True)
class Centring:
    """Weighted means of the columns and of the target, by which the intercept is found."""

    mean: Array
    mean_y: Any  # a number, or (t,) for several targets together
    fit_intercept: bool
    total: float  # the sum of the weights

    def intercept(self, coef: Array) -> float:
        return float(self.mean_y - self.mean @ coef) if self.fit_intercept else 0.0

    def intercepts(self, W: Array) -> Array:
        """Intercepts for coefficients (p, t) of t targets, or of one target in t models."""
        found = np.atleast_1d(self.mean_y) - self.mean @ W
        return np.asarray(found if self.fit_intercept else 0.0 * found)


def prefers_moments(X: Any) -> bool:
    """Whether the Gram matrix of all columns is cheaper than working on the rows."""
    if is_streamed(X):
        return True
    n, p = X.shape
    return p <= MOMENT_COLUMNS and n >= p


def from_moments(
    moments: JointMoments, target: int | None, fit_intercept: bool
) -> tuple[MomentDesign, Centring]:
    """The design of one target, or of all together, from sums over the rows."""
    design = MomentDesign.of(moments, target, centred=fit_intercept)
    mean_y = np.asarray(moments.mean_y)[slice(None) if target is None else target]
    return design, Centring(np.asarray(moments.mean), mean_y, fit_intercept, moments.weight)


def from_rows(
    X: Any, y: Array, w: Array | None, fit_intercept: bool
) -> tuple[DenseDesign | SparseDesign | ShiftedDesign, Centring]:
    """The design of rows in memory; a centred copy of X where products would lose digits."""
    n = X.shape[0]
    total = float(n) if w is None else float(np.sum(w, dtype=np.float64))
    root = np.full(n, 1.0 / np.sqrt(total)) if w is None else np.sqrt(w / total)
    proportions = root**2
    mean_y = proportions @ y if fit_intercept else 0.0 * y[0]
    centred = (root * (y - mean_y).T).T
    if is_sparse(X):
        C = sp.csc_array(X).astype(np.float64, copy=False)
        mean = np.asarray(C.T @ proportions).ravel() if fit_intercept else np.zeros(X.shape[1])
        factors = root[0] if w is None else root[C.indices]
        scaled = sp.csc_array((C.data * factors, C.indices, C.indptr), shape=C.shape)
        centring = Centring(mean, mean_y, fit_intercept, total)
        return SparseDesign(scaled, centred, mean, root), centring
    if w is None and X.dtype == np.float64 and X.size >= SHIFTED_SIZE:
        shifted = _shifted(X, y, mean_y, fit_intercept)
        if shifted is not None:
            return shifted, Centring(shifted.mean, mean_y, fit_intercept, total)
    largest = float(np.abs(y - mean_y).max(initial=0.0))
    single = X.dtype == np.float32 and largest < FLOAT32_TARGET
    dtype = np.float32 if single else np.float64
    mean = np.asarray(proportions @ X, dtype=np.float64) if fit_intercept else np.zeros(X.shape[1])
    Z: Array = np.array(X, dtype=dtype, order="F")
    Z -= mean.astype(dtype)
    Z *= root.astype(dtype)[:, None]
    if fit_intercept:
        Z[:, _constant(X, Z, mean, root > 0)] = 0.0
    centring = Centring(mean, mean_y, fit_intercept, total)
    return DenseDesign(Z, np.ascontiguousarray(centred, dtype=dtype)), centring


def _constant(X: Array, Z: Array, mean: Array, used: Array) -> Array:
    """Columns of X whose rows in use are equal: what Z has of them is the rounding of the mean."""
    rounding = len(X) * float(np.finfo(Z.dtype).eps) * np.abs(mean)  # bounds that of a sum
    near = np.flatnonzero(column_squares(Z) <= rounding**2)
    return near[np.ptp(X[used][:, near], axis=0) == 0] if len(near) else near


def _shifted(X: Array, y: Array, mean_y: Any, fit_intercept: bool) -> ShiftedDesign | None:
    """The design without a copy of X, or None where large means would cost digits."""
    n, ones = X.shape[0], np.ones(X.shape[0])
    mean = np.asarray(ones @ X) / n
    squares = column_squares(X) / n
    deviations = np.maximum(squares - mean**2, 0.0)
    if fit_intercept and bool(np.any(deviations < FLATTEST * squares)):
        return None
    norms = np.sqrt(deviations if fit_intercept else squares)
    return ShiftedDesign(X, y - mean_y, mean if fit_intercept else 0.0 * mean, norms)


def designs_of(
    rows: RegressionData, fit_intercept: bool, l1: float = 0.0
) -> tuple[list[tuple[Design, Centring]], bool]:
    """One design for each target, and whether y had a single axis.

    `l1` is the strength of the penalty, if there is only one.
    """
    if prefers_moments(rows.X) and not _few_needed(rows, l1):
        moments, flat = _host_moments(rows)
        count = moments.cross.shape[1]
        return [from_moments(moments, t, fit_intercept) for t in range(count)], flat
    X, Y, w = _host_rows(rows)
    found = [from_rows(X, Y[:, t], w, fit_intercept) for t in range(Y.shape[1])]
    return list(found), bool(rows.flat)


def _few_needed(rows: RegressionData, l1: float) -> bool:
    """Whether few columns of dense rows will be needed, by their correlations with the target.

    Few sparse entries need no dense Gram matrix.
    """
    if l1 <= 0 or is_streamed(rows.X) or rows.X.shape[1] <= SURE_COLUMNS:
        return False
    if is_sparse(rows.X):
        return bool(rows.X.nnz <= SMALL_SPARSE)
    X, Y, w = _host_rows(rows)
    weights = np.ones(len(Y)) if w is None else w
    Z = Y - np.average(Y, axis=0, weights=weights) if weights.sum() > 0 else Y
    c = np.abs(X.T @ (weights[:, None] * Z)).max(axis=1) / max(weights.sum(), 1.0)
    return int(np.count_nonzero(c > 0.5 * l1)) < FEW_NEEDED * X.shape[1]


def joint_design(rows: RegressionData, fit_intercept: bool) -> tuple[Design, Centring, bool]:
    """One design of all targets together, and whether y had a single axis."""
    if prefers_moments(rows.X):
        moments, flat = _host_moments(rows)
        return *from_moments(moments, None, fit_intercept), flat
    return *from_rows(*_host_rows(rows), fit_intercept), bool(rows.flat)


def _host_moments(rows: RegressionData) -> tuple[JointMoments, bool]:
    moments, flat = joint_moments(rows)
    sums = (moments.mean, moments.scatter, moments.mean_y, moments.cross, moments.scatter_y)
    host = [np.asarray(to_numpy(value), dtype=np.float64) for value in sums]
    return JointMoments(moments.weight, *host), flat


def _host_rows(rows: RegressionData) -> tuple[Any, Array, Array | None]:
    X = rows.X if is_sparse(rows.X) else to_numpy(rows.X)
    w = None if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
    return X, np.asarray(to_numpy(rows.Y), dtype=np.float64), w


def logarithmic_grid(largest: float, l1_ratio: float, n_alphas: int, eps: float) -> Array:
    """Decreasing alphas, from the one of the largest l1 strength that matters to eps times it."""
    if l1_ratio == 0:
        raise ValueError(
            "A grid of alphas cannot be made for l1_ratio=0, whose path never reaches 0. "
            "Give the alphas, or use RidgeCV."
        )
    top = largest / l1_ratio
    if top <= np.finfo(float).resolution:
        return np.full(n_alphas, np.finfo(float).resolution)
    return np.geomspace(top, top * eps, n_alphas)


def objective_value(
    residual: Array, w: Array | None, coef: Array, alpha: float, l1_ratio: float
) -> float:
    """1/2 mean r^2 + alpha (l1_ratio |b|_1 + (1 - l1_ratio) / 2 |b|^2)."""
    loss = 0.5 * float(np.average(residual**2, weights=w))
    ridge = 0.5 * (1 - l1_ratio) * float(coef @ coef)
    return loss + alpha * (l1_ratio * float(np.abs(coef).sum()) + ridge)
