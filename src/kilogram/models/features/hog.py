"""Histograms of oriented gradients of grey images.

For an image I:

    g = (dI/dx, dI/dy)                       central differences, one-sided at the border
    |g|, angle of g in [0, pi)               unsigned: an edge has no dark and bright side
    cells of c x c pixels, bins of angle     each pixel votes with |g| for its two nearest bins
    blocks of b x b cells                    divided by their length, clipped at 0.2, divided again

The votes count directions of edges; they do not depend on the spatial frequency of a pattern.

Reference: Dalal and Triggs 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import column_count
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, Integer, Null
from kilogram.models.features.row_features import RowFeatures
from kilogram.models.features.windows import window_shape

CLIP = 0.2  # of the entries of a block of length 1, as in the paper
SMALLEST = 1e-10  # added to squared lengths: a block without edges has features 0
PIXELS = 1 << 20  # of the images worked on at a time: some 100 MB of votes and gradients


def gradient(images: np.ndarray, axis: int) -> np.ndarray:
    """Differences of neighbouring pixels along an axis; 0 where there is one pixel."""
    if images.shape[axis] < 2:
        return np.zeros(images.shape)
    return np.asarray(np.gradient(images, axis=axis))


def cell_histograms(images: np.ndarray, cell: int = 8, bins: int = 9) -> np.ndarray:
    """Votes (n, rows, columns, bins) of the gradients of (n, h, w) images in each cell.

    Pixels at the right and lower border that do not fill a cell do not vote.
    """
    n, h, w = images.shape
    rows, columns = h // cell, w // cell
    images = np.asarray(images, dtype=np.float64)
    inside = np.s_[:, : rows * cell, : columns * cell]
    down, right = gradient(images, 1)[inside], gradient(images, 2)[inside]
    strength = np.hypot(down, right)
    place = np.mod(np.arctan2(down, right), np.pi) / np.pi * bins - 0.5
    low = np.floor(place)
    at = (
        (np.arange(n)[:, None, None] * rows + np.arange(rows * cell)[:, None] // cell) * columns
        + np.arange(columns * cell) // cell
    ) * bins
    size = n * rows * columns * bins
    votes = np.zeros(size)
    for b, weight in ((low, 1.0 - (place - low)), (low + 1, place - low)):
        index = at + np.mod(b, bins).astype(np.int64)
        votes += np.bincount(index.ravel(), (strength * weight).ravel(), minlength=size)
    return votes.reshape(n, rows, columns, bins)


def normalised_blocks(histograms: np.ndarray, block: int) -> np.ndarray:
    """Features (n, d) of the blocks of block x block cells, one after another."""
    n = len(histograms)
    blocks = np.lib.stride_tricks.sliding_window_view(histograms, (block, block), axis=(1, 2))
    v = np.moveaxis(blocks, 3, 5).reshape(n, blocks.shape[1] * blocks.shape[2], -1)
    v = np.minimum(v / lengths(v), CLIP)
    return np.asarray(v / lengths(v)).reshape(n, -1)


def lengths(v: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(v * v, axis=-1, keepdims=True) + SMALLEST)


def hog(images: np.ndarray, cell: int = 8, bins: int = 9, block: int = 2) -> np.ndarray:
    """Histograms of oriented gradients (n, d) of (n, h, w) grey images."""
    n_hog_features(images.shape[1:], cell, bins, block)
    return normalised_blocks(cell_histograms(images, cell, bins), block)


def n_hog_features(shape: tuple[int, ...], cell: int, bins: int, block: int) -> int:
    """The number of features of an image, which must have a block of cells."""
    rows, columns = shape[0] // cell - block + 1, shape[1] // cell - block + 1
    if rows < 1 or columns < 1:
        raise ValueError(
            f"An image of {shape[0]} x {shape[1]} pixels is too small for blocks of {block} x "
            f"{block} cells of {cell} pixels. Use a smaller cell or block."
        )
    return rows * columns * block * block * bins


class HOGFeatures(RowFeatures):
    """Histograms of oriented gradients of image windows given as flat rows.

    Gradients and sums are taken in float64. A block of cells is divided by its length, so that
    features do not change with contrast.

    Parameters
    ----------
    shape : tuple (h, w) or None, default=None
        Height and width of the windows, whose rows of pixels stand one after another in a row of X.
        None is a square if the number of features is a square number, else one row of pixels.
    cell : int, default=8
        Side of a cell in pixels.
    block : int, default=2
        Side of a block in cells; blocks overlap.
    n_bins : int, default=9
        Number of directions between 0 and 180 degrees.

    Attributes
    ----------
    shape_ : tuple (h, w)
        Height and width of the windows.
    n_features_in_ : int
        Number of features seen in `fit`: h w.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HaarFeatures : Differences of sums of rectangles, cheaper to compute.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import HOGFeatures
    >>> edge = np.zeros((8, 8))
    >>> edge[:, 4:] = 1.0  # upright: all gradients point sideways
    >>> phi = HOGFeatures(cell=8, block=1, n_bins=4).fit_transform(edge.reshape(1, -1))
    >>> phi.round(2)
    array([[0.71, 0.  , 0.  , 0.71]])
    """

    laws: ClassVar[Laws] = Laws(
        shift="pixels that are shifted apart have other differences",
        weight="nothing is estimated from the rows",
        permutation="the order of the pixels is the image",
        textbook="votes of pixels: tests/models compares them with a loop over pixels",
        example={"cell": 1, "block": 1},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "shape": ArrayLike() | Null(),
        "cell": Integer(1),
        "block": Integer(1),
        "n_bins": Integer(1),
    }

    def __init__(self, shape: Any = None, *, cell: int = 8, block: int = 2, n_bins: int = 9):
        self.shape = shape
        self.cell = cell
        self.block = block
        self.n_bins = n_bins

    def _learn(self, X: Any) -> None:
        shape = window_shape(self.shape, column_count(X))
        self._n_features_out = n_hog_features(shape, self.cell, self.n_bins, self.block)
        self.shape_ = shape

    def _features(self) -> Callable[[Any], Any]:
        (h, w), size = self.shape_, self._n_features_out
        chunk = max(1, PIXELS // (h * w))
        largest = np.sqrt(
            np.finfo(np.float64).max / (h * w)
        )  # of pixels whose votes can be squared

        def phi(rows: Any) -> Any:
            values = rows.toarray() if is_sparse(rows) else np.asarray(to_numpy(rows))
            if np.abs(values).max(initial=0.0) > largest / 4:
                raise FloatingPointError
            found = np.empty((len(values), size), values.dtype)
            for start in range(0, len(values), chunk):
                images = values[start : start + chunk].reshape(-1, h, w)
                found[start : start + chunk] = hog(images, self.cell, self.n_bins, self.block)
            return found if is_sparse(rows) else like(found, rows)

        return phi
