"""Predictions for the rows of a request, as JSON or as CSV."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pyarrow as pa

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.predictions import (
    PredictionSummary,
    predict_blocks,
    predict_cells,
)
from kilogram.kitchen.artifact.table_writers import CsvWriter
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.serve.limits import Limits, RequestError
from kilogram.kitchen.serve.request_rows import (
    CSV,
    CellParser,
    check_body,
    ignored_note,
    rows_of,
    table_of,
)


class Predictor:
    """A model with what requests share: the parser of its cells."""

    def __init__(self, model: Model, limits: Limits):
        self.model, self.limits = model, limits
        self.parser = CellParser(model.layout)

    def respond(self, body: bytes, kind: str, wanted: str, coverage: float) -> bytes:
        """The body of the response to the body of a request; runs in a thread."""
        try:
            if wanted == CSV:
                return self._csv(body, kind, coverage)
            return self._json(body, kind, coverage)
        except KitchenError as bad:
            raise RequestError(422, str(bad)) from None

    def _csv(self, body: bytes, kind: str, coverage: float) -> bytes:
        table, _ = table_of(body, kind, self.model, self.limits)
        blocks = predict_blocks(self.model, table, PredictionSummary(), coverage=coverage)
        buffer = io.BytesIO()
        CsvWriter(buffer).write(pa.concat_tables(list(blocks)))
        return buffer.getvalue()

    def _json(self, body: bytes, kind: str, coverage: float) -> bytes:
        if kind == CSV:
            table, notes = table_of(body, kind, self.model, self.limits)
            X = self.model.layout.array(table)
        else:
            check_body(body)
            rows = rows_of(body)
            X = self.parser.cells(rows, self.limits)
            notes = ignored_note(set().union(*rows), self.model)
        summary = PredictionSummary()
        found = predict_cells(self.model, X, summary, coverage)
        columns = [values.tolist() for values in found.values()]
        predictions = [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]
        response = {"target": self.model.target, "predictions": predictions,
                    "notes": [*notes, *summary.notes(self.model, "")]}  # fmt: skip
        return json.dumps(plain(response), ensure_ascii=False, allow_nan=False).encode()


def plain(value: Any) -> Any:
    """NaN and infinity as null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
