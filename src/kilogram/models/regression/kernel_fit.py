"""The roads of kernel_plan.py, walked: each returns the same kind of Fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.arrays.rows import column_count, reduce_rows, row_count, sample_rows
from kilogram.kernels import Kernel
from kilogram.models.features.random_maps import FourierMap
from kilogram.models.features.sink_moments import feature_moments
from kilogram.models.regression import dual, primal
from kilogram.models.regression.targets import Rows, check_alpha, weighted_objective
from kilogram.operators import Gram
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.linear.kernel_cg import solve_by_cg
from kilogram.solvers.linear.positive import Precision, solve_positive
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments

SMALL = 2**25  # entries of K_nm up to which it is held in float64: then the digits are all there


@dataclass(frozen=True, eq=False)
class Fit:
    """f(x) = sum_j a_j k(x, z_j) + b with a (m, t), b (t,); or <phi(x), a> + b on features."""

    centres: Any
    found: Solution
    flat: bool
    features: FourierMap | None = None


@dataclass(frozen=True)
class Limits:
    """When an iteration ends: tolerance, steps, the user's callbacks, the clock."""

    tol: float | None
    max_iter: int | None
    callback: Tick | None
    deadline: float | None

    def __or__(self, more: dict[str, Any]) -> dict[str, Any]:
        """As keyword arguments of a solver, which has a tolerance of its own unless one is set."""
        own = {n: getattr(self, n) for n in ("tol", "max_iter", "callback", "deadline")}
        return {n: v for n, v in own.items() if n != "tol" or v is not None} | more


def roots(w: Any) -> Any:
    return None if w is None else namespace(w).sqrt(w)


def exact(
    kernel: Kernel,
    rows: Rows,
    alpha: Any,
    fit_intercept: bool,
    precision: Precision,
    iterate: bool,
    callback: Tick | None,
) -> Fit:
    """K + alpha I solved to the last digit: factored, or iterated on where that is allowed."""
    alphas = check_alpha(alpha, rows.Y.shape[1])
    X, mean = dual.centred_for(kernel, rows.X, rows.w, fit_intercept)
    s = roots(rows.w)

    def solve(B: Any, penalties: Sequence[float]) -> Solution:
        return solve_positive(
            kernel,
            X,
            B,
            penalties,
            scale=s,
            precision=precision,
            iterate=iterate,
            callback=callback,
        )

    found = dual.bordered(solve, rows.Y, alphas, s, fit_intercept)
    value = dual.converged_objective(rows, alphas, found)
    found = replace(dual.moved_back(found, X, mean), objective=value, n_iter=max(1, found.n_iter))
    return Fit(rows.X, found, bool(rows.flat))


def by_products(
    kernel: Kernel,
    rows: Rows,
    alpha: Any,
    fit_intercept: bool,
    *,
    max_memory: Any,
    rng: Any,
    limits: Limits,
) -> Fit:
    """Conjugate gradients on the same equations."""
    alphas = check_alpha(alpha, rows.Y.shape[1])
    X, mean = dual.centred_for(kernel, rows.X, rows.w, fit_intercept)
    K, s = Gram(kernel, X, max_memory=max_memory), roots(rows.w)

    def solve(B: Any, penalties: Sequence[float]) -> Solution:
        return solve_by_cg(K, B, penalties, **(limits | {"scale": s, "rng": rng}))

    found = dual.bordered(solve, rows.Y, alphas, s, fit_intercept)
    if found.converged:
        value = dual.converged_objective(rows, alphas, found)
    else:  # stopped early: the shortcut does not hold, so one more product with K
        a, b = found.value
        Ka = K @ a
        parts = namespace(a).sum(a * Ka, axis=0)
        norms = [p * float(parts[j]) for j, p in enumerate(alphas)]
        value = weighted_objective(rows.Y - Ka - b, rows.w, norms)
    return Fit(rows.X, replace(dual.moved_back(found, X, mean), objective=value), bool(rows.flat))


def on_centres(
    kernel: Kernel,
    rows: Rows,
    alpha: Any,
    fit_intercept: bool,
    *,
    m: int,
    stored: bool,
    rng: Any,
    limits: Limits,
) -> Fit:
    """Falkon on m rows drawn without replacement."""
    alphas = check_alpha(alpha, rows.Y.shape[1])
    n = rows.Y.shape[0]
    Z = rows.X if m >= n else sample_rows(rows.X, m, rng)
    single = is_numpy(rows.X) and n * m > SMALL
    columns = dual.columns_of(kernel, rows.X, Z, rows.w, stored=stored, single=single)
    found = dual.on_centres(
        columns, kernel(Z), rows, alphas, **(limits | {"fit_intercept": fit_intercept})
    )
    return Fit(Z, found, bool(rows.flat))


def landmarks(
    kernel: Kernel,
    rows: Rows,
    alpha: Any,
    fit_intercept: bool,
    *,
    m: int,
    rng: Any,
    ensure_finite: Callable[[Any], None],
) -> Fit:
    """The same minimum on m landmarks from the moments of k(x, z): any container, two passes."""
    Z = sample_rows(rows.X, min(m, row_count(rows.X)), rng)
    moments, flat = dual.centre_moments(kernel, Z, rows)
    ensure_finite(moments.cross)
    alphas = check_alpha(alpha, moments.cross.shape[1])
    host = like(Z, moments.scatter) if not is_sparse(Z) else Z.astype(moments.scatter.dtype)
    found = dual.from_centre_moments(moments, kernel(host), alphas, fit_intercept)
    return Fit(Z, found, flat)


def fourier(
    kernel: Kernel,
    rows: Rows,
    alpha: Any,
    fit_intercept: bool,
    *,
    m: int,
    rng: Any,
    ensure_finite: Callable[[Any], None],
) -> Fit:
    """Ridge regression on m random Fourier features, from their moments."""
    phi, seen = FourierMap.draw(kernel, column_count(rows.X), m, rng), [rows.flat]

    def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
        if seen[0] is None:
            seen[0] = Y.ndim == 1
        return feature_moments(phi, X, like(Y, X), w)

    moments = reduce_rows(statistic, rows.X, rows.Y, rows.w)
    ensure_finite(moments.cross)
    normal = primal.Normal.of(moments, fit_intercept)
    alphas = check_alpha(alpha, normal.C.shape[1])
    try:
        found = primal.from_moments(normal, alphas)
    except NotPositiveDefinite:
        found = primal.from_spectrum(normal, alphas)
    return Fit(None, found, bool(seen[0]), phi)
