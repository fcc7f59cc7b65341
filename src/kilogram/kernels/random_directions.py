"""Random directions for kernel spectra: standard normal vectors, independent or orthogonal.

Orthogonal draws (Yu et al., Orthogonal random features, 2016): blocks of d columns Q diag(r), with
Q uniform among orthogonal matrices and r_i the length of a normal vector. Each column alone
is still N(0, I), so the kernel estimate stays unbiased; its variance is smaller, because no two
directions of a block repeat each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def normal_draws(rng: Any, d: int, n: int, *, orthogonal: bool = False) -> np.ndarray:
    """n standard normal vectors of length d as columns, (d, n)."""
    if not orthogonal:
        return rng.standard_normal((d, n))
    count = -(-n // d)
    Q, R = np.linalg.qr(rng.standard_normal((count, d, d)))
    signs = np.where(np.diagonal(R, axis1=1, axis2=2) < 0, -1.0, 1.0)
    # the signs make Q uniform, whatever signs the factorisation prefers
    columns = Q * (signs * np.sqrt(rng.chisquare(d, size=(count, d))))[:, None, :]
    return np.concatenate(columns, axis=1)[:, :n]
