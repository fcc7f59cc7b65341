"""Docstrings as Sphinx reads them: nothing in them is taken for a link or a substitution."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import io
import json
import runpy
import sys
from pathlib import Path

import pytest

import kilogram as kg
from kilogram.kitchen.explain.registry import public_names
from kilogram.registry import PUBLIC, page_of, pages
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import concerning

DOCS = Path(__file__).parents[1] / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # for its dataclasses
    spec.loader.exec_module(module)
    return module


PAGES = script("pages")
GALLERY = {path.stem: path for path in sorted((DOCS / "gallery").glob("*/plot_*.py"))}


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


def test_references_to_pages_of_scikit_learn_are_plain_words():
    lines = ["Return :ref:`coefficient of determination <r2_score>` on test data."]
    assert without_markup(lines) == ["Return coefficient of determination on test data."]


def test_the_page_of_pca_names_the_probabilistic_one():
    assert "probabilistic PCA" in page_of("PCA").when


@pytest.mark.parametrize("entry", pages(), ids=lambda entry: entry.slug)
def test_a_page_has_its_classes_textbook_versions_and_errata(entry):
    """Errata go by the method they are about ("k_means"), pages by another name ("clusters")."""
    text = PAGES.page(entry)
    for name in entry.names:
        assert f"/reference/kilogram.{name}.md)" in text
        assert f":: kilogram.{name}\n" in PAGES.reference_page(name)
        assert all(f"({erratum.id})" in text for erratum in concerning(name))
        versions = [one.function for one in ENTRIES.values() if name in one.explains]
        assert all(f"def {function.__name__}(" in text for function in versions)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(public_names()))
def test_the_example_of_a_docstring_runs(name):
    runner, output = doctest.DocTestRunner(verbose=False), []
    thing = getattr(importlib.import_module(public_names()[name]), name)
    for example in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
        runner.run(example, out=output.append)
    assert runner.failures == 0, "".join(output)


def test_every_method_has_a_picture_and_an_example():
    """Feature maps, kernels and generated data too; the picture is a script that exists."""
    for entry in pages():
        assert (DOCS / "gallery" / f"{PAGES.PICTURES[entry.slug]}.py").exists(), entry.slug
        assert PAGES.examples(entry.names), entry.slug
    assert set(PAGES.PICTURES) == {entry.slug for entry in pages()}


def test_the_gallery_is_large_and_its_scripts_use_names_that_exist():
    assert len(GALLERY) >= 40
    for path in GALLERY.values():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "kg":
                assert node.attr in PUBLIC, path.stem
            elif isinstance(node, ast.ImportFrom) and node.module.startswith("kilogram"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), path.stem


@pytest.mark.parametrize("path", GALLERY.values(), ids=GALLERY)
def test_a_script_of_the_gallery_has_a_title_and_compiles(path):
    """All of them are run by `make docs`."""
    title, rule, *_ = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert rule == "=" * len(title)
    compile(path.read_text(), path.name, "exec")


@pytest.mark.parametrize("name", ["plot_scree", "plot_poisson"])
def test_a_script_of_the_gallery_draws_a_figure(name):
    import matplotlib as mpl

    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        runpy.run_path(GALLERY[name])
        assert plt.get_fignums()
        plt.close("all")


def test_links_that_lead_nowhere_and_fetched_files_are_found(tmp_path):
    check = script("check_links")
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">b</a><a href="b.html#no">b</a>'
        '<a href="c.html">c</a><a href="https://example.org">out</a>'
        '<script src="https://example.org/x.js"></script><img src="p.png">'
    )
    (tmp_path / "b.html").write_text('<h2 id="here">B</h2><a href="a.html#top">a</a>')
    assert check.problems(tmp_path) == [
        "a.html: fetches https://example.org/x.js",
        "a.html: b.html#no has no such heading",
        "a.html: c.html leads nowhere",
        "a.html: p.png leads nowhere",
    ]


def test_tables_of_benchmarks_are_those_of_the_file_of_results():
    """No figure in them is typed: `python -m benchmarks.page` writes them."""
    from benchmarks import page

    found = json.loads(page.RESULTS.read_text("utf-8"))
    text = page.PAGE.read_text("utf-8")
    assert page.written(text, found) == text, "run python -m benchmarks.page"
