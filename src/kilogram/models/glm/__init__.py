"""Generalised linear models: Poisson, gamma and Tweedie regression."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
