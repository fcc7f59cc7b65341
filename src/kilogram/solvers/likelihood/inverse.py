"""The inverse of a positive definite matrix from its Cholesky factor, in place.

    A = L L',   A^-1 = R' R,   R = L^-1

Both steps by blocks of rows, each block one or a few matrix products over long strips:

    R_kc = -R_kk sum_(c <= j < k) L_kj R_jc            down the rows
    (A^-1)_r. = (R_r.)' R of the rows r and below      down the rows, over R itself

2 n^3 / 3 flops. LAPACK's `potri` does the same work and is a little faster, but at large orders it
stands on the routines that crash some builds of OpenBLAS with several threads: it is called below
the order `SAFE` only.
"""

from __future__ import annotations

from typing import Any

from scipy.linalg.lapack import dpotri, dtrtri

from kilogram.arrays.namespace import namespace

BLOCK = 256
SAFE = 8_000


def invert_triangle(L: Any) -> Any:
    """R = L^-1 in the place of L (n, n), lower, NumPy float64; the upper triangle is zero in
    diagonal blocks and elsewhere neither read nor written."""
    xp, n = namespace(L), L.shape[0]
    for k in range(0, n, BLOCK):
        stop = min(k + BLOCK, n)
        R, info = dtrtri(L[k:stop, k:stop], lower=1)
        if info:
            raise ZeroDivisionError(f"the factor has a zero on its diagonal, in row {k + info - 1}")
        R = xp.tril(R)
        below = xp.empty((stop - k, k))
        for c in range(0, k, BLOCK):
            end = c + BLOCK
            below[:, c:end] = L[k:stop, c:k] @ L[c:k, c:end]
        L[k:stop, :k] = -(R @ below)
        L[k:stop, k:stop] = R
    return L


def inverse_from_factor(L: Any) -> Any:
    """A^-1 in the lower triangle of L (n, n), C-contiguous float64, where A = L L'."""
    n = L.shape[0]
    if n < SAFE:
        dpotri(L.T, lower=0, overwrite_c=1)  # the same memory, seen as an upper triangle by columns
        return L
    R = invert_triangle(L)
    for r in range(0, n, BLOCK):
        stop = min(r + BLOCK, n)
        R[r:stop, :stop] = R[r:, r:stop].T @ R[r:, :stop]
    return R
