"""One pass of a Gaussian mixture: densities, responsibilities and the sums about the means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kilogram.native._core as _core
from kilogram.native.buffers import Array, matrix, run, vector


class MixtureStep(NamedTuple):
    """The weighted sum of log p(x), and what was asked for of the rest; the others are None.

    responsibilities (n, k) are p(c | x), or log p(x, c); norms (n,) log p(x); sums
    (k, 1 + d + d d) hold the weight, the sums of z = x - mean and its products, sums (k, 1 + 2 d)
    its squares.
    """

    loglik: float
    responsibilities: Array | None
    norms: Array | None
    sums: Array | None

    @property
    def weight(self) -> float:
        """Weight of all rows, from the sums; NaN if a row holds NaN."""
        return 0.0 if self.sums is None else float(self.sums[:, 0].sum())


def mixture_pass(
    X: Array,
    means: Array,
    factors: Array,
    constants: Array,
    w: Array | None = None,
    *,
    responsibilities: bool = False,
    joint: bool = False,
    norms: bool = False,
    sums: bool = False,
) -> MixtureStep:
    """Of rows X (n, d) under log p(x, c) = constants[c] - |F_c (x - means[c])|^2 / 2.

    The factors F are lower triangles (k, d, d), or diagonals (k, d). `sums` and `responsibilities`
    are not made together: sums carry the weights w.
    """
    x = matrix("X", X)
    (n, d), k, diagonal = x.shape, len(means), np.ndim(factors) == 2
    shift = means.mean(axis=0).astype(x.dtype)
    near = np.ascontiguousarray(means - shift.astype(np.float64), x.dtype)
    F = np.ascontiguousarray(factors, x.dtype).reshape(k, -1)
    c = np.ascontiguousarray(np.maximum(constants, -1e30), x.dtype)  # a weight of 0 is no infinity
    out = np.empty((n, k), x.dtype) if responsibilities or joint else None
    found = np.empty(n, x.dtype) if norms else None
    total = np.empty((k, 1 + d + (d if diagonal else d * d))) if sums else None
    work = float(n) * k * (8 * d if diagonal else d * d)
    loglik = run(
        _core.mixture_pass,
        work,
        x,
        vector(w, n, x.dtype, "w"),
        shift,
        near,
        F,
        c,
        diagonal,
        out,
        joint,
        found,
        total,
    )
    return MixtureStep(loglik, out, found, total)
