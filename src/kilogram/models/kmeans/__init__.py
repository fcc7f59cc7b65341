"""K-means and its relatives: kernel k-means, k-medoids, k-lines."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
