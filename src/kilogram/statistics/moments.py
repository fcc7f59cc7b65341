"""Moments of the rows, alone and jointly with targets, as values with `+`.

For rows x_i with weights w_i (one each if none are given)

    weight   W  = sum_i w_i
    mean     m  = (1/W) sum_i w_i x_i
    scatter  S  = sum_i w_i (x_i - m)(x_i - m)'          covariance = S / (W - ddof)

Two sets of rows merge without looking at them again (Chan, Golub and LeVeque 1983): with
e = m_b - m_a,

    W = W_a + W_b      m = m_a + (W_b / W) e      S = S_a + S_b + (W_a W_b / W) e e'

A block is summed around a pilot p, the mean of its first rows, and corrected by
S = sum w (x - p)(x - p)' - W (m - p)(m - p)', so means far from 0 cost no digits. Sparse blocks are
summed around 0, which keeps them sparse; there digits are lost when a mean is large compared with
its deviation. Sums are kept in float64 wherever the device has it, float32 rows included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import scatter
from kilogram.arrays.namespace import is_sparse, namespace, sum_dtype
from kilogram.statistics.products import as_floats, scatter_pair

PILOT_ROWS = 256  # any point near the mean will do; these cost nothing


@dataclass(frozen=True, eq=False)
class Moments:
    """Total weight, mean (d,) and scatter (d, d) about the mean of weighted rows."""

    weight: float
    mean: Any
    scatter: Any

    @classmethod
    def of(cls, X: Any, w: Any = None) -> Moments:
        """Of the rows of X (n, d), dense or sparse, with weights w (n,)."""
        X = as_floats(X)
        p = pilot(X)
        S, s = scatter(X, w, p)
        W = total_weight(X, w)
        e = _divided(s, W)
        return cls(W, e if p is None else p + e, S - W * _outer(e, e))

    def __add__(self, other: Moments | int) -> Moments:
        if other == 0:  # so that sum() works
            return self
        if not isinstance(other, Moments):
            return NotImplemented
        W, fraction = _merged_weight(self.weight, other.weight)
        e = other.mean - self.mean
        return Moments(
            W,
            self.mean + fraction * e,
            self.scatter + other.scatter + (self.weight * fraction) * _outer(e, e),
        )

    __radd__ = __add__

    def __sub__(self, other: Moments) -> Moments:
        """The rows of self without those of other, which must be among them.

        Digits are lost as the ratio of self's scatter to what remains; to leave out a fold is
        fine, to leave almost nothing is not.
        """
        W = self.weight - other.weight
        if W < 0:
            raise ValueError(f"cannot take rows of weight {other.weight} from {self.weight}")
        if W == 0:
            return Moments(0.0, 0 * self.mean, 0 * self.scatter)
        mean = self.mean + (other.weight / W) * (self.mean - other.mean)
        e = mean - other.mean
        c = W * other.weight / self.weight
        return Moments(W, mean, self.scatter - other.scatter - c * _outer(e, e))

    def covariance(self, ddof: float = 0.0) -> Any:
        """S / (W - ddof)."""
        return self.scatter / (self.weight - ddof)

    def variance(self, ddof: float = 0.0) -> Any:
        """The diagonal of the covariance, (d,)."""
        return namespace(self.scatter).linalg.diagonal(self.scatter) / (self.weight - ddof)


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Moments of X and Y together: cross (d, t) is sum_i w_i (x_i - mean)(y_i - mean_y)'."""

    weight: float
    mean: Any
    scatter: Any
    mean_y: Any
    cross: Any
    scatter_y: Any

    @classmethod
    def of(cls, X: Any, Y: Any, w: Any = None) -> JointMoments:
        """Of the rows of X (n, d) and Y (n, t) or (n,), with weights w (n,)."""
        Y = Y if len(Y.shape) == 2 else Y[:, None]
        X = as_floats(X)
        Y = as_floats(Y) if "float32" in str(X.dtype) else as_floats(Y, like=X)
        p, q = pilot(X), pilot(Y)
        Sxx, Sxy, Syy, sx, sy = scatter_pair(X, Y, w, p, q)
        W = total_weight(X, w)
        e, f = _divided(sx, W), _divided(sy, W)
        return cls(
            W,
            e if p is None else p + e,
            Sxx - W * _outer(e, e),
            f if q is None else q + f,
            Sxy - W * _outer(e, f),
            Syy - W * _outer(f, f),
        )

    def __add__(self, other: JointMoments | int) -> JointMoments:
        if other == 0:
            return self
        if not isinstance(other, JointMoments):
            return NotImplemented
        x, y = self.x + other.x, self.y + other.y
        _, fraction = _merged_weight(self.weight, other.weight)
        apart = _outer(other.mean - self.mean, other.mean_y - self.mean_y)
        cross = self.cross + other.cross + (self.weight * fraction) * apart
        return JointMoments(x.weight, x.mean, x.scatter, y.mean, cross, y.scatter)

    __radd__ = __add__

    def __sub__(self, other: JointMoments) -> JointMoments:
        """The rows of self without those of other; see `Moments.__sub__` for its limits."""
        x, y = self.x - other.x, self.y - other.y
        c = x.weight * other.weight / self.weight
        apart = _outer(x.mean - other.mean, y.mean - other.mean_y)
        cross = self.cross - other.cross - c * apart if x.weight else 0 * self.cross
        return JointMoments(x.weight, x.mean, x.scatter, y.mean, cross, y.scatter)

    @property
    def x(self) -> Moments:
        """The moments of X alone."""
        return Moments(self.weight, self.mean, self.scatter)

    @property
    def y(self) -> Moments:
        """The moments of Y alone."""
        return Moments(self.weight, self.mean_y, self.scatter_y)


def pilot(X: Any) -> Any:
    """The mean of the first rows, near which X is summed; None for sparse X.

    Rounded to the type of X, so that every library subtracts the same number.
    """
    if is_sparse(X):
        return None
    xp = namespace(X)
    wide = sum_dtype(X, xp)
    head = xp.astype(X[: min(PILOT_ROWS, X.shape[0]), :], wide)
    return xp.astype(xp.astype(xp.mean(head, axis=0), X.dtype), wide)


def total_weight(X: Any, w: Any) -> float:
    """The sum of the weights, or the number of rows."""
    if w is None:
        return float(X.shape[0])
    xp = namespace(w)
    return float(xp.sum(xp.astype(w, sum_dtype(w, xp))))


def _merged_weight(a: float, b: float) -> tuple[float, float]:
    """W_a + W_b and the fraction of b in it; 0 without any weight."""
    return a + b, b / (a + b) if b else 0.0


def _divided(s: Any, W: float) -> Any:
    return s / W if W else 0 * s


def _outer(a: Any, b: Any) -> Any:
    return a[:, None] * b[None, :]
