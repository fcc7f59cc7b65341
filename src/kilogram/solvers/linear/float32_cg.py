"""(F + alpha I)^-1 R by conjugate gradients on a float32 kernel matrix F, to a low accuracy.

A factor costs n^3 / 3 flops whatever the spectrum; a product with F is one reading of its lower
half, 2 n^2 bytes. With the leading part of K taken out by a Nystroem preconditioner, the condition
number that remains is about c = 1 + tail / alpha, tail its smallest eigenvalue kept, and a residual
falls to `ROUGH` in (1/2) sqrt(c) ln(2 / ROUGH) iterations or fewer: ten or twenty for usual
penalties. The digits that float32 lacks come back by refinement in positive_definite.py, as they do
for a float32 factor.

Vectors and the preconditioner are float64; only the product with F is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import namespace
from kilogram.kernels import Kernel
from kilogram.operators import HalfGram, Shifted, scaled
from kilogram.solvers.linear.cg import cg
from kilogram.solvers.linear.nystroem_preconditioner import NystroemPreconditioner
from kilogram.solvers.linear.ridged_gram import single_rows
from kilogram.solvers.solution import Solution

ITERATED_FROM = 4000  # rows from which a Nystroem preconditioner is cheap beside a factor
ROUGH = 2e-5  # residual of one solve: three of them reach float64's, and float32 has no more
# iterations per row of K: n / 400 readings of F cost a tenth of a float32 factor (at 20 GB/s and
# 150 GFLOP/s, two threads)
STEPS = 1 / 400
TARGETS = 8  # columns up to which a product with F is bound by its reading
PREDICTION_SLACK = 3.0  # predicted iterations over those allowed: the prediction is an upper bound


@dataclass(frozen=True, eq=False)
class SingleIteration:
    """(F + alpha I)^-1 for float64 columns to a residual of ROUGH, in up to `steps` iterations."""

    A: Shifted
    M: NystroemPreconditioner
    steps: int

    @classmethod
    def if_faster(
        cls, kernel: Kernel, X: Any, scale: Any, alpha: float, targets: int
    ) -> SingleIteration | None:
        """The iteration on S k(X, X) S in float32; None where a factor is likely faster."""
        n = X.shape[0]
        steps = int(STEPS * n / max(1.0, targets / TARGETS))
        if n < ITERATED_FROM or not alpha > 0 or steps < 1:
            return None
        M = NystroemPreconditioner.from_columns(*_spread_columns(kernel, X, scale), alpha)
        worst = 0.5 * math.sqrt(1.0 + float(M.values[-1]) / alpha) * math.log(2.0 / ROUGH)
        if worst > PREDICTION_SLACK * steps:
            return None
        F = Single(HalfGram(kernel, single_rows(kernel, X)))
        return cls(Shifted(scaled(F, scale), alpha), M, steps)

    def solve(self, R: Any) -> Solution:
        return cg(self.A, R, preconditioner=self.M, tol=ROUGH, max_iter=self.steps)


@dataclass(frozen=True, eq=False)
class Single:
    """A float32 matrix applied to float64 columns."""

    F: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.F.shape

    def __matmul__(self, V: Any) -> Any:
        xp = namespace(V)
        size = xp.max(xp.abs(V), axis=0)
        size = xp.where(size > 0, size, xp.ones_like(size))  # float32 has a short range
        return xp.astype(self.F @ xp.astype(V / size, xp.float32), V.dtype) * size


def _spread_columns(kernel: Kernel, X: Any, scale: Any) -> tuple[Any, Any]:
    """2 sqrt(n) columns of S K S at rows spread evenly, and the matrix between these rows.

    Evenly and not at random, so that a fit without a seed is deterministic.
    """
    n = X.shape[0]
    rank = int(2 * math.sqrt(n))
    at = [(2 * i + 1) * n // (2 * rank) for i in range(rank)]
    C = kernel(X, X[at])
    if scale is not None:
        C *= scale[:, None]
        C *= scale[at][None, :]
    return C, C[at]
