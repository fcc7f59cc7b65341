"""Manifold learning: Isomap, MDS, locally linear embedding, Laplacian eigenmaps."""

from kilogram.registry import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
