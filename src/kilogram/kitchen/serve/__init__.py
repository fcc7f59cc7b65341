"""A cooked model behind HTTP: rows in, answers out, within limits.

    limits    what a request may take, and how many are let in at a time
    bodies    JSON rows or CSV -> a table, or a 4xx that says what to do
    answers   a table -> answers as JSON or CSV
    describe  the OpenAPI document and the card of a model
    app       the paths;  run: the server

A model file is opened by `load_model` alone, so nothing in it is executed; a request holds values,
never paths or code; models of pictures, whose cells are paths to read, are not served.
"""

from kilogram.kitchen.serve.limits import Limits
from kilogram.kitchen.serve.run import serve

__all__ = ["Limits", "serve"]
