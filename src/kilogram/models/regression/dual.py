"""Kernel ridge in the n coordinates of the rows, with or without an offset; on fewer centres.

With s_i = sqrt(w_i), S = diag(s) and B = S K S + alpha I, the objective's minimum is at a = S c:

    without offset   B c = S y
    with offset b    B c = S (y - b 1),  s'c = 0        (b is not penalised, so sum_i a_i = 0)

so with B u = S y and B v = s:  b = s'u / s'v,  c = u - b v. One more column in the same solve, and
K need not be centred: sum_i a_i = 0 makes f blind to a common shift of the features, which is what
centring would do.

On centres z_j the unknowns are m coefficients c of k(x, z_j); falkon.py has the iteration. The same
minimum from moments, one pass over rows in any container: with L L' = K_mm, the features
phi(x) = L^-1 k(z, x) make it ridge regression, and c = L'^-1 W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite, solve_triangular
from kilogram.arrays.namespace import is_sparse, like, namespace
from kilogram.arrays.rows import reduce_rows
from kilogram.kernels import Kernel, Linear
from kilogram.models.regression import primal
from kilogram.models.regression.primal import Normal
from kilogram.models.regression.targets import Rows
from kilogram.solvers.linear.falkon import (
    Columns,
    StoredColumns,
    StreamedColumns,
    falkon,
)
from kilogram.solvers.linear.nystroem import jittered_factor
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

BLOCK_ENTRIES = 2**22  # entries of K_nm held at once when its moments are summed

Solve = Callable[[Any, Sequence[float]], Solution]


def bordered(solve: Solve, Y: Any, alpha: Sequence[float], s: Any, fit_intercept: bool) -> Solution:
    """Value (a (n, t), b (t,)) from solve(columns, alphas), which solves B Z = columns."""
    xp = namespace(Y)
    if not fit_intercept:
        found = solve(Y if s is None else s[:, None] * Y, alpha)
        a = found.value if s is None else s[:, None] * found.value
        return replace(found, value=(a, xp.zeros_like(Y[0, :])))
    one = xp.ones_like(Y[:, 0]) if s is None else s
    weights = one * one / xp.sum(one * one)
    middle = weights @ Y  # solved near their mean: a large offset would cost digits
    B = one[:, None] * (Y - middle)
    t, same = Y.shape[1], len(set(alpha)) == 1
    borders = one[:, None] if same else xp.stack([one] * t, axis=1)
    found = solve(xp.concat([B, borders], axis=1), [*alpha, *(alpha[:1] if same else alpha)])
    U, V = found.value[:, :t], found.value[:, t:]
    along = xp.sum(one[:, None] * V, axis=0)
    b = xp.sum(one[:, None] * U, axis=0) / xp.where(along != 0, along, xp.ones_like(along))
    a = one[:, None] * (U - b * V)
    return replace(found, value=(a, middle + b))


def centred_for(kernel: Kernel, X: Any, w: Any, fit_intercept: bool) -> tuple[Any, Any]:
    """X about its mean, and the mean, where the kernel sees only that; (X, None) elsewhere.

    For the linear kernel with an offset, a mean far from 0 would swamp K with a constant.
    """
    if not (fit_intercept and isinstance(kernel, Linear)) or is_sparse(X):
        return X, None
    xp = namespace(X)
    mean = xp.mean(X, axis=0) if w is None else (w @ X) / xp.sum(w)
    return X - mean, mean


def moved_back(found: Solution, X: Any, mean: Any) -> Solution:
    """The offset for rows as they came, from a solution on X - mean under the linear kernel."""
    if mean is None:
        return found
    a, b = found.value
    return replace(found, value=(a, b - mean @ (namespace(X).matrix_transpose(X) @ a)))


def converged_objective(rows: Rows, alpha: Sequence[float], found: Solution) -> float:
    """sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2 at the minimum: alpha a'(y - b) for each target."""
    xp = namespace(rows.Y)
    a, b = found.value
    parts = xp.sum(a * (rows.Y - b), axis=0)
    return sum(p * float(parts[j]) for j, p in enumerate(alpha))


def columns_of(kernel: Kernel, X: Any, Z: Any, w: Any, *, stored: bool, single: bool) -> Columns:
    """K_nm for the iteration on centres; `single` works in float32, about the rows' mean."""
    if single and not is_sparse(X):
        xp = namespace(X)
        if kernel.stationary:  # an offset would take the digits that float32 has
            mean = xp.mean(Z, axis=0)
            X, Z = X - mean, Z - mean
        X, Z = xp.astype(X, xp.float32, copy=False), xp.astype(Z, xp.float32, copy=False)
        w = None if w is None else xp.astype(w, xp.float32)
    if stored:
        return StoredColumns(kernel(X, Z), w)
    return StreamedColumns(kernel, X, Z, w)


def on_centres(
    columns: Columns,
    K_mm: Any,
    rows: Rows,
    alpha: Sequence[float],
    *,
    fit_intercept: bool,
    **limits: Any,
) -> Solution:
    """Value (c (m, t), b (t,)): one Falkon iteration for every different alpha."""
    xp = namespace(rows.Y)
    c: list[Any] = [None] * len(alpha)
    b: list[Any] = [None] * len(alpha)
    total = Solution(None, 0, 0.0)
    for a in sorted(set(alpha)):
        mine = [j for j, other in enumerate(alpha) if other == a]
        Y = xp.stack([rows.Y[:, j] for j in mine], axis=1)
        found = falkon(columns, K_mm, Y, rows.w, a, fit_intercept=fit_intercept, **limits)
        for k, j in enumerate(mine):
            c[j], b[j] = found.value[0][:, k], found.value[1][k]
        total = Solution(
            None,
            max(total.n_iter, found.n_iter),
            float(total.objective or 0.0) + float(found.objective or 0.0),
            total.converged and found.converged,
            total.message or found.message,
        )
    return replace(total, value=(xp.stack(c, axis=1), xp.stack(b)))


def centre_moments(kernel: Kernel, Z: Any, rows: Rows) -> tuple[JointMoments, bool]:
    """JointMoments of k(x, Z) and y, one pass over the rows of any container."""
    seen = [rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return JointMoments.of(kernel(X, like(Z, X)), Y, w)

    step = max(256, BLOCK_ENTRIES // Z.shape[0])
    moments = reduce_rows(statistic, rows.X, rows.Y, rows.w, block_rows=step)
    return moments, bool(seen[0])


def from_centre_moments(
    moments: JointMoments, K_mm: Any, alpha: Sequence[float], fit_intercept: bool
) -> Solution:
    """Value (c (m, t), b (t,)): ridge regression on L^-1 k(z, x), turned back to centres."""
    normal = Normal.of(moments, fit_intercept)
    L = like(jittered_factor(K_mm), normal.S)
    half = solve_triangular(L, normal.S)
    features = Normal(
        solve_triangular(L, namespace(half).matrix_transpose(half)),
        solve_triangular(L, normal.C),
        normal.squares,
        solve_triangular(L, normal.mean_x),
        normal.mean_y,
    )
    try:
        found = primal.from_moments(features, alpha)
    except NotPositiveDefinite:
        found = primal.from_spectrum(features, alpha)
    W, b = found.value
    return replace(found, value=(solve_triangular(L, W, transposed=True), b))
