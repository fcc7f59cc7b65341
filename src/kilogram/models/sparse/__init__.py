"""Sparse regression: lasso, elastic net and their regularisation paths."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
