"""Agreement of several views, from their covariances alone.

With views i = 1 ... M, covariances C_ij and whiteners T_i (T_i'(C_i + alpha I)T_i = I),

    MAXVAR   the leading eigenvectors of the off-diagonal blocks S_ij = T_i' C_ij T_j, i != j:
             sum_{i<j} tr(V_i' S_ij V_j) under the one constraint sum_i V_i'V_i = I   (closed form)
    SUMCOR   the same sum with V_i'V_i = I for every view: no closed form; each view in turn takes
             the polar factor of sum_j S_ij V_j, and the sum never falls

Kettenring (1971). Two views: both are CCA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kilogram.arrays.linalg import eigh, svd
from kilogram.arrays.namespace import namespace
from kilogram.solvers.eigen.canonical import whitener

Columns = Sequence[slice]


class Agreement(NamedTuple):
    """W_i (d_i, k) per view, the eigenvalues or pairwise sums (k,), steps, objective, converged."""

    W: list[Any]
    values: Any
    n_iter: int
    objective: float
    converged: bool


def maxvar(C: Any, views: Columns, k: int, alpha: float) -> Agreement:
    """The eigenvectors, then each view scaled to its own constraint W_i'(C_i + alpha I)W_i = I."""
    xp = namespace(C)
    T, S = whiten_views(C, views, alpha)
    values, vectors = eigh(_off_diagonal_blocks(xp, S))
    V = _split_rows(vectors[:, :k], [block.shape[1] for block in T])
    scaled = [_unit_columns(xp, block) for block in V]
    W = [t @ v for t, v in zip(T, scaled, strict=True)]
    return Agreement(W, values[:k], 1, float(xp.sum(values[:k])), True)


def sumcor(
    C: Any,
    views: Columns,
    k: int,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    tick: Callable[[int, float | None], bool] | None = None,
) -> Agreement:
    """Polar factors in turn, started from MAXVAR, until the sum gains less than tol of itself."""
    xp = namespace(C)
    T, S = whiten_views(C, views, alpha)
    _, vectors = eigh(_off_diagonal_blocks(xp, S))
    V = [_polar(block) for block in _split_rows(vectors[:, :k], [t.shape[1] for t in T])]
    total, step, done = _total(xp, S, V), 0, False
    for step in range(1, max_iter + 1):
        for i in range(len(V)):
            V[i] = _polar(sum(S[i][j] @ V[j] for j in range(len(V)) if j != i))
        old, total = total, _total(xp, S, V)
        done = total - old <= tol * max(abs(total), 1.0)
        if done or (tick is not None and tick(step, total)):
            break
    pairs = sum(xp.sum(V[i] * (S[i][j] @ V[j]), axis=0) for i in range(len(V)) for j in range(i))
    return Agreement([t @ v for t, v in zip(T, V, strict=True)], pairs, step, total, done)


def whiten_views(C: Any, views: Columns, alpha: float) -> tuple[list[Any], list[list[Any]]]:
    """Whiteners of the views, and the covariances between them in whitened columns."""
    T = [whitener(C[v, v], alpha) for v in views]
    S = [
        [t.T @ C[v, u] @ s for u, s in zip(views, T, strict=True)]
        for v, t in zip(views, T, strict=True)
    ]
    return T, S


def _off_diagonal_blocks(xp: Any, S: list[list[Any]]) -> Any:
    """The blocks as one matrix, zero on the diagonal blocks: a view's agreement with itself."""
    rows = [
        xp.concat([xp.zeros_like(b) if i == j else b for j, b in enumerate(row)], axis=1)
        for i, row in enumerate(S)
    ]
    joined = xp.concat(rows, axis=0)
    return (joined + joined.T) / 2


def _split_rows(V: Any, sizes: list[int]) -> list[Any]:
    found, at = [], 0
    for size in sizes:
        found.append(V[at : at + size, :])
        at += size
    return found


def _unit_columns(xp: Any, V: Any) -> Any:
    norms = xp.sqrt(xp.sum(V * V, axis=0))
    return V / xp.where(norms > 0, norms, xp.ones_like(norms))


def _polar(V: Any) -> Any:
    """The nearest matrix with orthonormal columns."""
    P, _, Qt = svd(V)
    return P @ Qt


def _total(xp: Any, S: list[list[Any]], V: list[Any]) -> float:
    return sum(float(xp.sum(V[i] * (S[i][j] @ V[j]))) for i in range(len(V)) for j in range(i))
