"""Dense convex quadratic programmes by a primal-dual interior-point method.

    min_x  1/2 x'Px + q'x     s.t.  Gx <= h,  Ax = b

The central path z_i s_i = mu, s = h - Gx, is followed to mu = 0 by Newton steps with Mehrotra's
predictor and corrector; one factor of the (n + k) x (n + k) system serves both. Rows of A that say
the same twice are left out first. A programme without solution is recognised by a linear programme,
only after the path has failed.

References: Mehrotra 1992; Boyd and Vandenberghe 2004, ch. 11; Wright 1997.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve, qr
from scipy.optimize import linprog, nnls

from kilogram.functions.kkt import KKTCheck, QuadraticProgram, violations

Array = np.ndarray
# Of the largest diagonal entry, some 50 eps: keeps the system regular along flat directions.
TINY = 1e-14


@dataclass(frozen=True, eq=False)
class QuadraticProgramSolution:
    """The result of `solve_quadratic_program`.

    Attributes
    ----------
    x : ndarray of shape (n,)
    z : ndarray of shape (m,)
        Multipliers of Gx <= h: 0 where a constraint is not active.
    v : ndarray of shape (k,)
        Multipliers of Ax = b.
    objective : float
    n_iter : int
        Newton steps.
    kkt : KKTCheck
        Violations of the KKT conditions at the end.
    """

    x: Array
    z: Array
    v: Array
    objective: float
    n_iter: int
    kkt: KKTCheck


def solve_quadratic_program(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> QuadraticProgramSolution:
    """Minimise 1/2 x'Px + q'x subject to Gx <= h and Ax = b.

    For dense problems of up to some thousand unknowns: memory (n + k)^2, about twenty steps of
    order (n + k)^3 + m n^2. A linear programme is the case P = 0.

    Parameters
    ----------
    P : array-like of shape (n, n)
        Symmetric, positive semi-definite.
    q : array-like of shape (n,)
    G : array-like of shape (m, n), default=None
    h : array-like of shape (m,), default=None
    A : array-like of shape (k, n), default=None
    b : array-like of shape (k,), default=None
    tol : float, default=1e-9
        Largest violation of the KKT conditions, relative to the sizes of the terms they compare.
    max_iter : int, default=100

    Returns
    -------
    QuadraticProgramSolution
        With `x`, `z`, `v`, `objective`, `n_iter`, `kkt`.

    Raises
    ------
    ValueError
        If P is not positive semi-definite, if no x meets the constraints, or if the objective
        falls without bound.

    See Also
    --------
    check_kkt : The conditions at any point.

    Examples
    --------
    >>> from kilogram import solve_quadratic_program
    >>> found = solve_quadratic_program([[1, 0], [0, 1]], [-3, -2], G=[[1, 0]], h=[1])
    >>> found.x.round(6), found.z.round(6)
    (array([1., 2.]), array([2.]))
    """
    if not tol > 0:
        raise ValueError(f"tol must be a float greater than 0, got {tol!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1, got {max_iter!r}.")
    whole = QuadraticProgram.of(P, q, G, h, A, b)
    low, high = np.linalg.eigvalsh(whole.P)[[0, -1]]
    if low < -1e-12 * len(whole.q) * max(abs(high), abs(low)):
        raise ValueError(
            f"P must be positive semi-definite, but its smallest eigenvalue is {low:.3g}."
        )
    p, kept = _independent(whole)
    with np.errstate(all="ignore"):  # numbers grow without bound where there is no solution
        x, z, v, steps = _follow(p, tol, max_iter)
    if not _solved(p, x, z, v, tol):
        _explain(p)
        raise RuntimeError(
            f"No solution of the accuracy tol={tol:g} after {steps} steps "
            f"({violations(p, x, z, v)}): scale the problem, or raise tol."
        )
    all_v = np.zeros(len(whole.b))
    all_v[kept] = v
    kkt = violations(whole, x, z, all_v)
    return QuadraticProgramSolution(x, z, all_v, whole.objective(x), steps, kkt)


def _independent(p: QuadraticProgram) -> tuple[QuadraticProgram, Array]:
    """The programme with linearly independent equations only, and which those are."""
    if not len(p.b):
        return p, np.arange(0)
    R, order = qr(p.A.T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > size[0] * max(p.A.shape) * np.finfo(float).eps)) if size[0] > 0 else 0
    kept = np.sort(order[:rank])
    A, b = p.A[kept], p.b[kept]
    x = np.linalg.lstsq(A, b, rcond=None)[0] if rank else np.zeros(len(p.q))
    scale = 1.0 + np.abs(p.b).max() + np.abs(p.A).max() * np.abs(x).max()
    if np.abs(p.A @ x - p.b).max() > 1e-9 * scale:
        raise ValueError("No x satisfies Ax = b: the equations contradict each other.")
    return replace(p, A=A, b=b), kept


def _solved(p: QuadraticProgram, x: Array, z: Array, v: Array, tol: float) -> bool:
    """Whether every KKT condition holds to tol, relative to the terms it compares."""
    if not all(np.isfinite(a).all() for a in (x, z, v)):
        return False
    terms = (p.P @ x, p.q, p.G.T @ z, p.A.T @ v)
    force = 1.0 + max(float(np.abs(t).max()) for t in terms)
    scale = 1.0 + max(float(np.abs(t).max(initial=0.0)) for t in (p.h, p.b, p.G @ x, p.A @ x))
    k = violations(p, x, z, v)
    return (
        k.stationarity <= tol * force
        and max(k.inequalities, k.equalities) <= tol * scale
        and k.multipliers <= tol * force
        and k.slackness <= tol * (1.0 + abs(p.objective(x)))
    )


class _System:
    """The factored Newton system at s and z."""

    def __init__(self, p: QuadraticProgram, s: Array, z: Array):
        self.p, self.s, self.z = p, s, z
        n, k = len(p.q), len(p.b)
        M = p.P + p.G.T @ (p.G * (z / s)[:, None])
        M[np.diag_indices(n)] += TINY * max(1.0, float(np.abs(np.diag(p.P)).max()))
        self.factor = lu_factor(np.block([[M, p.A.T], [p.A, np.zeros((k, k))]]))

    def step(self, r_x: Array, r_v: Array, r_s: Array, r_z: Array) -> tuple[Array, ...]:
        """Changes of x, v, s, z that take these residuals to 0, to first order."""
        n = len(r_x)
        push = self.p.G.T @ ((self.z * r_s - r_z) / self.s)
        found = lu_solve(self.factor, np.concatenate([-r_x - push, -r_v]))
        ds = -r_s - self.p.G @ found[:n]
        return found[:n], found[n:], ds, -(r_z + self.z * ds) / self.s


def _follow(p: QuadraticProgram, tol: float, max_iter: int) -> tuple[Array, Array, Array, int]:
    """x, z, v at the end of the path, and the number of steps."""
    m = len(p.h)
    x, v, s, z = _start(p)
    for taken in range(max_iter):
        if _solved(p, x, z, v, tol):
            return x, z, v, taken
        if m and np.all(z * s <= tol * (1.0 + abs(p.objective(x)))):
            # Near the end z / s hides P from the system, but tells which constraints are active.
            for point in (x, _on_active(p, x, z > s)):
                forces = _multipliers(p, point, z > s)
                if _solved(p, point, *forces, tol):
                    return point, *forces, taken
        r_x = p.P @ x + p.q + p.G.T @ z + p.A.T @ v
        r_v, r_s, mu = p.A @ x - p.b, p.G @ x + s - p.h, float(z @ s) / max(m, 1)
        try:
            system = _System(p, s, z)
            _, _, ds, dz = system.step(r_x, r_v, r_s, s * z)
            reach = min(_longest(s, ds), _longest(z, dz))
            aim = mu * (1.0 - reach) ** 3
            dx, dv, ds, dz = system.step(r_x, r_v, r_s, s * z + ds * dz - aim)
        except (ValueError, np.linalg.LinAlgError):  # numbers without bound: see _explain
            return x, z, v, taken
        reach = min(_longest(s, ds), _longest(z, dz))
        step = 0.99 * reach if m else 1.0
        x, v, s, z = x + step * dx, v + step * dv, s + step * ds, z + step * dz
    return x, z, v, max_iter


def _on_active(p: QuadraticProgram, x: Array, active: Array) -> Array:
    """The minimiser nearest to x with the active constraints as equations."""
    n, B = len(x), np.vstack([p.A, p.G[active]])
    system = np.block([[p.P, B.T], [B, np.zeros((len(B), len(B)))]])
    left = np.concatenate([-(p.P @ x + p.q), p.b - p.A @ x, p.h[active] - p.G[active] @ x])
    change: Array = np.linalg.lstsq(system, left, rcond=None)[0][:n]
    return x + change


def _multipliers(p: QuadraticProgram, x: Array, active: Array) -> tuple[Array, Array]:
    """z >= 0 of the active constraints and v that come nearest to stationarity at x."""
    forces = np.column_stack([p.G[active].T, p.A.T, -p.A.T])
    z, k = np.zeros(len(p.h)), len(p.b)
    found = nnls(forces, -(p.P @ x + p.q))[0] if forces.size else np.zeros(2 * k)
    count = int(active.sum())
    z[active] = found[:count]
    return z, found[count : count + k] - found[count + k :]


def _start(p: QuadraticProgram) -> tuple[Array, Array, Array, Array]:
    """x, v, s, z of the programme that only penalises |Gx - h|^2, with s and z moved above 0."""
    ones = np.ones(len(p.h))
    x, v, _, _ = _System(p, ones, ones).step(p.q, -p.b, -p.h, 0.0 * ones)
    beyond = p.G @ x - p.h
    return x, v, _shifted_positive(-beyond), _shifted_positive(beyond)


def _shifted_positive(a: Array) -> Array:
    """a, or all of it moved up until the smallest entry is 1, if one is not positive."""
    low = float(a.min(initial=np.inf))
    return a if low > 0 else a + (1.0 - low)


def _longest(a: Array, da: Array) -> float:
    """The longest step, at most 1, that keeps a + step da positive."""
    falling = da < 0
    return min(1.0, float(np.min(-a[falling] / da[falling], initial=np.inf)))


def _explain(p: QuadraticProgram) -> None:
    """A ValueError if there is no feasible x, or a feasible direction of endless descent."""
    n, free = len(p.q), [(None, None)]
    scale = 1.0 + float(np.abs(p.h).max(initial=0.0))
    rows = np.column_stack([p.G, -np.ones(len(p.h))]) if len(p.h) else None
    equal = np.column_stack([p.A, np.zeros(len(p.b))]) if len(p.b) else None
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=rows,
        b_ub=p.h if len(p.h) else None,
        A_eq=equal,
        b_eq=p.b if len(p.b) else None,
        bounds=free * n + [(0.0, None)],
    )
    if found.status == 2 or (found.status == 0 and found.fun > 1e-8 * scale):
        raise ValueError("No x satisfies the constraints Gx <= h and Ax = b.")
    flat = np.vstack([p.P, p.A])
    down = linprog(
        p.q,
        A_ub=p.G if len(p.h) else None,
        b_ub=np.zeros(len(p.h)) if len(p.h) else None,
        A_eq=flat,
        b_eq=np.zeros(len(flat)),
        bounds=[(-1.0, 1.0)] * n,
    )
    if down.status == 0 and down.fun < -1e-9 * (1 + np.abs(p.q).max()):
        raise ValueError("The objective falls without bound on the feasible x.")
