"""The sums of one pass of a Gaussian mixture over the rows, as a value with `+`.

Of components c with weights p_c, means m_c and covariances C_c, the responsibilities are

    r_ic = w_i p_c N(x_i; m_c, C_c) / sum_b p_b N(x_i; m_b, C_b)       in logarithms throughout

and everything the next components need is, with z_ic = x_i - m_c,

    weights  N_c = sum_i r_ic       first  sum_i r_ic z_ic       second  sum_i r_ic z_ic z_ic'

and the log-likelihood sum_i w_i log p(x_i). The sums are about the means of the pass, so blocks of
rows simply add, and means far from 0 cost no digits. NumPy rows take one native pass; sparse rows
are made dense block by block; arrays of other libraries stay on their device
(`kilogram.statistics.mixture_products`). Rows with NaN go to `mixture_missing` beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.linalg import scatter
from kilogram.arrays.memory import CACHED_ENTRIES
from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.native.mixture import MixtureStep, mixture_pass
from kilogram.statistics import mixture_missing, mixture_products
from kilogram.statistics.mixture_products import norms_and_responsibilities, standard_sums
from kilogram.statistics.products import as_floats, weight_unit

KINDS = ("full", "tied", "diag", "spherical")
# Columns up to which one shape for all is not worth a turn of the rows: measured 1.3 to 1.5 times
# slower at 8 to 32, 0.4 to 1.1 times at 64 to 400 (3 to 20 components).
NARROW = 32
LOG_TWO_PI = float(np.log(2 * np.pi))


class Components(NamedTuple):
    """Gaussians on the host: weights (k,), means (k, d), covariances and roots of their inverses.

    F'F = C^-1: F is lower, (k, d, d) or for "tied" (d, d); a diagonal (k, d) for the other kinds,
    whose covariances are (k, d) too.
    """

    kind: str
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray

    @property
    def constants(self) -> np.ndarray:
        """log p_c - 1/2 log det(2 pi C_c), (k,)."""
        F = self.factors
        if self.kind in ("full", "tied"):
            F = np.diagonal(F, axis1=-2, axis2=-1)
        with np.errstate(divide="ignore"):  # a component that has lost its rows
            logs = np.log(self.weights)
        found = logs - 0.5 * self.means.shape[1] * LOG_TWO_PI + np.log(F).sum(axis=-1)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class MixtureSums:
    """N (k,), first (k, d), second, loglik and the weight of all rows, float64 on the host.

    second is (k, d, d) for "full", (d, d) summed over the components for "tied", else (k, d).
    """

    weights: np.ndarray
    first: np.ndarray
    second: np.ndarray
    loglik: float
    total: float

    @classmethod
    def of(cls, X: Any, w: Any, parts: Components) -> MixtureSums:
        """Sums over the rows X (n, d) with weights w (n,) or None."""
        unit = weight_unit(w)
        if unit != 1.0:  # responsibilities far below 1 are taken for nothing
            found = cls.of(X, w / unit, parts)
            return cls(*(unit * part for part in vars(found).values()))
        if is_sparse(X):
            return reduce(add, (cls.of(rows, u, parts) for rows, u in _dense_blocks(X, w)))
        X = as_floats(X)
        direct = is_numpy(X) and (parts.kind != "tied" or X.shape[1] <= NARROW)
        if direct:
            step = mixture_pass(X, parts.means, _factors(parts), parts.constants, w, sums=True)
            if not np.isnan(step.loglik + step.weight):  # NaN in the rows: not looked for before
                return cls(*_split(step, parts), step.loglik, _weight(X, w))
        if direct or has_missing(X):
            return cls(*mixture_missing.sums(to_numpy(X), _host(w), parts))
        if not is_numpy(X):
            return cls(*standard_sums(X, w, parts, log_joint(X, parts)))
        blocks = (cls(*_tied_sums(rows, u, parts)) for rows, u in _blocks(X, w))
        return reduce(add, blocks)

    def __add__(self, other: MixtureSums | int) -> MixtureSums:
        if isinstance(other, int) and other == 0:  # so that sum() works
            return self
        if not isinstance(other, MixtureSums):
            return NotImplemented
        return MixtureSums(
            self.weights + other.weights,
            self.first + other.first,
            self.second + other.second,
            self.loglik + other.loglik,
            self.total + other.total,
        )

    __radd__ = __add__


def _split(step: MixtureStep, parts: Components) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """weights, first and second of a native pass."""
    S, (k, d) = np.asarray(step.sums), parts.means.shape
    second = S[:, 1 + d :]
    if parts.kind in ("full", "tied"):
        second = second.reshape(k, d, d)
        second = second.sum(axis=0) if parts.kind == "tied" else second
    return S[:, 0], S[:, 1 : 1 + d], second


def _factors(parts: Components) -> np.ndarray:
    """F of every component, (k, d, d) or (k, d)."""
    if parts.kind != "tied":
        return parts.factors
    return np.broadcast_to(parts.factors, (len(parts.means), *parts.factors.shape))


def log_joint(X: Any, parts: Components) -> Any:
    """log p(x, c), (n, k), in the library of X; X has no NaN."""
    X = as_floats(X)
    if is_numpy(X):
        return mixture_pass(
            X, parts.means, _factors(parts), parts.constants, joint=True
        ).responsibilities
    return mixture_products.log_joint(X, parts)


def row_values(X: Any, parts: Components, what: str) -> Any:
    """Of a block of rows: "joint" log p(x, c), "responsibilities" p(c | x), "norms" log p(x)."""
    if is_sparse(X):
        return np.concatenate([row_values(b, parts, what) for b, _ in _dense_blocks(X, None)])
    X = as_floats(X)
    if has_missing(X):
        joint = mixture_missing.log_joint(to_numpy(X).astype(np.float64), parts)
        return like(_row_output(joint, what), X)
    if is_numpy(X) and what != "joint":
        step = mixture_pass(
            X,
            parts.means,
            _factors(parts),
            parts.constants,
            responsibilities=what == "responsibilities",
            norms=what == "norms",
        )
        return step.responsibilities if what == "responsibilities" else step.norms
    return like(_row_output(log_joint(X, parts), what), X)


def log_likelihood(X: Any, w: Any, parts: Components) -> np.ndarray:
    """(sum of w log p(x), sum of w): a block's part of the score."""
    if is_numpy(X):
        X = as_floats(X)
        step = mixture_pass(X, parts.means, _factors(parts), parts.constants, w)
        if not np.isnan(step.loglik):
            return np.array([step.loglik, _weight(X, w)])
    norms = _host(row_values(X, parts, "norms"))
    u = np.ones(len(norms)) if w is None else _host(w)
    return np.array([np.where(u > 0, u * norms, 0.0).sum(), u.sum()])


def _row_output(joint: Any, what: str) -> Any:
    if what == "joint":
        return joint
    norms, R = norms_and_responsibilities(joint)
    return norms if what == "norms" else R


def _tied_sums(X: np.ndarray, w: Any, parts: Components) -> tuple:
    """One shape for all: seen through F every component is a unit ball, and only sums differ."""
    F = parts.factors
    origin = parts.weights @ parts.means
    Y = (X - origin.astype(X.dtype)) @ F.T.astype(X.dtype)
    near = parts.means - origin
    k, d = near.shape
    step = mixture_pass(Y, near @ F.T, np.ones((k, d)), parts.constants, w, sums=True)
    assert step.sums is not None
    N, first = step.sums[:, 0], np.linalg.solve(F, step.sums[:, 1 : 1 + d].T).T
    S, _ = scatter(X, w, origin.astype(X.dtype))
    cross = first.T @ near
    pooled = S - cross - cross.T - (near.T * N) @ near
    return N, first, pooled, step.loglik, _weight(X, w)


def has_missing(X: Any) -> bool:
    """Whether some value of a dense block is NaN."""
    xp = namespace(X)
    if is_numpy(X) and not np.isnan(np.sum(X)):
        return False  # one sum at the speed of memory
    return bool(xp.any(xp.isnan(X)))


def _blocks(X: Any, w: Any) -> Any:
    step = max(256, CACHED_ENTRIES // X.shape[1])
    for i in range(0, max(X.shape[0], 1), step):
        rows = slice(i, min(i + step, X.shape[0]))
        yield X[rows], None if w is None else w[rows]


def _dense_blocks(X: Any, w: Any) -> Any:
    X = X.tocsr()
    return ((rows.toarray(), u) for rows, u in _blocks(X, w))


def _weight(X: Any, w: Any) -> float:
    return float(X.shape[0]) if w is None else float(_host(w).sum())


def _host(a: Any) -> Any:
    return None if a is None else np.asarray(to_numpy(a), dtype=np.float64)
