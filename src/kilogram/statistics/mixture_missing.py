"""Gaussian mixtures of rows with missing values: exact for observed ones, expectations for others.

A row shows the columns o and hides the columns h. Its density is that of the part it shows,
N(x_o; m_o, C_oo), and given a component the hidden part has the moments

    E[x | x_o] - m  =  C_.o C_oo^-1 (x_o - m_o)          Cov[x | x_o]  =  C - C_.o C_oo^-1 C_o.

(the first is x_o - m_o itself in the columns shown, the second 0 there). EM needs the expected sums
of z = x - m and of z z', so a row's z is completed by the first and the second is added once for
every row: with responsibilities r, sum r z and sum r (z z' + Cov). Rows with equal holes are taken
together. Diagonal covariances need no grouping: hidden columns are left out, and their variance
is added.
Reference: Ghahramani and Jordan 1994.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

LOG_TWO_PI = float(np.log(2 * np.pi))
# The least logarithm of a density, as in the native pass: two infinities have no ratio.
LEAST = -1e300


def log_joint(X: np.ndarray, parts: Any) -> np.ndarray:
    """log p(x_o, c), (n, k); a row that shows nothing has log p_c."""
    with np.errstate(divide="ignore"):
        logs = np.log(parts.weights)
    with np.errstate(over="ignore", invalid="ignore"):  # squares of rows that are very far away
        found = _shown_logs(X, parts)
        return logs + np.where(found >= LEAST, found, LEAST)


def _shown_logs(X: np.ndarray, parts: Any) -> np.ndarray:
    """log N(x_o) under every component, (n, k)."""
    if parts.kind in ("diag", "spherical"):
        return _diagonal_logs(X, parts)
    found, roots = np.empty((len(X), len(parts.means))), _roots(parts)
    for rows, shown in holes(X):
        for c, m in enumerate(parts.means):
            U = _shown_root(roots[c], shown)
            y = np.linalg.solve(U.T, (X[rows][:, shown] - m[shown]).T)
            constant = 0.5 * len(shown) * LOG_TWO_PI + np.log(np.abs(np.diag(U))).sum()
            found[rows, c] = -0.5 * (y * y).sum(axis=0) - constant
    return found


def _roots(parts: Any) -> np.ndarray:
    """L with L L' = C of every component, (k, d, d)."""
    k, d = parts.means.shape
    return np.broadcast_to(np.tril(np.linalg.inv(parts.factors)), (k, d, d))


def _shown_root(L: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """U with U'U = C_oo, from the rows of L: a block of C itself, rounded, may have no root."""
    return np.asarray(np.linalg.qr(L[shown].T, mode="r")) if len(shown) else np.zeros((0, 0))


def sums(X: np.ndarray, w: np.ndarray | None, parts: Any) -> tuple:
    """weights, first, second, loglik and total, as `MixtureSums` has them."""
    X = X.astype(np.float64)
    joint = log_joint(X, parts)
    norms, u = np.logaddexp.reduce(joint, axis=1), np.ones(len(X)) if w is None else w
    R = np.exp(joint - joint.max(axis=1, keepdims=True))
    R *= (u / R.sum(axis=1))[:, None]  # far away log p(x) has no digits left to take off
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


def _grouped_sums(X: np.ndarray, R: np.ndarray, parts: Any) -> tuple[np.ndarray, np.ndarray]:
    (k, d), roots = parts.means.shape, _roots(parts)
    covariances = roots @ roots.transpose(0, 2, 1)
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for rows, shown in holes(X):
        for c, (L, C) in enumerate(zip(roots, covariances, strict=True)):
            r, U = R[rows, c], _shown_root(L, shown)
            A = np.linalg.solve(U, np.linalg.solve(U.T, C[shown]))  # C_oo^-1 C_o.
            A[:, shown] = np.eye(len(shown))
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
