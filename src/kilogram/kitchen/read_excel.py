"""One sheet of an Excel workbook (.xlsx), read row by row with openpyxl.

A workbook is a ZIP archive of XML. What its parts say they unpack to is added up before any of
them is opened, so an archive that would fill the memory is refused while it is still small.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kilogram.kitchen.errors import KitchenError, close_names, some
from kilogram.kitchen.read_gather import Blocks, Origin, from_records

_ROWS = 5000


def is_workbook(path: Path, head: bytes) -> bool:
    """Is it a ZIP archive with a workbook in it?"""
    if not head.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return False


def excel(origin: Origin) -> Blocks:
    """The sheet that was named, or the only one there is."""
    openpyxl = _openpyxl(origin)
    _refuse_bombs(origin)

    def run() -> Iterator[pa.Table]:
        try:
            book = openpyxl.load_workbook(origin.path, read_only=True, data_only=True)
        except (zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as bad:
            raise KitchenError(f"{origin.name} is a damaged workbook: {bad}") from None
        try:
            yield from _rows(book[_sheet(book.sheetnames, origin)], origin)
        finally:
            book.close()

    return Blocks(run)


def _openpyxl(origin: Origin) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise KitchenError(
            f"{origin.name} is an Excel workbook, which needs the package openpyxl: "
            "pip install kilogram[excel]. Or export the sheet as CSV."
        ) from None
    return openpyxl


def _refuse_bombs(origin: Origin) -> None:
    with zipfile.ZipFile(origin.path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > origin.limit // 4:
        raise KitchenError(
            f"{origin.name} unpacks to {size / 2**20:,.0f} MiB, too much for the memory at hand. "
            "Export the sheet as CSV or Parquet."
        )


def _sheet(names: list[str], origin: Origin) -> str:
    if origin.sheet is not None:
        if origin.sheet not in names:
            hint = close_names(origin.sheet, names)
            raise KitchenError(f"{origin.name} has no sheet {origin.sheet!r}.{hint}")
        return origin.sheet
    if len(names) > 1:
        raise KitchenError(
            f"{origin.name} has {len(names)} sheets: {some(names)}. Say which with --sheet NAME."
        )
    return names[0]


def _rows(sheet: Any, origin: Origin) -> Iterator[pa.Table]:
    """Blocks of the rows below the header; rows without any value are no rows."""
    names: list[str] | None = None
    waiting: list[tuple] = []
    for cells in sheet.iter_rows(values_only=True):
        row = tuple(_cell(cell) for cell in cells)
        if all(cell is None for cell in row):
            continue
        if names is None:
            names = _names(row, origin.header)
            if origin.header:
                continue
        waiting.append((row + (None,) * len(names))[: len(names)])
        if len(waiting) == _ROWS:
            yield from_records(names, waiting)
            waiting = []
    if names is None:
        raise KitchenError(f"The sheet {sheet.title!r} of {origin.name} is empty.")
    yield from_records(names, waiting)


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
