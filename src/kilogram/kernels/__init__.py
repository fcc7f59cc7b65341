"""Kernels: one small file each, and an algebra to combine them."""

from kilogram.kernels.base import Composite, Kernel, Product, ScaledKernel, Sum
from kilogram.kernels.checks import check_psd, check_symmetric, is_psd
from kilogram.kernels.chi2 import AdditiveChi2, Chi2
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.laplacian import Laplacian
from kilogram.kernels.linear import Cosine, Linear, Sigmoid
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.names import NAMES, as_kernel, is_precomputed
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.polynomial import AllSubsets, Polynomial
from kilogram.kernels.precomputed import FromCallable, Precomputed
from kilogram.kernels.stretched import Stretched
from kilogram.kernels.white import White

__all__ = [
    "NAMES",
    "AdditiveChi2",
    "AllSubsets",
    "Chi2",
    "Composite",
    "Cosine",
    "FromCallable",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "OnColumns",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "ScaledKernel",
    "Sigmoid",
    "Stretched",
    "Sum",
    "White",
    "as_kernel",
    "check_psd",
    "check_symmetric",
    "is_precomputed",
    "is_psd",
]
