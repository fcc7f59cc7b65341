"""A Gaussian process whose covariance does not fit in memory, by products with the covariance.

    C = K + D = D^1/2 (I + S K S) D^1/2,    S = D^-1/2,   D the noise of the rows
    a = C^-1 Y = S (I + S K S)^-1 S Y                     conjugate gradients, to a tolerance

K is stored or computed tile by tile (operators/gram.py), and a Nystroem preconditioner M ~ (I +
S K S)^-1 of some of its columns reduces the iterations to tens. The determinant is estimated:

    log |C| = log |D| - log |M| + tr log A,    A = M^1/2 (I + S K S) M^1/2
    tr log A ~ mean over z of z' log(A) z      z random signs, by Lanczos quadrature on each

and so are the traces of the gradient, tr C^-1 dC ~ mean of z' C^-1 dC z. The quadratic term Y'a is
exact to the tolerance; the log-likelihood has a standard error over the probes z.

Reference: Ubaru, Chen and Saad, Fast estimation of tr f(A) via stochastic Lanczos quadrature, 2017;
Gardner, Pleiss, Bindel, Weinberger and Wilson, GPyTorch, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.kernels import Kernel
from kilogram.kernels.gradients import Gradient
from kilogram.kernels.white import without_noise
from kilogram.operators import Gram, Shifted, scaled
from kilogram.solvers.gaussian_process.exact import Observations, from_parts, gradient_from
from kilogram.solvers.linear.cg import Tick, cg
from kilogram.solvers.linear.kernel_cg import default_rank, random_columns
from kilogram.solvers.linear.nystroem_preconditioner import NystroemPreconditioner
from kilogram.solvers.solution import Solution

# Random vectors: the error of a log determinant falls with their root, here to a quarter.
PROBES = 16
LANCZOS_STEPS = 30  # a preconditioned spectrum, within a few decades, needs no more for two digits
TOLERANCE = 1e-8  # relative residual of the mean's coefficients: half the digits of float64
VARIANCE_TOLERANCE = 1e-4  # of the columns of variances, whose error is of the order of its square


@dataclass(frozen=True, eq=False)
class CovarianceOperator:
    """C = K + diag(noise) as a linear map, with the preconditioner of I + S K S."""

    K: Gram
    scale: Any
    M: NystroemPreconditioner

    @classmethod
    def of(
        cls, kernel: Kernel, X: Any, noise: Any, max_memory: Any, rng: Any
    ) -> CovarianceOperator:
        latent = without_noise(kernel)
        if latent is None:
            raise ValueError(f"{kernel!r} is noise only. Add a kernel of the function to it.")
        K, scale = Gram(latent, X, max_memory=max_memory), 1.0 / namespace(noise).sqrt(noise)
        columns = random_columns(K, scale, default_rank(X.shape[0]), rng)
        return cls(K, scale, NystroemPreconditioner.from_columns(*columns, 1.0))

    @property
    def whitened(self) -> Shifted:
        """I + S K S."""
        return Shifted(scaled(self.K, self.scale), 1.0)

    def solve(self, B: Any, *, tol: float, callback: Tick | None = None) -> Solution:
        """C^-1 B, (n, t)."""
        s = self.scale[:, None]
        found = cg(self.whitened, s * B, preconditioner=self.M, tol=tol, callback=callback)
        return Solution(
            s * found.value, found.n_iter, found.objective, found.converged, found.message
        )

    def log_determinants(self, Z: Any, steps: int = LANCZOS_STEPS) -> np.ndarray:
        """Estimates of log |C|, one for each column of signs Z (n, p)."""
        xp = namespace(Z)
        shrink = _shrink(self.M)
        known = -2.0 * float(xp.sum(xp.log(self.scale))) - float(xp.sum(xp.log(shrink)))
        A = _Between(self.whitened, self.M.U, xp.sqrt(shrink))
        return known + lanczos_logarithms(A, Z, steps)


@dataclass(frozen=True, eq=False)
class _Between:
    """M^1/2 A M^1/2, M = I + U (diag(root^2) - I) U'."""

    A: Any
    U: Any
    root: Any

    def __matmul__(self, V: Any) -> Any:
        return self._half(self.A @ self._half(V))

    def _half(self, V: Any) -> Any:
        return V + self.U @ ((self.root[:, None] - 1.0) * (self.U.T @ V))


def _shrink(M: NystroemPreconditioner) -> Any:
    """The eigenvalues of M on the span of U."""
    return (M.values[-1] + M.alpha) / (M.values + M.alpha)


def lanczos_logarithms(A: Any, Z: Any, steps: int) -> np.ndarray:
    """z' log(A) z for each column of Z (n, p), by Gauss quadrature with `steps` nodes."""
    xp = namespace(Z)
    size = xp.linalg.vector_norm(Z, axis=0)
    Q, before, beta = Z / size, xp.zeros_like(Z), xp.zeros_like(size)
    diagonals, offs = [], []
    for _ in range(min(steps, Z.shape[0])):
        R = A @ Q - beta * before
        alpha = xp.sum(Q * R, axis=0)
        R = R - alpha * Q
        beta = xp.linalg.vector_norm(R, axis=0)
        diagonals.append(to_numpy(alpha))
        offs.append(to_numpy(beta))
        before, Q = Q, R / xp.where(beta > 0, beta, xp.ones_like(beta))
    pairs = zip(np.stack(diagonals, 1), np.stack(offs, 1), strict=True)
    return to_numpy(size) ** 2 * np.asarray([_first_logarithm(*pair) for pair in pairs])


def _first_logarithm(diagonal: np.ndarray, off: np.ndarray) -> float:
    """(log T)_11 of a tridiagonal T, cut where it falls apart: the space was exhausted there."""
    ends = np.flatnonzero(off <= 1e-12 * np.abs(diagonal).max())
    k = int(ends[0]) + 1 if len(ends) else len(diagonal)
    T = np.diag(diagonal[:k]) + np.diag(off[: k - 1], 1) + np.diag(off[: k - 1], -1)
    values, vectors = np.linalg.eigh(T)
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Estimated:
    """a = C^-1 Y (n, t), the log-likelihood with its standard error, and how CG ended."""

    a: Any
    log_likelihood: float
    error: float
    found: Solution


def probes(n: int, ref: Any, count: int = PROBES) -> Any:
    """Columns of random signs (n, count), the same ones for every theta: noise that is shared
    moves the likelihood as a whole and leaves its top nearly where it is."""
    signs = np.random.default_rng(0).integers(0, 2, (n, count)) * 2.0 - 1.0
    return like(signs, ref)


def estimate(
    kernel: Kernel, data: Observations, C: CovarianceOperator, callback: Tick | None = None
) -> Estimated:
    """The coefficients of the mean, and log p(Y)."""
    s, t = data.noise(kernel), data.Y.shape[1]
    found = C.solve(data.Y, tol=TOLERANCE, callback=callback)
    volumes = C.log_determinants(probes(data.Y.shape[0], data.Y))
    value = from_parts(data, found.value, float(volumes.mean()), s)
    error = 0.5 * t * float(volumes.std(ddof=1)) / len(volumes) ** 0.5
    return Estimated(found.value, value, error, found)


def estimate_with_gradient(
    kernel: Kernel, data: Observations, C: CovarianceOperator
) -> tuple[float, Gradient]:
    """log p(Y) and its derivatives by the logarithm of every parameter, estimated."""
    known = estimate(kernel, data, C)
    Z = probes(data.Y.shape[0], data.Y)
    U = C.solve(Z, tol=VARIANCE_TOLERANCE).value
    half = 0.5 * data.Y.shape[1] / Z.shape[1]
    xp = namespace(Z)
    left = xp.concat([known.a, -half * U, -half * Z], axis=1)
    score = ProductScore(left, xp.concat([known.a, Z, U], axis=1))
    return known.log_likelihood, gradient_from(kernel, data, score, data.noise(kernel))


@dataclass(frozen=True, eq=False)
class ProductScore:
    """2 M = left right', symmetric, known by its tiles."""

    left: Any
    right: Any

    def __getitem__(self, at: tuple[slice, slice]) -> Any:
        rows, columns = at
        return self.left[rows, :] @ self.right[columns, :].T

    def diagonal(self) -> Any:
        return namespace(self.left).sum(self.left * self.right, axis=1)
