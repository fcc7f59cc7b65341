"""Description of a served model: columns, an example, the OpenAPI document."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.artifact.example_rows import stored_examples
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.features.columns import AS_NUMBER, FORMS_APART, Column
from kilogram.kitchen.report.model_card import card_of
from kilogram.kitchen.serve.limits import Limits

MAX_LEVELS = 50  # named in the schema, which people read: our choice


def describe_model(model: Model) -> dict[str, Any]:
    """The model as plain values, with its card."""
    about = {k: v for k, v in model.about.items() if k not in ("card", "written")}
    return {
        "target": model.target,
        "task": model.task,
        "classes": list(model.classes),
        **about,
        "columns": [_column(column) for column in model.layout.used],
        "card": card_of(model),
    }


def _column(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "format": value_format(column),
    }
    if column.levels:
        found["levels"] = list(column.levels[:MAX_LEVELS])
    return found


def value_format(column: Column) -> str:
    """The format of a value of the column."""
    if column.kind in ("date", "time"):
        if column.form == AS_NUMBER:
            return "a number"
        ways = column.form.replace(FORMS_APART, " or ")
        return f"a date, written {ways}" if ways else "a date, such as 2024-05-31"
    if column.kind in ("categorical", "ordinal"):
        more = "" if len(column.levels) <= 6 else ", …"
        return "one of " + ", ".join(column.levels[:6]) + more
    return {"numeric": "a number", "text": "free text"}.get(column.kind, column.kind)


def example(model: Model) -> dict[str, Any]:
    """A row as it may be sent: medians and one level of each column, never a training row.

    The model file has example rows, but whoever can reach the server must not read them.
    """
    held = stored_examples(model.use)
    return {c.name: _value(c, None if held is None else held[0][:, k])
            for k, c in enumerate(model.layout.used)}  # fmt: skip


def _value(column: Column, cells: Any) -> Any:
    if column.kind in ("text", "image"):
        return "some text"
    if column.levels:
        return column.levels[0]
    known = np.empty(0) if cells is None else cells.astype(float)
    known = known[np.isfinite(known)]
    middle = float(np.median(known)) if len(known) else 0.0
    if column.kind in ("date", "time") and column.form != AS_NUMBER:
        moment = np.datetime64(int(np.floor(middle)), "D")
        return moment.item().strftime(column.form.split(FORMS_APART)[0] or "%Y-%m-%d")
    return float(f"{middle:.6g}")


def openapi(model: Model, limits: Limits, version: str) -> dict[str, Any]:
    """OpenAPI 3.1 of a served model, its columns in it."""
    properties = {c.name: _schema(c) for c in model.layout.used}
    row = {"type": "object", "properties": properties, "required": list(properties)}
    rows = {"type": "array", "items": {"$ref": "#/components/schemas/Row"}, "minItems": 1,
            "maxItems": limits.max_rows}  # fmt: skip
    request = {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}
    errors = {
        "400": "The body is neither valid JSON nor a table.", "408": "The body arrived too slowly.",
        "413": "Too many bytes or rows.", "415": "Neither JSON nor CSV.",
        "422": "A column is missing or has values of the wrong type.",
        "503": "Too many requests; see Retry-After.",
    }  # fmt: skip
    refused = {status: _response(text, "Error") for status, text in errors.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predicting {model.target}", "version": version,
                 "description": f"A {model.task} model served by Kilogram."},
        "paths": {
            "/predict": {"post": {
                "operationId": "predict",
                "summary": f"Predict {model.target} for some rows.",
                "parameters": [{
                    "name": "coverage", "in": "query", "required": False,
                    "description": "Coverage of the prediction intervals.",
                    "schema": {"type": "number", "default": 0.9, "exclusiveMinimum": 0,
                               "exclusiveMaximum": 1}}],
                "requestBody": {"required": True, "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Request"},
                                         "example": {"rows": [example(model)]}},
                    "text/csv": {"schema": {"type": "string"}}}},
                "responses": {"200": _response("The predictions, or CSV.", "Predictions"),
                              **refused}}},
            "/health": {"get": {"operationId": "health", "summary": "Status and load.",
                                "responses": {"200": {"description": "The status."}}}},
            "/model": {"get": {"operationId": "model",
                               "summary": "Columns, scores and model card.",
                               "responses": {"200": {"description": "The model."}}}},
        },
        "components": {"schemas": {
            "Row": row, "Request": request, "Predictions": _predictions(model),
            "Error": {"type": "object", "required": ["error"],
                      "properties": {"error": {"type": "string"}, "row": {"type": "integer"},
                                     "column": {"type": "string"}}}}},
    }  # fmt: skip


def _predictions(model: Model) -> dict[str, Any]:
    prediction = {"type": "string", "enum": list(model.classes)} if model.classes else {
        "type": "number"}  # fmt: skip
    properties: dict[str, Any] = {"prediction": prediction}
    if "errors" in model.use:
        properties |= {"low": {"type": "number"}, "high": {"type": "number"}}
    if "scale" in model.use:
        properties["probability"] = {"type": "number", "minimum": 0, "maximum": 1}
    properties["out_of_distribution"] = {"type": "boolean"}
    one = {"type": "object", "properties": properties, "required": ["prediction"]}
    return {"type": "object", "properties": {
        "target": {"type": "string"}, "predictions": {"type": "array", "items": one},
        "notes": {"type": "array", "items": {"type": "string"}}}}  # fmt: skip


def _schema(column: Column) -> dict[str, Any]:
    number = column.kind == "numeric" or column.form == AS_NUMBER
    found: dict[str, Any] = {"type": ["number" if number else "string", "null"],
                            "description": value_format(column)}  # fmt: skip
    if column.levels:
        found["examples"] = list(column.levels[:MAX_LEVELS])
    return found


def _response(text: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": text, "content": content}
