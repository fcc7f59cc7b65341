"""Non-linear least squares (lecture_notes L13, L14): min_beta |y - f(beta)|^2, J the Jacobian of f.

    Gauss-Newton          J'J step = J'(y - f)
    Levenberg             (J'J + tau I) step = J'(y - f)
    Levenberg-Marquardt   (J'J + tau diag(J'J)) step = J'(y - f)

tau starts at 0.1; a step that lowers the error is kept and tau divided by sqrt 2, another is
undone and tau multiplied. The circle fit of the lectures stands beside it in both forms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin

Model = Callable[[Array], tuple[Array, Array]]


def gauss_newton(model: Model, y: Array, beta: Array, steps: int = 50) -> States:
    """model(beta) gives f (N,) and J (N, d)."""
    f, J = model(beta)
    yield (s := begin("0 start", float(np.sum((y - f) ** 2)), beta=beta))
    for t in range(1, steps + 1):
        beta = beta + np.linalg.lstsq(J, y - f, rcond=None)[0]
        f, J = model(beta)
        yield (s := s.then(f"step {t}", float(np.sum((y - f) ** 2)), beta=beta))
    return s


def damped_step(J: Array, r: Array, tau: float, *, scaled: bool) -> Array:
    """Levenberg's step, or Marquardt's, which is `scaled`."""
    A = J.T @ J
    D = np.diag(np.diag(A)) if scaled else np.eye(len(A))
    return np.linalg.solve(A + tau * D, J.T @ r)


def levenberg_marquardt(
    model: Model, y: Array, beta: Array, steps: int = 200, *, scaled: bool = True
) -> States:
    """`scaled=False` is Levenberg's rule, which minds the units of the parameters."""
    tau, kappa = 0.1, np.sqrt(2.0)
    f, J = model(beta)
    error = float(np.sum((y - f) ** 2))
    yield (s := begin("0 start", error, beta=beta, tau=tau))
    for t in range(1, steps + 1):
        tried = beta + damped_step(J, y - f, tau, scaled=scaled)
        g, K = model(tried)
        lower = float(np.sum((y - g) ** 2)) < error
        if lower:
            beta, f, J = tried, g, K
            error, tau = float(np.sum((y - f) ** 2)), tau / kappa
        else:
            tau = tau * kappa
        outcome = "kept" if lower else "undone"
        yield (s := s.then(f"step {t}, {outcome}", error, beta=beta, tau=tau))
        if tau > 1e12:
            break
    return s


def circle_algebraic(P: Array) -> States:
    """Regress |x|^2 on [x, 1]: beta = (2 c, r^2 - |c|^2). Centred first; exact without noise."""
    middle = P.mean(axis=0)
    Q = P - middle
    A = np.column_stack([Q, np.ones(len(Q))])
    yield (s := begin("1 |x|^2 on [x, 1]", A=A, y=np.sum(Q**2, axis=1)))
    beta, _, rank, _ = np.linalg.lstsq(A, s["y"], rcond=None)
    if rank < 3:
        raise ValueError(f"{len(P)} points on one line determine no circle. Give one beside it.")
    c = beta[:2] / 2
    yield (s := s.then("2 read off", c=c + middle, r=np.sqrt(c @ c + beta[2]), beta=beta))
    return s


def circle_geometric(P: Array, c: Array, r: float, steps: int = 200) -> States:
    """min sum (|x_i - c| - r)^2 by Levenberg-Marquardt from (c, r)."""

    def model(beta: Array) -> tuple[Array, Array]:
        offset = P - beta[:2]
        distance = np.linalg.norm(offset, axis=1)
        J = np.column_stack([-offset / distance[:, None], -np.ones(len(P))])
        return distance - beta[2], J

    last = yield from levenberg_marquardt(model, np.zeros(len(P)), np.append(c, r), steps)
    yield (last := last.then("read off", last.objective, c=last["beta"][:2], r=last["beta"][2]))
    return last
