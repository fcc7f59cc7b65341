"""Answers to the rows of a request, as JSON or as CSV."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pyarrow as pa

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.model import Model
from kilogram.kitchen.predict import Tally, answered_blocks
from kilogram.kitchen.serve.bodies import CSV, table_of
from kilogram.kitchen.serve.limits import Limits, Refused
from kilogram.kitchen.sink import CsvSink


def answered(
    body: bytes, kind: str, wanted: str, model: Model, limits: Limits, coverage: float
) -> bytes:
    """The body of the response to the body of a request; runs in a thread."""
    table, notes = table_of(body, kind, model, limits)
    tally = Tally()
    known = table.column_names
    try:
        blocks = list(answered_blocks(model, table, tally, coverage=coverage))
    except KitchenError as bad:
        raise Refused(422, str(bad)) from None
    found = pa.concat_tables(blocks)
    if wanted == CSV:
        buffer = io.BytesIO()
        CsvSink(buffer).write(found)
        return buffer.getvalue()
    columns = {_key(name, model): found.column(name).to_pylist()
               for name in found.column_names[len(known) :]}  # fmt: skip
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    said = {"target": model.target, "predictions": rows,
            "notes": [*notes, *tally.notes(model, "")]}  # fmt: skip
    return json.dumps(plain(said), ensure_ascii=False, allow_nan=False).encode()


def _key(name: str, model: Model) -> str:
    """predicted TARGET -> prediction, low TARGET -> low: the same keys for every model."""
    name = name.rstrip("'").removesuffix(model.target).strip()
    return {"predicted": "prediction"}.get(name, name.replace(" ", "_"))


def plain(value: Any) -> Any:
    """Numbers that are none become null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
