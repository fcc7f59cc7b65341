"""A mean and a scatter for every class, as a value with `+`.

    weights   W_c = sum_{i in c} w_i
    means     m_c = (1/W_c) sum_{i in c} w_i x_i
    scatters  S_c = sum_{i in c} w_i (x_i - m_c)(x_i - m_c)'

Two sets of rows merge class by class as in `Moments`; the sum of the scatters is the scatter
within the classes, so `pooled` gives `ClassMoments`. Rows are summed about a pilot of their own
class, so classes far from 0, and from each other, cost no digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import squares_underflow
from kilogram.arrays.namespace import is_numpy, like, namespace, sum_dtype, to_numpy
from kilogram.arrays.rows import take_rows
from kilogram.native import class_sums as native
from kilogram.statistics.classes import (
    ClassMoments,
    class_pilots,
    class_weights,
    merged_fractions,
)
from kilogram.statistics.moments import Moments
from kilogram.statistics.products import as_floats

# Entries of all scatters up to which one native pass makes them: 1 MiB, beyond which they leave the
# second-level cache. Measured for 2, 5 and 20 classes of 32 to 800 features: below as fast as
# products of the gathered rows of each class or up to 1.4 times faster, beyond up to 2.4 times
# slower.
LARGEST = 2**17


@dataclass(frozen=True, eq=False)
class ClassScatters:
    """Weights (K,), means (K, d) and scatters (K, d, d) of the classes."""

    weights: Any
    means: Any
    scatters: Any

    @classmethod
    def of(cls, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> ClassScatters:
        """Of rows X (n, d) whose class is codes (n,), integers below n_classes."""
        X, codes = as_floats(X), to_numpy(codes)
        if not is_numpy(X) or n_classes * X.shape[1] ** 2 > LARGEST:
            return _gathered(X, codes, w, n_classes)
        p = class_pilots(X, codes, n_classes)
        S = native.class_scatter(X, codes, p, w)
        if X.dtype == np.float32 and squares_underflow(S[:, :-1, :-1].sum(axis=0)):
            return cls.of(X.astype(np.float64), codes, w, n_classes=n_classes)
        W = S[:, -1, -1]
        e = S[:, -1, :-1] / np.where(W > 0, W, 1.0)[:, None]
        scatters = S[:, :-1, :-1] - W[:, None, None] * e[:, :, None] * e[:, None, :]
        # without weights a sum of ones, exact; roots of weights do not square back to them
        weights = W.copy() if w is None else class_weights(codes, w, n_classes)
        return cls(weights, np.asarray(p, np.float64) + e, scatters)

    def __add__(self, other: ClassScatters | int) -> ClassScatters:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, ClassScatters):
            return NotImplemented
        fraction = merged_fractions(self.weights, other.weights)
        apart = other.means - self.means
        between = (self.weights * fraction)[:, None, None] * apart[:, :, None] * apart[:, None, :]
        return ClassScatters(
            self.weights + other.weights,
            self.means + fraction[:, None] * apart,
            self.scatters + other.scatters + between,
        )

    __radd__ = __add__

    @property
    def spread(self) -> Any:
        """Sums of squares about the class means."""
        return self.scatters

    @property
    def pooled(self) -> ClassMoments:
        """One scatter within all classes."""
        within = namespace(self.scatters).sum(self.scatters, axis=0)
        return ClassMoments(self.weights, self.means, within)

    @property
    def covariances(self) -> Any:
        """S_c / W_c, (K, d, d); 0 for a class without weight."""
        xp = namespace(self.weights)
        some = xp.where(self.weights > 0, self.weights, xp.ones_like(self.weights))
        return self.scatters / some[:, None, None]


def _gathered(X: Any, codes: np.ndarray, w: Any, n_classes: int) -> ClassScatters:
    """Class by class on the rows of each: sparse rows, other libraries, very wide rows."""
    xp = namespace(X)
    ref = xp.zeros(0, dtype=sum_dtype(X, xp)) if is_numpy(X) or hasattr(X, "toarray") else X
    parts = []
    for c in range(n_classes):
        rows = np.flatnonzero(codes == c)
        own = None if w is None else take_rows(w, rows)
        parts.append(_one_class(take_rows(X, rows), own, X.shape[1]))
    wide = sum_dtype(X, xp)
    weights = like(np.array([W for W, _, _ in parts]), ref)
    return ClassScatters(
        xp.astype(weights, wide),
        xp.stack([xp.astype(like(m, ref), wide) for _, m, _ in parts]),
        xp.stack([xp.astype(like(S, ref), wide) for _, _, S in parts]),
    )


def _one_class(X: Any, w: Any, d: int) -> tuple[float, Any, Any]:
    if X.shape[0] == 0:
        return 0.0, np.zeros(d), np.zeros((d, d))
    found = Moments.of(X, w)
    return found.weight, found.mean, found.scatter
