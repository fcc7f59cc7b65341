"""A small convex quadratic programme and its KKT conditions (first_encounter A; used by 8 and 9).

    min_x  1/2 x'Px + q'x     s.t.  Gx <= h,  Ax = b          P positive semi-definite

    L(x, z, v) = 1/2 x'Px + q'x + z'(Gx - h) + v'(Ax - b),  z >= 0;    dual: max_{z, v} min_x L

KKT     Px + q + G'z + A'v = 0      stationary
        Gx <= h,  Ax = b            feasible
        z >= 0                      dual feasible
        z_i (Gx - h)_i = 0          slackness: a sleeping constraint has no force

The path z_i s_i = mu, s = h - Gx, leads to the solution as mu goes to 0; every step is Newton's.
Dense and of order n^3: for problems one can look at.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def residuals(
    P: Array, q: Array, G: Array, h: Array, A: Array, b: Array, x: Array, z: Array, v: Array
) -> dict[str, float]:
    """The largest violation of each KKT condition, by its name (A.8-A.12)."""
    gap = G @ x - h
    return {
        "stationarity": float(np.abs(P @ x + q + G.T @ z + A.T @ v).max()),
        "inequalities": float(np.maximum(gap, 0).max(initial=0)),
        "equalities": float(np.abs(A @ x - b).max(initial=0)),
        "multipliers": float(np.maximum(-z, 0).max(initial=0)),
        "slackness": float(np.abs(z * gap).max(initial=0)),
    }


def _newton(
    P: Array, G: Array, A: Array, s: Array, z: Array, right: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array, Array, Array]:
    """One step of x, v, s, z for the residuals (stationary, equal, slack, product).

    z / s grows without bound where a constraint is active, s / z where it is not. The system of dx,
    dv and dz with row i of G times d_i = sqrt(z_i / (s_i + z_i)) has neither, and stays regular.
    """
    r_x, r_v, r_s, r_z = right
    n, m, k = len(r_x), len(r_v), len(s)
    d = np.sqrt(z / (s + z))
    D = G * d[:, None]
    # rows of A may say the same thing twice: the tiny corner keeps the system regular
    system = np.block(
        [
            [P, A.T, D.T],
            [A, -1e-13 * np.eye(m), np.zeros((m, k))],
            [D, np.zeros((k, m)), -np.diag(s / (s + z))],
        ]
    )
    step = np.linalg.solve(system, np.concatenate([-r_x, -r_v, d * (r_z / z - r_s)]))
    dx, dv, dz = step[:n], step[n : n + m], d * step[n + m :]
    return dx, dv, -r_s - G @ dx, dz


def _longest(v: Array, dv: Array) -> float:
    """The longest step, at most 1, that keeps v + step dv positive."""
    falling = dv < 0
    return min(1.0, float(np.min(-v[falling] / dv[falling], initial=np.inf)))


def quadratic_program(
    P: Array, q: Array, G: Array, h: Array, A: Array, b: Array, *, tol: float = 1e-13
) -> States:
    """Follow the central path: x, multipliers z of Gx <= h and v of Ax = b, gap z's."""
    x, v = np.zeros(len(q)), np.zeros(len(b))
    s, z = np.maximum(h - G @ x, 1.0), np.ones(len(h))
    yield (state := begin("0 start", x=x, v=v, s=s, z=z, gap=z @ s))
    for i in range(1, 101):
        r_x = P @ x + q + G.T @ z + A.T @ v
        r_v, r_s, mu = A @ x - b, G @ x + s - h, z @ s / len(s)
        scale = 1 + max(np.abs(q).max(), np.abs(x).max())
        if max(np.abs(r_x).max(), np.abs(r_s).max(), np.abs(r_v).max(initial=0), mu) < tol * scale:
            break
        # look ahead to mu = 0, then aim for as much less than mu as that step allows
        _, _, ds, dz = _newton(P, G, A, s, z, (r_x, r_v, r_s, s * z))
        ahead = min(_longest(s, ds), _longest(z, dz))
        aim = mu * (1 - ahead) ** 3
        dx, dv, ds, dz = _newton(P, G, A, s, z, (r_x, r_v, r_s, s * z + ds * dz - aim))
        step = 0.99 * min(_longest(s, ds), _longest(z, dz))
        x, v, s, z = x + step * dx, v + step * dv, s + step * ds, z + step * dz
        value = float(x @ P @ x / 2 + q @ x)
        yield (state := state.then(f"step {i}", value, x=x, v=v, s=s, z=z, gap=z @ s))
    return state
