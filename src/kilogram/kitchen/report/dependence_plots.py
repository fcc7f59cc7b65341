"""Plots of partial dependence: the mean prediction as a function of one column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kilogram.kitchen.artifact.partial_dependence import PartialDependence
from kilogram.kitchen.artifact.responses import in_words
from kilogram.kitchen.formatting import figure
from kilogram.kitchen.report.svg import INK, Plot, drawing, inline, light_axes, short

COLOURS = ("linear", "kernel", "good", "baseline")


def dependence_plots(shown: Sequence[PartialDependence], target: str) -> list[Plot]:
    """One plot for each column, all on one scale."""
    return [of_dependence(shown, k, target) for k in range(len(shown))]


def of_dependence(shown: Sequence[PartialDependence], place: int, target: str) -> Plot:
    one = shown[place]
    name = f"dependence-{place}"
    what = target if not one.lines else "probability"
    with drawing(height=2.9) as fig:
        ax = fig.subplots()
        (_joined if one.ordered else _separate)(ax, one)
        ax.set_ylabel(short(f"mean {what}", 34))
        ax.set_xlabel(short(one.column.name, 44))
        light_axes(ax)
        ax.set_ylim(*_ends(shown))
        if len(one.lines) > 1:
            ax.legend(loc="best", handlelength=1.2)
        alt = _in_words(one, target)
        caption = _caption(one, several=len(shown) > 1)
        return Plot(name, one.column.name, caption, alt, inline(fig, name, alt))


def _ends(shown: Sequence[PartialDependence]) -> tuple[float, float]:
    """One scale for all plots: what looks large is large."""
    low = min(float(min(one.low.min(), one.mean.min())) for one in shown)
    high = max(float(max(one.high.max(), one.mean.max())) for one in shown)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _joined(ax: Axes, one: PartialDependence) -> None:
    for k in range(one.mean.shape[1]):
        colour = INK[COLOURS[k]]
        ax.fill_between(one.values, one.low[:, k], one.high[:, k], color=colour, alpha=0.18, lw=0)
        style = "o-" if len(one.values) <= 6 else "-"
        ax.plot(one.values, one.mean[:, k], style, color=colour, lw=2, ms=5, label=_line(one, k))
    ax.plot(one.deciles, np.full(len(one.deciles), 0.0), "|", color=INK["soft"], ms=9,
            transform=ax.get_xaxis_transform(), clip_on=False)  # fmt: skip
    column = one.column
    if column.kind == "ordinal":
        ax.set_xticks(one.values, [short(label, 10) for label in one.labels])
    elif column.kind != "numeric":
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(lambda v, _: in_words(column, v))


def _separate(ax: Axes, one: PartialDependence) -> None:
    lines = one.mean.shape[1]
    for k in range(lines):
        colour, at = INK[COLOURS[k]], np.arange(len(one.values)) + 0.18 * (k - (lines - 1) / 2)
        ax.vlines(at, one.low[:, k], one.high[:, k], color=colour, alpha=0.35, lw=5)
        ax.plot(at, one.mean[:, k], "o", color=colour, ms=6, label=_line(one, k))
    crowded = len(one.values) > 4 or max(map(len, one.labels)) > 12
    ax.set_xticks(range(len(one.values)), [short(label, 16) for label in one.labels],
                  rotation=30 if crowded else 0, ha="right" if crowded else "center")  # fmt: skip
    ax.set_xlim(-0.6, len(one.values) - 0.4)


def _line(one: PartialDependence, k: int) -> str | None:
    return short(one.lines[k], 18) if one.lines else None


def _caption(one: PartialDependence, *, several: bool) -> str:
    alike = (
        "The band holds 80 % of the rows."
        if one.lines
        else "The band is narrow: the effect is the same for all rows."
        if one.unlike < 0.05
        else "The band holds 80 % of the centred curves of the rows: where it is wide, the effect "
        "depends on the other columns."
    )
    where = " Marks below: deciles of the column." if len(one.deciles) else ""
    where += " All plots have the same scale." if several else ""
    what = f" of {one.lines[0]}" if len(one.lines) == 1 else ""
    return (
        f"Partial dependence: mean prediction{what} when every row gets this value. {alike}{where}"
    )


def _in_words(one: PartialDependence, target: str) -> str:
    ends = "; ".join(
        f"{one.lines[k] + ': ' if one.lines else ''}{figure(one.mean[0, k])} at {one.labels[0]}, "
        f"{figure(one.mean[-1, k])} at {one.labels[-1]}, between {figure(one.mean[:, k].min())} "
        f"and {figure(one.mean[:, k].max())}"
        for k in range(one.mean.shape[1])
    )
    return f"Partial dependence of {target} on {one.column.name}. {ends}."
