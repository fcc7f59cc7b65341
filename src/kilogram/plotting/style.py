"""The look of all displays: colours, axes, labels, legends."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def label_axes(ax: Any, xlabel: str | None = None, ylabel: str | None = None) -> None:
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
