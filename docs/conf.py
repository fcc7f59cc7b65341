"""Sphinx configuration; the method pages are written from the registry at build time."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pages
from docstrings import without_markup

import kilogram

project = "Kilogram"
author = "The Kilogram developers"
copyright = "2026, the Kilogram developers"
release = version = kilogram.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "Kilogram"
html_theme_options = {"show_prev_next": False, "navigation_depth": 2}

pages.write(Path(__file__).parent / "api")


def setup(app):
    app.connect("autodoc-process-docstring", without_markup, priority=600)
