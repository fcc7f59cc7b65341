"""Predictions for the rows of a request, as JSON or as CSV."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.predictions import (
    PredictionSummary,
    label_cells,
    predict_blocks,
)
from kilogram.kitchen.artifact.table_writers import CsvWriter
from kilogram.kitchen.artifact.uncertainty import PredictionDetails, predict_with_details
from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.formatting import json_values
from kilogram.kitchen.serve.limits import Job, Limits, RequestError
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

    def respond(self, jobs: list[Job]) -> list[bytes | Exception]:
        """The body of the response to each request, or its error; runs in a thread.

        Requests of one call differ in their bodies only, and their rows are predicted together.
        """
        found: list[bytes | Exception] = []
        parsed: list[tuple[int, np.ndarray, list[str]]] = []
        for place, job in enumerate(jobs):
            try:
                if job.wanted == CSV:
                    found.append(self._csv(job))
                    continue
                parsed.append((place, *self._cells(job)))
                found.append(b"")
            except KitchenError as bad:
                found.append(RequestError(422, str(bad)))
            except Exception as bad:  # the other requests are answered
                found.append(bad)
        if parsed:
            X = np.concatenate([cells for _, cells, _ in parsed])
            details = predict_with_details(self.model, X, jobs[0].coverage)
            start = 0
            for place, cells, notes in parsed:
                rows = slice(start, start + len(cells))
                found[place] = self._json(cells, details.part(rows), notes)
                start += len(cells)
        return found

    def _csv(self, job: Job) -> bytes:
        table, _ = table_of(job.body, job.kind, self.model, self.limits)
        blocks = predict_blocks(self.model, table, PredictionSummary(), coverage=job.coverage)
        buffer = io.BytesIO()
        CsvWriter(buffer).write(pa.concat_tables(list(blocks)))
        return buffer.getvalue()

    def _cells(self, job: Job) -> tuple[np.ndarray, list[str]]:
        """The cells of a request, with notes on them."""
        if job.kind == CSV:
            table, notes = table_of(job.body, job.kind, self.model, self.limits)
            return self.model.layout.array(table), notes
        check_body(job.body)
        rows = rows_of(job.body)
        cells = self.parser.cells(rows, self.limits)
        return cells, ignored_note(set().union(*rows), self.model)

    def _json(self, cells: np.ndarray, details: PredictionDetails, notes: list[str]) -> bytes:
        summary = PredictionSummary()
        found = label_cells(self.model, cells, details, summary)
        columns = [values.tolist() for values in found.values()]
        predictions = [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]
        response = {"target": self.model.target, "predictions": predictions,
                    "notes": [*notes, *summary.notes(self.model, "")]}  # fmt: skip
        return json.dumps(json_values(response), ensure_ascii=False, allow_nan=False).encode()
