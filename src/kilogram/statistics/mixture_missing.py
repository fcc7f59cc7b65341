"""Gaussian mixtures of rows with holes: what is there is told exactly, what is not is expected.

A row shows the columns o and hides the columns h. Its density is that of the part it shows,
N(x_o; m_o, C_oo), and given a component the hidden part has the moments

    E[x | x_o] - m  =  C_.o C_oo^-1 (x_o - m_o)          Cov[x | x_o]  =  C - C_.o C_oo^-1 C_o.

(the first is x_o - m_o itself in the columns shown, the second 0 there). EM needs the expected sums
of z = x - m and of z z', so a row's z is completed by the first and the second is added once for
every row: with shares r, sum r z and sum r (z z' + Cov). Rows with equal holes are taken together.
Diagonal covariances need no grouping: hidden columns are left out, and their variance is added.
Reference: Ghahramani and Jordan 1994.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

LOG_TWO_PI = float(np.log(2 * np.pi))


def log_joint(X: np.ndarray, parts: Any) -> np.ndarray:
    """log p(x_o, c), (n, k); a row that shows nothing has log p_c."""
    with np.errstate(divide="ignore"):
        logs = np.log(parts.weights)
    if parts.kind in ("diag", "spherical"):
        return logs + _diagonal_logs(X, parts)
    found = np.empty((len(X), len(logs)))
    for rows, shown in holes(X):
        for c in range(len(logs)):
            found[rows, c] = logs[c] + _shown_log(X[rows][:, shown], shown, parts, c)
    return found


def sums(X: np.ndarray, w: np.ndarray | None, parts: Any) -> tuple:
    """weights, first, second, loglik and total, as `MixtureSums` has them."""
    X = X.astype(np.float64)
    joint = log_joint(X, parts)
    norms = np.logaddexp.reduce(joint, axis=1)
    R, u = np.exp(joint - norms[:, None]), np.ones(len(X)) if w is None else w
    R = R * u[:, None]
    add = _diagonal_sums if parts.kind in ("diag", "spherical") else _grouped_sums
    first, second = add(X, R, parts)
    return R.sum(axis=0), first, second, float(u @ norms), float(u.sum())


def holes(X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, columns shown): the indices of the rows that hide the same columns."""
    hidden = np.isnan(X)
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))
    for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        yield rows, np.flatnonzero(~pattern)


def _covariance(parts: Any, c: int) -> np.ndarray:
    return np.asarray(parts.covariances if parts.kind == "tied" else parts.covariances[c])


def _shown_log(x: np.ndarray, shown: np.ndarray, parts: Any, c: int) -> Any:
    """log N of the columns shown."""
    if not len(shown):
        return np.zeros(len(x))
    L = np.linalg.cholesky(_covariance(parts, c)[np.ix_(shown, shown)])
    y = np.linalg.solve(L, (x - parts.means[c, shown]).T)
    return -0.5 * ((y * y).sum(axis=0) + len(shown) * LOG_TWO_PI) - np.log(np.diag(L)).sum()


def _grouped_sums(X: np.ndarray, R: np.ndarray, parts: Any) -> tuple[np.ndarray, np.ndarray]:
    k, d = parts.means.shape
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for rows, shown in holes(X):
        for c in range(k):
            C, r = _covariance(parts, c), R[rows, c]
            A = np.linalg.solve(C[np.ix_(shown, shown)], C[shown]) if len(shown) else C[:0]
            z = (X[rows][:, shown] - parts.means[c, shown]) @ A
            left = C - C[:, shown] @ A
            left[shown] = left[:, shown] = 0.0
            first[c] += r @ z
            second[c] += (z.T * r) @ z + r.sum() * left
    return first, second.sum(axis=0) if parts.kind == "tied" else second


def _diagonal_logs(X: np.ndarray, parts: Any) -> np.ndarray:
    there = ~np.isnan(X)
    x, columns = np.where(there, X, 0.0), []
    for m, F in zip(parts.means, parts.factors, strict=True):
        y = np.where(there, (x - m) * F, 0.0)
        columns.append(-0.5 * (y * y).sum(axis=1) + there @ (np.log(F) - 0.5 * LOG_TWO_PI))
    return np.stack(columns, axis=1)


def _diagonal_sums(X: np.ndarray, R: np.ndarray, parts: Any) -> tuple[np.ndarray, np.ndarray]:
    there = ~np.isnan(X)
    first, second = np.zeros(parts.means.shape), np.zeros(parts.means.shape)
    for c, m in enumerate(parts.means):
        z = np.where(there, X - m, 0.0)
        first[c] = R[:, c] @ z
        second[c] = R[:, c] @ (z * z) + (R[:, c] @ ~there) * parts.covariances[c]
    return first, second
