"""Two classes under a Gaussian process: Laplace's approximation, its likelihood and gradient.

    f ~ GP(0, k),   P(y_i = 1) = pi(f_i) = 1 / (1 + exp(-f_i)),   y_i in {0, 1}, weight w_i

    mode       f = K g,   g = w (y - pi)                  by Newton's method, each step from
               B = I + S K S,   S = diag(w pi (1 - pi))^1/2,   L L' = B
    likelihood Z = sum_i w_i log p(y_i | f_i) - 1/2 f'g - 1/2 log |B|

    dZ = sum_ij M_ij dK_ij,    2 M = g g' - R + u g' + g u'
         R = S B^-1 S,    u = (I - R K) s,    s_i = -1/2 (1 - (B^-1)_ii) (1 - 2 pi_i)

because the variance of f_i under the approximation is (1 - (B^-1)_ii) / W_i: the only matrix beside
K is B, then L, then B^-1, in one place.

A weight multiplies the log-likelihood of its row. Repeated rows have equal rows in K (unless the
kernel has white noise of its own), so an integer weight is the row given that often, in Z too.

Reference: Rasmussen and Williams, Gaussian processes for machine learning, 2006, algorithms 3.1,
3.2 and 5.1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.special import expit

from kilogram.arrays.linalg import cholesky, cholesky_solve
from kilogram.kernels import Kernel
from kilogram.kernels.gradients import Gradient, pull_back
from kilogram.solvers.gaussian_process.inverse import inverse_from_factor

TOLERANCE = 1e-10  # change of the likelihood at which Newton's method, quadratic by then, ends


@dataclass(frozen=True, eq=False)
class Labels:
    """Rows X (n, d), classes y (n,) of 0 and 1, weights (n,)."""

    X: Any
    y: np.ndarray
    w: np.ndarray


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable f = K g (n,), with pi (n,), root S (n,), L (n, n), and the likelihood Z."""

    g: np.ndarray
    pi: np.ndarray
    root: np.ndarray
    L: np.ndarray
    value: float
    n_iter: int
    converged: bool


def find_mode(
    K: np.ndarray,
    data: Labels,
    g: np.ndarray | None,
    max_iter: int,
    deadline: float | None = None,
) -> Mode:
    """Newton's method from f = K g, or from 0 where that is better, on a kernel matrix K (n, n).

    After the deadline, a moment of `time.perf_counter`, no further step begins; one is always made.
    """
    zero = np.zeros(len(data.y))
    now = _Point.of(K, data, zero)
    if g is not None:
        now = max(now, _Point.of(K, data, g), key=lambda point: point.height)
    before = -np.inf
    for step in range(1, max_iter + 1):
        pi = expit(now.f)
        W = data.w * pi * (1.0 - pi)
        root = np.sqrt(W)
        L = None  # its memory is free before the next matrix is made
        L = cholesky(_curvature(K, root), overwrite=True)
        b = W * now.f + data.w * (data.y - pi)
        now = _damped_newton_step(K, data, now, b - root * cholesky_solve(L, root * (K @ b)))
        value = now.height - float(np.sum(np.log(L.diagonal())))
        done = abs(value - before) < TOLERANCE
        late = deadline is not None and time.perf_counter() >= deadline
        if done or late or step == max_iter:
            return Mode(now.g, pi, root, L, value, step, done)
        before = value
    raise ValueError(f"max_iter_predict must be an integer of at least 1, got {max_iter!r}.")


@dataclass(frozen=True, eq=False)
class _Point:
    """f = K g and the height there, log p(y | f) - 1/2 f'g."""

    g: np.ndarray
    f: np.ndarray
    height: float

    @classmethod
    def of(cls, K: np.ndarray, data: Labels, g: np.ndarray) -> _Point:
        f = K @ g
        losses = data.w * np.logaddexp(0.0, (1.0 - 2.0 * data.y) * f)
        return cls(g, f, -float(np.sum(losses)) - 0.5 * float(g @ f))


def _damped_newton_step(K: np.ndarray, data: Labels, now: _Point, g: np.ndarray) -> _Point:
    """The Newton step to g, halved until the objective does not decrease."""
    found = _Point.of(K, data, g)
    for _ in range(20):
        if found.height >= now.height - TOLERANCE:
            return found
        found = _Point.of(K, data, 0.5 * (now.g + found.g))
    return now


def _curvature(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """B = I + S K S."""
    B = K * root
    B *= root[:, None]
    B.flat[:: len(B) + 1] += 1.0
    return B


@dataclass(frozen=True, eq=False)
class LaplaceScore:
    """2 M, known by its tiles; B^-1 in the lower triangle of `inverse`."""

    left: np.ndarray
    right: np.ndarray
    root: np.ndarray
    inverse: np.ndarray

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        rows, columns = at
        R = self.inverse[at] * self.root[columns]
        R *= self.root[rows, None]
        return self.left[rows] @ self.right[columns].T - R


def gradient(kernel: Kernel, K: np.ndarray, mode: Mode, data: Labels) -> Gradient:
    """Derivatives of Z by the logarithm of every parameter; takes the memory of mode.L."""
    g, root = mode.g, mode.root
    inverse = inverse_from_factor(mode.L)
    s = -0.5 * (1.0 - inverse.diagonal()) * (1.0 - 2.0 * mode.pi)
    u = s - root * _symmetric_product(inverse, root * (K @ s))
    score = LaplaceScore(np.stack([g + u, g], 1), np.stack([g, u], 1), root, inverse)
    return {path: 0.5 * v for path, v in pull_back(kernel, data.X, None, score).items()}


def _symmetric_product(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A b for a symmetric A of which the lower triangle is known, C-contiguous."""
    return dsymv(1.0, A.T, b, lower=0)
