"""Penalties P of the size t >= 0 of a coefficient, or of the norm of a group of coefficients.

    l1      P(t) = alpha t
    mcp     P(t) = alpha t - t^2 / (2 gamma)  up to t = gamma alpha, constant beyond
    scad    P'(t) = alpha up to alpha, then falls linearly to 0 at gamma alpha

All rise like alpha t at 0, which keeps small coefficients at exactly 0. The last two are concave:
large coefficients are not shrunk.

References: Tibshirani 1996; Fan and Li 2001 (SCAD); Zhang 2010 (MCP).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def penalty_slope(size: Array, alpha: Any, gamma: float, kind: str) -> Array:
    """P'(t) at t = size > 0, and its limit alpha at t = 0."""
    if kind == "mcp":
        return np.maximum(alpha - size / gamma, 0.0)
    if kind == "scad":
        falling = np.maximum(gamma * alpha - size, 0.0) / (gamma - 1)
        return np.where(size <= alpha, alpha, falling)
    return np.asarray(np.broadcast_to(alpha, size.shape), dtype=np.float64)


def penalty_value(size: Array, alpha: Any, gamma: float, kind: str) -> Array:
    """P(t) at t = size >= 0."""
    if kind == "mcp":
        bend = np.minimum(size, gamma * alpha)
        return np.asarray(alpha * bend - bend**2 / (2 * gamma))
    if kind == "scad":
        bend = np.clip(size, alpha, gamma * alpha)
        beyond = (bend - alpha) * (gamma * alpha - 0.5 * (bend + alpha)) / (gamma - 1)
        return np.asarray(alpha * np.minimum(size, alpha) + beyond)
    return np.asarray(alpha * size)
