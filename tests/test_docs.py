"""Docstrings as Sphinx reads them: nothing in them is taken for a link or a substitution."""

import doctest
import importlib.util
import inspect
import io
from pathlib import Path

import pytest

import kilogram as kg
from kilogram.registry import PUBLIC, page_of, pages
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import concerning

DOCS = Path(__file__).parents[1] / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_markup(lines):
    script("docstrings").without_markup(None, "class", "", None, None, lines)
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


@pytest.mark.parametrize("entry", pages(), ids=lambda entry: entry.slug)
def test_a_page_has_its_classes_textbook_versions_and_errata(entry):
    """Errata go by the method they are about ("k_means"), pages by another name ("clusters")."""
    text = script("pages").page(entry)
    for name in entry.names:
        assert f":: kilogram.{name}\n" in text
        assert all(f"({erratum.id})" in text for erratum in concerning(name))
        versions = [one.function for one in ENTRIES.values() if name in one.explains]
        assert all(f"def {function.__name__}(" in text for function in versions)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_docstring_runs(name):
    runner, output = doctest.DocTestRunner(verbose=False), []
    for example in doctest.DocTestFinder(recurse=False).find(getattr(kg, name), name, globs={}):
        runner.run(example, out=output.append)
    assert runner.failures == 0, "".join(output)
