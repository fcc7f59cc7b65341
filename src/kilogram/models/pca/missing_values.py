"""PCA of rows with holes: probabilistic PCA by EM (Tipping and Bishop 1999; Ilin and Raiko 2010).

Model        x = m + W z + noise,   z ~ N(0, I_k),   noise ~ N(0, s I_d)

Only the entries that are there (o) count; with u = x - m,

E step       G = s I + W_o'W_o,   E z = G^-1 W_o'u_o,   cov z = s G^-1            per row
M step       column j is regressed on (z, 1) over the rows that have it:
             (w_j, m_j) = (sum E[(z,1)(z,1)'])^-1 sum x_j E(z,1),   s = mean squared residual
Expansion    z is free up to an affine map, so it is brought back to mean 0 and covariance I:
             m += W z_bar,  W <- W chol(cov z).  Plain EM crawls where this steps (Liu et al. 1998).

The log-likelihood of the entries that are there never falls:

    -1/2 sum_rows [ |o| log 2 pi + (|o| - k) log s + log |G| + |u_o - W_o E z|^2 / s + |E z|^2 ]

The last two terms are (|u_o|^2 - u_o'W_o E z) / s, of which little is left where s is small.

All sums are over rows, so one step is one `reduce_rows`. At the end W = V' diag(l - s)^1/2 R gives
axes V and variances l; without holes they are PCA's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.solvers.eigen import eigenpairs
from kilogram.solvers.eigen.leading import generator_of
from kilogram.solvers.linear.cg import Tick, out_of_budget
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments

BLOCK_ENTRIES = 2**21  # of the (rows, k, k) matrices G in memory at once: 16 MiB
LEAST_NOISE = 1e-150  # variance of rows that are all equal: its square is still a number
LARGEST_SCATTER = 4000  # columns up to which the first guess forms their scatter matrix: 128 MB


@dataclass(frozen=True, eq=False)
class FactorModel:
    """Mean m (d,), loadings W (d, k), noise variance s."""

    m: Any
    W: Any
    s: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A model and the total weight of the rows it was made from."""

    model: FactorModel
    weight: float


@dataclass(frozen=True, eq=False)
class MStepSums:
    """What the M step needs of the rows: a value with `+`."""

    weight: float
    seen: float
    z: Any  # (k,)        sum E z
    zz: Any  # (k, k)     sum E zz'
    A: Any  # (d, k+1, k+1)  per column: sum over its rows of E (z,1)(z,1)'
    B: Any  # (d, k+1)       per column: sum over its rows of u_j E (z,1)
    squares: Any  # (d,)     per column: sum u_j^2
    likelihood: float

    def __add__(self, o: MStepSums | int) -> MStepSums:
        if o == 0:  # so that sum() works
            return self
        if not isinstance(o, MStepSums):
            return NotImplemented
        return MStepSums(*(getattr(self, f) + getattr(o, f) for f in self.__dataclass_fields__))

    __radd__ = __add__


@dataclass(frozen=True, eq=False)
class FactorPosterior:
    """z of the rows given what is there: mean (n, k), covariance / s (n, k, k), log-likelihood."""

    z: Any
    inverse: Any
    likelihood: Any


def posterior(model: FactorModel, U: Any, there: Any) -> FactorPosterior:
    """The E step for rows U = x - m with zeros in the holes and `there` (n, d) as 0 and 1."""
    W, s = model.W, model.s
    n, k = U.shape[0], W.shape[1]
    pairs = (W[:, :, None] * W[:, None, :]).reshape(W.shape[0], k * k)
    G = (there @ pairs).reshape(n, k, k) + s * np.eye(k)
    h = U @ W
    inverse = np.linalg.inv(G)
    z = np.linalg.solve(G, h[:, :, None])[:, :, 0]
    count, left = there.sum(axis=1), U - there * (z @ W.T)
    misfit = np.einsum("nd,nd->n", left, left) / s + np.einsum("ni,ni->n", z, z)
    logdet = np.linalg.slogdet(G)[1]
    constant = count * math.log(2 * math.pi) + (count - k) * math.log(s)
    return FactorPosterior(z, inverse, -0.5 * (constant + logdet + misfit))


def holes(X: Any) -> tuple[Any, Any]:
    """Rows in float64 with zeros in the holes, and where they are there, as 0 and 1."""
    X = np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype=np.float64)
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity; only NaN marks a missing value.")
    there = ~np.isnan(X)
    return np.where(there, X, 0.0), there.astype(np.float64)


def sums(model: FactorModel, X: Any, w: Any = None) -> MStepSums:
    """The E step of one block of rows, summed for the M step."""
    n, k = X.shape[0], model.W.shape[1]
    step = max(1, BLOCK_ENTRIES // max(1, k * k))
    parts = [
        _sums(model, X[i : min(i + step, n), ...], None if w is None else w[i : min(i + step, n)])
        for i in range(0, n, step)
    ]
    return sum(parts[1:], parts[0])


def _sums(model: FactorModel, X: Any, w: Any) -> MStepSums:
    filled, there = holes(X)
    U = (filled - model.m) * there
    found = posterior(model, U, there)
    n, k = found.z.shape
    w = np.ones(n) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
    z1 = np.concatenate([found.z, np.ones((n, 1))], axis=1)
    second = z1[:, :, None] * z1[:, None, :]
    second[:, :k, :k] += model.s * found.inverse
    weighted = w[:, None] * there
    A = (weighted.T @ second.reshape(n, -1)).reshape(-1, k + 1, k + 1)
    return MStepSums(
        float(w.sum()),
        float(weighted.sum()),
        w @ found.z,
        np.einsum("n,nij->ij", w, second[:, :k, :k]),
        A,
        (weighted * U).T @ z1,
        np.einsum("nd,nd->d", weighted * U, U),
        float(w @ found.likelihood),
    )


def update_model(model: FactorModel, found: MStepSums, floor: float) -> FactorModel:
    """The M step, then the expansion."""
    k = model.W.shape[1]
    ridge = 1e-12 * np.einsum("dii->d", found.A) + np.finfo(np.float64).tiny
    A = found.A + ridge[:, None, None] * np.eye(k + 1)
    solved = np.linalg.solve(A, found.B[:, :, None])[:, :, 0]
    W, shift = solved[:, :k], solved[:, k]
    residual = found.squares - np.einsum("dk,dk->d", found.B, solved)
    s = max(float(residual.sum()) / found.seen, floor)
    z = found.z / found.weight
    spread = found.zz / found.weight - np.outer(z, z)
    return FactorModel(model.m + shift + W @ z, W @ np.linalg.cholesky(spread), s)


def fit_missing(
    X: Any,
    w: Any,
    start: FactorModel,
    *,
    tol: float,
    max_iter: int,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """EM until the mean log-likelihood of an entry rises by less than tol in a step."""
    model, before, step, why = start, -math.inf, 0, ""
    floor = max(1e-14 * (start.s + float((start.W**2).sum()) / len(start.m)), LEAST_NOISE)
    while not why:
        current = model
        found = reduce_rows(lambda block, v=None: sums(current, block, v), X, w)  # noqa: B023 - called before `current` changes
        mean = found.likelihood / max(found.seen, 1.0)
        if mean - before < tol:
            return Solution(Fit(model, found.weight), step, found.likelihood)
        before = mean
        model = update_model(model, found, floor)
        step += 1
        why = out_of_budget(step, max_iter, deadline)
        if not why and callback is not None and callback(step, found.likelihood):
            why = "it was asked to stop."
    fit, message = Fit(model, found.weight), f"{why} The likelihood still rises."
    return Solution(fit, step, found.likelihood, False, message)


def first_guess(X: Any, w: Any, k: int, rng: Any) -> FactorModel:
    """Principal axes of the rows with their holes filled by the means of the columns."""
    count, total = reduce_rows(_counts_and_sums, X, w)
    if not (count > 0).all():
        empty = np.flatnonzero(count == 0)[:5].tolist()
        raise ValueError(f"columns {empty} of X have no value at all: drop them, or give some.")
    m, d = total / count, len(count)
    if d > LARGEST_SCATTER:
        return FactorModel(m, generator_of(rng).standard_normal((d, k)), 1.0)

    def moments(block: Any, v: Any = None) -> Moments:
        filled, there = holes(block)
        return Moments.of(np.where(there > 0, filled, m), v)

    C = reduce_rows(moments, X, w).covariance()
    values, V = eigenpairs(C, k, rng=rng).value
    tiny = max(1e-12 * float(np.trace(C)), LEAST_NOISE)
    s = max((float(np.trace(C)) - float(values.sum())) / (d - k), tiny)
    return FactorModel(m, V * np.sqrt(np.maximum(values - s, tiny)), s)


def _counts_and_sums(X: Any, w: Any = None) -> Any:
    """Per column, the weight and the sum of its values, (2, d)."""
    filled, there = holes(X)
    v = np.ones(len(filled)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
    return np.stack([v @ there, v @ filled])


def axes(model: FactorModel) -> tuple[Any, Any]:
    """Variances (k,), largest first, and unit axes in rows (k, d) of W W' + s I."""
    values, R = eigh(model.W.T @ model.W)
    values = np.maximum(values, 0.0)
    V = model.W @ R / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return values + model.s, V.T


def filled_in(model: FactorModel, X: Any) -> Any:
    """Rows with their holes filled by what is expected given the rest of the row."""
    if is_sparse(X) and not np.isnan(X.data).any():
        return X
    filled, there = holes(X)
    if there.all():
        return X
    z = posterior(model, (filled - model.m) * there, there).z
    found = np.where(there > 0, filled, model.m + z @ model.W.T)
    return found.astype(X.dtype) if is_sparse(X) else like(found, X)


def likelihood_of_rest(model: FactorModel, X: Any) -> Any:
    """The log-likelihood of what is there of each row."""
    filled, there = holes(X)
    found = posterior(model, (filled - model.m) * there, there).likelihood
    return found if is_sparse(X) else like(found, X)
