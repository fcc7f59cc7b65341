"""Density estimation: histograms, kernels, trees, copulas, and classifiers made of them."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
