"""The errata registry, the list of spec items and the tests fit together."""

from __future__ import annotations

from collections.abc import Generator

import book_coverage
import numpy as np
import pytest

from kilogram.registry import PUBLIC
from kilogram.textbook import ENTRIES
from kilogram.textbook.errata import PAGES, TEXTS, as_markdown, concerning, errata
from kilogram.textbook.state import begin, run

COVERED = book_coverage.covered()
SPECIFIED = book_coverage.specified()


def test_every_listed_item_has_a_test_and_every_test_a_listed_item():
    to_test = {item for item, entry in SPECIFIED.items() if "test" in entry}
    assert sorted(to_test - set(COVERED)) == []
    assert sorted(set(COVERED) - to_test) == []


def test_every_id_of_the_inventories_is_accounted_for():
    """The ids come from the inventories of the texts, not from the list that is checked."""
    assert sorted(book_coverage.all_ids() - set(SPECIFIED)) == []
    assert sorted(set(SPECIFIED) - book_coverage.all_ids()) == []


def test_the_coverage_table_is_current():
    assert book_coverage.TABLE.read_text("utf-8") == book_coverage.table(), (
        "run tests/books/book_coverage.py"
    )


def test_errata_ids_are_unique_and_ordered_by_text():
    ids = [erratum.id for erratum in errata()]
    assert len(set(ids)) == len(ids)
    assert {erratum.text for erratum in errata()} == set(TEXTS)
    assert all(erratum.id.startswith(f"{erratum.text} ") for erratum in errata())


@pytest.mark.parametrize("erratum", errata(), ids=lambda e: e.id)
def test_an_erratum_is_complete_and_its_test_stands_for_it(erratum):
    assert erratum.test in COVERED.get(erratum.id, []), "the test must name this id in @covers"
    for part in (erratum.where, erratum.printed, erratum.right, erratum.why):
        assert part.strip()
    assert erratum.printed != erratum.right
    assert set(erratum.pages) <= set(PAGES)
    assert erratum.pages


def test_every_erratum_item_of_these_chapters_is_registered():
    """Errata are E items (cookbook, first encounter), X items (lecture notes)."""
    known = {erratum.id for erratum in errata()}
    for item in COVERED:
        text, number = item.split()
        if text in ("cookbook", "first_encounter") and number.startswith("E"):
            assert item in known
        if text == "lecture_notes" and number.split(".")[1].startswith("X"):
            assert item in known


def test_errata_are_found_by_page_and_by_estimator():
    assert concerning("KernelPCA")
    assert set(concerning("kernel_pca")) <= set(concerning("KernelPCA"))
    assert concerning("no such page") == ()
    document = as_markdown()
    assert all(erratum.id in document for erratum in errata())
    assert {name for estimators in PAGES.values() for name in estimators} <= set(PUBLIC)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_textbook_version_is_listed_completely(name):
    page = ENTRIES[name]
    assert page.title
    assert page.sources
    assert all(source.split()[0] in TEXTS for source in page.sources)
    assert set(page.explains) <= set(PUBLIC)
    assert page.function.__doc__
    assert page.function.__module__.startswith("kilogram.textbook.")


def test_a_state_cannot_be_changed_and_every_step_is_shown():
    X = np.random.default_rng(0).standard_normal((20, 3))
    steps = ENTRIES["pca"].function(X, 2)
    assert isinstance(steps, Generator)
    states = list(steps)
    assert [s.step[0] for s in states] == ["1", "2", "3", "4"]
    assert set(states[0].arrays) < set(states[-1].arrays)  # later states know more
    with pytest.raises(ValueError, match="read-only"):
        states[-1]["W"][0, 0] = 1.0
    with pytest.raises(AttributeError):
        states[-1].step = "another"
    with pytest.raises(KeyError, match="no 'Q' at step"):
        states[-1]["Q"]
    assert np.array_equal(run(ENTRIES["pca"].function(X, 2))["W"], states[-1]["W"])


def test_a_textbook_version_without_states_is_an_error():
    def silent():
        return begin("never shown")
        yield  # a generator

    with pytest.raises(ValueError, match="yielded no state"):
        run(silent())
