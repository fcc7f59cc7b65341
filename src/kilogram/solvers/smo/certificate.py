"""Certificate of a dual point: bias, objective, duality gap, violation of the KKT conditions.

With g = K b, gradient f = g + s b - t and residual r_i = t_i - g_i - bias:

    bias       -mean of f over the free variables (lower < b < upper); where there is none, the
               middle of the interval that the conditions allow
    primal     1/2 b'K b + sum_i sup_{lower <= u <= upper} (u r_i - s_i u^2 / 2)
    dual       t'b - 1/2 b'(K + diag(s)) b
    KKT        max f over {b > lower} - min f over {b < upper}, 0 at the optimum

Hard margin has no finite primal off the feasible set; there w is first scaled until the smallest
margin is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kilogram.solvers.smo.problem import Array, DualProblem


class Certificate(NamedTuple):
    """bias, primal objective, duality gap and KKT violation of a dual point."""

    bias: float
    objective: float
    gap: float
    violation: float


def gradient(P: DualProblem, b: Array, g: Array) -> Array:
    """f = (K + diag(s)) b - t from g = K b."""
    return g[P.point] + P.s * b - P.t


def bias_of(P: DualProblem, b: Array, f: Array) -> float:
    """-mean of f over the free variables, or the middle of what the others allow."""
    up, low = b < P.upper, b > P.lower
    free = up & low
    if free.any():
        return -float(f[free].mean())
    ends = [f[up].min() if up.any() else np.inf, f[low].max() if low.any() else -np.inf]
    finite = [float(end) for end in ends if np.isfinite(end)]
    return -sum(finite) / len(finite) if finite else 0.0


def losses(P: DualProblem, r: Array) -> Array:
    """sup over the box of u r - s u^2 / 2, (m,): the loss of each residual."""
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(P.s > 0, r / P.s, np.where(r == 0, 0.0, np.copysign(np.inf, r)))
        u = np.clip(free, P.lower, P.upper)
        return np.where(u == 0, 0.0, u * r - np.where(P.s > 0, 0.5 * P.s * u * u, 0.0))


def violation_of(P: DualProblem, b: Array, f: Array) -> float:
    """max f over {b > lower} - min f over {b < upper}, not below 0."""
    up, low = b < P.upper, b > P.lower
    if not up.any() or not low.any():
        return 0.0
    return max(0.0, float(f[low].max() - f[up].min()))


def certify(P: DualProblem, b: Array, g: Array) -> Certificate:
    """The certificate of b with g = K b."""
    f = gradient(P, b, g)
    bias = bias_of(P, b, f)
    square = float(b @ g[P.point])  # b'K b
    dual = float(P.t @ b) - 0.5 * square - 0.5 * float(P.s @ (b * b))
    hard = bool(np.isinf(P.upper - P.lower).any() and not P.s.any())
    if hard and P.t.shape[0] > g.shape[0]:  # a tube that nothing may leave: xi = 0 up to tol
        primal = 0.5 * square
        return Certificate(bias, primal, abs(primal - dual), violation_of(P, b, f))
    if hard:
        margin = float(np.min(np.sign(P.t) * (g[P.point] + bias), initial=np.inf))
        primal = 0.5 * square / margin**2 if margin > 0 else np.inf
    else:
        primal = 0.5 * square + float(np.sum(losses(P, P.t - g[P.point] - bias)))
    return Certificate(bias, primal, primal - dual, violation_of(P, b, f))
