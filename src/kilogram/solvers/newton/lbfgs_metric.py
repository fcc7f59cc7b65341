"""Preconditioner M^-1 of L-BFGS, from the curvature of softmax.py.

A diagonal alone is poor where the mean row is far from 0, as with counts: in its direction the
Hessian is much larger than the diagonal. So M is a diagonal plus the outer product of the mean row.
"""

from __future__ import annotations

import numpy as np

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.solvers.newton.softmax import Array, Problem


class Metric:
    """M^-1 from the curvature at a point."""

    def __init__(self, problem: Problem, H: Array):
        self.shape = (problem.t, problem.D)
        self.mean = _MeanRow(problem, H) if H.ndim == 3 else None
        if self.mean is not None:
            return
        self.shared = problem.t > 1 and len(H) == problem.D
        self.L = _factor(_penalised(problem, H) if self.shared else _tied(problem, H))
        if self.shared:  # used at every step: a product takes the threads that X's products use
            root = np.linalg.inv(self.L)
            self.inverse = root.T @ root

    def times(self, G: Array) -> Array:
        """M^-1 G."""
        if self.mean is not None:
            return self.mean.times(G)
        if self.shared:
            return G @ self.inverse
        return cholesky_solve(self.L, G.ravel()).reshape(self.shape)


class _MeanRow:
    """M = diag(D) + u u' of every class: the spread around the mean row, and the mean row."""

    def __init__(self, problem: Problem, H: Array):
        second, first = H[:, 0], H[:, 1]
        weight = first[:, -1:]  # of the rows, of which the entry of the intercept is 1
        u = first / np.sqrt(np.where(weight > 0, weight, 1.0))
        if not problem.intercept:
            u[:, -1] = 0.0
        # constant columns have no spread: a little keeps the two parts apart
        spread = np.maximum(second - u * u, 1e-4 * u * u) + problem.quadratic
        self.inverse = 1.0 / np.where(spread > 0, spread, 1.0)
        self.u, self.size = u, 1.0 + np.sum(u * u * self.inverse, axis=1)

    def times(self, G: Array) -> Array:
        """M^-1 G, by the formula of Sherman and Morrison."""
        A = G * self.inverse
        along = np.sum(self.u * A, axis=1) / self.size
        return A - along[:, None] * (self.u * self.inverse)


def _penalised(problem: Problem, H: Array) -> Array:
    H = H + np.diag(problem.quadratic)
    if not problem.intercept:
        H[-1, :] = H[:, -1] = 0.0
        H[-1, -1] = 1.0
    return H


def _tied(problem: Problem, H: Array) -> Array:
    """The whole Hessian with penalties. Where nothing ties the classes' common shift (it changes no
    chance), a multiple of it is added: the gradient has none, so the step stays the same."""
    t, D = problem.t, problem.D
    H = H + np.diag(np.tile(problem.quadratic, t))
    diagonal = np.diagonal(H).copy()
    if t > 1:
        for j in np.nonzero(problem.quadratic <= 0)[0]:
            at = np.arange(t) * D + j
            H[np.ix_(at, at)] += diagonal[at].mean() / t
    if not problem.intercept:
        at = np.arange(t) * D + D - 1
        H[at, :] = H[:, at] = 0.0
        H[at, at] = 1.0
    return H


def _factor(H: Array) -> Array:
    """A Cholesky factor, with as little added to the diagonal as lets it exist."""
    diagonal = np.diagonal(H).copy()
    H = H.copy()
    empty = ~(diagonal > 0)
    H[empty, empty] = 1.0
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        H[np.diag_indices_from(H)] += jitter * np.where(empty, 0.0, diagonal)
        try:
            return cholesky(H)
        except NotPositiveDefinite:
            continue
    return np.diag(np.sqrt(np.where(empty, 1.0, diagonal)))
