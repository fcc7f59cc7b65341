"""Ridge regression with any quadratic penalty alpha |G W|^2 (Tikhonov), in d unknowns.

    (S + alpha G'G) W = C      least squares of the rows [X_c; sqrt(alpha) G] and [Y_c; 0]

S + alpha G'G takes the place of S, and nothing of the penalty is left for the solvers to add; the
objective they report includes it. Where the matrix is singular, the smallest W among the minimisers
is taken, from the SVD of the stacked triangle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.solvers.least_squares.normal_equations import Normal, least_squares
from kilogram.solvers.solution import Solution


def check_penalty_matrix(G: Any, target: Any) -> Any:
    """G (m, d) as a dense array of the kind of `target` (d, ...)."""
    d = target.shape[0]
    try:
        host = G.toarray() if is_sparse(G) else to_numpy(G) if hasattr(G, "shape") else G
        host = np.asarray(host, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("penalty_matrix must be a matrix of numbers.") from None
    if host.ndim != 2 or host.shape[0] == 0 or host.shape[1] != d:
        raise ValueError(
            f"penalty_matrix must have the shape (m, n_features) with n_features = {d}, got "
            f"{host.shape}."
        )
    if not np.isfinite(host).all():
        raise ValueError("penalty_matrix must be finite, but it contains NaN or infinity.")
    return like(host, target)


def penalized(
    normal: Normal, alpha: Sequence[float], G: Any
) -> Iterator[tuple[float, slice, Normal]]:
    """(alpha, its targets, their normal equations with S + alpha G'G)."""
    P = G.T @ G
    count = len(alpha)
    alike = len(set(alpha)) == 1
    for at in [slice(0, count)] if alike else [slice(j, j + 1) for j in range(count)]:
        part = replace(
            normal,
            S=normal.S + alpha[at.start] * P,
            C=normal.C[:, at],
            squares=normal.squares[at],
            mean_y=normal.mean_y[at],
        )
        yield alpha[at.start], at, part


def from_stacked(part: Normal, R: Any, at: slice, alpha: float, G: Any) -> Solution:
    """By the SVD of [R_x; sqrt(alpha) G], for the triangle R of [X_c, Y_c]."""
    xp, d = namespace(R), G.shape[1]
    below = alpha**0.5 * G
    A = xp.concat([R[:, :d], below], axis=0)
    Y = R[:, d:][:, at]
    zeros = xp.zeros((G.shape[0], Y.shape[1]), dtype=R.dtype, device=R.device)
    B = xp.concat([Y, zeros], axis=0)
    W = least_squares(A, B, [0.0] * Y.shape[1])
    rest = B - A @ W
    return Solution((W, part.mean_y - part.mean_x @ W), 1, float(xp.sum(rest * rest)))


def join_targets(found: Sequence[Solution]) -> Solution:
    """The solutions of consecutive targets as one."""
    if len(found) == 1:
        return found[0]
    xp = namespace(found[0].value[0])
    W = xp.concat([f.value[0] for f in found], axis=1)
    b = xp.concat([f.value[1] for f in found], axis=0)
    stopped = [f.message for f in found if not f.converged]
    value = sum(f.objective or 0.0 for f in found)
    message = stopped[0] if stopped else ""
    return Solution((W, b), max(f.n_iter for f in found), value, not stopped, message)
