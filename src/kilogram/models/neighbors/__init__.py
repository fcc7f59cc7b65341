"""Nearest neighbours: search, votes, outliers, and reduction of the training rows."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
