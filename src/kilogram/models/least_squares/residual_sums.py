"""Sums over rows that the errors of least-squares coefficients are made of.

    n    sum_i w_i r_i^2    meat = sum_i w_i^2 r_i^2 (1 - h_i)^-k z_i z_i'      (k = 0, 1, 2)

z_i = (1, x_i - m) about the mean m of all rows, h_i = w_i z_i'S^-1 z_i; they are used by
coefficient_table.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace


@dataclass(frozen=True, eq=False)
class Residuals:
    """Sums over rows: how many, w r^2 for each target (t,), the meat (t, p, p)."""

    n: float
    squares: Any
    meat: Any

    def __add__(self, other: Residuals | int) -> Residuals:
        if other == 0:
            return self
        if not isinstance(other, Residuals):
            return NotImplemented
        meat = None if self.meat is None else self.meat + other.meat
        return Residuals(self.n + other.n, self.squares + other.squares, meat)

    __radd__ = __add__


def residual_sums(
    X: Any,
    Y: Any,
    w: Any = None,
    *,
    coef: np.ndarray,
    intercept: np.ndarray,
    fit_intercept: bool,
    mean: Any,
    bread: np.ndarray,
    kind: str,
    precise: bool,
) -> Residuals:
    """Residuals of a block of rows from coef (t, d); `mean` and `bread` are those of all rows."""
    X = X.toarray() if is_sparse(X) else X
    xp = namespace(X)
    Y = like(Y, X)
    Y = Y if Y.ndim == 2 else Y[:, None]
    X, Y = xp.astype(X, mean.dtype), xp.astype(Y, mean.dtype)
    r = Y - X @ like(coef, X).T - like(intercept, X)
    v = xp.ones_like(r[:, 0]) if w is None else like(w, X)
    n = float(xp.sum(xp.astype(v > 0, v.dtype)))
    squares = xp.sum(v[:, None] * r * r, axis=0)
    if not kind.startswith("HC"):
        return Residuals(n, squares, None)
    Z = X - like(mean, X) if fit_intercept else X
    if fit_intercept:
        Z = xp.concat([xp.ones_like(Z[:, :1]), Z], axis=1)
    h = xp.sum((Z @ like(bread, X)) * Z, axis=1) * (v if precise else xp.ones_like(v))
    left = xp.where(h < 1.0 - 1e-10, 1.0 - h, xp.ones_like(h))  # a row fitted exactly has r = 0
    power = {"HC2": 1, "HC3": 2}.get(kind, 0)
    weight = (v * v if precise else v) / left**power
    meat = xp.stack([(Z * (weight * r[:, j] ** 2)[:, None]).T @ Z for j in range(r.shape[1])])
    return Residuals(n, squares, meat)
