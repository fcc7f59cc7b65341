"""Randomised subspace iteration: the leading eigenpairs of a positive semidefinite operator.

    Y = A (A (... (A Omega)))       q + 1 products with a random Omega (n, k + p)
    Q = orth(Y),   T = Q'A Q        Rayleigh and Ritz: T s = theta s gives the pair (theta, Q s)

A fixed number of passes over the data, whatever its spectrum: the cost is known beforehand and the
accuracy is not. The k-th value is off by about a factor (lambda_{k+p+1} / lambda_k)^(2q + 1); where
accuracy must be known, take `leading`.

Halko, Martinsson and Tropp (2011), SIAM Review 53, 217-288.
"""

from __future__ import annotations

from typing import Any, Literal

import scipy.linalg

from kilogram.arrays.linalg import eigh, qr
from kilogram.arrays.namespace import is_array, is_numpy, like, namespace
from kilogram.solvers.eigen.leading import generator_of
from kilogram.solvers.linear.cg import Tick, out_of_budget
from kilogram.solvers.solution import Solution

Normaliser = Literal["auto", "QR", "LU", "none"]


def subspace_iteration(
    A: Any,
    k: int,
    *,
    n_oversamples: int = 10,
    n_iter: int = 4,
    normaliser: Normaliser = "auto",
    rng: Any = None,
    ref: Any = None,
    callback: Tick | None = None,
    deadline: float | None = None,
) -> Solution:
    """Values (k,), largest first, and orthonormal vectors (n, k), after n_iter + 2 products.

    `normaliser` keeps the columns of Y apart between products; `ref`, `callback` and `deadline` are
    as in `leading`.
    """
    n = A.shape[0]
    rng = generator_of(rng)
    ref = A if ref is None and is_array(A) else ref
    Omega = rng.standard_normal((n, min(n, k + n_oversamples)))
    Y = A @ (Omega if ref is None else like(Omega, ref))
    why = ""
    for step in range(n_iter):
        why = out_of_budget(step, n_iter, deadline)
        if not why and callback is not None and callback(step + 1, None):
            why = "it was asked to stop."
        if why:
            break
        Y = A @ normalise_basis(Y, normaliser)
    Q = qr(Y)[0]
    values, S = eigh(_symmetric(Q.T @ (A @ Q)))
    values, vectors = values[:k], Q @ S[:, :k]
    captured = float(namespace(values).sum(values))
    if not why:
        return Solution((values, vectors), n_iter, captured)
    message = f"{why} {step} of {n_iter} power iterations were done."
    return Solution((values, vectors), step, captured, False, message)


def normalise_basis(Y: Any, how: Normaliser) -> Any:
    """A better conditioned basis of the range of Y (n, p)."""
    if how == "none":
        return Y
    if how == "LU" and is_numpy(Y):
        return scipy.linalg.lu(Y, permute_l=True, check_finite=False)[0]
    # libraries without a pivoted LU of rectangular matrices take QR, which is never worse
    return qr(Y)[0]


def _symmetric(T: Any) -> Any:
    return (T + T.T) / 2
