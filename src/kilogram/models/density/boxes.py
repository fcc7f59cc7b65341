"""Sums of Gaussians in few dimensions without running over pairs: polynomials in boxes.

    S(q) = sum_j w_j exp(-|q - y_j|^2 / 2)               everything in units of the bandwidth

Space is cut into boxes of side a = 2. Within a pair of boxes the Gaussian of one column is a
polynomial of degree p - 1 in either point, interpolated at Chebyshev's nodes:

    exp(-(q - y)^2 / 2)  =  T(q)' K_o T(y),      T the Chebyshev polynomials, o the boxes' distance

so S needs the moments sum_j w_j T(y_j) of every box, one small matrix K_o for each distance and
column, and T(q). Boxes farther apart than the Gaussian reaches are left out. The cost is n p^d and
that of the boxes, whatever the number of queries per row.

Error. The p-th derivative of exp(-x^2/2) is at most 1.09 sqrt(p!) (Cramer), so interpolation in a
box errs by e = 2.18 (a/4)^p / sqrt(p!); with Lebesgue's constant L of p nodes

    |S~ - S| / sum w  <=  d e (1 + L) L^(2d-2) + exp(-reach^2 / 2)  <=  EPSILON

p is the smallest that keeps it. This error is absolute: a query whose sum is so small that it would
matter relatively is summed pair by pair instead (`kernel_sums.py`).
References: Greengard and Strain 1991; Fong and Darve 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, lgamma, log, pi

import numpy as np
from numpy.polynomial.chebyshev import chebvander

EPSILON = 1e-14  # error of a sum relative to the weights: near the rounding of direct sums
SIDE = 2.0  # side of a box in bandwidths: fewer boxes against higher orders; see the bound above
REACH = 8.1  # exp(-8.1^2 / 2) = 5.7e-15
MARGIN = 3  # boxes around the rows: beyond them the sums are below 1.5e-8 of the weight
CHUNK = 2**12  # rows whose polynomials are made at once, 32 kB for each order: they stay in cache
MOST_NUMBERS = 2**24  # moments of all boxes together: 128 MiB
#: Rows from which boxes are faster than pairs, by the number of columns; measured in one and two,
#: bandwidths from 0.1 to 0.3 standard deviations: 0.8 of the time at 1 000, 0.4 to 1 at 8 000.
SMALLEST = {1: 1000, 2: 6000, 3: 6000}


def log_bound(p: int, d: int) -> float:
    """log of the bound on the error of interpolation with p nodes in d columns."""
    lebesgue = 1 + 2 / pi * log(p)
    e = log(2.18) + p * log(SIDE / 4) - 0.5 * lgamma(p + 1)
    return log(d) + e + log(1 + lebesgue) + (2 * d - 2) * log(lebesgue)


@cache
def degree(d: int) -> int:
    """The smallest p whose bound is half of EPSILON."""
    return next(p for p in range(4, 64) if log_bound(p, d) <= log(EPSILON / 2))


@cache
def _translations(p: int) -> np.ndarray:
    """K_o for o = 0, 1, .. boxes apart, (offsets, p, p): coefficients of both polynomials."""
    nodes = np.cos(pi * (np.arange(p) + 0.5) / p)
    C = chebvander(nodes, p - 1).T * (2.0 / p)  # values at the nodes to coefficients
    C[0] *= 0.5
    x = 0.5 * SIDE * nodes
    offsets = SIDE * np.arange(ceil(REACH / SIDE) + 2)
    K = np.exp(-0.5 * (offsets[:, None, None] + x[:, None] - x) ** 2)
    return C @ K @ C.T


@dataclass(frozen=True, eq=False)
class Boxes:
    """The sums as polynomials: one array of coefficients for every box of a grid."""

    start: np.ndarray  # (d,) lower corner of the grid
    shape: tuple[int, ...]
    p: int
    coefficients: np.ndarray  # (boxes, p, .., p)

    @classmethod
    def of(cls, Y: np.ndarray, w: np.ndarray) -> Boxes | None:
        """From rows (n, d) in units of the bandwidth; None where pairs are the better way."""
        n, d = Y.shape
        if n < SMALLEST.get(d, n + 1):
            return None
        low, high = Y.min(axis=0), Y.max(axis=0)
        numbers = np.floor((high - low) / SIDE) + 1 + 2 * MARGIN
        p = degree(d)
        if not np.prod(numbers * p) <= min(MOST_NUMBERS, n * n / 64.0):
            return None
        return cls.made(Y, w, low, tuple(int(k) for k in numbers), p)

    @classmethod
    def made(
        cls, Y: np.ndarray, w: np.ndarray, low: np.ndarray, shape: tuple[int, ...], p: int
    ) -> Boxes:
        """The grid of this shape whose rows begin MARGIN boxes from its lower corner."""
        d, start = Y.shape[1], low - MARGIN * SIDE
        M = _moments(Y, w, start, shape, p)
        for axis in range(d):
            M = _translated(M, axis, d, p)
        return cls(start, shape, p, M.reshape(-1, *(p,) * d))

    def sums(self, Q: np.ndarray) -> np.ndarray:
        """S of the queries (m, d); 0 outside the grid."""
        out = np.zeros(len(Q))
        place = np.floor((Q - self.start) / SIDE)
        inside = np.flatnonzero(((place >= 0) & (place < self.shape)).all(axis=1))
        found = np.empty(len(inside))
        for box, rows, T in _by_box(Q[inside], place[inside], self.start, self.shape, self.p):
            found[rows] = _evaluated(self.coefficients[box], T)
        out[inside] = found
        return out


def _by_box(
    X: np.ndarray, place: np.ndarray, start: np.ndarray, shape: tuple[int, ...], p: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(box, its rows, T of their places (d, p, rows)); a box may come in several parts."""
    box = np.asarray(np.ravel_multi_index(place.astype(np.int64).T, shape))
    order = np.argsort(box, kind="stable")
    buffer = np.empty((X.shape[1], p, min(CHUNK, len(X))))
    for first in range(0, len(X), CHUNK):
        rows = order[first : first + CHUNK]
        u = (X[rows] - start - SIDE * place[rows]) * (2.0 / SIDE) - 1.0  # in [-1, 1]
        T = _chebyshev(u.T, buffer[:, :, : len(rows)])
        boxes = box[rows]
        cuts = [0, *(np.flatnonzero(np.diff(boxes)) + 1).tolist(), len(rows)]
        for i, j in pairwise(cuts):
            yield int(boxes[i]), rows[i:j], T[:, :, i:j]


def _chebyshev(u: np.ndarray, T: np.ndarray) -> np.ndarray:
    """T_0, T_1, .. of u (d, m), written into T (d, p, m)."""
    T[:, 0], T[:, 1] = 1.0, u
    twice = 2 * u
    for k in range(2, T.shape[1]):
        np.multiply(T[:, k - 1], twice, out=T[:, k])
        T[:, k] -= T[:, k - 2]
    return T


def _moments(
    Y: np.ndarray, w: np.ndarray, start: np.ndarray, shape: tuple[int, ...], p: int
) -> np.ndarray:
    """sum_j w_j T(y_j) of every box, (*shape, p, .., p)."""
    d = Y.shape[1]
    M = np.zeros((int(np.prod(shape)), *(p,) * d))
    place = np.minimum(np.floor((Y - start) / SIDE), np.array(shape) - 1)
    for box, rows, T in _by_box(Y, place, start, shape, p):
        first = T[0] * w[rows]
        if d == 1:
            M[box] += first.sum(axis=1)
        elif d == 2:
            M[box] += first @ T[1].T
        else:
            pairs = (T[1][:, None] * T[2]).reshape(p * p, -1)
            M[box] += (first @ pairs.T).reshape(p, p, p)
    return M.reshape(*shape, *(p,) * d)


def _translated(M: np.ndarray, axis: int, d: int, p: int) -> np.ndarray:
    """The translations along one column applied to all boxes."""
    K = _translations(p)
    moved = np.moveaxis(M, (axis, d + axis), (0, -1))
    flat = np.ascontiguousarray(moved).reshape(len(moved), -1, p)
    out, part = flat @ K[0].T, np.empty_like(flat)
    for o in range(1, min(len(K), len(flat))):
        # K_o takes a source box to one o boxes further up; downwards it is the transpose
        out[o:] += np.matmul(flat[:-o], K[o].T, out=part[:-o])
        out[:-o] += np.matmul(flat[o:], K[o], out=part[:-o])
    return np.ascontiguousarray(np.moveaxis(out.reshape(moved.shape), (0, -1), (axis, d + axis)))


def _evaluated(A: np.ndarray, T: np.ndarray) -> np.ndarray:
    """The polynomial with coefficients A (p, .., p) where T (d, p, m) are the polynomials."""
    d, p, m = T.shape
    values = A.reshape(p, -1).T @ T[0]
    for k in range(1, d):
        values = (values.reshape(p, -1, m) * T[k][:, None]).sum(axis=0)
    return values[0]
