"""Scores of a view, their inverse, and how two sets of scores correlate.

    scores    u = W'((x - mean) / std)
    inverse   x ~ mean + std (V^+ L')'u     L = C W the covariances of columns and scores, V = W'C W

V^+ is the minimum-norm inverse: a direction without variance (which a ridge alone can give length
one) carries nothing, and nothing is divided by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from kilogram.arrays.linalg import qr
from kilogram.arrays.namespace import is_array, is_numpy, is_sparse, like, namespace, sum_dtype
from kilogram.arrays.row_streams import as_rows
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.base.constraints import InvalidParameterError, Real
from kilogram.base.validation.blocks import watch_rows
from kilogram.solvers.eigen.canonical import CanonicalPairs


def fix_signs(found: CanonicalPairs) -> CanonicalPairs:
    """The largest loading of each x direction is made positive: a convention, but a steady one."""
    signs = column_signs(found.A)
    return CanonicalPairs(found.A * signs, found.B * signs, found.s)


def column_signs(A: Any) -> Any:
    """+1 or -1 for each column (k,): the sign of its entry of largest size."""
    xp = namespace(A)
    top, bottom = xp.max(A, axis=0), xp.min(A, axis=0)
    return xp.where(top < -bottom, -xp.ones_like(top), xp.ones_like(top))


def deviation(variances: Any) -> Any:
    """Standard deviations (d,), one for columns that do not vary."""
    xp = namespace(variances)
    return xp.where(variances > 0, xp.sqrt(xp.abs(variances)), xp.ones_like(variances))


def varying(variances: Any) -> Any:
    """Which of some scores vary by more than the rounding of the largest variance, (k,)."""
    xp = namespace(variances)
    return variances > _rounding(variances) * xp.max(variances)


def least_norm(V: Any, B: Any) -> Any:
    """V^+ B for a covariance V (k, k)."""
    return namespace(V).linalg.pinv(V, rtol=_rounding(V)) @ B


def _rounding(V: Any) -> float:
    """Of a variance that is the difference of two larger numbers: well above the last digit."""
    return float(namespace(V).finfo(V.dtype).eps) ** 0.75


def penalties(alpha: Any, positive: bool = False) -> tuple[float, float]:
    """The penalties of the two views: one number for both, or a pair (alpha_x, alpha_y)."""
    one = Real(0, closed="neither" if positive else "left")
    if one.accepts(alpha):
        return float(alpha), float(alpha)
    pair = None if isinstance(alpha, (str, bytes, Mapping)) else alpha
    pair = tuple(pair) if isinstance(pair, Iterable) else ()
    if len(pair) != 2 or not all(one.accepts(value) for value in pair):
        raise InvalidParameterError(
            f"alpha must be {one.describe()} or a pair of them, one for each view, got {alpha!r}."
        )
    return float(pair[0]), float(pair[1])


def second_view(estimator: BaseEstimator, y: Any, columns: int) -> Any:
    """Rows of the second view, validated as X is: finite floats, as many columns as in fit."""
    if is_streamed(y):
        y = watch_rows(estimator, as_rows(y)[0], True, named=False)
    elif is_numpy(y) or not is_array(y):
        types = [np.float64, np.float32]
        y = check_array(y, ensure_2d=False, accept_sparse="csr", dtype=types, input_name="y")
    if len(getattr(y, "shape", ())) == 1:
        y = y[:, None]
    if column_count(y) != columns:
        raise ValueError(
            f"y has {column_count(y)} features, but {type(estimator).__name__} was fitted with "
            f"{columns} features in its second view."
        )
    return y


def dense(X: Any) -> Any:
    return X.toarray() if is_sparse(X) else X


def scorer(mean: Any, std: Any, rotations: Any) -> Any:
    """The function of a block of rows that gives its scores."""
    turned = rotations / std[:, None]
    offset = mean @ turned

    def scores(block: Any) -> Any:
        ref = _ref(block)
        return block @ like(turned, ref) - like(offset, ref)

    return scores


def returner(mean: Any, std: Any, loadings: Any, rotations: Any) -> Any:
    """The function of a block of scores that gives the columns regressed on them."""
    back = least_norm(rotations.T @ loadings, loadings.T)

    def columns(block: Any) -> Any:
        return (block @ like(back, block)) * like(std, block) + like(mean, block)

    return columns


def predictor(coef: Any, intercept: Any, flat: bool, wide: bool) -> Any:
    """The function of a block of rows that gives its predictions, one output without its axis.

    `wide`: predictions in float64, also of float32 rows, because the targets were.
    """

    def linear(block: Any) -> Any:
        if wide and "float32" in str(block.dtype):
            if is_sparse(block):
                block = block.astype(np.float64)
            else:
                xp = namespace(block)
                block = xp.astype(block, sum_dtype(block, xp))
        ref = _ref(block)
        out = block @ like(coef, ref).T + like(intercept, ref)
        return out[:, 0] if flat else out

    return linear


def _ref(block: Any) -> Any:
    """What fitted arrays are to be like: the block itself, or NumPy in its type if it is sparse."""
    return np.empty(0, dtype=block.dtype) if is_sparse(block) else block


def correlations(U: Any, V: Any, w: Any = None) -> Any:
    """Correlation of each column of U (n, k) with its partner in V; 0 where one is constant."""
    xp = namespace(U, V)
    U, V = (xp.astype(scores, sum_dtype(scores, xp), copy=False) for scores in (U, V))
    w = xp.ones(U.shape[0], dtype=U.dtype, device=U.device) if w is None else like(w, U)
    w = w / xp.sum(w)
    U, V = U - w @ U, V - w @ V
    spread = (w @ U**2) * (w @ V**2)
    safe = xp.where(spread > 0, spread, xp.ones_like(spread))
    return (w @ (U * V)) / xp.sqrt(safe)


def permutation_p_value(U: np.ndarray, V: np.ndarray, times: int, rng: Any) -> float:
    """Fraction of shuffled pairings that correlate as the true one does, itself counted."""
    true = np.mean(correlations(U, V))
    beaten = sum(np.mean(correlations(U, V[rng.permutation(len(V))])) >= true for _ in range(times))
    return float((1 + beaten) / (1 + times))


def orthonormalised(R: Any) -> Any:
    """Gram-Schmidt of the columns of R, (d, k): the k-th is as close to R's as it can be."""
    Q, triangle = qr(R)
    xp = namespace(Q)
    diagonal = xp.linalg.diagonal(triangle)
    one = xp.ones_like(diagonal)
    return Q * xp.where(diagonal < 0, -one, one)
