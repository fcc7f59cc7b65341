"""What all displays share: colours, axes, labels, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.frames import is_frame, to_array
from kilogram.arrays.namespace import is_array, is_sparse, like, to_numpy
from kilogram.arrays.rows import column_names
from kilogram.base.labels import plain_labels
from kilogram.base.validation.values import plain

INK, QUIET, FAINT = "#2b2b33", "#8a8a96", "#e3e3e8"
#: Okabe and Ito 2008: distinguishable with any kind of colour vision, and in print.
PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#5C4B3A",
)  # fmt: skip
MARKERS = "osD^vPX*"
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"


def new_axes(ax: Any, figsize: tuple[float, float] = (6.0, 4.2)) -> Any:
    """The axes given, or those of a new figure of `matplotlib.pyplot`."""
    if ax is None:
        return pyplot().subplots(figsize=figsize, layout="constrained")[1]
    if not hasattr(ax, "add_artist"):
        shape = f" of shape {ax.shape}" if hasattr(ax, "shape") else ""
        raise TypeError(
            f"ax must be a matplotlib Axes, got {type(ax).__name__}{shape}. Give one of them."
        )
    return ax


def pyplot() -> Any:
    """`matplotlib.pyplot`, or an error that names what is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need Matplotlib: pip install matplotlib.") from error
    return plt


def tidy(ax: Any, xlabel: str | None = None, ylabel: str | None = None) -> None:
    """Labels, and no lines at the top and the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(QUIET)
    ax.tick_params(color=QUIET, labelcolor=INK)
    if xlabel is not None:
        ax.set_xlabel(xlabel, color=INK)
    if ylabel is not None:
        ax.set_ylabel(ylabel, color=INK)


def colours(n: int) -> list[Any]:
    """n colours: the palette, and evenly spaced ones of a colour map beyond it."""
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    return list(pyplot().get_cmap("turbo")(np.linspace(0.05, 0.95, n)))


def next_colour(ax: Any) -> str:
    """Another colour for every curve on the same axes."""
    solid = [line for line in ax.lines if line.get_linestyle() == "-"]
    return PALETTE[len(solid) % len(PALETTE)]


def scatter_classes(ax: Any, points: np.ndarray, y: np.ndarray, classes: np.ndarray) -> list[Any]:
    """Rows as points, every class with its colour and marker."""
    drawn = []
    for j, (c, colour) in enumerate(zip(classes, colours(len(classes)), strict=True)):
        at = y == c
        drawn.append(
            ax.scatter(
                *points[at].T, s=26, color=colour, marker=MARKERS[j % len(MARKERS)],
                edgecolors="white", linewidths=0.6, label=str(c), zorder=3,
            )
        )  # fmt: skip
    return drawn


def legend(ax: Any, **options: Any) -> None:
    """A legend without a frame, if there is anything to name."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(**{"frameon": False, "labelcolor": INK, "fontsize": 9, **options})


def numbers(X: Any, name: str = "X") -> np.ndarray:
    """A matrix of floats on the host, from any array or data frame."""
    if is_sparse(X):
        X = X.toarray()
    elif is_frame(X):
        X = to_array(X)
    elif hasattr(X, "shape"):
        X = to_numpy(X)
    return check_array(plain(X, name), dtype=np.float64, input_name=name)


def column(y: Any, name: str = "y") -> np.ndarray:
    """A column of labels or numbers on the host, without missing values."""
    values = np.asarray(to_numpy(y))
    values = column_or_1d(plain_labels(values) if values.dtype.kind == "O" else values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return values


def pair(a: Any, b: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of one length."""
    first, second = column(a, names[0]), column(b, names[1])
    check_consistent_length(first, second)
    if not len(first):
        raise ValueError(f"{names[0]} has no rows.")
    return first, second


def points_of(X: Any, display: str, width: int = 2) -> np.ndarray:
    """The rows as points of a plane (or a line)."""
    points = numbers(X)
    if points.shape[1] != width:
        what = "1 feature" if width == 1 else f"{width} features"
        raise ValueError(
            f"{display} draws {what}, X has {points.shape[1]}. Fit the model on {what} of X, or "
            "on components of it."
        )
    return points


def feature_labels(X: Any, names: Any = None) -> list[str]:
    """Given names, those of a data frame, or "feature 0", ..."""
    if names is None:
        names = column_names(X)
    width = numbers_width(X)
    if names is None:
        return [f"feature {j}" for j in range(width)]
    if len(names) != width:
        raise ValueError(f"feature_names must contain {width} names, got {len(names)}.")
    return [str(name) for name in names]


def numbers_width(X: Any) -> int:
    """The number of features of an array, a data frame or a list of rows."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) > 1 else 1


def rows_like(grid: np.ndarray, X: Any) -> Any:
    """Rows to predict on in the container of X: a frame keeps its names, a GPU array its device."""
    if is_frame(X):
        backend = nw.get_native_namespace(X)
        columns = {name: grid[:, j] for j, name in enumerate(column_names(X) or [])}
        return nw.from_dict(columns, backend=backend).to_native()
    if hasattr(X, "shape") and not is_sparse(X) and not isinstance(X, np.ndarray):
        return like(grid, X) if is_array(X) else grid
    return grid


def fitted(estimator: BaseEstimator, display: str, *methods: str) -> None:
    """The estimator is fitted, and has one of the methods."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"{display} needs a fitted estimator, got {estimator!r:.60}.")
    check_is_fitted(estimator)
    if methods and not any(hasattr(estimator, method) for method in methods):
        raise TypeError(
            f"{display} needs an estimator with {' or '.join(methods)}, "
            f"{type(estimator).__name__} has none."
        )


def needs(estimator: BaseEstimator, display: str, attributes: Iterable[str], instead: str) -> Any:
    """The first of the fitted attributes that is there; otherwise an error that says what to do."""
    for name in attributes:
        found = getattr(estimator, name, None)
        if found is not None and len(found):
            return to_numpy(found)
    raise TypeError(
        f"{type(estimator).__name__} has no {' or '.join(attributes)}: {display} takes {instead}."
    )


def name_of(estimator: BaseEstimator) -> str:
    """The class name, of the last step in a pipeline."""
    return type(estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator).__name__
