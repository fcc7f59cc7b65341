"""log of a sum of kernels over all rows, by the cheapest method.

    compact kernels            windows of sorted rows: exact, no pair beyond reach but a few
    gaussian, d <= 3           polynomials in boxes; small sums pair by pair
    exponential, d = 1         one run over sorted rows in either direction: exact
    all others                 every pair, exact, in cache-sized blocks on all threads

Sums so small that they underflow are taken again as log-sum-exp around the nearest row, so a query
far from everything has the log density of the nearest rows, not -inf; only kernels that end give
-inf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.functions.density_kernels import COMPACT, log_profile, profile
from kilogram.models.density.boxes import EPSILON, Boxes
from kilogram.models.density.windows import Windows
from kilogram.native.density import density_sums, exponential_line

TINY = 1e-280  # below this, terms that underflow, at 1e-308, may have mattered
BLOCK = 2**22  # numbers of a block of pairs where array libraries make them: 32 MiB


@dataclass(frozen=True, eq=False)
class KernelSums:
    """Rows in units of the bandwidth, made ready for one kernel."""

    kind: str
    product: bool
    windows: Windows
    boxes: Boxes | None
    total: float

    @classmethod
    def of(
        cls, kind: str, Y: np.ndarray, w: np.ndarray | None, *, product: bool, fast: bool
    ) -> KernelSums:
        """Rows (n, d), weights (n,) or None; `fast` lets Gaussians be summed in boxes."""
        w = np.ones(len(Y)) if w is None else w
        boxes = Boxes.of(Y, w) if fast and kind == "gaussian" else None
        return cls(kind, product and Y.shape[1] > 1, Windows.of(Y, w), boxes, float(w.sum()))

    def log_sums(self, Q: np.ndarray, rtol: float, atol: float = 0.0) -> np.ndarray:
        """log sum_j w_j k(q - y_j), (m,), to atol * sum w + rtol * sum; Q (m, d) is scaled too."""
        if self.boxes is None:
            return self._exact(Q)
        S = self.boxes.sums(Q)
        error = EPSILON * self.total
        known = (error < S) & (error <= atol * self.total + rtol * S)
        S = np.where(known, S, 1.0)
        out = np.log(S)
        if not known.all():
            out[~known] = self._exact(Q[~known])
        return out

    def _exact(self, Q: np.ndarray) -> np.ndarray:
        w = self.windows
        if self.kind == "exponential" and Q.shape[1] == 1:
            order = np.argsort(Q[:, 0], kind="stable")
            n = w.rows.n
            S = np.empty(len(Q))
            S[order] = exponential_line(w.rows.Y[0, :n], w.rows.w[:n], Q[order, 0])
        elif self.kind in COMPACT:
            order = np.argsort(Q[:, w.axes[1]], kind="stable")  # neighbours share their rows
            lo, hi = w.around(Q[order])
            S = np.empty(len(Q))
            S[order] = density_sums(self.kind, w.rows, Q[order], lo, hi, product=self.product)
        else:
            lo, hi = w.all_rows(len(Q))
            S = density_sums(self.kind, w.rows, Q, lo, hi, product=self.product)
        small = S < TINY
        out = np.log(np.where(small, 1.0, S))
        if small.any():
            out[small] = -np.inf if self.kind in COMPACT else self._sums_about_nearest(Q[small])
        return out

    def _sums_about_nearest(self, Q: np.ndarray) -> np.ndarray:
        """log-sum-exp around the nearest row."""
        n = self.windows.rows.n
        Y, w = self.windows.rows.Y[:, :n].T, self.windows.rows.w[:n]
        step = max(BLOCK // (n * Q.shape[1]), 1)
        parts = [self._far_block(Q[i : i + step], Y, w) for i in range(0, len(Q), step)]
        return np.concatenate(parts)

    def _far_block(self, Q: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
        U = np.abs(Q[:, None, :] - Y)
        with np.errstate(over="ignore"):  # a distance beyond the largest float: log k is -inf
            t = (
                U.sum(axis=2) ** 2
                if self.product and self.kind != "gaussian"
                else (U**2).sum(axis=2)
            )
        logs = log_profile(self.kind, t)
        top = logs.max(axis=1)
        level = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return level + np.log(np.exp(logs - level[:, None]) @ w)


def device_log_sums(kind: str, Q: Any, Y: Any, w: Any, *, product: bool) -> Any:
    """Log sums over every pair for arrays of any library, on their device; w (n,) or None."""
    xp = namespace(Q)
    m, step = Q.shape[0], max(BLOCK // max(Y.shape[0] * Y.shape[1], 1), 1)
    parts = [
        _device_block(kind, Q[i : min(i + step, m), :], Y, w, product, xp)
        for i in range(0, max(m, 1), step)
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts)


def _device_block(kind: str, Q: Any, Y: Any, w: Any, product: bool, xp: Any) -> Any:
    U = Q[:, None, :] - Y[None, :, :]
    if kind in COMPACT:
        if product:
            k = xp.prod(profile(kind, U * U), axis=2)
        else:
            k = profile(kind, xp.sum(U * U, axis=2))
        return xp.log(xp.sum(k if w is None else k * w[None, :], axis=1))
    t = xp.sum(xp.abs(U), axis=2) ** 2 if product and kind != "gaussian" else xp.sum(U * U, axis=2)
    logs = log_profile(kind, t)
    top = xp.max(logs, axis=1)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    k = xp.exp(logs - top[:, None])
    return top + xp.log(xp.sum(k if w is None else k * w[None, :], axis=1))
