"""Solvers for the principal axes: all find the leading eigenpairs of the scatter matrix

S = sum_i w_i (x_i - m)(x_i - m)' = A'A,      A = diag(sqrt w) (X - 1 m').

primal      S itself, (d, d), from one pass over the rows       tall; streams, partial_fit
dual        A A', (n, n); A A'u = lambda u gives v = A'u / |A'u|  wide
krylov      products S V only, until the residuals are small    large both ways; sparse
randomized  products S V only, a fixed number of them           on request
svd         A = Q R and the SVD of R: S is never formed, so     on request; ill-conditioned
            small variances keep their digits
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import svd
from kilogram.arrays.namespace import is_sparse, like, namespace, sum_dtype
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.solvers.eigen import eigenpairs, leading, subspace_iteration
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments, Triangle
from kilogram.statistics.centred_columns import (
    CentredTotals,
    Scatter,
    ShortSide,
    SparseRows,
)

# Columns multiplied at once, which find multiple values; measured for k = 2 to 60: 2 and 8 are no
# faster, 1 is up to 2.4 times, but would find those by rounding only.
SPARSE_BLOCK = 4
PANEL_ENTRIES = 2**22  # of A in memory at once while A A' is summed over panels of columns: 32 MiB


class WeightedRows(NamedTuple):
    """Rows in any container, and their weights or None."""

    X: Any
    w: Any


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Mean (d,), the leading eigenvalues of S (m,), their unit vectors in rows (m, d), its trace.

    `rows` is their number, `weight` their total weight, `found` how the solver went.
    """

    solver: str
    mean: Any
    values: Any
    directions: Any
    total: float
    weight: float
    rows: int
    found: Solution


@dataclass(frozen=True)
class SpectrumSearch:
    """How the iterative solvers search: tolerance, effort, random numbers and when to stop."""

    tol: float = 0.0
    n_oversamples: int = 10
    n_iter: int | str = "auto"
    normaliser: Any = "auto"
    rng: Any = None
    callback: Tick | None = None
    deadline: float | None = None


def primal(moments: Moments, k: int | None, search: SpectrumSearch, rows: int) -> Spectrum:
    """Eigenpairs of the d x d scatter matrix."""
    xp = namespace(moments.scatter)
    found = eigenpairs(
        moments.scatter, k, rng=search.rng, callback=search.callback, deadline=search.deadline
    )
    values, vectors = found.value
    total = float(xp.sum(xp.linalg.diagonal(moments.scatter)))
    V = vectors.T
    return Spectrum(
        "primal",
        moments.mean,
        _nonnegative(values),
        V,
        total,
        moments.weight,
        rows,
        ending(found),
    )


def dual(
    rows: WeightedRows, stats: CentredTotals, k: int | None, search: SpectrumSearch
) -> Spectrum:
    """Eigenpairs of the n x n matrix of inner products, mapped back to the columns."""
    X, s = rows.X, roots(rows.w)
    G = _sparse_gram(X, s, stats.mean) if is_sparse(X) else _dense_gram(X, s, stats.mean)
    xp = namespace(G)
    found = eigenpairs(G, k, rng=search.rng, callback=search.callback, deadline=search.deadline)
    values, U = found.value
    sU = U if s is None else xp.astype(s, U.dtype)[:, None] * U
    values = _nonnegative(values)
    V = _unit_rows(_mapped_back(X, sU, stats))
    total = float(xp.sum(xp.linalg.diagonal(G)))
    return Spectrum("dual", stats.mean, values, V, total, stats.weight, stats.rows, ending(found))


def krylov(rows: WeightedRows, stats: CentredTotals, k: int, search: SpectrumSearch) -> Spectrum:
    """Block Lanczos on products with the rows, which are never copied or densified."""
    X = rows.X
    if not is_sparse(X):
        found = leading(
            Scatter(X, rows.w, stats),
            k,
            **_iteration_options(search, _reference(X, stats)),
            tol=search.tol,
        )
        return _from_scatter("krylov", found, stats)
    A = SparseRows(X, roots(rows.w), namespace(X).astype(stats.mean, X.dtype))
    short = ShortSide(A)
    found = leading(
        short, k, **_iteration_options(search, A.mean), tol=search.tol, block=SPARSE_BLOCK
    )
    if not short.of_rows:
        return _from_scatter("krylov", found, stats)
    values = _nonnegative(found.value[0])
    V = _unit_rows(A.transposed_times(found.value[1]).T)
    return Spectrum(
        "krylov", stats.mean, values, V, stats.total, stats.weight, stats.rows, ending(found)
    )


def randomized(
    rows: WeightedRows, stats: CentredTotals, k: int, search: SpectrumSearch
) -> Spectrum:
    """Subspace iteration on products with the rows."""
    side = min(stats.rows, stats.mean.shape[0])
    few = 7 if k < 0.1 * side else 4
    found = subspace_iteration(
        Scatter(rows.X, rows.w, stats),
        k,
        n_oversamples=search.n_oversamples,
        n_iter=few if search.n_iter == "auto" else int(search.n_iter),
        normaliser=search.normaliser,
        **_iteration_options(search, _reference(rows.X, stats)),
    )
    return _from_scatter("randomized", found, stats)


def by_svd(rows: WeightedRows, stats: CentredTotals) -> Spectrum:
    """Singular values and vectors of the centred rows, through the triangle of their QR."""
    m = stats.mean

    def triangle(block: Any, w: Any = None) -> Triangle:
        block = block.toarray() if is_sparse(block) else block
        xp = namespace(block)
        return Triangle.of(xp.astype(block, m.dtype) - m, w)

    R = reduce_rows(triangle, rows.X, rows.w).R
    _, s, Vt = svd(R)
    done = Solution(None)
    return Spectrum("svd", m, s * s, Vt, stats.total, stats.weight, stats.rows, done)


def roots(w: Any) -> Any:
    """sqrt(w), or None for equal weights."""
    return None if w is None else namespace(w).sqrt(w)


def _iteration_options(search: SpectrumSearch, ref: Any) -> dict[str, Any]:
    return {
        "rng": search.rng,
        "callback": search.callback,
        "deadline": search.deadline,
        "ref": ref,
    }


def _reference(X: Any, stats: CentredTotals) -> Any:
    """An array in whose library and float type the vectors of an iterative solver live."""
    return stats.mean if is_streamed(X) or is_sparse(X) else X[:1, :]


def _from_scatter(solver: str, found: Solution, stats: CentredTotals) -> Spectrum:
    values, vectors = found.value
    values = _nonnegative(values)
    return Spectrum(
        solver,
        stats.mean,
        values,
        vectors.T,
        stats.total,
        stats.weight,
        stats.rows,
        ending(found),
    )


def ending(found: Solution) -> Solution:
    """State in which a solver ended, without the pairs themselves."""
    return replace(found, value=None)


def _nonnegative(values: Any) -> Any:
    """Rounding makes zeros of S slightly negative."""
    xp = namespace(values)
    return xp.where(values > 0, values, xp.zeros_like(values))


def _panels(n: int, d: int) -> list[tuple[int, int]]:
    step = max(64, PANEL_ENTRIES // max(n, 1))
    return [(a, min(a + step, d)) for a in range(0, d, step)]


def _centred_panel(X: Any, s: Any, m: Any, a: int, b: int) -> Any:
    """Columns a to b of A, in the float type of X."""
    P = X[:, a:b] - like(m[a:b], X)
    return P if s is None else like(s, X)[:, None] * P


def _dense_gram(X: Any, s: Any, m: Any) -> Any:
    """A A' over panels of columns: no centred copy of X, sums in float64."""
    xp = namespace(X)
    n, d = X.shape
    G = xp.zeros((n, n), dtype=sum_dtype(X, xp), device=X.device)
    for a, b in _panels(n, d):
        P = _centred_panel(X, s, m, a, b)
        G += xp.astype(P @ P.T, G.dtype, copy=False)
    return G


def _sparse_gram(X: Any, s: Any, m: Any) -> Any:
    X = X.astype(m.dtype)
    G = (X @ X.T).toarray()
    along = X @ m
    G += (m @ m) - along[:, None] - along[None, :]
    return G if s is None else s[:, None] * G * s[None, :]


def _mapped_back(X: Any, sU: Any, stats: CentredTotals) -> Any:
    """(A'U)', (k, d), in the float type of U."""
    xp, m = namespace(sU), stats.mean
    if is_sparse(X) or not stats.far:
        V = (X.T @ like(sU, X)).T if not is_sparse(X) else (X.T @ sU).T
        return xp.astype(V, sU.dtype) - xp.sum(sU, axis=0)[:, None] * m[None, :]
    U = like(sU, X)
    parts = [U.T @ _centred_panel(X, None, m, a, b) for a, b in _panels(*X.shape)]
    return xp.astype(xp.concat(parts, axis=1), sU.dtype)


def _unit_rows(V: Any) -> Any:
    """WeightedRows of unit length, zeros staying zeros."""
    xp = namespace(V)
    lengths = xp.linalg.vector_norm(V, axis=1)
    return V / xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]


def with_fixed_axes(found: Spectrum, k: int | None, eps: float) -> Spectrum:
    """The spectrum with k components, those without variance in a fixed place.

    A direction of variance zero is whatever rounding made it. It is replaced by one that depends
    on the others alone: fixed random vectors, made orthogonal to them. So every solver, container
    and order of the rows ends with the same axes.
    """
    xp, values, d = namespace(found.values), found.values, found.mean.shape[0]
    k = values.shape[0] if k is None else k
    if values.shape[0] == k and (k == 0 or float(values[-1]) > _noise(found, eps)):
        return found
    sure = min(k, int(xp.sum(xp.astype(values > _noise(found, eps), xp.int64))))
    V = found.directions[:sure, :]
    extra = like(np.random.default_rng(0).standard_normal((d, k - sure)), V)
    for _ in range(2):  # twice: the first projection of a random vector leaves rounding behind
        extra = xp.linalg.qr(extra - V.T @ (V @ extra))[0]
    zeros = xp.zeros_like(found.mean)[: k - sure]
    return replace(
        found,
        values=xp.concat([values[:sure], xp.astype(zeros, values.dtype)]),
        directions=xp.concat([V, extra.T], axis=0),
    )


def _noise(found: Spectrum, eps: float) -> float:
    """The eigenvalue of S below which there is only rounding; the SVD does not square it."""
    if found.values.shape[0] == 0:
        return 0.0
    side = min(found.rows, found.mean.shape[0])  # the order of the smaller Gram matrix
    if found.solver == "svd":
        return float(found.values[0]) * (eps * max(found.rows, found.mean.shape[0])) ** 2
    # sums of rows are kept in float64, so their number does not matter; the order of S does
    return float(found.values[0]) * 10 * eps * side**0.5
