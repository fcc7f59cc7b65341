"""Concentration steps of the minimum covariance determinant."""

from __future__ import annotations

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, run


def determinant_steps(
    Xt: Array, h: int, m: Array, C: Array, *, steps: int
) -> tuple[Array, Array, Array, Array]:
    """Means (B, d), covariances (B, d, d), the h rows (B, n) and log determinants (B,).

    From each of B means m (B, d) and covariances C (B, d, d): the h columns of Xt (d, n) of
    smallest Mahalanobis distance give the next, at most `steps` times or until they stay; -inf
    where the covariance is singular.
    """
    d, n = Xt.shape
    if not 1 <= h <= n or m.shape[1:] != (d,) or C.shape != (len(m), d, d):
        raise ValueError(f"h must be in [1, {n}], m (B, {d}) and C (B, {d}, {d})")
    Xt = np.ascontiguousarray(Xt, dtype=np.float64)
    m, C = np.array(m, dtype=np.float64, order="C"), np.array(C, dtype=np.float64, order="C")
    kept, logdet = np.empty((len(m), n), dtype=np.uint8), np.empty(len(m))
    work = len(m) * float(n) * d * d * steps
    run(_core.determinant_steps, work, Xt, h, steps, m, C, kept, logdet)
    return m, C, kept.astype(bool), logdet
