"""Kernel ridge regression: the solvers in n unknowns, on centres, and on features.

With s_i = sqrt(w_i), S = diag(s) and B = S K S + alpha I, the objective is minimal at a = S c:

    without offset   B c = S y
    with offset b    B c = S (y - b 1),  s'c = 0        (b is not penalised, so sum_i a_i = 0)

so with B u = S y and B v = s:  b = s'u / s'v,  c = u - b v. One more column in the same solve, and
K need not be centred: sum_i a_i = 0 makes f invariant to a common shift of the features, as
centring would.

On centres z_j the unknowns are m coefficients c of k(x, z_j); `solvers.linear.falkon` has the
iteration. The same minimum from moments, in one pass over rows in any container: with L L' = K_mm,
the features phi(x) = L^-1 k(z, x) make it ridge regression, and c = L'^-1 W.

`kernel_solver_choice` decides which of them is used; `solve_kernel_ridge` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.linalg import NotPositiveDefinite, solve_triangular
from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import column_count, reduce_rows, row_count, sample_rows
from kilogram.base.regression_data import weighted_objective
from kilogram.kernels import Kernel, Linear
from kilogram.models.features.fourier_map import FourierMap
from kilogram.models.features.fourier_moments import feature_moments
from kilogram.models.ridge.kernel_solver_choice import KernelPlan
from kilogram.operators import Gram
from kilogram.solvers.least_squares import normal_equations as primal
from kilogram.solvers.least_squares.data import RegressionData, check_alpha
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.linear.falkon import KernelColumns, StoredColumns, StreamedColumns, falkon
from kilogram.solvers.linear.kernel_cg import solve_by_cg
from kilogram.solvers.linear.nystroem_preconditioner import jittered_factor
from kilogram.solvers.linear.positive_definite import solve_positive
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SMALL = 2**25  # entries of K_nm up to which it is stored in float64: 256 MiB


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """One kernel ridge regression: kernel, data, penalties, and the limits of the solver."""

    kernel: Kernel
    rows: RegressionData
    alpha: Any
    fit_intercept: bool
    rng: np.random.Generator
    #: None is the solver's own tolerance.
    tol: float | None
    max_iter: int | None
    max_memory: int | str | None
    callback: Tick | None
    #: Time of `time.perf_counter` at which an iterative solver stops.
    deadline: float | None
    #: Raises a ValueError when a sum over the rows is not finite.
    ensure_finite: Callable[[Any], None]

    def limits(self) -> dict[str, Any]:
        """Keyword arguments of an iterative solver."""
        found = {"max_iter": self.max_iter, "callback": self.callback, "deadline": self.deadline}
        return found if self.tol is None else found | {"tol": self.tol}


@dataclass(frozen=True, eq=False)
class KernelFit:
    """f(x) = sum_j a_j k(x, z_j) + b with a (m, t), b (t,); or <phi(x), a> + b on features."""

    centres: Any
    found: Solution
    flat: bool
    solver: str
    features: FourierMap | None = None


def solve_kernel_ridge(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """Solve by the solver of the plan."""
    solvers = {
        "cholesky": by_factor,
        "lean": by_factor,
        "cg": by_conjugate_gradients,
        "falkon": on_centres,
        "nystroem": on_landmarks,
        "fourier": on_fourier_features,
    }
    return solvers[plan.name](p, plan)


def by_factor(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """K + alpha I solved to the last digit: factored, or iterated on if the plan allows."""
    rows, alphas = p.rows, check_alpha(p.alpha, p.rows.Y.shape[1])
    X, mean = centred_for(p.kernel, rows.X, rows.w, p.fit_intercept)
    s = _roots(rows.w)

    def solve(B: Any, penalties: Sequence[float]) -> Solution:
        return solve_positive(
            p.kernel,
            X,
            B,
            penalties,
            scale=s,
            precision="lean" if plan.name == "lean" else "auto",
            iterate=plan.iterate,
            callback=p.callback,
        )

    found = _bordered(solve, rows.Y, alphas, s, p.fit_intercept)
    value = _converged_objective(rows, alphas, found)
    found = replace(_offset_for_rows(found, X, mean), objective=value, n_iter=max(1, found.n_iter))
    return KernelFit(rows.X, found, bool(rows.flat), found.method or "cholesky")


def by_conjugate_gradients(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """The dual equations solved by conjugate gradients, from products with K."""
    rows, alphas = p.rows, check_alpha(p.alpha, p.rows.Y.shape[1])
    X, mean = centred_for(p.kernel, rows.X, rows.w, p.fit_intercept)
    K, s = Gram(p.kernel, X, max_memory=p.max_memory, deadline=p.deadline), _roots(rows.w)

    def solve(B: Any, penalties: Sequence[float]) -> Solution:
        return solve_by_cg(K, B, penalties, scale=s, rng=p.rng, **p.limits())

    found = _bordered(solve, rows.Y, alphas, s, p.fit_intercept)
    if found.converged:
        value = _converged_objective(rows, alphas, found)
    else:
        value = _objective(K, rows, alphas, found)
    found = replace(_offset_for_rows(found, X, mean), objective=value)
    return KernelFit(rows.X, found, bool(rows.flat), "cg")


def _objective(K: Gram, rows: RegressionData, alphas: Sequence[float], found: Solution) -> float:
    """The objective of an early stop, from one more product with K if there was any iteration."""
    a, b = found.value
    xp = namespace(a)
    Ka = K.product(a) if bool(xp.any(a != 0)) else xp.zeros_like(a)
    parts = xp.sum(a * Ka, axis=0)
    norms = [p * float(parts[j]) for j, p in enumerate(alphas)]
    return weighted_objective(rows.Y - Ka - b, rows.w, norms)


def on_centres(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """Falkon on rows drawn without replacement, one iteration for every different alpha."""
    rows, n = p.rows, p.rows.Y.shape[0]
    alphas = check_alpha(p.alpha, rows.Y.shape[1])
    Z = rows.X if plan.centres >= n else sample_rows(rows.X, plan.centres, p.rng)
    single = is_numpy(rows.X) and n * plan.centres > SMALL
    columns = _columns_of(p.kernel, rows.X, Z, rows.w, stored=plan.stored, single=single)
    K_mm, xp = p.kernel(Z), namespace(rows.Y)
    c: list[Any] = [None] * len(alphas)
    b: list[Any] = [None] * len(alphas)
    total = Solution(None, 0, 0.0)
    for alpha in sorted(set(alphas)):
        mine = [j for j, other in enumerate(alphas) if other == alpha]
        Y = xp.stack([rows.Y[:, j] for j in mine], axis=1)
        found = falkon(columns, K_mm, Y, rows.w, alpha, fit_intercept=p.fit_intercept, **p.limits())
        for k, j in enumerate(mine):
            c[j], b[j] = found.value[0][:, k], found.value[1][k]
        total = Solution(
            None,
            max(total.n_iter, found.n_iter),
            float(total.objective or 0.0) + float(found.objective or 0.0),
            total.converged and found.converged,
            total.message or found.message,
        )
    value = (xp.stack(c, axis=1), xp.stack(b))
    return KernelFit(Z, replace(total, value=value), bool(rows.flat), "falkon")


def on_landmarks(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """Ridge on landmarks from the moments of k(x, z): rows in any container, two passes."""
    Z = sample_rows(p.rows.X, min(plan.centres, row_count(p.rows.X)), p.rng)
    moments, flat = _centre_moments(p.kernel, Z, p.rows)
    p.ensure_finite(moments.cross)
    alphas = check_alpha(p.alpha, moments.cross.shape[1])
    host = like(Z, moments.scatter) if not is_sparse(Z) else Z.astype(moments.scatter.dtype)
    found = _from_centre_moments(moments, p.kernel(host), alphas, p.fit_intercept)
    return KernelFit(Z, found, flat, "nystroem")


def on_fourier_features(p: KernelProblem, plan: KernelPlan) -> KernelFit:
    """Ridge regression on random Fourier features, from their moments."""
    phi = FourierMap.draw(p.kernel, column_count(p.rows.X), plan.centres, p.rng)
    seen = [p.rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return feature_moments(phi, X, Y, w)

    moments = reduce_rows(statistic, p.rows.X, p.rows.Y, p.rows.w)
    p.ensure_finite(moments.cross)
    normal = Normal.of(moments, p.fit_intercept)
    alphas = check_alpha(p.alpha, normal.C.shape[1])
    try:
        found = primal.from_moments(normal, alphas)
    except NotPositiveDefinite:
        found = primal.from_spectrum(normal, alphas)
    return KernelFit(None, found, bool(seen[0]), "fourier", phi)


def _roots(w: Any) -> Any:
    return None if w is None else namespace(w).sqrt(w)


def _bordered(
    solve: Callable[[Any, Sequence[float]], Solution],
    Y: Any,
    alpha: Sequence[float],
    s: Any,
    fit_intercept: bool,
) -> Solution:
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
    """X about its mean, and the mean, if f depends on that only; (X, None) otherwise.

    For the linear kernel with an offset, a mean far from 0 would swamp K with a constant.
    """
    if not (fit_intercept and isinstance(kernel, Linear)) or is_sparse(X):
        return X, None
    xp = namespace(X)
    mean = xp.mean(X, axis=0) if w is None else (w @ X) / xp.sum(w)
    return X - mean, mean


def _offset_for_rows(found: Solution, X: Any, mean: Any) -> Solution:
    """The offset for X + mean, from a solution on centred X under the linear kernel."""
    if mean is None:
        return found
    a, b = found.value
    return replace(found, value=(a, b - mean @ (namespace(X).matrix_transpose(X) @ a)))


def _converged_objective(rows: RegressionData, alpha: Sequence[float], found: Solution) -> float:
    """sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2 at the minimum: alpha a'(y - b) for each target."""
    xp = namespace(rows.Y)
    a, b = found.value
    parts = xp.sum(a * (rows.Y - b), axis=0)
    return sum(p * float(parts[j]) for j, p in enumerate(alpha))


def _columns_of(
    kernel: Kernel, X: Any, Z: Any, w: Any, *, stored: bool, single: bool
) -> KernelColumns:
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


def _centre_moments(kernel: Kernel, Z: Any, rows: RegressionData) -> tuple[JointMoments, bool]:
    """JointMoments of k(x, Z) and y, in one pass over the rows of any container."""
    seen = [rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return JointMoments.of(kernel(X, like(Z, X)), Y, w)

    step = max(256, BLOCK_ENTRIES // Z.shape[0])
    moments = reduce_rows(statistic, rows.X, rows.Y, rows.w, block_rows=step)
    return moments, bool(seen[0])


def _from_centre_moments(
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
