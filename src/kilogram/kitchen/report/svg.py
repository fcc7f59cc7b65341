"""Matplotlib figures as inline SVG that takes its colours from the page, dark or light.

A figure is drawn in the placeholder colours of `INK`; in the SVG text each becomes a CSS variable,
so one drawing serves both schemes and print. Text stays text: small, searchable, read aloud.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, LogLocator, MaxNLocator, ScalarFormatter

from kilogram.kitchen.formatting import short

__all__ = ["INK", "Plot", "drawing", "inline", "light_axes", "log_ticks", "short"]

# Placeholder -> CSS variable. The values are only names that Matplotlib accepts as colours.
INK = {
    "ink": "#010101",
    "soft": "#020202",
    "grid": "#030303",
    "raised": "#040404",
    "baseline": "#050505",
    "linear": "#060606",
    "kernel": "#070707",
    "good": "#080808",
    "trees": "#090909",
}
# What the variables are on white paper, for a plot on its own.
LIGHT = {
    "ink": "#1d2027", "soft": "#5a6270", "grid": "#e4e1da", "raised": "#ffffff",
    "baseline": "#7a7f89", "linear": "#1f66b8", "kernel": "#c2510c", "good": "#1d7f4b",
    "trees": "#6b4fa0",
}  # fmt: skip
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kilogram",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.edgecolor": INK["soft"],
    "axes.labelcolor": INK["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "text.color": INK["ink"],
    "text.parse_math": False,  # a dollar in a column name is a dollar
    "xtick.color": INK["soft"],
    "ytick.color": INK["soft"],
    "xtick.labelcolor": INK["ink"],
    "ytick.labelcolor": INK["ink"],
    "grid.color": INK["grid"],
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.labelcolor": INK["ink"],
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(frozen=True, repr=False)
class Plot:
    """A plot as SVG with its title, its caption, and a description for screen readers."""

    name: str
    title: str
    caption: str
    alt: str
    svg: str

    def standalone(self) -> str:
        """The plot as the content of an SVG file, in the colours of white paper."""
        text = self.svg
        for name, colour in LIGHT.items():
            text = text.replace(f"var(--{name})", colour)
        return text

    def save(self, path: str | Path) -> Path:
        """Write it as an SVG file."""
        Path(path).write_text(self.standalone(), encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return (
            f'<figure style="max-width: 36rem; background: #fff; color: #1d2027">'
            f"{self.standalone()}<figcaption>{escape(self.caption)}</figcaption></figure>"
        )

    def __repr__(self) -> str:
        return f"Plot({self.name!r}: {self.title})"


@contextmanager
def drawing(width: float = 4.6, height: float = 3.1) -> Iterator[Figure]:
    """A figure in the style of the report; no global state is changed, no window opened."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure


def inline(figure: Figure, name: str, alt: str) -> str:
    """The figure as an <svg> element with ids of its own."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # letters that the font does not have are drawn as boxes; a reader of `kg` can do nothing
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    for variable, placeholder in INK.items():
        text = text.replace(placeholder, f"var(--{variable})")
    # the page's own font; sizes stay as they were drawn
    text = re.sub(r"font: ([\d.]+)px [^;\"]+", r"font-size: \1px", text)
    opening = f'<svg role="img" aria-label="{escape(alt, quote=True)}"'
    text = text.replace("<svg", opening, 1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]+pt" height="[^"]+pt"', r"\1", text, count=1)
    return re.sub(r"\n\s*", "\n", text)


def light_axes(ax: Axes) -> None:
    """A light grid and few ticks."""
    ax.grid()
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "linear" and isinstance(axis.get_major_locator(), AutoLocator):
            axis.set_major_locator(MaxNLocator(5))
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(lambda v, _: compact(v))


def compact(value: float) -> str:
    """A tick without an offset or a power of ten: 20k, 1.5M."""
    for unit, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * unit or (unit > 1e3 and abs(value) >= unit):
            return f"{value / unit:g}{sign}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")


def log_ticks(ax: Axes) -> None:
    """Powers of ten on the x axis, written without formulas."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=5))
    ax.xaxis.set_major_formatter(
        lambda x, _: "10" + str(round(math.log10(x))).translate(_RAISED) if x > 0 else ""
    )
    ax.minorticks_off()
