"""The width of kernels: two rules, and the leave-one-out likelihood in closed form.

    scott        n^(-1/(d+4))                     silverman   (n (d+2) / 4)^(-1/(d+4))
    likelihood   max_h  sum_i w_i log p_{-i}(x_i),    p_{-i}(x_i) = (S_i - k(0)) / ((W - 1) c h^d)

S_i is the sum over all rows at row i; leaving i out takes away one k(0), so no model is fitted
again. Of a row of weight w_i one repetition is left out, or the whole row if w_i < 1. The two rules
are for columns of unit variance, as in scikit-learn; `standardize` makes them so. The likelihood of
more than 8 000 rows is that of a sample, whose width shrinks by (m / n)^(1/(d+4)).

Rows that repeat drive the likelihood to infinity as h goes to 0: the search keeps to 1/50 .. 5
times Silverman's width. Reference: Duin 1976.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np

from kilogram.functions.density_kernels import log_integral, silverman
from kilogram.models.density.kernel_sums import KernelSums

CV_ROWS = 8_000  # the cost is quadratic in the rows: 32 million pairs for each bandwidth tried
# Widths of the first grid, far enough apart to see separate maxima; golden section search follows.
GRID = 16
GOLDEN = 0.6180339887498949  # (sqrt(5) - 1) / 2


def leave_one_out(
    kind: str, X: np.ndarray, w: np.ndarray | None, h: float, *, product: bool
) -> float:
    """The weighted sum of log p_{-i}(x_i); -inf where a row has no other within reach."""
    n, d = X.shape
    sums = KernelSums.of(kind, X / h, w, product=product, fast=True)
    S = np.exp(sums.log_sums(X / h, 1e-10))
    weights = np.ones(n) if w is None else w
    out = np.minimum(weights, 1.0)
    left = S - out
    left = np.where(left > 1e-9 * S, left, 0.0)  # below that it is rounding of S
    with np.errstate(divide="ignore"):
        logs = np.log(left) - np.log(sums.total - out) - d * log(h)
    return float(weights @ (logs - log_integral(kind, d, product=product)))


def likelihood_width(
    kind: str, X: np.ndarray, w: np.ndarray | None, *, product: bool, rng: np.random.Generator
) -> float:
    """The width of the largest leave-one-out likelihood, for columns of about unit variance."""
    n, d = X.shape
    size = float(n) if w is None else float(w.sum())
    if size < 2 or not np.ptp(X, axis=0).any():
        return silverman(max(size, 1.0), d)
    if n > CV_ROWS:
        rows = np.sort(rng.choice(n, CV_ROWS, replace=False))
        X, w = X[rows], None if w is None else w[rows]
    m = float(len(X)) if w is None else float(w.sum())
    centre = silverman(m, d)
    best = _searched(
        lambda v: leave_one_out(kind, X, w, exp(v), product=product),
        log(centre / 50),
        log(centre * 5),
    )
    return exp(best) * (m / size) ** (1.0 / (d + 4))


def _searched(f: Callable[[float], float], low: float, high: float) -> float:
    """The largest f over a grid, then by golden sections between its neighbours."""
    grid = np.linspace(low, high, GRID)
    values = [f(float(v)) for v in grid]
    at = int(np.argmax(values))
    if not np.isfinite(values[at]):
        return high  # even the widest leaves some row alone
    a, b = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, GRID - 1)])
    c, e = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    fc, fe = f(c), f(e)
    while b - a > 0.01:
        if fc >= fe:
            b, e, fe = e, c, fc
            c = b - GOLDEN * (b - a)
            fc = f(c)
        else:
            a, c, fc = c, e, fe
            e = a + GOLDEN * (b - a)
            fe = f(e)
    return 0.5 * (a + b)
