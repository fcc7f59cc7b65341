"""From the sums of a pass to the next components, never to a collapsed one.

With total responsibility N_c and scatter S_c about the new means,

    p_c = N_c / N       m_c <- m_c + first / N_c       C_c = (S_c + a L) / (N_c + a) + reg I

"tied" pools the scatters, "diag" keeps their diagonal, "spherical" its mean. Without a prior a = 0;
then a component that shrinks to a point drives the likelihood to infinity, which only reg prevents.
A prior stands for a rows of the shape L: it is the mode under an inverse Wishart density, whose
logarithm is -a/2 sum_c [log det C_c + tr(L C_c^-1)] and a constant (Fraley and Raftery 2007, who
take for L the covariance of all rows over k^(2/d)). Eigenvalues below a floor at the rounding of
the data are raised to it, and a component that has lost every row keeps its shape with weight 0:
so no covariance is ever singular, and nothing is ever NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.statistics.mixture import Components, MixtureSums

# Fraction of all rows below which a component is lost: rounding of its weight.
LOST = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Shape:
    """What keeps covariances from collapsing: reg on the diagonal, a floor, a prior of `rows`."""

    kind: str
    reg: float
    floor: float
    rows: float = 0.0
    scale: np.ndarray | None = None  # L: (d, d), or (d,) for "diag" and "spherical"

    def log_prior(self, parts: Components) -> float:
        """The logarithm of the inverse Wishart density, up to a constant."""
        if self.scale is None or not self.rows:
            return 0.0
        F, L = parts.factors, self.scale
        if self.kind in ("diag", "spherical"):
            return -0.5 * self.rows * float((-2 * np.log(F) + L * F * F).sum())
        logdet = -2 * np.log(np.diagonal(F, axis1=-2, axis2=-1)).sum()
        return -0.5 * self.rows * float(logdet + ((F @ L) * F).sum())


def m_step(sums: MixtureSums, old: Components, shape: Shape) -> Components:
    """The components that the sums of a pass under `old` ask for."""
    N = sums.weights
    e = sums.first / np.maximum(N, _lost_weight(sums.total))[:, None]
    S = sums.second - products(shape.kind, N, e)
    return regularised_components(N, old.means + e, S, sums.total, shape, old)


def _lost_weight(total: float) -> float:
    """The weight below which a component is lost: above 0 also where the product underflows."""
    return max(LOST * total, float(np.finfo(np.float64).smallest_subnormal))


def products(kind: str, N: np.ndarray, e: np.ndarray) -> np.ndarray:
    """N_c e_c e_c' in the form in which this kind keeps its scatters."""
    if kind == "full":
        return np.asarray(N[:, None, None] * e[:, :, None] * e[:, None, :])
    return np.asarray((e.T * N) @ e if kind == "tied" else N[:, None] * e * e)


def regularised_components(
    N: np.ndarray,
    means: np.ndarray,
    S: np.ndarray,
    total: float,
    shape: Shape,
    old: Components | None = None,
) -> Components:
    """Components of weights N (k,), means (k, d) and scatters S about them."""
    a = shape.rows if shape.scale is not None else 0.0
    rows = np.asarray(total) if shape.kind == "tied" else np.maximum(N, _lost_weight(total))
    rows = rows.reshape(rows.shape + (1,) * (S.ndim - rows.ndim))
    C = (S + (a * shape.scale if a and shape.scale is not None else 0.0)) / (rows + a)
    if shape.kind == "spherical":
        C = np.repeat(C.mean(axis=1, keepdims=True), C.shape[1], axis=1)
    lost = _lost_weight(total) >= N
    if old is not None and lost.any():
        means = np.where(lost[:, None], old.means, means)
        if shape.kind != "tied":
            kept = old.covariances - _ridge(shape.reg, old.covariances.shape, shape.kind)
            C = np.where(lost.reshape(lost.shape + (1,) * (C.ndim - 1)), kept, C)
    C, F = floored_covariances(C + _ridge(shape.reg, C.shape, shape.kind), shape)
    return Components(shape.kind, N / N.sum(), means, C, F)


def _ridge(reg: float, shape: tuple[int, ...], kind: str) -> np.ndarray | float:
    return reg if kind in ("diag", "spherical") else reg * np.eye(shape[-1])


def floored_covariances(C: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of which no eigenvalue is below the floor, and F with F'F = C^-1."""
    if shape.kind in ("diag", "spherical"):
        C = np.maximum(C, shape.floor)
        return C, 1 / np.sqrt(C)
    C = (C + np.swapaxes(C, -1, -2)) / 2
    try:
        L = np.linalg.cholesky(C)
        flat = np.diagonal(L, axis1=-2, axis2=-1).min() ** 2 < shape.floor
    except np.linalg.LinAlgError:
        flat = True
    if flat:
        values, V = np.linalg.eigh(C)
        # the largest eigenvalue decides what rounding is
        least = np.maximum(shape.floor, 4 * np.finfo(float).eps * C.shape[-1] * values[..., -1:])
        C = (V * np.maximum(values, least)[..., None, :]) @ np.swapaxes(V, -1, -2)
        C = (C + np.swapaxes(C, -1, -2)) / 2
        L = np.linalg.cholesky(C)
    return C, np.tril(np.linalg.inv(L))
