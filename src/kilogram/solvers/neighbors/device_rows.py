"""Euclidean nearest neighbours of rows on a device, in the library of the rows.

    tiles of |y|^2 - 2 <x, y>     of which the k + SPARE smallest are candidates
    sum of (x_j - y_j)^2          of the candidates, in the widest float type, rounded to that of
                                  the rows; ordered by distance, of equal ones by position

Rounding of the products may hide a nearer row behind the candidates: a query whose k-th distance
does not lie below all others by more than this is measured against all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import array_api_compat

from kilogram.arrays.namespace import namespace, sum_dtype
from kilogram.arrays.selection import first_smallest, smallest
from kilogram.functions.distances import squared_norms

SPARE = 8  # candidates beyond k: near ties among them are settled without a second search
TILE = 2**24  # numbers computed at once: 128 MB of float64
TILE_ROWS = 2**15  # rows of a tile; the queries of a tile are as many as fit


class DeviceRows:
    """Rows (n, d) on a device, with their squared norms about their mean."""

    def __init__(self, Y: Any):
        xp = namespace(Y)
        self.Y, self.wide = Y, sum_dtype(Y, xp)
        self.products = self.wide if _products_lose_digits(Y) else Y.dtype
        self.middle = xp.astype(xp.mean(xp.astype(Y, self.wide), axis=0), self.products)
        self.centred = xp.astype(Y, self.products) - self.middle
        self.norms = squared_norms(self.centred)

    def nearest(self, X: Any, k: int) -> tuple[Any, Any]:
        """Distances (m, k), nearest first, and positions (m, k) of the k nearest rows."""
        xp = namespace(self.Y)
        X = xp.astype(X, self.Y.dtype)
        each = max(1, TILE // min(self.Y.shape[0], TILE_ROWS))
        parts = [self._block(X[part, :], k) for part in _parts(X.shape[0], each)]
        distances, places = (xp.concat(part, axis=0) for part in zip(*parts, strict=True))
        return distances, places

    def _block(self, X: Any, k: int) -> tuple[Any, Any]:
        xp, n = namespace(X), self.Y.shape[0]
        centred = xp.astype(X, self.products) - self.middle
        bounds, places = self._candidates(centred, min(n, k + SPARE))
        squares, places = self._measured(X, xp.sort(places, axis=1))
        squares, places = _by_distance(squares, places, k)
        if k + SPARE < n:
            lengths = squared_norms(centred)
            rounding = self._rounding(lengths)
            hidden = squares[:, k - 1] >= xp.max(bounds, axis=1) + lengths - rounding
            squares, places = self._replaced(X, k, hidden, squares, places)
        return xp.sqrt(squares), places

    def _candidates(self, centred: Any, k: int) -> tuple[Any, Any]:
        """|y|^2 - 2 <x, y>, (m, k), and positions of the rows where it is smallest."""
        xp = namespace(centred)
        best: tuple[Any, Any] | None = None
        for part in _parts(self.Y.shape[0], TILE_ROWS):
            D = self.norms[part][None, :] - 2.0 * (centred @ self.centred[part, :].T)
            values, places = smallest(D, min(k, D.shape[1]))
            places = places + part.start
            if best is not None:
                values = xp.concat([best[0], values], axis=1)
                places = xp.concat([best[1], places], axis=1)
                values, kept = smallest(values, min(k, values.shape[1]))
                places = xp.take_along_axis(places, kept, axis=1)
            best = values, places
        assert best is not None
        return best

    def _rounding(self, lengths: Any) -> Any:
        """A bound (m,) on the errors of squared distances by products, of centred rows."""
        xp = namespace(lengths)
        reach = xp.sqrt(lengths) + xp.sqrt(xp.max(self.norms))
        eps = float(xp.finfo(self.products).eps)
        return (self.Y.shape[1] + 8) * eps * reach * reach

    def _measured(self, X: Any, places: Any) -> tuple[Any, Any]:
        """Squared distances of the queries from some rows (m, k), and their positions."""
        xp, d = namespace(X), X.shape[1]
        m, k = places.shape
        found = []
        for part in _parts(m, max(1, TILE // (k * d))):
            near = xp.take(self.Y, xp.reshape(places[part, :], (-1,)), axis=0)
            near = xp.reshape(xp.astype(near, self.wide), (-1, k, d))
            gap = near - xp.astype(X[part, :], self.wide)[:, None, :]
            found.append(xp.sum(gap * gap, axis=2))
        return xp.astype(xp.concat(found, axis=0), X.dtype), places

    def _replaced(self, X: Any, k: int, hidden: Any, squares: Any, places: Any) -> tuple[Any, Any]:
        """With the neighbours of the queries `hidden` (m,) from all rows."""
        xp = namespace(X)
        (doubtful,) = xp.nonzero(hidden)
        if doubtful.shape[0] == 0:
            return squares, places
        X = xp.take(X, doubtful, axis=0)
        each = max(1, TILE // self.Y.shape[0])
        found = [self._among_all(X[part, :], k) for part in _parts(X.shape[0], each)]
        number = xp.cumulative_sum(xp.astype(hidden, xp.int64)) - 1  # among the doubtful ones
        number = xp.where(hidden, number, xp.zeros_like(number))
        new_squares, new_places = (
            xp.take(xp.concat(part, axis=0), number, axis=0) for part in zip(*found, strict=True)
        )
        hidden = hidden[:, None]
        return xp.where(hidden, new_squares, squares), xp.where(hidden, new_places, places)

    def _among_all(self, X: Any, k: int) -> tuple[Any, Any]:
        """Squared distances and positions (m, k) of the nearest rows, each row measured."""
        xp, d = namespace(X), self.Y.shape[1]
        wide = xp.astype(X, self.wide)[:, None, :]
        sums = []
        for part in _parts(self.Y.shape[0], max(1, TILE // (X.shape[0] * d))):
            gap = xp.astype(self.Y[part, :], self.wide)[None, :, :] - wide
            sums.append(xp.sum(gap * gap, axis=2))
        squares = xp.astype(xp.concat(sums, axis=1), X.dtype)
        places = first_smallest(squares, k)
        near = xp.take_along_axis(squares, places, axis=1)
        return _by_distance(near, places, k)


def _by_distance(squares: Any, places: Any, k: int) -> tuple[Any, Any]:
    """The k first of rows (m, .) whose positions rise, in order of distance."""
    xp = namespace(squares)
    order = xp.argsort(squares, axis=1)[:, :k]  # stable: of equal ones the first
    return xp.take_along_axis(squares, order, axis=1), xp.take_along_axis(places, order, axis=1)


def _parts(n: int, size: int) -> Iterator[slice]:
    return (slice(a, min(a + size, n)) for a in range(0, n, size))


def _products_lose_digits(Y: Any) -> bool:
    """Whether torch may round the factors of float32 products to ten bits."""
    if not array_api_compat.is_torch_array(Y) or "float32" not in str(Y.dtype):
        return False
    import torch

    return torch.get_float32_matmul_precision() != "highest"
