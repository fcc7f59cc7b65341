"""What a text table is made of, found from its own bytes: encoding, delimiter, header.

Encoding   a byte-order mark decides; else UTF-16 if every other byte is zero; else UTF-8 if the
           bytes are valid UTF-8; else Windows-1252, which holds Latin-1 and gives every Western
           byte a letter.
Delimiter  of comma, semicolon, tab and bar, the one that cuts the most of the first lines into
           one same number (> 1) of cells; else blanks, if they cut all lines alike; a table of
           one column has none.
Header     the first record. It looks like data when one of its cells is a number, a missing mark
           or twice there; that is never acted on, only mentioned when a name is not found.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kilogram.kitchen.errors import KitchenError

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null")
# any run of blanks and tabs
BLANKS = " "
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive and no Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"FEA1": "a Feather file of version 1",
    b"\x7fELF": "a program",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
    b"\x93NUMPY": "a NumPy array file",
}
_LINES = 200  # delimiter and quotes are found from as many: a fraction is known to 3.5 %


@dataclass(frozen=True)
class Dialect:
    """Delimiter, names and length of the header, as found at the top of a text table."""

    delimiter: str
    names: tuple[str, ...]
    header_lines: int
    looks_like_data: bool
    heading: str = ""  # of a line above the names, which is left out


def decode(raw: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """Text of a file and the encoding used; an error when the bytes are no text at all."""
    for magic, kind in _FOREIGN.items():
        if raw.startswith(magic):
            raise KitchenError(f"{name} is {kind}, not a table. Export it as CSV or Parquet first.")
    if encoding is None:
        encoding = next((enc for mark, enc in _MARKS if raw.startswith(mark)), None)
    if encoding is not None:
        return _decode_as(raw, name, encoding), encoding
    encoding = _utf16_without_mark(raw[:65536])
    if encoding is not None:
        return _decode_as(raw, name, encoding), encoding
    # control bytes never stand in text; a few in a hundred are a broken export, more is binary
    head = raw[:65536]
    odd = sum(head.count(bytes([b])) for b in range(32) if b not in b"\t\n\r\f\x1a\x1b")
    if b"\0" in head or odd > len(head) / 100:
        raise KitchenError(
            f"{name} is a binary file, not a text table. Give a CSV file, gzipped or not, or a "
            "Parquet file."
        )
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "cp1252"


def _utf16_without_mark(head: bytes) -> str | None:
    """UTF-16 without a mark: Western letters leave every other byte zero."""
    if len(head) < 8:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.8 * len(head) / 2 and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.8 * len(head) / 2 and odd == 0 else None


def _decode_as(raw: bytes, name: str, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except LookupError:
        raise KitchenError(
            f"There is no encoding called {encoding!r}; try utf-8, latin-1 or utf-16."
        ) from None
    except UnicodeDecodeError as bad:
        raise KitchenError(
            f"{name} is not {encoding}: byte {bad.object[bad.start]:#04x} at position {bad.start} "
            "does not belong to it. Leave out the encoding to have it detected."
        ) from None


def shape(text: str, name: str, delimiter: str | None = None, header: bool = True) -> Dialect:
    """Delimiter and header of a text table."""
    lines = text[:1_000_000].splitlines()[:_LINES]
    if len(text) > 1_000_000 and len(lines) < _LINES:
        lines = lines[:-1] or lines  # the last one may be cut
    if not any(line.strip() for line in lines):
        raise KitchenError(f"{name} is empty: it has no line of text.")
    delimiter = delimiter or _delimiter(lines)
    if len(delimiter) != 1:
        raise KitchenError(f"A delimiter is one character, got {delimiter!r}.")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    first: list[str] = []
    try:
        while not any(cell.strip() for cell in first):
            first = next(reader)
    except csv.Error as bad:
        raise KitchenError(f"{name} cannot be read as a table: {bad}.") from None
    cells = [cell.strip() for cell in first if delimiter != BLANKS or cell.strip()]
    if not header:
        names = tuple(f"column_{k + 1}" for k in range(len(cells)))
        return Dialect(delimiter, names, 0, True)
    length, heading = reader.line_num, ""
    if delimiter != BLANKS and not all(cells):
        second, further = _record(reader), reader.line_num
        if stands_above(cells, second, _record(reader)):
            heading, cells, length = " ".join(filter(None, cells)), second, further
    names = tuple(cell or f"column_{k + 1}" for k, cell in enumerate(cells))
    return Dialect(delimiter, names, length, _like_data(cells), heading)


def _record(reader: Any) -> list[str]:
    """The next record; nothing if there is none that can be read."""
    try:
        return [cell.strip() for cell in next(reader, [])]
    except csv.Error:
        return []


def stands_above(first: list[str], second: list[str], third: list[str]) -> bool:
    """Is the first line a heading over groups of columns, and the second the names of these?

    Fewer cells of it are filled than there are names; the names are different words, and below
    one of them stands a number.
    """
    filled = sum(map(bool, first))
    return (
        0 < filled < len(second) == len(third) == len(set(second))
        and not any(cell in MISSING or is_number(cell) for cell in second)
        and any(is_number(cell) for cell in third)
    )


def heading_note(heading: str) -> str:
    """Note on lines above the header."""
    return f"The first line ({heading}) was treated as a heading above the column names."


def _delimiter(lines: list[str]) -> str:
    """The candidate that cuts most lines into one same number of cells; ties go to more cells."""

    def regularity(candidate: str) -> tuple[float, int]:
        try:
            records = [record for record in csv.reader(lines, delimiter=candidate) if record]
        except csv.Error:
            return 0.0, 0
        width, count = Counter(map(len, records)).most_common(1)[0]
        return (count / len(records) if width > 1 else 0.0), width

    best = max(",;\t|", key=regularity)
    if regularity(best)[0] > 0:
        return best
    widths = {len(line.split()) for line in lines if line.strip()}
    blanks = len(widths) == 1 and widths != {1} and len(lines) > 2 and '"' not in "".join(lines)
    return BLANKS if blanks else ","


def _like_data(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return len(set(filled)) < len(filled) or any(
        cell in MISSING or is_number(cell) for cell in filled
    )


def is_number(text: str) -> bool:
    """Does `text` read as a number, with a point or a comma before the decimals?"""
    try:
        number(text)
    except ValueError:
        return False
    return True


def number(text: str) -> float:
    """The number that `text` is, with a point or a comma before the decimals."""
    return float(text.replace(",", ".", 1))
