"""The exact solution of (S K S + alpha I) Z = B where K has no room to be factored.

Conjugate gradients need products with K only, stored or computed tile by tile (operators/gram.py);
a Nystroem preconditioner made of some columns of K brings the number of steps down to tens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kilogram.arrays.namespace import like, namespace
from kilogram.operators import Gram
from kilogram.solvers.linear.cg import Tick, cg
from kilogram.solvers.linear.kernel_forms import Ridged, Weighted
from kilogram.solvers.linear.nystroem import NystroemPreconditioner
from kilogram.solvers.solution import Solution


def solve_by_cg(
    K: Gram,
    B: Any,
    alpha: Sequence[float],
    *,
    scale: Any = None,
    rank: int | None = None,
    rng: Any,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Z (n, t) for B (n, t), one alpha per column, scale (n,) or None."""
    A = Weighted(K, scale)
    penalties = like(namespace().asarray(list(alpha)), B)
    if min(alpha) > 0:
        columns = some_columns(K, scale, rank or default_rank(B.shape[0]), rng)
        M: Any = NystroemPreconditioner.from_columns(*columns, penalties)
    else:
        M = None  # nothing bounds the spectrum from below: the tail would be divided by zero
    found = cg(
        Ridged(A, penalties),
        B,
        preconditioner=M,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        deadline=deadline,
    )
    return Solution(
        found.value, max(1, found.n_iter), found.objective, found.converged, found.message
    )


def default_rank(n: int) -> int:
    """Columns of K in the preconditioner: their Gram matrix costs less than a product with K."""
    return int(min(n, 2000, 10 * n**0.5))


def some_columns(K: Gram, scale: Any, rank: int, rng: Any) -> tuple[Any, Any]:
    """Columns of S K S at random rows, and the matrix between these rows."""
    n = K.shape[0]
    chosen = sorted(rng.choice(n, size=min(rank, n), replace=False).tolist())
    rows = K.rows(chosen)
    xp = namespace(rows)
    at = xp.asarray(chosen, device=rows.device)
    C = xp.matrix_transpose(rows)
    if scale is not None:
        C = scale[:, None] * C * xp.take(scale, at)[None, :]
    return C, xp.take(C, at, axis=0)
