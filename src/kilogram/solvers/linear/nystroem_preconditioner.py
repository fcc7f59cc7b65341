"""A preconditioner for K + alpha I from the leading part of K, known through few of its columns.

K ~ U diag(l) U' with U (n, r) orthonormal; then

    M R = (tail + alpha) U (diag(l) + alpha)^-1 U'R + (R - U U'R)

inverts K + alpha I on the span of U and leaves the rest alone; `tail` = l_r, the smallest
eigenvalue kept. The condition number of M (K + alpha I) is at most about (tail + alpha) / alpha.

Two ways to such an approximation, both of Nystroem's form (K O)(O'K O)^-1 (K O)':
    from columns   O picks r rows of the data: r n kernel values, and nothing else of K is needed
    from a sketch  O is random: better for its rank, but costs a product of K with r vectors

Reference: Frangella, Tropp and Udell, Randomized Nystroem preconditioning, SIMAX 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, eigh, solve_triangular
from kilogram.arrays.namespace import namespace


@dataclass(frozen=True, eq=False)
class NystroemPreconditioner:
    """The operator M above: U (n, r), l (r,) largest first, alpha a number or one per column."""

    U: Any
    values: Any
    alpha: Any

    @classmethod
    def from_columns(cls, C: Any, core: Any, alpha: Any) -> NystroemPreconditioner:
        """From the columns C = K O (n, r) and their core O'K O (r, r)."""
        xp = namespace(C)
        L = jittered_factor(core)
        B = solve_triangular(L, C.T).T  # K ~ B B'
        squares, V = eigh(B.T @ B)
        kept = squares > squares[0] * B.shape[1] * xp.finfo(B.dtype).eps
        rank = max(1, int(xp.sum(xp.astype(kept, xp.int64))))
        values = squares[:rank]
        return cls((B @ V[:, :rank]) / values**0.5, values, alpha)

    def __matmul__(self, R: Any) -> Any:
        inside = self.U.T @ R
        l = self.values[:, None]
        shrink = (self.values[-1] + self.alpha) / (l + self.alpha)
        return R + self.U @ ((shrink - 1.0) * inside)


def jittered_factor(core: Any) -> Any:
    """Cholesky factor of a kernel matrix, raised on its diagonal just as far as rounding needs."""
    xp = namespace(core)
    core = 0.5 * (core + core.T)
    jitter = float(xp.linalg.trace(core)) * float(xp.finfo(core.dtype).eps)
    eye = xp.eye(core.shape[0], dtype=core.dtype, device=core.device)
    for attempt in range(8):
        try:
            return cholesky(core + jitter * 10.0**attempt * eye)
        except NotPositiveDefinite as broken:
            order = broken.order
    raise NotPositiveDefinite(order)
