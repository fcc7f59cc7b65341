"""A Gaussian process with m inducing points: the variational bound and its gradient.

With points Z (m, d), P = k(Z, Z), k_i = k(Z, x_i) and noise s_i, let L L' = P and

    A = L^-1 [k_1 .. k_n] diag(s)^-1/2,   B = I + A A',   c = B^-1 A diag(s)^-1/2 Y

    F = log N(Y | 0, Q + diag(s))  -  t/2 sum_i (k_ii - q_ii) / s_i,    Q = K_nm P^-1 K_mn

F is never more than the log-likelihood, and equal to it when Z are all the rows. The posterior

    mean      k(x)' mu,                                    mu = L'^-1 c
    variance  k(x, x) - |L^-1 k(x)|^2 + |L_B^-1 L^-1 k(x)|^2,     L_B L_B' = B

keeps the prior's variance where no inducing point is near: what the points cannot explain stays
uncertain. The rows are read in blocks, twice: once for the m x m sums, once for the gradient

    dF/dk_i = (2 H k_i + mu y_i') / s_i      H = L'^-1 (t/2 (I - B^-1) - 1/2 c c') L^-1
    dF/dP   = L'^-1 (t/2 (I - B^-1 - A A') - 1/2 c c') L^-1

which leads to the kernel's parameters and, by `kilogram.kernels.gradients_points`, to the points.

Reference: Titsias, Variational learning of inducing variables in sparse Gaussian processes, 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import cholesky, cholesky_solve, solve_triangular
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels import Kernel
from kilogram.kernels.gradients import Gradient, pull_back
from kilogram.kernels.gradients_diagonal import pull_back_diag
from kilogram.kernels.gradients_points import pull_back_points
from kilogram.kernels.white import split_diag
from kilogram.solvers.gaussian_process.exact import LOG_2PI, Observations
from kilogram.solvers.linear.nystroem_preconditioner import jittered_factor

BLOCK_ENTRIES = 2**19  # entries of K_nm held at once, 4 MiB; half a dozen arrays have its size


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums over the rows: L, G = A A' and L_B (m, m), c and mu (m, t), and F."""

    L: Any
    G: Any
    L_B: Any
    c: Any
    mu: Any
    bound: float


def blocks(kernel: Kernel, data: Observations, Z: Any) -> Iterator[tuple[slice, Any]]:
    """Rows (a slice) and their k(X, Z)."""
    n, step = data.Y.shape[0], max(64, BLOCK_ENTRIES // Z.shape[0])
    for i in range(0, n, step):
        at = slice(i, min(i + step, n))
        yield at, kernel(data.X[at, :], Z)


def summarise(kernel: Kernel, data: Observations, Z: Any) -> Summary:
    """The sums over all rows, and the bound F."""
    xp = namespace(data.Y)
    n, t = data.Y.shape
    m = Z.shape[0]
    s = data.noise(kernel)
    noise = data.weighted(s)
    L = jittered_factor(kernel(Z, _copy(Z)))  # a copy: without the noise
    G = xp.zeros((m, m), dtype=L.dtype, device=L.device)
    b = xp.zeros((m, t), dtype=L.dtype, device=L.device)
    for at, K in blocks(kernel, data, Z):
        root = xp.sqrt(noise[at])[:, None]
        A = solve_triangular(L, (K / root).T)
        G += A @ A.T
        b += A @ (data.Y[at, :] / root)
    L_B = cholesky(G + _eye(G), overwrite=True)
    c = cholesky_solve(L_B, b)
    latent = split_diag(kernel, data.X)[0]
    fit = float(xp.sum(data.Y**2 / noise[:, None])) - float(xp.sum(b * c))
    roots = xp.log(xp.linalg.diagonal(L_B))
    volume = t * (float(xp.sum(xp.log(noise))) + 2.0 * float(xp.sum(roots)))
    unexplained = t * (float(xp.sum(latent / noise)) - float(xp.linalg.trace(G)))
    bound = -0.5 * (n * t * LOG_2PI + fit + volume + unexplained) + data.repeats(s)[0]
    return Summary(L, G, L_B, c, solve_triangular(L, c, transposed=True), bound)


def _copy(Z: Any) -> Any:
    return Z.copy() if is_sparse(Z) else namespace(Z).asarray(Z, copy=True)


def _eye(G: Any) -> Any:
    return namespace(G).eye(G.shape[0], dtype=G.dtype, device=G.device)


def bound_and_gradient(kernel: Kernel, data: Observations, Z: Any) -> tuple[float, Gradient]:
    """F and its derivatives by the logarithm of every parameter."""
    return bound_and_slopes(kernel, data, Z, points=False)[:2]


def bound_and_slopes(
    kernel: Kernel, data: Observations, Z: Any, *, points: bool = True
) -> tuple[float, Gradient, Any]:
    """F, its derivatives by the logarithm of every parameter, and by the points (m, d), if asked
    for and the kernel has them."""
    known = summarise(kernel, data, Z)
    xp, t = namespace(data.Y), data.Y.shape[1]
    s = data.noise(kernel)
    noise = data.weighted(s)
    one = _eye(known.G)
    inner = 0.5 * t * (one - cholesky_solve(known.L_B, one))
    inner -= 0.5 * known.c @ known.c.T
    H = _two_sided_solve(known.L, inner)
    by_P = _two_sided_solve(known.L, inner - 0.5 * t * known.G)
    gradient = pull_back(kernel, Z, _copy(Z), by_P)
    # a point stands in a row and in a column of P
    by_points = pull_back_points(kernel, Z, _copy(Z), 2.0 * by_P) if points else None
    by_noise = xp.zeros_like(s)
    for at, K in blocks(kernel, data, Z):
        KH, X, Y, own = K @ H, data.X[at, :], data.Y[at, :], noise[at]
        fitted = xp.sum((K @ known.mu) * Y, axis=1)
        by_noise[at] = -(xp.sum(KH * K, axis=1) + fitted) / own**2
        M = (2.0 * KH + Y @ known.mu.T) / own[:, None]
        gradient = _plus(gradient, pull_back(kernel, X, Z, M))
        if by_points is not None:
            by_points = by_points + pull_back_points(kernel, X, Z, M)
    gradient = _plus(gradient, _by_diagonal(kernel, data, by_noise))
    return known.bound, gradient, by_points


def _by_diagonal(kernel: Kernel, data: Observations, by_noise: Any) -> Gradient:
    """What the noise and the diagonal of K add; `by_noise` is what came through the points."""
    xp, t = namespace(data.Y), data.Y.shape[1]
    s = data.noise(kernel)
    noise = data.weighted(s)
    latent = split_diag(kernel, data.X)[0]
    squares = xp.sum(data.Y**2, axis=1)
    by_noise = by_noise + 0.5 * (squares + t * latent) / noise**2 - 0.5 * t / noise
    by_s = data.weighted(by_noise) + data.repeats(s)[1]
    v = -0.5 * t / noise
    by_latent = pull_back_diag(kernel, data.X, v - by_s, latent=True)
    return _plus(by_latent, pull_back_diag(kernel, data.X, by_s))


def _two_sided_solve(L: Any, S: Any) -> Any:
    """L'^-1 S L^-1 for a symmetric S."""
    half = solve_triangular(L, S, transposed=True)
    return solve_triangular(L, half.T, transposed=True)


def _plus(one: Gradient, two: Gradient) -> Gradient:
    return {path: value + two[path] for path, value in one.items()}
