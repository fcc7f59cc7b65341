"""Which solver a PCA uses, and how many components it ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import column_count, is_streamed, reduce_rows
from kilogram.models.pca import missing_values as missing
from kilogram.models.pca import solvers
from kilogram.models.pca.probabilistic import most_probable_count
from kilogram.models.pca.solvers import Spectrum, SpectrumSearch, WeightedRows
from kilogram.solvers.eigen.leading import block_width
from kilogram.statistics import Moments
from kilogram.statistics.centred_columns import CentredTotals, columns_of

# scikit-learn's names of solvers, and ours
NAMES = {
    "full": "svd",
    "covariance_eigh": "primal",
    "arpack": "krylov",
    "randomized": "randomized",
}
SOLVERS = ("auto", *NAMES)
AUTO_TOL = 1e-6  # of Lanczos with svd_solver="auto": variances are then right to 1e-12
EM_TOL = 1e-9  # gain in log-likelihood per value below which EM ends: our choice
EM_ITERATIONS = 1000  # ends slow convergence with a warning: our choice


@dataclass(frozen=True)
class PCAProblem:
    """The rows, the number of components and how they are to be found."""

    rows: WeightedRows
    n_components: Any
    svd_solver: str
    search: SpectrumSearch
    allows_missing: bool
    memory: Callable[[], int]
    ensure_finite: Callable[[Any], None]
    ensure_squares: Callable[[], None]


def components_asked(n_components: Any, n: int, d: int, solver: str) -> int | None:
    """How many leading pairs must be found; None where the whole spectrum decides."""
    side, iterative = min(n, d), solver in ("arpack", "randomized")
    if n_components is None:
        return max(side - 1, 1) if solver == "arpack" else side
    if isinstance(n_components, str):
        if iterative:
            raise ValueError(
                f"n_components={n_components!r} cannot be a string with svd_solver={solver!r}"
            )
        if n < d:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        return None
    least = 1 if iterative else 0
    if not least <= n_components <= side:
        raise ValueError(
            f"n_components={n_components!r} must be between {least} and "
            f"min(n_samples, n_features)={side} with svd_solver={solver!r}"
        )
    return int(n_components) if isinstance(n_components, Integral) else None


def final_count(n_components: Any, spectrum: Spectrum) -> int:
    """The number of components kept, now that the spectrum is known."""
    values = spectrum.values
    if n_components == "mle":
        return most_probable_count(values / (spectrum.weight - 1), spectrum.weight)
    if isinstance(n_components, Real) and not isinstance(n_components, Integral):
        return count_for_fraction(values, spectrum.total, float(n_components))
    count = int(values.shape[0])
    return count if n_components is None else min(int(n_components), count)


def count_for_fraction(values: Any, total: float, fraction: float) -> int:
    """The fewest components that explain more than a fraction of the variance."""
    explained, wanted = 0.0, fraction * total
    for i in range(values.shape[0]):
        explained += float(values[i])
        if explained > wanted:
            return i + 1
    return int(values.shape[0])


def choose(n: int, d: int, k: int | None, *, sparse: bool, memory: Callable[[], int]) -> str:
    """The solver for n rows and d columns of which k components (None: all) are wanted."""
    side = min(n, d)
    few = k is not None and 0 < k <= side // 4
    if few and k is not None and side > _direct_side(k, sparse):
        return "krylov"
    # three matrices of the smaller side; the system is asked for its memory only when they matter
    if k and 24 * side * side > 2**24 and 24 * side * side > memory():
        return "krylov"
    return "primal" if d <= n else "dual"


def _direct_side(k: int, sparse: bool) -> int:
    """The smaller side up to which its square matrix costs less than products with the rows.

    The matrix takes n d side multiply-adds at the full rate of `gemm`. Lanczos takes some 12
    iterations of 2 n d b at half that rate: even at side = 48 b. A sparse X is multiplied in
    proportion to its nonzeros while the square matrix is dense, so there it must be small.
    """
    b = block_width(k, 2**30)
    return 8 * b if sparse else 48 * b


def cost(solver: str, n: int, d: int, k: int) -> tuple[float, float]:
    """Multiply-adds and bytes of a solver."""
    side, b = min(n, d), block_width(k, d)
    if solver in ("primal", "dual"):
        return n * d * side / 2 + 4.5 * side**3, 24.0 * side * side
    if solver == "svd":
        return 2.0 * n * d * side, 8.0 * (n * d + d * d)
    return 24.0 * n * d * b, 8.0 * d * (2 * k + 10 * b)


def effective_row_count(X: Any, w: Any) -> int:
    """The number of rows that weights stand for: a weight of 2 is the row twice."""
    if w is None:
        return int(X.shape[0])
    xp = namespace(w)
    return max(int(xp.sum(xp.astype(w > 0, xp.int64))), round(float(xp.sum(w))))


def decompose(p: PCAProblem) -> Spectrum:
    """The spectrum of the rows by the solver asked for, or by the one that suits their shape."""
    X, w = p.rows
    d, streamed = column_count(X), is_streamed(X)
    n = (
        2**40 if streamed else effective_row_count(X, w)
    )  # the number of streamed rows is known at the end
    k = components_asked(p.n_components, n, d, p.svd_solver)
    solver = NAMES.get(p.svd_solver) or choose(n, d, k, sparse=is_sparse(X), memory=p.memory)
    stats: Any = reduce_rows(Moments.of, X, w) if solver == "primal" else columns_of(X, w)
    sums = stats.scatter if solver == "primal" else stats.mean + stats.total
    if p.allows_missing and _has_nan(sums):
        return with_missing_values(p, n, d)
    p.ensure_finite(sums)
    if streamed:
        n = round(stats.weight) if solver == "primal" else stats.rows
        k = components_asked(p.n_components, n, d, p.svd_solver)
    if solver == "primal":
        found = solvers.primal(stats, k, p.search, n)
    else:
        found = _from_rows(p, solver, replace(stats, rows=n), k)
    return solvers.with_fixed_axes(found, k, eps_of(X))


def spectrum_so_far(asked: Any, svd_solver: str, moments: Moments, n: int, X: Any) -> Spectrum:
    """That of the n rows seen so far, X the last of them, from their moments."""
    d = X.shape[1]
    # there are at most as many components as rows so far; more than columns will never do
    few = isinstance(asked, Integral) and n < int(asked) <= d
    k = n if few else components_asked(asked, n, d, svd_solver)
    return solvers.with_fixed_axes(solvers.primal(moments, k, SpectrumSearch(), n), k, eps_of(X))


def _from_rows(p: PCAProblem, solver: str, stats: CentredTotals, k: int | None) -> Spectrum:
    """The solvers that pass over the rows again, once mean and spread of the columns are known."""
    if solver == "svd":
        return solvers.by_svd(p.rows, stats)
    if solver == "dual":
        return solvers.dual(p.rows, stats, k, p.search)
    solve = solvers.krylov if solver == "krylov" else solvers.randomized
    return solve(p.rows, stats, min(k or 1, *_shape(p.rows.X, stats)), p.search)


def _shape(X: Any, stats: CentredTotals) -> tuple[int, int]:
    d = stats.mean.shape[0]
    return (stats.rows if is_streamed(X) else X.shape[0]), d


def eps_of(X: Any) -> float:
    """The rounding of the rows themselves: float64's, unless they are an array of float32."""
    single = "float32" in str(getattr(X, "dtype", ""))
    return 2.0**-23 if single else 2.0**-52


def with_missing_values(p: PCAProblem, n: int, d: int) -> Spectrum:
    """Probabilistic PCA by EM; the variances get the divisor W - 1 of the other solvers."""
    k = min(n, d) - 1 if p.n_components is None else p.n_components
    if not isinstance(k, Integral) or not 1 <= int(k) < d:
        raise ValueError(
            f"n_components={p.n_components!r}: with missing='em' and missing values in X it must "
            f"be a whole number between 1 and n_features - 1 = {d - 1}."
        )
    X, w = p.rows
    p.ensure_squares()
    start = missing.first_guess(X, w, int(k), p.search.rng)
    found = missing.fit_missing(
        X,
        w,
        start,
        tol=p.search.tol or EM_TOL,
        max_iter=EM_ITERATIONS,
        callback=p.search.callback,
        deadline=p.search.deadline,
    )
    variances, V = missing.axes(found.value.model)
    W, s = found.value.weight, found.value.model.s
    total = float(variances.sum()) + s * (d - int(k))
    rows = round(W) if is_streamed(X) else n
    m = found.value.model.m
    return Spectrum("em", m, W * variances, V, W * total, W, rows, solvers.ending(found))


def _has_nan(statistic: Any) -> bool:
    xp = namespace(statistic)
    return bool(xp.any(xp.isnan(statistic)))
