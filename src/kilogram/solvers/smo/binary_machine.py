"""One binary machine, with kernel rows in float32 where their precision suffices.

Rows in float32 are computed twice as fast and twice as many fit in memory; their error enters the
gradient as sum_j b_j (K_ij - K~_ij). It is bounded beforehand from the size of the kernel values
and of C, and measured afterwards on some of the points in float64; where it is not negligible
beside `tol`, the solver continues with float64 rows from the point reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_numpy
from kilogram.kernels import Kernel
from kilogram.operators.operator import rows_at
from kilogram.solvers.smo.certificate import Certificate, certify
from kilogram.solvers.smo.compiled_rows import DISTANCE_KINDS
from kilogram.solvers.smo.problem import Array, DualProblem
from kilogram.solvers.smo.row_storage import kernel_rows, whole_up_to
from kilogram.solvers.smo.stored_rows import KernelRows
from kilogram.solvers.smo.working_set import BlockOptions, Dual, solve_block
from kilogram.solvers.solution import Solution

ROUNDING = 2.0**-24  # of float32
# Fraction of tol that the rounding error of the rows may take: the rest is for the solver.
ROUNDING_FRACTION = 0.25
# Points on which the rounding error is measured: an estimate of a mean square within 10 %.
SAMPLE = 256


class BinaryMachine(NamedTuple):
    """A fitted machine: coefficients of the points (n,), its dual point and its certificate."""

    coef: Array
    dual: Dual
    certificate: Certificate
    found: Solution
    #: The kernel rows it was solved with, for the next machine on the same points.
    rows: KernelRows | None

    @property
    def summary(self) -> Solution:
        """State in which the solver ended."""
        return self.found


def coefficients(P: DualProblem, b: Array, n: int) -> Array:
    """beta (n,), the sum of the variables on each point."""
    return np.bincount(P.point, weights=b, minlength=n)


def may_round(kernel: Kernel, X: Any, P: DualProblem, tol: float) -> bool:
    """Whether the error of float32 rows of float64 points is expected to be negligible for tol."""
    if not is_numpy(X) or X.dtype == np.float32 or X.shape[0] <= whole_up_to(kernel, X):
        return False
    plan = kernel.native(X.shape[1])
    if plan is None:
        return False
    some = X[:: max(1, X.shape[0] // SAMPLE)]
    if plan[0] in DISTANCE_KINDS:
        spread = np.sum((some - X.mean(axis=0)) ** 2, axis=1).mean()
        reach = 1.0 + 4.0 * plan[1][0] * spread if plan[0] == "gaussian" else 8.0
    else:
        reach = 4.0 * float(np.abs(kernel.diag(some)).max())
    ends = np.maximum(np.abs(P.lower), np.abs(P.upper)) if not P.s.any() else 1.0 / P.s
    size = float(np.sqrt(np.mean(ends**2) * X.shape[0]))
    return ROUNDING * reach * size < tol


def rounding_error(kernel: Kernel, X: Any, P: DualProblem, dual: Dual) -> float:
    """The largest error of g on some points, measured in the precision of X."""
    beta = coefficients(P, dual.b, X.shape[0])
    support = np.nonzero(beta)[0]
    some = np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE).astype(np.int64))
    exact = kernel.matmul(rows_at(X, some), rows_at(X, support), beta[support])
    return float(np.abs(exact - dual.g[some]).max()) if support.size else 0.0


def start_from(rows: KernelRows, P: DualProblem, b: Array) -> Dual:
    """The dual point b with its g = K b."""
    beta = coefficients(P, b, rows.n)
    support = np.nonzero(beta)[0]
    g = np.zeros(rows.n)
    for part in range(0, support.shape[0], 1024):
        points = support[part : part + 1024]
        rows.add(points, beta[points], g)
    return Dual(b, g)


def fit_machine(
    kernel: Kernel,
    X: Any,
    P: DualProblem,
    options: BlockOptions,
    *,
    limit: int,
    rows: KernelRows | None = None,
    start: Array | Dual | None = None,
) -> BinaryMachine:
    """Solve P on the points X (n, d), from the dual point `start` if given."""
    if rows is None:
        rows = kernel_rows(kernel, X, limit=limit, single=may_round(kernel, X, P, options.tol))
    begin = start_from(rows, P, start) if isinstance(start, np.ndarray) else start
    found = solve_block(rows, P, options, begin)
    if rows.rounded and rounding_error(kernel, X, P, found.value) > ROUNDING_FRACTION * options.tol:
        rows = kernel_rows(kernel, X, limit=limit)
        found = solve_block(rows, P, options, start_from(rows, P, found.value.b))
    certificate = certify(P, *found.value)
    return BinaryMachine(
        coefficients(P, found.value.b, rows.n), found.value, certificate, found, rows
    )


def scaled(dual: Dual, factor: float) -> Dual:
    """A start for penalties times `factor`: feasible, and g = K b scales with it."""
    return Dual(factor * dual.b, factor * dual.g)
