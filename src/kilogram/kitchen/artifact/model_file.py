"""Model files: a cooked model as a skops archive of trusted types; loading executes nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from kilogram.kitchen.archive import (
    ArchiveBombError,
    ArchiveError,
    UntrustedTypesError,
    dumps,
    loads,
)
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.errors import KitchenError, quoted
from kilogram.kitchen.features.columns import Column, Layout

FORMAT = "kilogram model 1"


def model_bytes(model: Model, *, card: str | None = None) -> bytes:
    """A model as the content of a file, with its card."""
    return dumps(
        {
            "format": FORMAT,
            "target": model.target,
            "task": model.task,
            "classes": list(model.classes),
            "header": model.header,
            "columns": [asdict(column) for column in model.layout.columns],
            "about": dict(model.about) | ({"card": card} if card else {}),
            "use": dict(model.use),
            "pipeline": model.pipeline,
        }
    )


def load_model(path: str | Path) -> Model:
    """Load a model file of `kg cook`; files of other origin or with untrusted types are refused."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KitchenError(f"The model {path} cannot be read: {error.strerror}.") from None
    try:
        return _model(loads(content))
    except UntrustedTypesError as error:
        raise KitchenError(
            f"{path.name} holds types that no model of kg cook has: {quoted(error.types)}. It "
            "was not opened."
        ) from None
    except ArchiveBombError as error:
        raise KitchenError(
            f"{path.name} is a decompression bomb, not a model: {error}, far more than its size. "
            "It was not opened."
        ) from None
    except (ArchiveError, TypeError, KeyError, ValueError) as error:
        raise KitchenError(
            f"{path.name} is not a model file made by kg cook, or it is damaged. Copy it again, or "
            "cook it again with the recipe.toml beside it."
        ) from error


def _model(held: Any) -> Model:
    """The model in what a file held, each part of the type it should be."""
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ValueError("another format")
    if not isinstance(held["pipeline"], Pipeline) or not isinstance(held["about"], dict):
        raise TypeError("no pipeline")
    columns = (Column(**{**c, "levels": tuple(c["levels"])}) for c in held["columns"])
    return Model(
        target=str(held["target"]),
        task=held["task"],
        layout=Layout(tuple(columns)),
        pipeline=held["pipeline"],
        classes=tuple(held["classes"]),
        header=bool(held["header"]),
        about=held["about"],
        use=held.get("use", {}),
    )
