"""Where NMF begins: at random, or from the leading singular vectors made non-negative.

NNDSVD (Boutsidis and Gallopoulos 2008): of each pair u, v of singular vectors either the positive
or the negative parts are kept, whichever pair is larger; "a" fills zeros with sqrt(mean of X / k),
"ar" with small random numbers. (The paper fills with the mean itself, which is in the units of X
where W and H share them: of numbers in the thousands it would bury the start.) Random rows of X
averaged ("acol") give components that look like data. The singular vectors come from X'X where it
is small, from block Lanczos where X is sparse, else from subspace iteration, one reading of X
each time.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import eigh, qr
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import map_rows, reduce_rows, row_count, take_rows
from kilogram.arrays.threads import one_team
from kilogram.native.factorization import pad_rows, sparse_times
from kilogram.solvers import eigen

#: Residuals of singular vectors, relative to their values, that a start may have: values are then
#: right to six digits.
START_TOLERANCE = 1e-3
SMALL = 400  # columns for which X'X is decomposed as it is: some 20 ms
ROUNDS = 4  # of subspace iteration: the start needs two digits
STEPS = 8  # of block Lanczos at most: a start need not be better
NAMES = ("random", "nndsvd", "nndsvda", "nndsvdar", "acol")


class Start(NamedTuple):
    """Loadings W (n, k) and components H (k, d) on the host."""

    W: np.ndarray
    H: np.ndarray


def _filled(block: Any) -> Any:
    """NaN as 0; None of the starts needs more."""
    if is_sparse(block):
        return block
    xp = namespace(block)
    if not bool(xp.isnan(xp.sum(block))):  # a sum is cheaper than a copy
        return block
    return xp.where(xp.isnan(block), xp.zeros_like(block), block)


def _normal_product(block: Any, s: Any, Q: np.ndarray | None) -> np.ndarray:
    """X'SX Q, or X'SX."""
    block = _filled(block)
    if is_sparse(block):
        right = block if Q is None else block @ Q.astype(block.dtype)
        scaled = right if s is None else _times(right, s)
        found = block.T @ scaled
        return np.asarray(found.toarray() if is_sparse(found) else found, dtype=np.float64)
    right = block if Q is None else block @ like(Q, block)
    right = right if s is None else right * like(s, block)[:, None]
    return np.asarray(to_numpy(block.T @ right), dtype=np.float64)


def _times(A: Any, s: Any) -> Any:
    return A.multiply(np.asarray(s)[:, None]).tocsr() if is_sparse(A) else A * s[:, None]


def _scores(block: Any, V: np.ndarray) -> np.ndarray:
    block = _filled(block)
    if is_sparse(block):
        return np.asarray(_product(block.tocsr(), V), dtype=np.float64)
    return np.asarray(to_numpy(block @ like(V, block)), dtype=np.float64)


def _product(X: Any, V: np.ndarray) -> np.ndarray:
    """X V of a CSR matrix, by all threads."""
    F = pad_rows(V.astype(X.dtype, copy=False))
    return sparse_times(X, F, np.empty((X.shape[0], F.shape[1]), X.dtype))[:, : V.shape[1]]


def leading(X: Any, s: Any, k: int, d: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Weighted singular triplets U (n, k), sigma (k,), V (d, k): x_i ~ sum_j u_ij sigma_j v_j."""
    if d <= SMALL:
        values, V = eigh(reduce_rows(partial(_normal_product, Q=None), X, s))
    elif is_sparse(X) and k < min(X.shape) - 1:
        values, V = _lanczos(X, s, k, rng)
    else:
        Q = qr(rng.standard_normal((d, min(d, k + 10))))[0]
        for _ in range(ROUNDS):
            Z = reduce_rows(partial(_normal_product, Q=Q), X, s)
            inner, Q_old = Q.T @ Z, Q
            Q = qr(Z)[0]
        values, R = eigh((inner + inner.T) / 2)
        V = Q_old @ R
    values, V = np.maximum(values[:k], 0.0), V[:, :k]
    sigma = np.sqrt(values)
    U = _gathered(map_rows(partial(_scores, V=V), X)) / np.where(sigma > 0, sigma, 1.0)
    return U, sigma, V


def _lanczos(X: Any, s: Any, k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Leading values of X'SX and their vectors, by products with the smaller of X'SX and XSX'.

    In float32, which holds more digits than a start has; the largest entry is 1 there.
    """
    root = X if s is None else _times(X, np.sqrt(np.asarray(to_numpy(s), dtype=np.float64)))
    top = float(root.max()) or 1.0
    root = (root / top).astype(np.float32).tocsr()
    wide = X.shape[0] <= X.shape[1]
    products = SparseGram(root if wide else root.T.tocsr())
    ref = np.empty(0, np.float32)
    with one_team(k):
        found: Any = eigen.leading(
            products, k, tol=START_TOLERANCE, max_iter=STEPS, rng=rng, ref=ref, block=k + 4
        )
    here = found.value[1]
    there = _product(products.Rt, here).astype(np.float64)  # the vectors of the other side
    sigma = np.sqrt(np.einsum("ij,ij->j", there, there))
    V = there / np.where(sigma > 0, sigma, 1.0) if wide else here.astype(np.float64)
    order = np.argsort(-sigma)
    return (top * sigma[order]) ** 2, V[:, order]


class SparseGram:
    """R R' of a CSR matrix R (n, d), known by two passes over its entries."""

    def __init__(self, R: Any):
        self.R, self.Rt = R, R.T.tocsr()
        self.shape = (R.shape[0], R.shape[0])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return _product(self.R, _product(self.Rt, V))


def _gathered(found: Any) -> np.ndarray:
    return np.asarray(found.compute() if hasattr(found, "compute") else found)


def nndsvd(U: np.ndarray, sigma: np.ndarray, V: np.ndarray, s: Any) -> Start:
    """Non-negative parts of singular triplets; the sizes are split evenly between W and H."""
    weights = np.ones(len(U)) if s is None else np.asarray(to_numpy(s), dtype=np.float64)
    W, H = np.zeros_like(U), np.zeros((len(sigma), len(V)))
    for j, size in enumerate(sigma):
        u, v = U[:, j], V[:, j]
        if j == 0:
            W[:, 0], H[0] = np.sqrt(size) * np.abs(u), np.sqrt(size) * np.abs(v)
            continue
        sides = []
        for sign in (1.0, -1.0):
            a, b = np.maximum(sign * u, 0.0), np.maximum(sign * v, 0.0)
            na, nb = np.sqrt(np.sum(weights * a**2)), np.sqrt(np.sum(b**2))
            sides.append((na * nb, a / (na or 1.0), b / (nb or 1.0)))
        m, a, b = max(sides, key=lambda side: side[0])
        W[:, j], H[j] = np.sqrt(size * m) * a, np.sqrt(size * m) * b
    return Start(W, H)


def start(
    init: str, X: Any, s: Any, k: int, d: int, mean: float, rng: np.random.Generator
) -> Start:
    """The start named; `mean` is that of all entries of X."""
    n = row_count(X)
    size = np.sqrt(max(mean, 0.0) / k)
    if init in ("random", "acol"):
        H = size * np.abs(rng.standard_normal((k, d)))
        W = np.abs(rng.standard_normal((n, k)))
        if init == "acol":  # the parts have the units of X already
            return Start(W / k, _averages(X, n, k, rng))
        return Start(size * W, H)
    found = nndsvd(*leading(X, s, k, d, rng), s)
    least = 1e-6 * size
    W, H = (np.where(least > part, 0.0, part) for part in found)
    if init == "nndsvda":
        W, H = np.where(W == 0, size, W), np.where(H == 0, size, H)
    elif init == "nndsvdar":
        W = np.where(W == 0, np.abs(size * rng.standard_normal(W.shape) / 100), W)
        H = np.where(H == 0, np.abs(size * rng.standard_normal(H.shape) / 100), H)
    return Start(W, H)


def _averages(X: Any, n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Components that are means of a few rows drawn at random."""
    few = min(n, 20)
    found = []
    for _ in range(k):
        rows = take_rows(X, np.sort(rng.choice(n, few, replace=False)))
        rows = rows.toarray() if is_sparse(rows) else to_numpy(_filled(rows))
        found.append(rows.mean(axis=0))
    return np.asarray(found, dtype=np.float64)
