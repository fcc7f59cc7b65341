"""Pages from the templates; all text from a table is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from kilogram.kitchen import formatting
from kilogram.kitchen.report.terms import explained

TEMPLATES = Path(__file__).parent / "html_templates"


def render(template: str, **context: Any) -> bytes:
    """A template filled with its context."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=formatting.figure,
        percent=formatting.percent,
        signed=formatting.signed,
        ends=formatting.ends,
        seconds=formatting.seconds,
        terms=explained,
    )
    environment.filters["safe_svg"] = Markup  # our own SVG; its text is escaped there
    return environment.get_template(template).render(context).encode()
