"""KKT check: how far a point and its multipliers are from the solution of a quadratic programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min 1/2 x'Px + q'x  s.t.  Gx <= h, Ax = b: checked arrays, none of them None."""

    P: np.ndarray
    q: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    b: np.ndarray

    @classmethod
    def of(cls, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any) -> QuadraticProgram:
        q = _numbers("q", q, 1)
        P = _numbers("P", P, 2)
        n = len(q)
        if n == 0 or P.shape != (n, n):
            raise ValueError(f"P must have the shape (n, n) of q's n = {n}, got {P.shape}.")
        if not np.allclose(P, P.T, rtol=1e-10, atol=1e-12 * max(1.0, float(np.abs(P).max()))):
            raise ValueError("P must be symmetric: give (P + P.T) / 2.")
        return cls(P, q, *_constraints("G", G, "h", h, n), *_constraints("A", A, "b", b, n))

    def objective(self, x: np.ndarray) -> float:
        return float(x @ self.P @ x / 2 + self.q @ x)


def _numbers(name: str, value: Any, ndim: int) -> np.ndarray:
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers.") from None
    if found.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got {found.ndim}.")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite, but it contains NaN or infinity.")
    return found


def _constraints(
    name: str, matrix: Any, side: str, known: Any, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of constraints and its right side; both may be None."""
    if (matrix is None) != (known is None):
        raise ValueError(f"Give both {name} and {side}, or neither.")
    if matrix is None:
        return np.zeros((0, n)), np.zeros(0)
    matrix, known = _numbers(name, matrix, 2), _numbers(side, known, 1)
    if matrix.shape != (len(known), n):
        raise ValueError(
            f"{name} must have the shape ({len(known)}, {n}) of {side} and q, got {matrix.shape}."
        )
    return matrix, known


@dataclass(frozen=True)
class KKTCheck:
    """The result of `check_kkt`: the largest violation of every condition.

    Attributes
    ----------
    stationarity : float
        Of Px + q + G'z + A'v = 0.
    inequalities, equalities : float
        Of Gx <= h and Ax = b.
    multipliers : float
        Of z >= 0.
    slackness : float
        Of z_i (Gx - h)_i = 0.
    """

    stationarity: float
    inequalities: float
    equalities: float
    multipliers: float
    slackness: float

    @property
    def largest(self) -> float:
        """The largest of the five."""
        return max(vars(self).values())

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:.1e}" for name, value in vars(self).items())


def check_kkt(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    *,
    x: Any,
    z: Any = None,
    v: Any = None,
) -> KKTCheck:
    """Violations of the KKT conditions of min 1/2 x'Px + q'x subject to Gx <= h and Ax = b.

    All are 0 exactly at the solutions, if P is positive semi-definite. They are absolute: compare
    them with the sizes of q, h and b.

    Parameters
    ----------
    P : array-like of shape (n, n)
        Symmetric.
    q : array-like of shape (n,)
    G : array-like of shape (m, n), default=None
    h : array-like of shape (m,), default=None
    A : array-like of shape (k, n), default=None
    b : array-like of shape (k,), default=None
    x : array-like of shape (n,)
        The point to check.
    z : array-like of shape (m,), default=None
        Multipliers of Gx <= h; None if there are no such constraints.
    v : array-like of shape (k,), default=None
        Multipliers of Ax = b; None if there are no such constraints.

    Returns
    -------
    KKTCheck
        With `stationarity`, `inequalities`, `equalities`, `multipliers`, `slackness`, `largest`.

    See Also
    --------
    solve_quadratic_program : Finds x, z and v.

    Examples
    --------
    The point of the half-plane x_0 <= 1 nearest to (3, 2); the constraint pushes with force 2.

    >>> from kilogram import check_kkt
    >>> P, q, G, h = [[1, 0], [0, 1]], [-3, -2], [[1, 0]], [1]
    >>> check_kkt(P, q, G, h, x=[1, 2], z=[2]).largest
    0.0
    >>> check_kkt(P, q, G, h, x=[1, 2], z=[0]).stationarity
    2.0
    """
    problem = QuadraticProgram.of(P, q, G, h, A, b)
    point = _vector("x", x, len(problem.q))
    return violations(
        problem, point, _vector("z", z, len(problem.h)), _vector("v", v, len(problem.b))
    )


def _vector(name: str, value: Any, length: int) -> np.ndarray:
    found = _numbers(name, [] if value is None else value, 1)
    if len(found) != length:
        raise ValueError(f"{name} must have {length} entries, got {len(found)}.")
    return found


def violations(p: QuadraticProgram, x: np.ndarray, z: np.ndarray, v: np.ndarray) -> KKTCheck:
    """`check_kkt` of checked arrays."""
    beyond = p.G @ x - p.h
    return KKTCheck(
        stationarity=float(np.abs(p.P @ x + p.q + p.G.T @ z + p.A.T @ v).max()),
        inequalities=float(beyond.max(initial=0.0)),
        equalities=float(np.abs(p.A @ x - p.b).max(initial=0.0)),
        multipliers=float((-z).max(initial=0.0)),
        slackness=float(np.abs(z * beyond).max(initial=0.0)),
    )
