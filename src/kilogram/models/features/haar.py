"""Haar features of image windows: differences of the sums of neighbouring rectangles.

The integral image I(r, c) is the sum of all pixels above r and left of c, so any rectangle's sum is

    I(r + p, c + q) - I(r, c + q) - I(r + p, c) + I(r, c):

every feature is a combination of 6 to 9 values of I, whatever its size. The rectangles are the
cells (p, q) of one of five grids, with weights of sum 0 (a constant window has features 0):

    (1, -1)     (1, -1)^T     (1, -2, 1)     (1, -2, 1)^T     ((1, -1), (-1, 1))

Reference: Viola and Jones 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import column_count
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, Integer, Null, RandomState
from kilogram.base.random_state import as_generator
from kilogram.models.features.row_features import RowFeatures
from kilogram.models.features.windows import window_shape

MOST_FEATURES = 1_000_000  # a bound on memory: 8 MB for each window in float64
GRIDS = (
    np.array([[1, -1]]),
    np.array([[1], [-1]]),
    np.array([[1, -2, 1]]),
    np.array([[1], [-2], [1]]),
    np.array([[1, -1], [-1, 1]]),
)


def integral_image(windows: np.ndarray) -> np.ndarray:
    """Sums (n, h + 1, w + 1) above and left of every pixel corner, in float64."""
    n, h, w = windows.shape
    sums = np.zeros((n, h + 1, w + 1))
    np.cumsum(windows, axis=1, out=sums[:, 1:, 1:])
    np.cumsum(sums[:, 1:, 1:], axis=2, out=sums[:, 1:, 1:])
    return sums


def cell_sizes(shape: tuple[int, int], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (grid, p, q) of all cells that fit into a window, and their number of places."""
    found, places = [], []
    for g, grid in enumerate(GRIDS):
        rows, columns = grid.shape
        for p in range(step, shape[0] // rows + 1, step):
            for q in range(step, shape[1] // columns + 1, step):
                down, right = shape[0] - rows * p, shape[1] - columns * q
                found.append((g, p, q))
                places.append((down // step + 1) * (right // step + 1))
    return np.array(found, np.int64).reshape(-1, 3), np.array(places, np.int64)


def rectangle_features(
    shape: tuple[int, int], step: int, max_features: int | None, random_state: Any
) -> np.ndarray:
    """Rows (grid, p, q, top, left) of all features of a window, or of max_features drawn ones."""
    sizes, places = cell_sizes(shape, step)
    ends = np.cumsum(places)
    total = int(places.sum())
    if total == 0:
        raise ValueError(
            f"Windows of shape {shape} have no rectangle features with step={step}: two cells of "
            "step x step pixels must fit (n_features = 1 has none). Use a smaller step."
        )
    size = total if max_features is None else min(int(max_features), total)
    if size > MOST_FEATURES:
        raise ValueError(
            f"Windows of shape {shape} have {total} features with step={step}, more than "
            f"{MOST_FEATURES}: use a larger step, or max_features."
        )
    if size < total:
        chosen = np.sort(as_generator(random_state).choice(total, size, replace=False))
    else:
        chosen = np.arange(total)
    which = np.searchsorted(ends, chosen, side="right")
    found = sizes[which]
    place = chosen - (ends - places)[which]
    columns = np.array([grid.shape[1] for grid in GRIDS])[found[:, 0]]
    across = (shape[1] - columns * found[:, 2]) // step + 1
    return np.column_stack([found, place // across * step, place % across * step])


def corner_weights(features: np.ndarray, shape: tuple[int, int]) -> Any:
    """The sparse matrix (features, corners) that maps a flat integral image to the features."""
    at, corner, weight = [], [], []
    for g, grid in enumerate(GRIDS):
        rows = np.flatnonzero(features[:, 0] == g)
        _, p, q, top, left = features[rows].T
        padded = np.pad(grid, 1)
        corners = padded[1:, 1:] - padded[:-1, 1:] - padded[1:, :-1] + padded[:-1, :-1]
        for (i, j), value in np.ndenumerate(corners):
            if value:
                at.append(rows)
                corner.append((top + i * p) * (shape[1] + 1) + left + j * q)
                weight.append(np.full(len(rows), float(value)))
    entries = (np.concatenate(weight), (np.concatenate(at), np.concatenate(corner)))
    return sp.csr_array(entries, shape=(len(features), (shape[0] + 1) * (shape[1] + 1)))


class HaarFeatures(RowFeatures):
    """Rectangle features of image windows given as flat rows, by integral images.

    Sums are taken in float64. For images under changing light, scale the windows first.

    Parameters
    ----------
    shape : tuple (h, w) or None, default=None
        Height and width of the windows, whose rows of pixels stand one after another in a row of X.
        None is a square if the number of features is a square number, else one row of pixels.
    step : int, default=1
        Cells have sides of step, 2 step, ... pixels, and places that are multiples of it.
    max_features : int or None, default=None
        As many are drawn if there are more. A window of 24 x 24 has 162 336 features with step 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the features drawn.

    Attributes
    ----------
    features_ : ndarray of shape (n_features_out, 5)
        Grid (0 and 1: two rectangles side by side, one above the other; 2 and 3: three; 4: four),
        height and width of its cells, and the top and left pixel.
    shape_ : tuple (h, w)
        Height and width of the windows.
    n_features_in_ : int
        Number of features seen in `fit`: h w.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    CascadeClassifier : Rejects most windows after a few features.
    HOGFeatures : Histograms of the directions of edges.

    Examples
    --------
    >>> from kilogram import HaarFeatures
    >>> phi = HaarFeatures(shape=(2, 2))
    >>> phi.fit_transform([[1.0, 2.0, 3.0, 4.0]])
    array([[-1., -1., -2., -2., -2., -4.,  0.]])
    """

    laws: ClassVar[Laws] = Laws(
        shift="pixels that are shifted apart have other differences",
        weight="nothing is estimated from the rows",
        permutation="the order of the pixels is the image",
        textbook="sums of pixels: tests/models compares them with plain slices of the windows",
        example={"random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "shape": ArrayLike() | Null(),
        "step": Integer(1),
        "max_features": Integer(1) | Null(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        shape: Any = None,
        *,
        step: int = 1,
        max_features: int | None = None,
        random_state: Any = None,
    ):
        self.shape = shape
        self.step = step
        self.max_features = max_features
        self.random_state = random_state

    def _learn(self, X: Any) -> None:
        """Enumerate the rectangles."""
        shape = window_shape(self.shape, column_count(X))
        self.features_ = rectangle_features(
            shape, int(self.step), self.max_features, self.random_state
        )
        self.shape_ = shape

    def _features(self) -> Callable[[Any], Any]:
        weights = corner_weights(self.features_, self.shape_)
        largest = np.finfo(np.float64).max / 16  # of a sum that can be multiplied and added

        def phi(block: Any) -> Any:
            rows = block.toarray() if is_sparse(block) else np.asarray(to_numpy(block))
            sums = integral_image(rows.reshape(len(rows), *self.shape_)).reshape(len(rows), -1)
            if np.abs(sums).max(initial=0.0) > largest:
                raise FloatingPointError
            found = (weights @ sums.T).T.astype(rows.dtype, copy=False)
            return found if is_sparse(block) else like(found, block)

        return phi

    @property
    def _n_features_out(self) -> int:
        return len(self.features_)
