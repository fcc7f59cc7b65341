"""Rows in coordinates in which robust fits are well conditioned, and back.

Columns are centred by their medians and scaled by their median absolute deviations, so that
outliers do not set the units, then rotated to orthogonal columns of mean square 1. Coefficients of
small singular values (constant and collinear columns) are 0 in these coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
# Deviations at which values are clipped for the choice of coordinates, not for the fit: their
# squares keep four digits of others.
FAR = 1e6


@dataclass(frozen=True, eq=False)
class StandardisedRows:
    """Q (n, r) of rank r; (b, W) = back @ theta, with b only if an intercept is fitted."""

    Q: Array
    back: Array
    fit_intercept: bool

    @property
    def rank(self) -> int:
        return self.Q.shape[1]

    def coefficients(self, theta: Array) -> tuple[Array, float]:
        """W (d,) and b."""
        full = self.back @ theta
        return (full[1:], float(full[0])) if self.fit_intercept else (full, 0.0)

    def covariance(self, C: Array) -> Array:
        """The covariance of (b, W) from that of theta."""
        return self.back @ C @ self.back.T


def column_scales(Z: Array) -> Array:
    """Median absolute values of columns; root mean squares where more than half are 0."""
    scale = np.median(np.abs(Z), axis=0)
    spread = np.sqrt(np.mean(Z * Z, axis=0))
    return np.where(scale > 0, scale, np.where(spread > 0, spread, 1.0))


def standardise(X: Array, fit_intercept: bool) -> StandardisedRows:
    """Rows X (n, d) in float64."""
    n, d = X.shape
    centre = np.median(X, axis=0) if fit_intercept else np.zeros(d)
    Z = X - centre
    scale = column_scales(Z)
    Z = Z / scale
    A = np.column_stack([np.ones(n), Z]) if fit_intercept else Z
    R = np.linalg.qr(np.clip(A, -FAR, FAR), mode="r") / np.sqrt(n)
    _, s, Vt = np.linalg.svd(R, full_matrices=False)
    r = int(np.sum(s > s[0] * max(A.shape) * np.finfo(float).eps)) if s[0] > 0 else 0
    turn = Vt[:r].T / s[:r]
    back = turn / np.append(1.0, scale)[:, None] if fit_intercept else turn / scale[:, None]
    if fit_intercept:
        back[0] = turn[0] - (centre / scale) @ turn[1:]
    return StandardisedRows(A @ turn, back, fit_intercept)
