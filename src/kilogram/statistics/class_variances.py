"""Mean and sum of squares of every column in every class, NaN left out, as a value with `+`.

    weights  W_c            of the rows of class c
    seen     V_cj           of those whose column j is not NaN
    means    m_cj = (1/V_cj) sum w_i x_ij
    squares  Q_cj = sum w_i (x_ij - m_cj)^2

The diagonal of `ClassScatters`, for one d-th of the work. Without NaN, seen is weights in every
column, and one native pass at the speed of memory makes all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.native import class_sums as native
from kilogram.statistics.classes import class_pilots, class_weights, members, merged_fractions
from kilogram.statistics.products import as_floats


@dataclass(frozen=True, eq=False)
class ClassVariances:
    """weights (K,); seen, means and squares, each (K, d)."""

    weights: Any
    seen: Any
    means: Any
    squares: Any

    @classmethod
    def of(cls, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> ClassVariances:
        """Of rows X (n, d) whose class is codes (n,), integers below n_classes."""
        X, codes = as_floats(X), to_numpy(codes)
        weights = class_weights(codes, w, n_classes)
        if is_numpy(X):
            return cls(weights, *_in_one_pass(X, codes, w, weights))
        if is_sparse(X):
            return cls(weights, *_sparse(X, codes, w, weights))
        return _other_library(X, codes, w, weights)

    def __add__(self, other: ClassVariances | int) -> ClassVariances:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, ClassVariances):
            return NotImplemented
        fraction = merged_fractions(self.seen, other.seen)
        apart = other.means - self.means
        return ClassVariances(
            self.weights + other.weights,
            self.seen + other.seen,
            self.means + fraction * apart,
            self.squares + other.squares + self.seen * fraction * apart * apart,
        )

    __radd__ = __add__

    @property
    def spread(self) -> Any:
        """Sums of squares about the class means."""
        return self.squares

    @property
    def variances(self) -> Any:
        """Q / V, (K, d); 0 where nothing was seen."""
        return self.squares / _positive(self.seen)

    @property
    def mean(self) -> Any:
        """Mean of each column over all classes, (d,)."""
        xp = namespace(self.seen)
        total = _positive(xp.sum(self.seen, axis=0))
        return xp.sum(self.seen * self.means, axis=0) / total

    @property
    def total_variance(self) -> Any:
        """Of each column over all classes, (d,): within plus between."""
        xp = namespace(self.seen)
        apart = self.means - self.mean
        with np.errstate(over="ignore"):  # infinite where squares overflow, for the caller to see
            all_squares = xp.sum(self.squares + self.seen * apart * apart, axis=0)
        return all_squares / _positive(xp.sum(self.seen, axis=0))


def _positive(weights: Any) -> Any:
    xp = namespace(weights)
    return xp.where(weights > 0, weights, xp.ones_like(weights))


def _centred(sums: Any, squares: Any, seen: Any, p: Any) -> tuple[Any, Any, Any]:
    """seen, means and squares about the means, from sums about p."""
    xp = namespace(sums)
    e = sums / _positive(seen)
    left = squares - seen * e * e
    return seen, p + e, xp.where(left > 0, left, xp.where(left <= 0, xp.zeros_like(left), left))


def _in_one_pass(X: np.ndarray, codes: np.ndarray, w: Any, weights: np.ndarray) -> tuple:
    p = class_pilots(X, codes, len(weights))
    sums, squares = native.class_powers(X, codes, p, w)
    seen = np.repeat(weights[:, None], X.shape[1], axis=1)
    if not np.isfinite(squares).all():  # NaN to leave out, or an infinity, which stays to be seen
        sums, squares, seen = native.class_powers(X, codes, p, w, powers=3)
    return _centred(sums, squares, seen, p.astype(np.float64))


def _sparse(X: Any, codes: np.ndarray, w: Any, weights: np.ndarray) -> tuple:
    """Sums about 0, where sparse rows stay sparse; NaN among the stored values are left out."""
    X = X.tocsr().astype(np.float64)
    row_weights = np.ones(X.shape[0]) if w is None else np.asarray(w, dtype=np.float64)
    member = scipy.sparse.csr_array(
        (row_weights, (codes, np.arange(X.shape[0]))), shape=(len(weights), X.shape[0])
    )
    lost = np.isnan(X.data)
    seen = np.repeat(weights[:, None], X.shape[1], axis=1)
    if lost.any():
        gone = scipy.sparse.csr_array((lost.astype(float), X.indices, X.indptr), shape=X.shape)
        seen = seen - (member @ gone).toarray()
        X = scipy.sparse.csr_array((np.where(lost, 0.0, X.data), X.indices, X.indptr), X.shape)
    sums, squares = (member @ X).toarray(), (member @ X.multiply(X).tocsr()).toarray()
    return _centred(sums, squares, seen, 0.0)


def _other_library(X: Any, codes: np.ndarray, w: Any, weights: np.ndarray) -> ClassVariances:
    """The statistic for arrays of other libraries, computed on their device."""
    xp = namespace(X)
    wide = sum_dtype(X, xp)
    member, W = members(codes, w, len(weights), X), xp.astype(like(weights, X), wide)
    Z = xp.astype(X, wide)
    there = ~xp.isnan(Z)
    Z = xp.where(there, Z, xp.zeros_like(Z))
    seen = member @ xp.astype(there, wide)
    means = (member @ Z) / _positive(seen)
    own = xp.take(means, xp.asarray(codes, device=X.device), axis=0)
    apart = xp.where(there, Z - own, xp.zeros_like(Z))
    sums, squares = member @ apart, member @ (apart * apart)
    return ClassVariances(W, *_centred(sums, squares, seen, means))
