"""Neural networks: multi-layer perceptrons for classification and regression."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
