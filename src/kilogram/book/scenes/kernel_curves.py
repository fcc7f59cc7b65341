"""What the scenes of curves share: kernels to choose from, columns of kernel values, leave-one-out errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial


def leave_one_out_error(
    Z: np.ndarray, y: np.ndarray, alpha: float = 0.0, offset: bool = True
) -> float:
    """The exact leave-one-out mean squared error of a (ridge) fit on the columns Z with an offset."""
    if not offset:
        hat = Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T)
        return float(np.mean(((y - hat @ y) / (1 - np.diag(hat))) ** 2))
    Z1 = np.column_stack([np.ones(len(Z)), Z])
    if alpha:
        hat = Z1 @ np.linalg.solve(Z1.T @ Z1 + alpha * np.diag([0.0] + [1.0] * Z.shape[1]), Z1.T)
    else:
        U, s, _ = np.linalg.svd(Z1, full_matrices=False)
        U = U[:, s > 1e-12 * s[0]]
        hat = U @ U.T
    rest = 1 - np.diag(hat)
    return float(np.mean(((y - hat @ y) / rest) ** 2)) if (rest > 1e-9).all() else float("inf")


KERNELS = (
    ("gaussian", "Gaussian"),
    ("laplacian", "Laplacian"),
    ("matern", "Matérn 3/2"),
    ("polynomial", "cubic polynomial"),
    ("linear", "linear"),
)


def kernel_of(c: Mapping[str, Any]) -> tuple[Any, str]:
    """The chosen kernel and how it is written."""
    s = c["sigma"]
    return {
        "gaussian": (Gaussian(s), f"kg.Gaussian({s})"),
        "laplacian": (Laplacian(s), f"kg.Laplacian({s})"),
        "matern": (Matern(1.5, s), f"kg.Matern(1.5, {s})"),
        "polynomial": (Polynomial(3), "kg.Polynomial(3)"),
        "linear": (Linear(), "kg.Linear()"),
    }[c["kernel"]]
