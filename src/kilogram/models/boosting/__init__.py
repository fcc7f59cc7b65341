"""Boosting: gradient boosting on histograms, AdaBoost, cascades, additive models."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
