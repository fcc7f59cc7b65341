"""What FastICA needs before its steps: checked parameters, and rows made white.

K = L^-1/2 V'      from the covariance V L V' of the rows, largest variance first
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import to_numpy
from kilogram.base.checks import number
from kilogram.models.subspace.columns import FAR
from kilogram.models.subspace.projection import Projection, signed
from kilogram.native.factors import CONTRASTS
from kilogram.solvers.factor.independent import ALGORITHMS, Contrast, ContrastSums
from kilogram.statistics import Moments

WHITENINGS = ("unit-variance", "arbitrary-variance", False)


def check_parameters(model: Any) -> Contrast:
    """Every parameter makes sense; the contrast they name."""
    k = model.n_components
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
        raise ValueError(f"n_components must be None or an integer of at least 1, got {k!r}.")
    if not isinstance(model.max_iter, Integral) or model.max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1, got {model.max_iter!r}.")
    if not number(model.tol) >= 0:
        raise ValueError(f"tol must be 0 or more, got {model.tol!r}.")
    if model.algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {tuple(ALGORITHMS)}, got {model.algorithm!r}.")
    if model.whiten not in WHITENINGS:
        raise ValueError(f"whiten must be one of {WHITENINGS}, got {model.whiten!r}.")
    if model.whiten_solver not in ("svd", "eigh"):
        raise ValueError(f"whiten_solver must be 'svd' or 'eigh', got {model.whiten_solver!r}.")
    if not (model.fun_args is None or isinstance(model.fun_args, Mapping)):
        raise TypeError(f"fun_args must be a dict or None, got {model.fun_args!r}.")
    args = dict(model.fun_args or {})
    if callable(model.fun):
        return Contrast(model.fun, 1.0, tuple(args.items()))
    if model.fun not in CONTRASTS:
        raise ValueError(f"fun must be one of {tuple(CONTRASTS)} or a function, got {model.fun!r}.")
    if set(args) - {"alpha"}:
        raise ValueError(f"fun_args of {model.fun!r} has alpha only, got {sorted(args)}.")
    alpha = args.get("alpha", 1.0)
    if not 1 <= number(alpha) <= 2:
        raise ValueError(f"alpha must be in [1,2], got {alpha!r}.")
    return Contrast(model.fun, float(alpha))


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


def whitening(model: Any, moments: Moments) -> Whitening:
    """From the moments of the rows; without `whiten` the rows are taken as they are."""
    mean, S = (np.asarray(to_numpy(a), dtype=np.float64) for a in (moments.mean, moments.scatter))
    n, d = moments.weight, len(mean)
    if not model.whiten:
        if model.n_components is not None:
            warnings.warn("Ignoring n_components with whiten=False.", stacklevel=3)
        return Whitening(np.zeros(d), np.eye(d), np.eye(d), n, False)
    variances, V = eigh(S / n)
    enough = variances > max(variances[0], 0.0) * d * np.finfo(np.float64).eps
    rank = max(int(enough.sum()), 0)
    if rank == 0:
        raise ValueError("All rows of X are equal: there are no sources to find in them.")
    wanted = d if model.n_components is None else int(model.n_components)
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
