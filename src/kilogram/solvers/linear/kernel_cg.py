"""The exact solution of (S K S + alpha I) Z = B where K is too large to be factored.

Conjugate gradients need products with K only, stored or computed tile by tile (operators/gram.py);
a Nystroem preconditioner made of some columns of K brings the number of iterations down to tens.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import like, namespace
from kilogram.operators import Gram, Shifted, scaled
from kilogram.operators.cost import rates
from kilogram.solvers.linear.cg import Tick, cg
from kilogram.solvers.linear.nystroem_preconditioner import NystroemPreconditioner
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
    penalties = like(namespace().asarray(list(alpha)), B)
    M: Any = None
    if min(alpha) > 0:  # else nothing bounds the spectrum from below: a division by zero
        rank = affordable_rank(B.shape[0], deadline) if rank is None else rank
        columns = random_columns(K, scale, rank, rng)
        with suppress(NotPositiveDefinite):  # few columns, all of them of weight zero
            M = NystroemPreconditioner.from_columns(*columns, penalties)
    found = cg(
        Shifted(scaled(K, scale), penalties),
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


def affordable_rank(n: int, deadline: float | None) -> int:
    """`default_rank`, or fewer columns if the preconditioner would take a fifth of the time left.

    It costs about 3 n r^2 multiply-adds (a triangular solve, a Gram matrix, a product).
    """
    most = default_rank(n)
    if deadline is None:
        return most
    left = max(deadline - time.perf_counter(), 0.0)
    return max(1, min(most, int((0.2 * left * rates(8).multiply_adds / (3.0 * n)) ** 0.5)))


def random_columns(K: Gram, scale: Any, rank: int, rng: Any) -> tuple[Any, Any]:
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
