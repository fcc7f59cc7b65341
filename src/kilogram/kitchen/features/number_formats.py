"""Numbers written as text: currency, thousands separators, percent, units, parentheses.

    $1,234.50   1 234,50 EUR   12.3 %   12 kg   (1,234)   -> 1234.5   1234.5   12.3   12   -1234

A column has one decimal mark and one unit. Cells with another unit and cells that are not numbers
(n/k, 12..5) are unreadable: they count as missing, and the audit lists them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

# A column is numeric if this fraction of its cells is readable: 10 % of "n/k" must pass, and a
# column of which a third is words is one of words.
READABLE = 0.8
# With so few distinct numbers, each repeated, unreadable cells may be categories (1, 2, 3, other):
# then only a few typing errors are accepted.
FEW_NUMBERS, FEW_ERRORS = 20, 0.02
# Enough distinct cells to see that a long column of words is none of numbers: a fraction of them is
# known to 1.6 %.
_LOOK = 1000

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
# Units that may follow without a space; after a space any word may (5 stars, 3 rooms).
_UNITS = (
    "%|°|°c|°f|kg|g|mg|lbs?|oz|t|km|m|cm|mm|mi|ft|in|l|ml|cl|s|sec|ms|min|h|hrs?|mph|kmh|km/h|hp|"
    "ps|cc|w|kw|kwh|v|hz|khz|mhz|ghz|kb|mb|gb|tb|px|pt|yrs?|years?|days?|k"
)
_POINT = r"(?:\d{1,3}(?:[,' ]\d{3})+|\d+)(?:\.\d*)?|\.\d+"
_COMMA = r"(?:\d{1,3}(?:[.' ]\d{3})+|\d+)(?:,\d*)?|,\d+"
_NOT_UNITS = ("st", "nd", "rd", "th", "e")  # 1st, 2nd: ranks
_MARKS = {".": _POINT, ",": _COMMA}
_CELLS = {
    mark: re.compile(
        rf"(?P<paren>\()?\s*(?P<sign>[-+])?\s*(?P<before>{_CURRENCY})?\s*(?P<sign2>[-+])?"
        rf"(?P<number>{number})(?P<power>e[-+]?\d+)?"
        rf"(?P<after>\s*(?:{_CURRENCY})|\s*(?:{_UNITS})|\s+[^\W\d][\w/%²³.-]{{0,15}})?\s*"
        rf"(?(paren)\))",
        re.IGNORECASE,
    )
    for mark, number in _MARKS.items()
}


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: the decimal mark, and the unit or currency."""

    decimal: str = "."
    unit: str = ""

    @classmethod
    def from_text(cls, text: str) -> NumberFormat:
        return cls(text[0], text[1:])

    def __str__(self) -> str:
        return self.decimal + self.unit

    def read(self, column: Any) -> np.ndarray:
        """(n,) float64 of an Arrow column of text; NaN where missing or unreadable."""
        coded = pc.dictionary_encode(column)
        words = coded.dictionary.to_pylist()
        numbers = np.array([self._number(word) for word in words] + [np.nan])
        return numbers[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)]

    def unreadable(self, column: Any) -> dict[str, int]:
        """Number of cells for each text that is not a number, the most frequent first."""
        bad = column.filter(np.isnan(self.read(column))).drop_null()
        return dict(Counter(word for word in bad.to_pylist() if word.strip()).most_common())

    def _number(self, word: str) -> float:
        value, unit = _parsed(word, self.decimal)
        return value if unit in ("", self.unit) else np.nan


def number_format(column: Any, *, force: bool = False) -> NumberFormat | None:
    """The format of a column of text if it holds numbers; `force`: if any cell is a number."""
    words = pc.unique(column).drop_null().to_pylist()
    formats = [_format(words[:_LOOK], mark) for mark in _MARKS]
    best = max(formats, key=lambda found: found[1])[0]
    if not force and max(found[1] for found in formats) < READABLE / 2:
        return None
    numbers = best.read(column)
    readable = int(np.sum(np.isfinite(numbers)))
    filled = int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(column), "")).as_py() or 0)
    if force:
        return best if readable else None
    distinct = len(np.unique(numbers[np.isfinite(numbers)]))
    few = distinct <= min(FEW_NUMBERS, readable / 2)
    return best if readable >= (1 - FEW_ERRORS if few else READABLE) * filled else None


def _format(words: list[str], mark: str) -> tuple[NumberFormat, float]:
    """The most frequent unit with a decimal mark, and the fraction of words readable with it."""
    found = [_parsed(word, mark) for word in words]
    units = Counter(unit for value, unit in found if unit and value == value)
    unit = units.most_common(1)[0][0] if units else ""
    form = NumberFormat(mark, unit)
    readable = sum(value == value and one in ("", unit) for value, one in found)
    return form, readable / max(len(words), 1)


def _parsed(word: str, mark: str) -> tuple[float, str]:
    """The number and the unit of a cell; NaN if it is not a number."""
    match = _CELLS[mark].fullmatch(re.sub(r"[\s\u202f]+", " ", word).strip().replace("−", "-"))
    if match is None or (match["sign"] and match["sign2"]):
        return np.nan, ""
    units = [part.strip().casefold() for part in (match["before"], match["after"]) if part]
    if len(units) > 1 or (units and units[0] in _NOT_UNITS):
        return np.nan, ""
    digits = match["number"]
    for separator in {",", ".", "'", " "} - {mark}:
        digits = digits.replace(separator, "")
    value = float(digits.replace(mark, ".") + (match["power"] or ""))
    negative = "-" in (match["sign"], match["sign2"]) or match["paren"]
    return (-value if negative else value), (units[0] if units else "")


def describe_format(form: NumberFormat, unreadable: int) -> str:
    """The format in words, for the reason of a column type."""
    parts = [f"in {form.unit}"] if form.unit else []
    parts += ["with a decimal comma"] if form.decimal == "," else []
    if unreadable:
        parts.append(f"{unreadable} unreadable cell{'s' if unreadable > 1 else ''} missing")
    return ", ".join(["numbers written as text", *parts])
