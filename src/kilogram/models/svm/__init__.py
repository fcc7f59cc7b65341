"""Support vector machines: linear and kernel, for classes and for numbers."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
