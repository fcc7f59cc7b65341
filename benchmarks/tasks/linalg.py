"""Cholesky factorisation beside SciPy's."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from benchmarks.task import Task


def _positive(n: int, dtype: str = "f8") -> np.ndarray:
    rng = np.random.default_rng(0)
    V = rng.standard_normal((n, 20)).astype(dtype)
    A = V @ V.T
    A.flat[:: n + 1] += n
    return A


def _ours(A: np.ndarray) -> np.ndarray:
    from kilogram.arrays.linalg import cholesky

    return cholesky(A)


def _scipy(A: np.ndarray) -> np.ndarray:
    return scipy.linalg.cholesky(A, lower=True, check_finite=False)


def _residual(L: np.ndarray, A: np.ndarray) -> dict[str, float]:
    v = np.random.default_rng(1).standard_normal(len(A)).astype(A.dtype)
    L = np.tril(L)
    return {"rel_residual": float(np.linalg.norm(L @ (L.T @ v) - A @ v) / np.linalg.norm(A @ v))}


def _cholesky(n: int, dtype: str = "f8", long: bool = False) -> Task:
    kind = "float64" if dtype == "f8" else "float32"
    return Task(
        name=f"cholesky_{n}_{dtype}",
        title=f"Cholesky, {kind}, order {n:,}",
        make=lambda: _positive(n, dtype),
        run={"kilogram": _ours} if long else {"kilogram": _ours, "scipy": _scipy},
        quality=_residual,
        floor=lambda rates: rates.floor(flops=n**3 / 3, dtype=dtype),
        counted="n^3/3 flops at the gemm rate",
        repeats=1 if long else 2,
        long=long,
    )


TASKS = [
    _cholesky(8_000),
    _cholesky(12_000),
    _cholesky(8_000, "f4"),
    _cholesky(20_000, long=True),
]
