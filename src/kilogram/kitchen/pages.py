"""Pages from the templates: every word that comes from a table is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from kilogram.kitchen import words

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **context: Any) -> bytes:
    """A template of the house, filled."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=words.figure, signed=words.signed, between=words.between, seconds=words.seconds
    )
    environment.filters["safe_svg"] = Markup  # drawn by us; the words in it are escaped there
    return environment.get_template(template).render(context).encode()
