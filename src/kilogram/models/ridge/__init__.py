"""Ridge regression and its kernel version, with exact leave-one-out paths."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
