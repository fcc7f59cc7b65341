"""Numbers as text for people: scores, differences, intervals, durations; values for JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from kilogram.evaluation.intervals import Interval


def figure(value: float | None, digits: int = 3) -> str:
    """A score with three decimals, a large number with as many digits; never '-0.000'."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 10:
        return f"{value:.1f}".replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def quantity(value: float) -> str:
    """A value in the units of a column: figures without zeros at the end."""
    text = figure(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def extent(value: float) -> str:
    """The size of a difference, which is never written as none where there is one."""
    size = abs(value)
    return "less than 0.001" if 0 < size < 0.0005 else figure(size)


def percent(value: float, digits: int = 0) -> str:
    """A fraction in per cent; never none or all where it is neither."""
    text = f"{value:.{digits}%}".replace("-", "−").replace("%", " %")
    if text == "0 %" and value > 0:
        return "less than 1 %"
    return "over 99 %" if text == "100 %" and value < 1 else text


def signed(value: float | None) -> str:
    """A difference with its sign."""
    text = figure(value)
    plain = value is None or value <= 0 or text == "–" or not text.strip("0.,")
    return text if plain else "+" + text


def ends(interval: Interval, *, sign: bool = False) -> str:
    """The ends of an interval."""
    write = signed if sign else figure
    return f"{write(interval.low)} to {write(interval.high)}"


def json_values(value: Any) -> Any:
    """Python's own types all the way down; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return json_values(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json_values(asdict(value)) if isinstance(value, Interval) else value


def seconds(value: float) -> str:
    return (
        f"{value * 1000:.0f} ms"
        if value < 1
        else f"{value:.1f} s"
        if value < 90
        else (f"{value / 60:.1f} min")
    )


def sentence_case(text: str) -> str:
    """The first letter large; the others, such as those of ROC, as they are."""
    return text[:1].upper() + text[1:]


def short(text: str, most: int = 30) -> str:
    """A name that fits beside an axis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
