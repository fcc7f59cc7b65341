"""White rows for FastICA, and the contrast its parameters name.

K = L^-1/2 V'      from the covariance V L V' of the rows, largest variance first
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Real, check_parameter
from kilogram.base.projection import Projection, signed
from kilogram.solvers.factorization.fast_ica import Contrast, ContrastSums
from kilogram.statistics import Moments
from kilogram.statistics.centred_columns import FAR


def contrast_of(fun: Any, fun_args: Mapping[str, Any] | None) -> Contrast:
    """The contrast that `fun` and its arguments name."""
    args = dict(fun_args or {})
    if callable(fun):
        return Contrast(fun, 1.0, tuple(args.items()))
    if set(args) - {"alpha"}:
        raise ValueError(f"fun_args of {fun!r} has alpha only, got {sorted(args)}.")
    alpha = args.get("alpha", 1.0)
    check_parameter("alpha", alpha, Real(1, 2))
    return Contrast(fun, float(alpha))


@dataclass(frozen=True, eq=False)
class Whitening:
    """z = K (x - mean), and back: x = mean + back z; on the host."""

    mean: np.ndarray
    K: np.ndarray
    back: np.ndarray
    weight: float
    far: bool

    def __call__(self, block: Any) -> Any:
        return Projection(self.mean, self.K, None, self.far)(block)


def whitening(moments: Moments, n_components: int | None, whiten: bool) -> Whitening:
    """From the moments of the rows; without `whiten` the rows are taken as they are."""
    mean, S = (np.asarray(to_numpy(a), dtype=np.float64) for a in (moments.mean, moments.scatter))
    n, d = moments.weight, len(mean)
    if not whiten:
        if n_components is not None:
            warnings.warn("Ignoring n_components with whiten=False.", stacklevel=3)
        return Whitening(np.zeros(d), np.eye(d), np.eye(d), n, False)
    variances, V = eigh(S / n)
    enough = variances > max(variances[0], 0.0) * d * np.finfo(np.float64).eps
    rank = max(int(enough.sum()), 0)
    if rank == 0:
        raise ValueError("All rows of X are equal: there are no sources to find in them.")
    wanted = d if n_components is None else int(n_components)
    if wanted > rank:
        warnings.warn(
            f"n_components is too large: the rows vary in {rank} directions only, so {rank} of "
            f"{wanted} sources will be found.",
            stacklevel=3,
        )
    k = min(wanted, rank)
    V, root = signed(V.T)[:k], np.sqrt(variances[:k])[:, None]
    far = float(mean @ mean) > FAR**2 * float(variances.sum())
    return Whitening(mean, V / root, (V * root).T, n, far)


def block_sums(
    block: Any, s: Any, M: np.ndarray, contrast: Contrast, white: Whitening | None = None
) -> ContrastSums:
    """The sums of one block of rows, made white first where they are not yet."""
    Z = block if white is None else white(block)
    return contrast.sums(Z, M, s)
