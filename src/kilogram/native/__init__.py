"""Loops over raw buffers that BLAS does not have: fused kernel matrices, scatter sums, Cholesky.

NumPy arrays of float32 or float64 in (any strides, read-only too), new C-contiguous arrays out.
Every sum runs in an order fixed by the shapes alone: results do not depend on the threads.
Each function has a NumPy reference version in `tests/native`.
"""

from kilogram.native import load  # isort: skip  # before anything imports the compiled module
from kilogram.native.half import half_matmul, half_size, kernel_half
from kilogram.native.kernels import (
    kernel_block,
    kernel_matmul,
    kernel_normal_matmul,
    normal_matmul,
)
from kilogram.native.simd import set_simd_level, simd_level, simd_levels
from kilogram.native.sums import (
    PairSums,
    cholesky_inplace,
    fourier_block,
    fourier_scatter,
    scatter,
    scatter_pair,
)

__all__ = [
    "PairSums",
    "cholesky_inplace",
    "fourier_block",
    "fourier_scatter",
    "half_matmul",
    "half_size",
    "kernel_block",
    "kernel_half",
    "kernel_matmul",
    "kernel_normal_matmul",
    "load",
    "normal_matmul",
    "scatter",
    "scatter_pair",
    "set_simd_level",
    "simd_level",
    "simd_levels",
]
