"""Non-linear regression: formulas with unknown parameters, circles and ellipses."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
