"""Docstrings as Sphinx reads them: nothing in them is taken for a link or a substitution."""

import importlib.util
import inspect
import io
from pathlib import Path

import pytest

import kilogram as kg
from kilogram.registry import page_of

DOCS = Path(__file__).parents[1] / "docs"


def without_markup(lines):
    spec = importlib.util.spec_from_file_location("docstrings", DOCS / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.without_markup(None, "class", "", None, None, lines)
    return lines


@pytest.mark.parametrize("name", ["PCA", "RobustPCA", "Ridge", "FastICA"])
def test_attributes_and_norms_are_no_markup(name):
    """`n_features_in_` was a link to a target that is unknown, |x| a substitution."""
    core = pytest.importorskip("docutils.core")
    scrape = pytest.importorskip("numpydoc.docscrape_sphinx")
    cls = getattr(kg, name)
    config = {"show_class_members": False}
    text = str(scrape.SphinxClassDoc(cls, doc=inspect.getdoc(cls), config=config))
    said = io.StringIO()
    lines = without_markup(text.split("\n"))
    settings = {"warning_stream": said, "report_level": 2, "halt_level": 5}
    core.publish_doctree("\n".join(lines), settings_overrides=settings)
    wrong = [
        line for line in said.getvalue().split("\n") if "target name" in line or "subst" in line
    ]
    assert wrong == []


def test_examples_and_code_are_left_alone():
    lines = [">>> model.mean_ | 3", "``n_features_in_`` is `mean_` of |x - m|"]
    assert without_markup(lines) == [lines[0], r"``n_features_in_`` is `mean_` of \|x - m\|"]


def test_the_page_of_pca_names_the_probabilistic_one():
    assert "probabilistic PCA" in page_of("PCA").when
