"""Shape functions of additive models: values by bin, and pictures of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

INK, QUIET, CURVE = "#2b2b33", "#9a9aa6", "#1d4ed8"
PAIR_COLOURS = "RdBu_r"


@dataclass(frozen=True)
class Axis:
    """The bins of one feature: those of numbers are (edges[i], edges[i + 1]], the first and the
    last one without end; those of categories are `labels`. One more is for missing values."""

    name: str
    edges: np.ndarray  # (bins + 1,) finite; empty for categories
    labels: list[str]  # empty for numbers
    has_missing: bool  # whether a training row was missing

    @property
    def size(self) -> int:
        """Bins without that of missing values."""
        return len(self.labels) if self.labels else len(self.edges) - 1


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """What one feature, or a pair of them, adds to the raw prediction.

    Attributes
    ----------
    features : tuple of int
        The feature or the two features.
    axes : tuple of Axis
        Their bins.
    values : ndarray of shape (bins,) or (bins, bins), and (..., n_classes) for several classes
        The last bin of every feature is that of missing values.
    errors : ndarray, as `values`
        Standard deviation over the bags.
    weights : ndarray of shape (bins,) or (bins, bins)
        Sum of the weights of the training rows in the bins.
    """

    features: tuple[int, ...]
    axes: tuple[Axis, ...]
    values: np.ndarray
    errors: np.ndarray
    weights: np.ndarray

    @property
    def name(self) -> str:
        """The names of the features."""
        return " x ".join(axis.name for axis in self.axes)

    def plot(self, ax: Any = None, *, output: int | None = None) -> Any:
        """Draw it: a line with a band of one standard deviation, bars for categories, a map for a
        pair. `output` is the position of the class where there are more than two.

        Returns
        -------
        ax : matplotlib Axes
        """
        if self.values.ndim > len(self.axes) and output is None:
            raise ValueError(
                f"{self.name}: there is a shape function for each of {self.values.shape[-1]} "
                "classes. Pass output, the position of one of them."
            )
        values = self.values if output is None else self.values[..., output]
        errors = self.errors if output is None else self.errors[..., output]
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(4.6, 3.2), layout="constrained").add_subplot()
        if len(self.axes) == 2:
            _draw_pair(ax, self.axes, values)
        elif self.axes[0].labels:
            _draw_bars(ax, self.axes[0], values, errors)
        else:
            _draw_steps(ax, self.axes[0], values, errors)
        ax.set_title(self.name, color=INK, fontsize=10, loc="left")
        ax.tick_params(labelsize=8, color=QUIET, labelcolor=INK)
        for spine in ("top", "right"):
            ax.spines[spine].set_visible(False)
        return ax


def _draw_steps(ax: Any, axis: Axis, values: np.ndarray, errors: np.ndarray) -> None:
    inside, band = values[: axis.size], errors[: axis.size]
    ends = axis.edges
    ax.axhline(0.0, color=QUIET, lw=0.8)
    low, high = (np.append(a, a[-1]) for a in (inside - band, inside + band))
    ax.fill_between(ends, low, high, step="post", color=CURVE, alpha=0.18, lw=0)
    ax.step(ends, np.append(inside, inside[-1]), where="post", color=CURVE, lw=1.6)
    if axis.has_missing:
        missing = float(values[axis.size])
        ax.axhline(missing, color=QUIET, lw=1.2, ls="--", label=f"missing: {missing:+.2g}")
        ax.legend(frameon=False, fontsize=8)
    ax.set_xlabel(axis.name, fontsize=9, color=INK)
    ax.set_ylabel("contribution", fontsize=9, color=INK)


def _draw_bars(ax: Any, axis: Axis, values: np.ndarray, errors: np.ndarray) -> None:
    count = axis.size + axis.has_missing
    names = [*axis.labels, "missing"][:count]
    places = np.arange(count)
    ax.axvline(0.0, color=QUIET, lw=0.8)
    ax.barh(places, values[:count], xerr=errors[:count], color=CURVE, ecolor=QUIET, height=0.7)
    ax.set_yticks(places, [name[:24] for name in names])
    ax.invert_yaxis()
    ax.set_xlabel("contribution", fontsize=9, color=INK)


def _draw_pair(ax: Any, axes: tuple[Axis, ...], values: np.ndarray) -> None:
    first, second = axes
    inside = values[: first.size, : second.size]
    most = float(np.abs(inside).max()) or 1.0
    x, y = (np.arange(a.size + 1) - 0.5 if a.labels else a.edges for a in axes)
    mesh = ax.pcolormesh(x, y, inside.T, cmap=PAIR_COLOURS, vmin=-most, vmax=most)
    ax.figure.colorbar(mesh, ax=ax).ax.tick_params(labelsize=8)
    for axis, place in ((first, ax.set_xticks), (second, ax.set_yticks)):
        if axis.labels:
            place(np.arange(axis.size), [label[:16] for label in axis.labels])
    ax.set_xlabel(first.name, fontsize=9, color=INK)
    ax.set_ylabel(second.name, fontsize=9, color=INK)
