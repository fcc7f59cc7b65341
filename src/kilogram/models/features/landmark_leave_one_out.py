"""Leave-one-out predictions of ridge on Nystroem features, all penalties of a width at little cost.

With K = k(X, C) for m landmarks C and k(C, C) = L L', the features are Z = K L'^-1, in any basis
the same ones to ridge regression. Centred, and with X_c'WX_c = V diag(l) V' and U = Z V,

    f_i = mean of y + sum_j u_ij q_j / (l_j + alpha)      q = U' W (y - mean)
    h_i = w_i (sum_j u_ij^2 / (l_j + alpha) + 1 / w)      y_i - e_i,  e_i = (y_i - f_i) / (1 - h_i)

as in `solvers.least_squares.leave_one_out`: two n m^2 and one eigendecomposition, where the
features of `Nystroem` and the path of `RidgeCV` one after the other take three and two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.linalg import cholesky, eigh, solve_triangular
from kilogram.base.random_state import as_generator
from kilogram.kernels import Gaussian
from kilogram.models.features.nystroem import uniform_landmarks
from kilogram.solvers.least_squares.leave_one_out import ROWS

# Added to the diagonal of k(C, C), which is 1: landmarks may coincide. Far above the rounding of
# their kernel values, far below any penalty.
JITTER = 1e-10


def landmark_path(
    kernel: Gaussian, X: np.ndarray, Y: np.ndarray, alphas: Any, weights: Any, m: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leave-one-out predictions and fitted values (n, t, alphas), landmarks as in `Nystroem`."""
    C = X[uniform_landmarks(len(X), m, as_generator(seed))]
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    Z = _features(kernel, X, C)
    Z -= w @ Z / w.sum()
    mean_y = w @ Y / w.sum()
    R = Z if weights is None else Z * np.sqrt(w)[:, None]
    l, V = eigh(R.T @ R)
    U = Z @ V
    shrink = 1.0 / (np.maximum(l, 0.0)[:, None] + np.asarray(alphas, dtype=float))
    residuals = Y - mean_y
    q = U.T @ (w[:, None] * residuals)
    inner = (q[:, :, None] * shrink[:, None, :]).reshape(len(q), -1)
    fitted = (U @ inner).reshape(*Y.shape, -1)
    e = (residuals[:, :, None] - fitted) / _one_minus_leverage(U, w, shrink)[:, None, :]
    fitted += mean_y[:, None]
    return Y[:, :, None] - e, fitted


def _features(kernel: Gaussian, X: np.ndarray, C: np.ndarray) -> np.ndarray:
    """k(X, C) L'^-1."""
    own = np.asarray(kernel(C, C))
    own[np.diag_indices_from(own)] += JITTER
    return solve_triangular(cholesky(own, overwrite=True), np.asarray(kernel(X, C)).T).T


def _one_minus_leverage(U: np.ndarray, w: np.ndarray, shrink: np.ndarray) -> np.ndarray:
    """1 - h, (n, alphas), above zero."""
    h = np.concatenate([U[k : k + ROWS] ** 2 @ shrink for k in range(0, len(U), ROWS)])
    return np.maximum(1.0 - w[:, None] * (h + 1.0 / w.sum()), np.finfo(float).eps)
