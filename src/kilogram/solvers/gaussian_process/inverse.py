"""The inverse of a positive definite matrix from its Cholesky factor.

    A = L L',   A^-1 = R' R,   R = L^-1          2 n^3 / 3 flops

Below the order `SAFE` by LAPACK's `potri`, in place, at the speed of matrix products. At large
orders that stands on routines that crash some builds of OpenBLAS with several threads, so there
both steps go by halves and panels, each of them one matrix product over long strips:

    R of [A 0; B D]  =  [A^-1 0; -D^-1 B A^-1  D^-1]
    (A^-1)_r.        =  (R_r.)' R of the rows r and below, over R itself

A gradient does not need all digits of A^-1: `rough_inverse` makes it in float32, twice as fast.
"""

from __future__ import annotations

from typing import Any

from scipy.linalg.lapack import dpotri, dtrtri, spotri

from kilogram.arrays.namespace import namespace

PANEL = 256  # columns of a product: at its full speed, with little memory
LEAF = 1_024  # at least two panels
SAFE = 8_000  # LAPACK crashed with some OpenBLAS builds from twice this order


def invert_triangle(L: Any) -> Any:
    """R = L^-1 in the place of L (n, n), lower, NumPy float64; the upper triangle is not read, and
    not written beyond squares of order `LEAF` on the diagonal."""
    n = L.shape[0]
    if n <= LEAF:
        R, info = dtrtri(L, lower=1)
        if info:
            raise ZeroDivisionError(f"the factor has a zero on its diagonal, in row {info - 1}")
        L[:, :] = namespace(L).tril(R)
        return L
    h = n // 2 // PANEL * PANEL  # whole panels, so that none lies across two squares
    A, B, D = invert_triangle(L[:h, :h]), L[h:, :h], invert_triangle(L[h:, h:])
    for j in range(0, h, PANEL):  # columns of B before j are done with
        stop = min(j + PANEL, h)
        B[:, j:stop] = B[:, j:] @ _lower(A[j:, j:stop])
    for i in reversed(range(0, n - h, PANEL)):  # so are its rows after i
        stop = min(i + PANEL, n - h)
        B[i:stop] = -(_lower(D[i:stop, :stop], i) @ B[:stop])
    return L


def _lower(strip: Any, k: int = 0) -> Any:
    """A strip that meets the diagonal in its column k, with zeros above the diagonal."""
    return namespace(strip).tril(strip, k=k)


def inverse_from_factor(L: Any) -> Any:
    """A^-1 in the lower triangle of L (n, n), C-contiguous float64, where A = L L'."""
    n = L.shape[0]
    if n < SAFE:
        dpotri(L.T, lower=0, overwrite_c=1)  # the same memory, seen as an upper triangle by columns
        return L
    R = invert_triangle(L)
    for r in range(0, n, PANEL):
        stop = min(r + PANEL, n)
        R[r:stop, :stop] = _lower(R[r:, r:stop]).T @ R[r:, :stop]
    return R


def rough_inverse(L: Any) -> Any:
    """A^-1 in the lower triangle of a new float32 matrix, for an order below `SAFE`."""
    R = L.astype("float32")
    spotri(R.T, lower=0, overwrite_c=1)
    return R
