"""What locally linear embedding asks of the neighbours of each row, as one sparse matrix B.

    M = B'B,    B 1 = 0,    the coordinates Z minimise |B Z|^2 over Z'Z = I

standard   one row of B for each row x_i:  z_i - sum_j w_ij z_j
modified   several independent sets of weights for each x_i, where the neighbours leave several
hessian    second derivatives of Z in the plane that fits the neighbours best: all are to vanish
ltsa       what no affine function of the coordinates in that plane explains of Z

Every function takes the rows and the neighbours (n, k) of each, and works on batches of them.
References: Roweis and Saul 2000; Zhang and Wang 2007; Donoho and Grimes 2003; Zhang and Zha 2004.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_sparse


def barycentric(X: Any, new: Any, indices: np.ndarray, reg: float) -> np.ndarray:
    """Weights (m, k), each row with sum 1, that mix rows X[indices[i]] to be near new[i]."""
    m, k = indices.shape
    W = np.empty((m, k))
    for some in _batches(m, k * max(X.shape[1], 1)):
        Z = _differences(X, new[some], indices[some])
        far = np.abs(Z).max(axis=(1, 2), keepdims=True, initial=0.0)
        Z = np.ldexp(Z, -np.frexp(far)[1])  # the weights know no unit, and squares stay in range
        C = Z @ Z.swapaxes(1, 2)
        trace = np.trace(C, axis1=1, axis2=2)
        ridge = reg * np.where(trace > 0, trace, 1.0)
        C[:, np.arange(k), np.arange(k)] += ridge[:, None]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0] if reg > 0 else _shortest(C)
        W[some] = w / w.sum(axis=1, keepdims=True)
    return W


def standard(X: Any, indices: np.ndarray, reg: float) -> scipy.sparse.csr_array:
    """I - W with the weights of `barycentric`."""
    W = barycentric(X, X, indices, reg)
    own = np.ones((len(W), 1))
    return _stacked(np.hstack([own, -W])[:, None], indices, itself=True)


def modified_weights(
    X: Any, indices: np.ndarray, n_components: int, tol: float
) -> scipy.sparse.csr_array:
    """Several sets of weights for each row, one for each direction that its neighbours leave free.

    How many directions are free is read from the spectra of all neighbourhoods: the trailing ones
    whose part of the variance is below the median part beyond `n_components` dimensions.
    """
    n, k = indices.shape
    vectors, values = np.empty((n, k, k)), np.zeros((n, k))
    for some in _batches(n, k * max(X.shape[1], k)):
        U, s, _ = np.linalg.svd(_differences(X, X[some], indices[some]), full_matrices=True)
        vectors[some] = U
        values[some, : s.shape[1]] = s**2
    total = values.sum(axis=1, keepdims=True)
    values /= np.where(total > 0, total, 1.0)
    leading = np.cumsum(values, axis=1)
    beyond = 1.0 / np.maximum(leading, np.finfo(float).tiny) - 1.0  # left over what is explained
    typical = np.median(beyond[:, n_components - 1])
    known = min(X.shape[1], k)  # the other k - known directions are free everywhere
    free = np.maximum((beyond[:, : known - 1] < typical).sum(axis=1) + k - known, 1)
    regularised = 1e-3 * np.where(total > 0, 1.0, 0.0) + values
    along = vectors.sum(axis=1)  # V'1
    w = np.einsum("nij,nj->ni", vectors, along / np.where(regularised > 0, regularised, 1.0))
    w /= w.sum(axis=1, keepdims=True)
    parts = []
    for s in np.unique(free):
        rows = np.flatnonzero(free == s)
        parts.append((rows, _reflected(vectors[rows, :, k - s :], w[rows], tol)))
    return _of_parts(parts, indices)


def _reflected(V: np.ndarray, w: np.ndarray, tol: float) -> np.ndarray:
    """Weights (m, s, k + 1) beside the row itself, from bases V (m, k, s) of the free directions.

    A Householder reflection gives all columns of V the same sum alpha; (1 - alpha) w fills it to 1.
    """
    s = V.shape[2]
    sums = V.sum(axis=1)
    alpha = np.linalg.norm(sums, axis=1) / np.sqrt(s)
    h = alpha[:, None] - sums
    size = np.linalg.norm(h, axis=1, keepdims=True)
    h = np.where(size > tol, h / np.where(size > 0, size, 1.0), 0.0)
    turned = V - 2.0 * np.einsum("mks,ms->mk", V, h)[:, :, None] * h[:, None, :]
    W = turned + ((1.0 - alpha)[:, None] * w)[:, :, None]
    return np.concatenate([np.ones((len(W), s, 1)), -W.swapaxes(1, 2)], axis=2)


def hessian(X: Any, indices: np.ndarray, n_components: int) -> scipy.sparse.csr_array:
    """Estimates of the second derivatives of a function of the rows, d (d + 1) / 2 for each row."""
    d, k = n_components, indices.shape[1]
    a, b = np.triu_indices(d)
    parts = []
    for some, U in _tangents(X, indices, d):
        one = np.ones((len(U), k, 1))
        design = np.concatenate([one, U, U[:, :, a] * U[:, :, b]], axis=2)
        Q, _ = np.linalg.qr(design)
        parts.append((some, Q[:, :, d + 1 :].swapaxes(1, 2)))
    return _of_parts(parts, indices)


def ltsa(X: Any, indices: np.ndarray, n_components: int) -> scipy.sparse.csr_array:
    """The part of a function of the neighbours that is not affine in their tangent coordinates."""
    k = indices.shape[1]
    parts = []
    for some, U in _tangents(X, indices, n_components):
        G = np.concatenate([np.full((len(U), k, 1), k**-0.5), U], axis=2)
        parts.append((some, np.eye(k) - G @ G.swapaxes(1, 2)))
    return _of_parts(parts, indices)


def _tangents(X: Any, indices: np.ndarray, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For batches of rows, orthonormal coordinates (m, k, d) of the neighbours in their plane."""
    n, k = indices.shape
    for some in _batches(n, k * max(X.shape[1], k)):
        Z = _dense(X[indices[some].ravel()]).reshape(-1, k, X.shape[1])
        Z = Z - Z.mean(axis=1, keepdims=True)
        U = np.linalg.svd(Z, full_matrices=Z.shape[2] < d)[0]
        yield np.arange(n)[some], U[:, :, :d]


def _of_parts(
    parts: list[tuple[np.ndarray, np.ndarray]], indices: np.ndarray
) -> scipy.sparse.csr_array:
    """B of all batches: (rows, entries (m, s, k or k + 1)), with k + 1 the row itself first."""
    itself = parts[0][1].shape[2] > indices.shape[1]
    n = len(indices)
    blocks = [_stacked(entries, indices[rows], itself, rows, n) for rows, entries in parts]
    return scipy.sparse.csr_array(scipy.sparse.vstack(blocks))


def _stacked(
    entries: np.ndarray,
    indices: np.ndarray,
    itself: bool,
    rows: np.ndarray | None = None,
    n: int | None = None,
) -> scipy.sparse.csr_array:
    """Rows of B (m s, n) with entries (m, s, k) at the neighbours (m, k) of each row."""
    rows = np.arange(len(indices)) if rows is None else rows
    at = np.hstack([rows[:, None], indices]) if itself else indices
    m, s, k = entries.shape
    columns = np.broadcast_to(at[:, None, :], (m, s, k))
    start = k * np.arange(m * s + 1)
    return scipy.sparse.csr_array(
        (entries.ravel(), columns.ravel(), start), (m * s, n or len(indices))
    )


def _batches(n: int, entries: int) -> Iterator[slice]:
    """Rows some at a time, so that `entries` numbers for each fit into the memory for a batch."""
    step = max(1, BLOCK_ENTRIES // max(entries, 1))
    return (slice(a, a + step) for a in range(0, n, step))


def _differences(X: Any, new: Any, indices: np.ndarray) -> np.ndarray:
    """x_j - z_i (m, k, d) for the neighbours j of the rows z_i."""
    return _dense(X[indices.ravel()]).reshape(*indices.shape, -1) - _dense(new)[:, None]


def _shortest(C: np.ndarray) -> np.ndarray:
    """Of the weights (m, k) that minimise w'C w over sum w = 1, the shortest, up to their sum.

    Where the null space of C has vectors whose sum is not 0 (more neighbours than dimensions,
    copies), these fit exactly, and the shortest is the projection of 1 onto it.
    """
    k = C.shape[1]
    values, V = np.linalg.eigh(C)
    null = values <= k * np.finfo(np.float64).eps * np.maximum(values[:, -1:], 0.0)
    along = V.sum(axis=1)  # V'1
    exact = (np.where(null, along, 0.0) ** 2).sum(axis=1) > 1e-8 * k
    scale = np.where(exact[:, None], null, ~null / np.where(null, 1.0, values))
    return np.einsum("mij,mj->mi", V, scale * along)


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
