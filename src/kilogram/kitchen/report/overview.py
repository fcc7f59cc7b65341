"""Every column of a table at a glance: counts, quantiles, frequent levels, and a small histogram.

The histograms are plain rectangles, a few hundred bytes each, so that a page can hold hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.features.columns import AS_NUMBER, Column, as_text, plain, values
from kilogram.kitchen.formatting import figure
from kilogram.kitchen.report.svg import short

BINS = 24  # bars in 200 pixels: 8 each, which one sees singly
MAX_LEVELS = 8  # bars of a categorical column: 8 pixels each in 64
# A histogram over the range of the middle 98 % shows more than one of a long tail.
TAIL = 0.01
WIDTH, HEIGHT = 220, 64


@dataclass(frozen=True)
class Histogram:
    """Counts between the edges; `below` and `above` are rows outside them."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    below: int = 0
    above: int = 0


@dataclass(frozen=True)
class ColumnSummary:
    """A column: its type, missing and distinct values, quantiles or levels.

    `quantiles` are the least, the quartiles and the largest value of a number or a date; `levels`
    the most frequent values of other columns with their counts.
    """

    name: str
    kind: str
    reason: str
    used: bool
    rows: int
    missing: int
    distinct: int
    mean: float | None = None
    deviation: float | None = None
    quantiles: tuple[float, ...] = ()
    histogram: Histogram | None = None
    levels: tuple[tuple[str, int], ...] = ()
    dates: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The column in one line."""
        if self.quantiles:
            low, _, middle, _, high = (self.written(q) for q in self.quantiles)
            return f"median {middle}, {low} to {high}"
        if self.levels:
            return f"{self.distinct:,} distinct values"
        return self.reason

    def written(self, value: float) -> str:
        """A value of the column: days as a date."""
        if self.dates:
            return str(np.datetime64(int(np.floor(value)), "D"))
        if value == round(value) and abs(value) < 1e6:
            return f"{value:,.0f}".replace("-", "−")
        return figure(value, 4 if abs(value) < 0.1 else 2)


def summaries(data: pa.Table, columns: Iterable[Column]) -> tuple[ColumnSummary, ...]:
    """One summary for each column of a layout."""
    return tuple(summary(data.column(column.name), column) for column in columns)


def summary(cells: Any, column: Column) -> ColumnSummary:
    """The summary of one column."""
    cells = plain(cells)
    if column.kind in ("numeric", "date", "time"):
        try:
            return numeric_summary(values(column, cells), column)
        except KitchenError:  # a cell that the type does not admit
            pass
    return _levels(cells, _about(column, len(cells)))


def _about(column: Column, rows: int) -> dict[str, Any]:
    return {"name": column.name, "kind": column.kind, "reason": column.reason,
            "used": column.used, "rows": rows}  # fmt: skip


def numeric_summary(x: np.ndarray, column: Column) -> ColumnSummary:
    """The summary of numbers; NaN is missing."""
    known = x[np.isfinite(x)]
    about = _about(column, len(x))
    about |= {"missing": len(x) - len(known), "distinct": len(np.unique(known))}
    if not len(known):
        return ColumnSummary(**about)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(known.mean()), float(known.std())
    return ColumnSummary(
        **about, mean=mean, deviation=deviation,
        quantiles=tuple(float(q) for q in np.quantile(known, [0, 0.25, 0.5, 0.75, 1])),
        histogram=histogram(known),
        dates=column.kind in ("date", "time") and column.form != AS_NUMBER,
    )  # fmt: skip


def histogram(x: np.ndarray) -> Histogram:
    """Counts of finite numbers; few distinct ones get a bin each."""
    levels = np.unique(x)
    if 1 < len(levels) <= BINS:
        middle = (levels[1:] + levels[:-1]) / 2
        step = float(np.diff(levels).min())
        edges = np.concatenate([[levels[0] - step / 2], middle, [levels[-1] + step / 2]])
        return Histogram(tuple(edges.tolist()), tuple(np.histogram(x, edges)[0].tolist()))
    low, high = x.min(), x.max()
    inner = np.quantile(x, [TAIL, 1 - TAIL])
    with np.errstate(over="ignore"):
        if inner[1] > inner[0] and (high - low) / 3 > inner[1] - inner[0]:
            low, high = inner
        length = high - low
    if not length > 0 or not np.isfinite(length):
        return Histogram((float(low) - 0.5, float(low) + 0.5), (len(x),))
    counts, edges = np.histogram(x, BINS, (float(low), float(high)))
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()),
                     int(np.sum(x < low)), int(np.sum(x > high)))  # fmt: skip


def _levels(cells: Any, about: dict[str, Any]) -> ColumnSummary:
    try:
        counts = pc.value_counts(as_text(cells).drop_null())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and records have no levels
        return ColumnSummary(**about, missing=cells.null_count, distinct=0)
    number = counts.field("counts").to_numpy(zero_copy_only=False)
    order = np.argsort(-number, kind="stable")[:MAX_LEVELS]
    names = counts.field("values")
    top = tuple((str(names[int(k)].as_py()), int(number[k])) for k in order)
    return ColumnSummary(**about, missing=cells.null_count, distinct=len(number), levels=top)


def column_plot(one: ColumnSummary) -> str:
    """The histogram or the bars of the levels as a small SVG; empty where there is nothing."""
    if one.histogram is not None and len(one.histogram.counts) > 1:
        return _histogram_svg(one)
    if one.levels and one.kind not in ("identifier", "text", "image"):
        return _bars_svg(one)
    return ""


def _svg(alt: str, inside: list[str], height: float) -> str:
    return (f'<svg role="img" aria-label="{escape(alt, quote=True)}" class="small-plot" '
            f'viewBox="0 0 {WIDTH} {height:g}">{"".join(inside)}</svg>')  # fmt: skip


def _histogram_svg(one: ColumnSummary) -> str:
    assert one.histogram is not None
    edges, counts = np.array(one.histogram.edges), np.array(one.histogram.counts, dtype=float)
    if len(counts) < BINS and len(np.unique(np.diff(edges).round(9))) > 1:
        edges = np.arange(len(edges), dtype=float)  # levels far apart: one bar each
    place = (edges - edges[0]) / (edges[-1] - edges[0]) * WIDTH
    tall = HEIGHT * counts / counts.max()
    bars = [
        f'<rect x="{x:.1f}" y="{HEIGHT - h:.1f}" width="{max(w - 0.8, 0.6):.1f}" '
        f'height="{h:.1f}" fill="var(--linear)" opacity="0.8"/>'
        for x, w, h in zip(place[:-1], np.diff(place), tall, strict=True) if h > 0
    ]  # fmt: skip
    ends = one.written(one.histogram.edges[0]), one.written(one.histogram.edges[-1])
    if len(counts) < BINS:  # the levels themselves, not the edges around them
        ends = one.written(one.quantiles[0]), one.written(one.quantiles[-1])
    more = [f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}" stroke="var(--line)"/>',
            f'<text x="0" y="{HEIGHT + 13}">{escape(ends[0])}</text>',
            f'<text x="{WIDTH}" y="{HEIGHT + 13}" text-anchor="end">{escape(ends[1])}</text>',
            ]  # fmt: skip
    alt = f"Histogram of {one.name}: {one.words}."
    return _svg(alt, bars + more, HEIGHT + 17)


def _bars_svg(one: ColumnSummary) -> str:
    """A bar for each frequent level, and one for the others."""
    shown = list(one.levels[:5])
    rest = one.rows - one.missing - sum(count for _, count in shown)
    if rest > 0:
        shown.append((f"{one.distinct - len(shown):,} others", rest))
    most = max(count for _, count in shown)
    inside = []
    for k, (name, count) in enumerate(shown):
        y = 15 * k
        colour = "var(--baseline)" if k == len(one.levels[:5]) else "var(--linear)"
        inside.append(f'<rect x="92" y="{y + 2}" width="{96 * count / most:.1f}" height="11" '
                      f'fill="{colour}" opacity="0.8"/>'
                      f'<text x="88" y="{y + 11.5}" text-anchor="end">{escape(short(name, 14))}'
                      f'</text><text x="{95 + 96 * count / most:.1f}" y="{y + 11.5}">'
                      f"{count / max(one.rows - one.missing, 1):.0%}</text>")  # fmt: skip
    alt = f"Levels of {one.name}: " + ", ".join(f"{n} {c}" for n, c in shown) + "."
    return _svg(alt, inside, 15 * len(shown) + 2)
