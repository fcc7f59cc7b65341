"""Expectation and maximisation, over any pass that gives the sums of the components.

E    the responsibilities of the components, and from them the sums         (one pass over the rows)
M    the components that make those sums most probable                      (k small matrices)

Neither step lowers the log-likelihood (plus the logarithm of the prior, where there is one), so the
mean per row increases until it changes by less than tol. Reference: Dempster, Laird and Rubin 1977.

Online, the sums per row of what came before are kept and each batch moves them by a fraction g,

    s <- (1 - g) s + g s_batch        g = (t + 1)^-decay, t = 0, 1, ...        1/2 < decay <= 1

which with decay 1 is the plain mean over all batches (Cappe and Moulines 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kilogram.solvers.em.m_step import Shape, m_step, products
from kilogram.solvers.solution import Solution
from kilogram.statistics.mixture import Components, MixtureSums


def em(
    sums: Callable[[Components], MixtureSums],
    parts: Components,
    shape: Shape,
    *,
    max_iter: int,
    tol: float,
    tick: Callable[[int, float | None], bool],
    previous: float | None = None,
) -> Solution:
    """From `parts` until the bound changes by less than tol: value (components, bounds).

    `previous` is the bound of the last iteration of a fit that this one continues.
    """
    bounds: list[float] = []
    converged, message, n_iter = False, "did not converge: the likelihood still increases.", 0
    for n_iter in range(1, max_iter + 1):
        found = sums(parts)
        bounds.append((found.loglik + shape.log_prior(parts)) / found.total)
        parts = m_step(found, parts, shape)
        last = bounds[-2] if len(bounds) > 1 else previous
        if last is not None and abs(bounds[-1] - last) < tol:
            converged, message = True, ""
            break
        if tick(n_iter, -bounds[-1]):
            message = "max_time was reached before convergence: the likelihood still increases."
            break
    best = -bounds[-1] if bounds else None
    return Solution((parts, bounds), n_iter, best, converged, message)


class RunningMoments(NamedTuple):
    """Moments of the components per row seen: N (k,) sums to 1, scatters S about the means."""

    N: np.ndarray
    means: np.ndarray
    S: np.ndarray


def stepwise(
    before: RunningMoments | None, found: MixtureSums, old: Components, g: float
) -> RunningMoments:
    """The moments after a batch whose sums were made under the components `old`."""
    N = found.weights / found.total
    e = found.first / found.total / np.where(N > 0, N, 1.0)[:, None]
    new = RunningMoments(N, old.means + e, found.second / found.total - products(old.kind, N, e))
    if before is None:
        return new
    both = (1 - g) * before.N + g * N
    fraction = g * N / np.where(both > 0, both, 1.0)
    apart = new.means - before.means
    between = products(old.kind, (1 - g) * before.N * fraction, apart)
    S = (1 - g) * before.S + g * new.S + between
    return RunningMoments(both, before.means + fraction[:, None] * apart, S)


def moments_of(parts: Components) -> RunningMoments:
    """The moments that have these components."""
    N = parts.weights / parts.weights.sum()
    each = N.reshape(N.shape + (1,) * (parts.covariances.ndim - 1))
    return RunningMoments(
        N, parts.means, parts.covariances * (1.0 if parts.kind == "tied" else each)
    )
