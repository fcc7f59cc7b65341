"""Kernel ridge along a path of penalties, scored by leave-one-out, for `KernelRidgeCV`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels import Kernel, Precomputed
from kilogram.models.ridge.kernel_solvers import centred_for
from kilogram.models.ridge.path_scores import PathChoice
from kilogram.solvers.least_squares.data import RegressionData, wide_floats
from kilogram.solvers.least_squares.leave_one_out import DualPath, Press, dual_path
from kilogram.solvers.least_squares.ridge_path import restore_columns, weighted_only
from kilogram.solvers.linear.ridged_gram import scaled_gram


class ScoredKernel(NamedTuple):
    """One kernel with its path and the choice among its penalties."""

    kernel: Kernel
    path: DualPath
    choice: PathChoice


def kernel_path(
    kernel: Kernel, rows: RegressionData, alphas: list[float], fit_intercept: bool
) -> tuple[DualPath, Press]:
    """All penalties for one kernel, in float64; rows of weight zero are predicted, not fitted."""
    X, Y, w = (None if part is None else wide_floats(part) for part in rows[:3])
    everyone = rows = RegressionData(X, Y, w, rows.flat)
    if rows.w is not None:
        rows = weighted_only(rows)
        X = _rows_of_positive_weight(kernel, rows.X, everyone.w)
    X, mean = centred_for(kernel, X, rows.w, fit_intercept)
    s = None if rows.w is None else namespace(rows.w).sqrt(rows.w)
    K = scaled_gram(kernel, X, s)
    found = dual_path(K, rows.Y, alphas, w=rows.w, fit_intercept=fit_intercept)
    xp, (n, t, k) = namespace(rows.Y), found.a.shape
    if mean is not None:  # the offset for rows as they came
        along = mean @ (X.T @ xp.reshape(found.a, (n, t * k)))
        found = replace(found, b=found.b - xp.reshape(along, (t, k)))
    if everyone.w is None:
        return found, Press.of(found.residuals)
    nothing = xp.zeros((everyone.Y.shape[0], t, k), dtype=found.a.dtype, device=found.a.device)
    a = restore_columns(found.a, everyone.w, nothing)
    f = kernel.matmul(everyone.X, everyone.X, xp.reshape(a, (-1, t * k)))
    f = xp.reshape(f, (-1, t, k)) + found.b
    e = restore_columns(found.residuals, everyone.w, everyone.Y[:, :, None] - f)
    return DualPath(a, found.b, e), Press.of(e, everyone.w)


def _rows_of_positive_weight(kernel: Kernel, X: Any, w: Any) -> Any:
    """Rows of weight > 0; of a precomputed matrix also the columns."""
    if not isinstance(kernel, Precomputed):
        return X
    xp = namespace(w)
    (on,) = xp.nonzero(w > 0)
    return X[:, on] if is_sparse(X) else xp.take(X, on, axis=1)
