"""Pictures as numbers: histograms of oriented gradients, or what a trained network sees.

The histograms are those of `kilogram.HOGFeatures`. `NetworkFeatures` wraps any function from
pictures to vectors, such as the layer before the last of a pretrained network; no weights come with
Kilogram.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.kitchen.errors import KitchenError
from kilogram.models.features.hog import hog, n_hog_features


class HOG(TransformerMixin, BaseEstimator):
    """Pictures (paths, or arrays) to HOG vectors, all brought to one size first.

    Parameters
    ----------
    size : int, default=64
        Height and width in pixels that pictures are brought to.
    cell, bins, block : int, default=8, 9, 2
    """

    def __init__(self, size: int = 64, cell: int = 8, bins: int = 9, block: int = 2):
        self.size = size
        self.cell = cell
        self.bins = bins
        self.block = block

    def fit(self, X: Any, y: Any = None) -> Self:
        shape = (self.size, self.size)
        self.n_features_ = n_hog_features(shape, self.cell, self.bins, self.block)
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "n_features_")
        cells = pictures(X)
        out = np.zeros((len(cells), self.n_features_))
        for k, one in enumerate(cells):
            grey = load_picture(one, self.size)
            if grey is not None:
                out[k] = hog(grey[None], self.cell, self.bins, self.block)[0]
        return out


class NetworkFeatures(TransformerMixin, BaseEstimator):
    """Pictures to the vectors of `network`, a function from (n, size, size) grey pictures in [0, 1]
    to (n, features); torch tensors it returns are taken as arrays.

    Parameters
    ----------
    network : callable
    size : int, default=64
    batch : int, default=64
        Pictures given at a time.
    """

    def __init__(self, network: Callable[[np.ndarray], Any], size: int = 64, batch: int = 64):
        self.network = network
        self.size = size
        self.batch = batch

    def fit(self, X: Any, y: Any = None) -> Self:
        if not callable(self.network):
            raise TypeError("network must be a function from pictures to vectors.")
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "fitted_")
        cells = pictures(X)
        blank = np.zeros((self.size, self.size))
        found = []
        for start in range(0, len(cells), self.batch):
            loaded = [load_picture(one, self.size) for one in cells[start : start + self.batch]]
            out = self.network(np.stack([blank if one is None else one for one in loaded]))
            out = out.detach().cpu().numpy() if hasattr(out, "detach") else np.asarray(out)
            found.append(out.reshape(len(loaded), -1))
        return np.concatenate(found)


def pictures(X: Any) -> list[Any]:
    """Pictures from a column of paths, or from an (n, height, width) array."""
    if isinstance(X, np.ndarray) and X.ndim >= 3:
        return list(X)
    return list(np.asarray(X, dtype=object).reshape(-1))


def load_picture(source: Any, size: int) -> np.ndarray | None:
    """A grey picture of size x size in [0, 1] from a path or an array; None where there is none."""
    if isinstance(source, str) and not source:
        return None
    Image = _pillow()
    try:
        if isinstance(source, str):
            opened = Image.open(source)
        else:
            cells = np.asarray(source)
            opened = Image.fromarray(cells if cells.dtype == np.uint8 else _bytes(cells))
        with opened as picture:
            grey = picture.convert("L").resize((size, size), Image.Resampling.BILINEAR)
            return np.asarray(grey, dtype=np.float64) / 255.0
    except FileNotFoundError:
        raise KitchenError(f"There is no picture {source}.") from None
    except (OSError, ValueError, Image.DecompressionBombError) as bad:
        raise KitchenError(f"{source} cannot be read as a picture: {bad}.") from None


def _bytes(cells: np.ndarray) -> np.ndarray:
    """Brightness as whole numbers 0 .. 255; values up to 1 count as fractions."""
    top = 255.0 if float(np.max(cells)) <= 1.0 else 1.0
    return np.clip(cells * top, 0, 255).astype(np.uint8)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise KitchenError(
            "Pictures need the package Pillow: pip install kilogram[images]."
        ) from None
    return Image
