"""Ridge along a path of penalties, scored by leave-one-out: the two solvers of `RidgeCV`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import is_array, is_sparse, namespace
from kilogram.arrays.rows import reduce_rows, take_rows
from kilogram.solvers.least_squares.data import RegressionData, wide_floats
from kilogram.solvers.least_squares.factorizations import triangle_of
from kilogram.solvers.least_squares.leave_one_out import LinearPath, Press, dual_path
from kilogram.solvers.least_squares.normal_equations import (
    DEPENDENT_SINGLE,
    CentredColumns,
    Normal,
)
from kilogram.solvers.least_squares.ridge import (
    centred,
    inner_products,
    joint_moments,
    weighted_means,
)

BLOCK = 8192  # rows whose residuals of all penalties are held at once: 6.5 MB for 100


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients (d, t, k) and offsets (t, k) of all penalties, and their residuals."""

    W: Any
    b: Any
    press: Press
    residuals: Any
    flat: bool


def tall_path(
    rows: RegressionData,
    alphas: list[float],
    fit_intercept: bool,
    ensure_finite: Callable[[Any], None],
    *,
    keep: bool,
    by_svd: bool,
) -> Path:
    """From the eigenvectors of X_c'X_c, or the SVD of X_c; `keep` stores the residuals of all rows.

    Products of float32 rows have half the digits: where the smallest penalty is below their
    rounding, the SVD is used for them too.
    """
    moments, flat = joint_moments(rows)
    ensure_finite(moments.scatter)
    normal = Normal.of(moments, fit_intercept)
    path = LinearPath.of(normal, moments.weight, alphas, fit_intercept)
    if _below_rounding(rows.X, path, min(alphas)):
        rows, by_svd = rows._replace(X=wide_floats(rows.X), Y=wide_floats(rows.Y)), True
        moments, _ = joint_moments(rows)
        normal = Normal.of(moments, fit_intercept)
    if by_svd:
        path = LinearPath.from_triangle(
            triangle_of(normal, rows), normal, alphas, path.intercept_leverage
        )
    residuals = path.residuals(*rows[:3]) if keep else None
    if residuals is None:
        press = reduce_rows(path.press, *rows[:3], block_rows=BLOCK)
    else:
        press = Press.of(residuals, rows.w)
    W = path.coefficients()
    return Path(W, _offsets(normal.mean_x, normal.mean_y, W), press, residuals, flat)


def wide_path(
    rows: RegressionData,
    alphas: list[float],
    fit_intercept: bool,
    ensure_finite: Callable[[Any], None],
) -> Path:
    """From the eigenvectors of X_c X_c', for fewer rows than columns."""
    everyone = rows
    if rows.w is not None:
        rows = weighted_only(rows)
    rows = rows._replace(X=wide_floats(rows.X), Y=wide_floats(rows.Y))
    xp, w = namespace(rows.Y), None if rows.w is None else wide_floats(rows.w)
    mean_x, _, _ = weighted_means(rows, fit_intercept, ensure_finite)
    A: Any = CentredColumns(rows.X, mean_x, None)
    A = A if is_sparse(rows.X) else centred(rows.X, mean_x, None, overwrite=False)
    K = inner_products(A)
    if w is not None:
        s = xp.sqrt(w)
        K = s[:, None] * K * s[None, :]
    found = dual_path(K, rows.Y, alphas, w=w, fit_intercept=fit_intercept)
    n, t, k = found.a.shape
    W = xp.reshape(A.T @ xp.reshape(found.a, (n, t * k)), (-1, t, k))
    b = found.b - xp.sum(mean_x[:, None, None] * W, axis=0)
    if everyone.w is None:
        return Path(W, b, Press.of(found.residuals), found.residuals, bool(rows.flat))
    # rows of weight zero took no part: their residual is that of the fit
    f = wide_floats(everyone.X) @ xp.reshape(W, (-1, t * k))
    f = xp.reshape(f, (-1, t, k)) + b
    e = restore_columns(found.residuals, everyone.w, everyone.Y[:, :, None] - f)
    return Path(W, b, Press.of(e, everyone.w), e, bool(rows.flat))


def _below_rounding(X: Any, path: LinearPath, alpha: float) -> bool:
    """Whether sums of float32 products are too rough for this penalty."""
    if not (is_array(X) and "float32" in str(X.dtype)):
        return False
    return float(path.l[-1]) + alpha < DEPENDENT_SINGLE * float(path.l[0])


def weighted_only(rows: RegressionData) -> RegressionData:
    """The rows that have a weight."""
    xp = namespace(rows.w)
    (on,) = xp.nonzero(rows.w > 0)
    return RegressionData(
        take_rows(rows.X, on), take_rows(rows.Y, on), take_rows(rows.w, on), rows.flat
    )


def restore_columns(some: Any, w: Any, others: Any) -> Any:
    """Values of the rows of weight > 0 (m, t, k) among those of all rows (n, t, k)."""
    xp = namespace(others)
    on = w > 0
    place = xp.cumulative_sum(xp.astype(on, xp.int64)) - 1
    place = xp.where(place > 0, place, xp.zeros_like(place))
    return xp.where(on[:, None, None], xp.take(some, place, axis=0), others)


def _offsets(mean_x: Any, mean_y: Any, W: Any) -> Any:
    xp = namespace(W)
    return mean_y[:, None] - xp.sum(mean_x[:, None, None] * W, axis=0)
