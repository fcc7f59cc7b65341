"""The marginal likelihood of a Gaussian process, and its gradient, from one matrix of order n.

    y = f(x) + e,   f ~ GP(0, k),   e_i ~ N(0, s_i / w_i)
    C = K + diag(s / w),   a = C^-1 Y        Y (n, t), one column per output

    log p(Y) = -1/2 tr Y'a - t/2 log |C| - n t / 2 log 2 pi  -  t/2 sum_i ((w_i - 1) log(2 pi s_i)
               + log w_i)

    d log p = sum_ij M_ij dC_ij,   M = 1/2 (a a' - t C^-1)

s is the variance of one observation: alpha, and the noise of the kernel. A weight w is w equal
observations: their mean has noise s / w, and the last sum is what the others add, so that a weight
of 2 is the row given twice, in the likelihood too.

K, its factor L and C^-1 take the same memory in turn; M is formed tile by tile while the kernel's
derivatives are. One evaluation costs n^3 flops, two thirds of them in C^-1, which may be float32
when it is only for the gradient; the value itself is always float64.

Reference: Rasmussen and Williams, Gaussian processes for machine learning, 2006, sections 2.2, 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrmv, ssymv

from kilogram import native
from kilogram.arrays.linalg import (
    NotPositiveDefinite,
    cholesky,
    cholesky_solve,
    solve_triangular,
)
from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.arrays.rows import take_rows
from kilogram.functions.distances import without_diagonal
from kilogram.kernels import Kernel
from kilogram.kernels.gradients import Gradient, pull_back
from kilogram.kernels.gradients_diagonal import pull_back_diag
from kilogram.kernels.white import split_diag, without_noise
from kilogram.solvers.gaussian_process.inverse import SAFE, inverse_from_factor, rough_inverse

PANEL_ENTRIES = 2**19  # entries of K made at once: 4 MiB
LOG_2PI = float(np.log(2.0 * np.pi))
ROUGH = 1e-3  # relative miss of an inverse that is good enough for a gradient: three digits
ROUGH_FROM = 500  # rows; below, float32 saves no time


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows X (n, d), targets Y (n, t), noise beside the kernel's alpha (n,), weights (n,)/None."""

    X: Any
    Y: Any
    alpha: Any
    w: Any = None

    def part(self, rows: np.ndarray) -> Observations:
        """Some of the rows."""
        X, Y, alpha = (take_rows(A, rows) for A in (self.X, self.Y, self.alpha))
        return Observations(X, Y, alpha, None if self.w is None else take_rows(self.w, rows))

    def noise(self, kernel: Kernel) -> Any:
        """s, the variance of one observation of each row, (n,)."""
        return self.alpha + split_diag(kernel, self.X)[1]

    def weighted(self, s: Any) -> Any:
        """s / w."""
        return s if self.w is None else s / self.w

    def repeats(self, s: Any) -> tuple[float, Any]:
        """What the repetitions of the rows add to the log-likelihood, and its derivative by s."""
        xp = namespace(s)
        none = xp.zeros_like(s)
        if self.w is None:
            return 0.0, none
        t, more, known = self.Y.shape[1], self.w - 1.0, s > 0
        safe = xp.where(known, s, xp.ones_like(s))
        # without noise a repeated observation has no information
        own = xp.where(known, more * xp.log(2.0 * np.pi * safe), none)
        value = float(xp.sum(own + xp.log(self.w)))
        return -0.5 * t * value, xp.where(known, -0.5 * t * more / safe, none)


def covariance(kernel: Kernel, X: Any, noise: Any, out: np.ndarray | None = None) -> Any:
    """K + diag(noise), (n, n); of NumPy's only the lower triangle, above it there is anything."""
    n = X.shape[0]
    latent, diagonal = without_noise(kernel), split_diag(kernel, X)[0] + noise
    if not is_numpy(noise):
        xp = namespace(noise)
        eye = xp.eye(n, dtype=noise.dtype, device=noise.device)
        return eye * diagonal if latent is None else without_diagonal(latent(X)) + eye * diagonal
    C = np.empty((n, n)) if out is None else out
    step = max(32, PANEL_ENTRIES // max(1, n))
    for i in range(0, n, step):
        stop = min(i + step, n)
        C[i:stop, :stop] = 0.0 if latent is None else latent(X[i:stop], X[:stop])
    C.flat[:: n + 1] = diagonal
    return C


def factor(kernel: Kernel, data: Observations, out: np.ndarray | None = None) -> Any:
    """L in the lower triangle, L L' = C."""
    noise = data.weighted(data.noise(kernel))
    L = covariance(kernel, data.X, noise, out)
    if not is_numpy(L):
        return cholesky(L)
    order = native.cholesky_inplace(L)
    if order:
        raise NotPositiveDefinite(order)
    return L


def log_likelihood(L: Any, a: Any, data: Observations, s: Any) -> float:
    """log p(Y) from the factor of C and a = C^-1 Y."""
    xp = namespace(L)
    volume = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(L))))
    return from_parts(data, a, volume, s)


def from_parts(data: Observations, a: Any, volume: float, s: Any) -> float:
    """log p(Y) from a = C^-1 Y and log |C|."""
    n, t = data.Y.shape
    fit = float(namespace(a).sum(data.Y * a))
    return -0.5 * (fit + t * volume + n * t * LOG_2PI) + data.repeats(s)[0]


@dataclass(frozen=True, eq=False)
class Score:
    """2 M = a a' - t C^-1, known by its tiles; C^-1 in the lower triangle of `inverse`."""

    a: Any
    inverse: Any

    def __getitem__(self, at: tuple[slice, slice]) -> Any:
        rows, columns = at
        M = self.a[rows, :] @ self.a[columns, :].T
        t = self.a.shape[1]
        M -= self.inverse[at] if t == 1 else t * self.inverse[at]
        return M

    def diagonal(self) -> Any:
        xp = namespace(self.a)
        return xp.sum(self.a * self.a, axis=1) - self.a.shape[1] * xp.linalg.diagonal(self.inverse)


def inverse_of(L: Any) -> Any:
    """C^-1 in the lower triangle, in the memory of a NumPy L."""
    if is_numpy(L):
        return inverse_from_factor(L)
    R = solve_triangular(L, namespace(L).eye(L.shape[0], dtype=L.dtype, device=L.device))
    return R.T @ R


def _inverse_for_gradient(L: Any) -> Any:
    """C^-1, in float32 where that is fast and F C z = z for a vector z of random signs.

    tr F C - n is the error of the gradient by the scale of C, and |F C z - z| an estimate of more
    than it: the bound keeps it near 1e-4 of one unit of log-likelihood.
    """
    n = L.shape[0]
    if not is_numpy(L) or not ROUGH_FROM <= n < SAFE:
        return inverse_of(L)
    z = np.where(np.random.default_rng(0).random(n) < 0.5, -1.0, 1.0)
    Cz = dtrmv(L.T, dtrmv(L.T, z), trans=1)  # L.T is the same memory, as an upper triangle
    F = rough_inverse(L)
    miss = ssymv(1.0, F.T, Cz.astype(np.float32), lower=0) - z
    if float(np.linalg.norm(miss)) <= ROUGH * n**0.5:  # NaN is not
        return F
    return inverse_of(L)


def likelihood_and_gradient(
    kernel: Kernel, data: Observations, work: np.ndarray | None = None
) -> tuple[float, Gradient]:
    """log p(Y) and its derivatives by the logarithm of every parameter; `work` (n, n) is reused."""
    s = data.noise(kernel)
    L = factor(kernel, data, work)
    a = cholesky_solve(L, data.Y)
    value = log_likelihood(L, a, data, s)
    return value, gradient_from(kernel, data, Score(a, _inverse_for_gradient(L)), s)


def gradient_from(kernel: Kernel, data: Observations, M: Any, s: Any) -> Gradient:
    """d log p by the logarithm of every parameter, from the tiles and the diagonal of 2 M."""
    gradient = {path: 0.5 * g for path, g in pull_back(kernel, data.X, None, M).items()}
    if data.w is None:
        return gradient
    own = 0.5 * M.diagonal()
    # the noise of the kernel enters as s / w, and in the repetitions
    v = own / data.w + data.repeats(s)[1] - own
    more, behind = (pull_back_diag(kernel, data.X, v, latent=part) for part in (False, True))
    return {path: g + more[path] - behind[path] for path, g in gradient.items()}
