"""Moments of the rows class by class, with one scatter about the class means, as a value with `+`.

For K classes with rows x_i of class c_i and weights w_i,

    weights  W_c = sum_{i in c} w_i
    means    m_c = (1/W_c) sum_{i in c} w_i x_i
    within   S_W = sum_i w_i (x_i - m_{c_i})(x_i - m_{c_i})'

and the rest follows: the mean m = sum_c W_c m_c / W, the scatter between the classes
S_B = sum_c W_c (m_c - m)(m_c - m)', and the total S_T = S_W + S_B. Two sets of rows merge class by
class as in `Moments`. NumPy rows are summed in one native pass, each about a pilot of its own
class. Elsewhere one pass over the rows beside their class indicators gives S_T and the sums of the
classes, hence S_W = S_T - S_B; where the classes lie so far apart that this difference loses half
of its digits, the rows are centred by class and summed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import scatter, squares_underflow
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, sum_dtype, to_numpy
from kilogram.native import class_sums as native
from kilogram.statistics.moments import JointMoments
from kilogram.statistics.products import as_floats

HALF_THE_DIGITS = 1e-8  # below it the sum of squares has lost half its digits: a second pass
# Columns up to which every lane of the native pass keeps its own scatter, of 1.3 MB; at 800 both
# ways take the same time.
WIDEST = 400
PILOT_ROWS = 64  # of each class, about: any point near the mean will do


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Weights (K,) and means (K, d) of the classes, and the scatter (d, d) about the means."""

    weights: Any
    means: Any
    within: Any

    @classmethod
    def of(cls, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> ClassMoments:
        """Of rows X (n, d) whose class is codes (n,), integers below n_classes."""
        X = as_floats(X)
        if is_numpy(X) and X.shape[1] <= WIDEST:
            return cls(*_in_one_pass(X, to_numpy(codes), w, n_classes))
        joint = JointMoments.of(X, _membership(to_numpy(codes), n_classes, X), w)
        xp = namespace(joint.scatter)
        weights = joint.mean_y * joint.weight
        some = xp.where(weights > 0, weights, xp.ones_like(weights))
        means = joint.mean + (joint.cross / some).T  # column c of cross is W_c (m_c - m)
        within = joint.scatter - (joint.cross / some) @ joint.cross.T
        total, left = xp.linalg.diagonal(joint.scatter), xp.linalg.diagonal(within)
        if is_sparse(X) or bool(xp.all(left >= HALF_THE_DIGITS * total)):
            return cls(weights, means, within)
        own = xp.take(means, _indices(codes, X), axis=0)
        S, _ = scatter(X - xp.astype(own, X.dtype), w)
        return cls(weights, means, xp.astype(S, within.dtype))

    def __add__(self, other: ClassMoments | int) -> ClassMoments:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, ClassMoments):
            return NotImplemented
        weights = self.weights + other.weights
        fraction = merged_fractions(self.weights, other.weights)
        apart = other.means - self.means
        between = (apart.T * (self.weights * fraction)) @ apart
        # a class that one side lacks keeps the other side's mean: its fraction is 0 or 1
        means = self.means + fraction[:, None] * apart
        return ClassMoments(weights, means, self.within + other.within + between)

    __radd__ = __add__

    @property
    def spread(self) -> Any:
        """Sums of squares about the class means."""
        return self.within

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(namespace(self.weights).sum(self.weights))

    @property
    def mean(self) -> Any:
        """The mean of all rows, (d,)."""
        return (self.weights / self.weight) @ self.means

    @property
    def between(self) -> Any:
        """S_B (d, d), of rank at most K - 1."""
        apart = self.means - self.mean
        return (apart.T * self.weights) @ apart


def class_weights(codes: np.ndarray, w: Any, n_classes: int) -> np.ndarray:
    """(K,): the weight of every class's rows, float64."""
    weights = None if w is None else to_numpy(w)
    return np.bincount(codes, weights=weights, minlength=n_classes).astype(np.float64)


def class_pilots(X: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(K, d): about the mean of each class, from the first rows, in the type of X.

    A class without rows there takes the mean of all: a pilot need only be near.
    """
    head = slice(0, PILOT_ROWS * (n_classes + 3))
    X, codes = X[head], codes[head]
    zero = np.zeros((n_classes, X.shape[1]), dtype=X.dtype)
    sums, counts = native.class_powers(X, codes, zero, powers=1)[0], np.bincount(codes)
    counts = np.concatenate([counts, np.zeros(n_classes - len(counts))])[:, None]
    pilots = np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum(axis=0) / max(len(X), 1))
    return np.where(np.isfinite(pilots), pilots, 0.0).astype(X.dtype)


def merged_fractions(ours: Any, theirs: Any) -> Any:
    """The fraction of the second weights in the sum; 0 for a class that neither side has."""
    xp = namespace(ours)
    both = ours + theirs
    return theirs / xp.where(both > 0, both, xp.ones_like(both))


def _in_one_pass(X: np.ndarray, codes: np.ndarray, w: Any, n_classes: int) -> tuple[Any, Any, Any]:
    p = class_pilots(X, codes, n_classes)
    S, sums, counts = native.within_scatter(X, codes, p, w)
    if X.dtype == np.float32 and squares_underflow(S):
        return _in_one_pass(X.astype(np.float64), codes, w, n_classes)
    W = counts if w is None else class_weights(codes, w, n_classes)
    e = sums / np.where(W > 0, W, 1.0)[:, None]
    return W, p + e, S - (e.T * W) @ e


def members(codes: np.ndarray, w: Any, n_classes: int, X: Any) -> Any:
    """(K, n): the weight of each row in the line of its class, made on the device of X.

    Only the codes travel there.
    """
    xp = namespace(X)
    wide = sum_dtype(X, xp)
    line = xp.arange(n_classes, dtype=xp.int64, device=X.device)
    member = xp.astype(line[:, None] == _indices(codes, X)[None, :], wide)
    return member if w is None else member * xp.astype(like(w, X), wide)[None, :]


def _membership(codes: np.ndarray, n_classes: int, X: Any) -> Any:
    """(n, K): 1 in the column of each row's class."""
    if not is_sparse(X):
        return namespace(X).astype(members(codes, None, n_classes, X).T, X.dtype)
    member = np.zeros((len(codes), n_classes), dtype=X.dtype)
    member[np.arange(len(codes)), codes] = 1.0
    return member


def _indices(codes: Any, X: Any) -> Any:
    """Class codes as indices in the library and on the device of X."""
    return namespace(X).asarray(to_numpy(codes).astype(np.int64), device=X.device)
