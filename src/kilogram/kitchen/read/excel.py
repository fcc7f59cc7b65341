"""One sheet of an Excel workbook (.xlsx), read row by row with openpyxl.

A workbook is a ZIP archive of XML. What its parts say they unpack to is added up before any of
them is opened, so an archive that would fill the memory is refused while it is still small.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from kilogram.kitchen.errors import KitchenError, close_names, quoted
from kilogram.kitchen.read.blocks import FileSource, RowBlocks, from_records
from kilogram.kitchen.read.dialect import heading_note, stands_above

_ROWS = 5000  # made into a block at once: cells of Python, some 50 bytes each


def is_workbook(path: Path, head: bytes) -> bool:
    """Is it a ZIP archive with a workbook in it?"""
    if not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return False


def excel(origin: FileSource) -> RowBlocks:
    """The sheet that was named, or the only one there is."""
    openpyxl = _openpyxl(origin)
    _refuse_bombs(origin)
    notes: list[str] = []

    def run() -> Iterator[pa.Table]:
        try:
            book = openpyxl.load_workbook(origin.path, read_only=True, data_only=True)
        except (zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as bad:
            raise KitchenError(f"{origin.name} is a damaged workbook: {bad}") from None
        try:
            notes.clear()
            yield from _rows(book[_sheet(book.sheetnames, origin)], origin, notes)
        finally:
            book.close()

    return RowBlocks(run, lambda: notes)


def _openpyxl(origin: FileSource) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise KitchenError(
            f"{origin.name} is an Excel workbook, which needs the package openpyxl: "
            "pip install kilogram[excel]. Or export the sheet as CSV."
        ) from None
    return openpyxl


def _refuse_bombs(origin: FileSource) -> None:
    with zipfile.ZipFile(origin.path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > origin.limit // 4:
        raise KitchenError(
            f"{origin.name} unpacks to {size / 2**20:,.0f} MiB, too much for the memory at hand. "
            "Export the sheet as CSV or Parquet."
        )


def _sheet(names: list[str], origin: FileSource) -> str:
    if origin.sheet is not None:
        if origin.sheet not in names:
            hint = close_names(origin.sheet, names)
            raise KitchenError(f"{origin.name} has no sheet {origin.sheet!r}.{hint}")
        return origin.sheet
    if len(names) > 1:
        raise KitchenError(
            f"{origin.name} has {len(names)} sheets: {quoted(names)}. Select one with --sheet NAME."
        )
    return names[0]


def _rows(sheet: Any, origin: FileSource, notes: list[str]) -> Iterator[pa.Table]:
    """RowBlocks of the rows below the header; rows without any value are no rows."""
    every = (tuple(map(_cell, cells)) for cells in sheet.iter_rows(values_only=True))
    filled = (row for row in every if any(cell is not None for cell in row))
    top = list(islice(filled, 3))
    if not top:
        raise KitchenError(f"The sheet {sheet.title!r} of {origin.name} is empty.")
    if origin.header and len(top) == 3 and stands_above(*map(_words, top)):
        notes.append(heading_note(" ".join(filter(None, _words(top.pop(0))))))
    names = _names(top[0], origin.header)
    waiting: list[tuple] = []
    for row in chain(top[1:] if origin.header else top, filled):
        waiting.append((row + (None,) * len(names))[: len(names)])
        if len(waiting) == _ROWS:
            yield from_records(names, waiting)
            waiting = []
    yield from_records(names, waiting)


def _words(row: tuple) -> list[str]:
    return ["" if cell is None else str(cell) for cell in row]


def _names(row: tuple, header: bool) -> list[str]:
    if not header:
        return [f"column_{k + 1}" for k in range(len(row))]
    filled = max(k for k, cell in enumerate(row) if cell is not None) + 1
    return [
        f"column_{k + 1}" if cell is None else str(cell).strip()
        for k, cell in enumerate(row[:filled])
    ]


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        cell = cell.strip()
        # a formula that failed is a value nobody has
        return None if cell in ("", "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?") else cell
    return cell
