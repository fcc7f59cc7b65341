"""A model behind HTTP: rows in, predictions out, within limits.

    limits        limits of a request, and the queue of requests
    request_rows  JSON rows or CSV -> cells, or an error that says what to do
    responses     cells -> predictions as JSON or CSV
    openapi       the OpenAPI document and the description of a model
    app           the paths
    server        uvicorn within the limits

A model file is opened by `load_model` alone, so nothing in it is executed; a request holds values,
never paths or code; models with image columns, whose cells are paths to read, are not served.
"""

from kilogram.kitchen.serve.limits import Limits
from kilogram.kitchen.serve.server import serve

__all__ = ["Limits", "serve"]
