"""The report: one small, whole, safe page; its JSON twin says the same."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import cook
from kilogram.kitchen.cook import BUNDLED
from kilogram.kitchen.formatting import extent, percent, quantity
from kilogram.kitchen.report.facts import as_json
from kilogram.kitchen.report.html import as_html, command, overview
from kilogram.kitchen.report.plots import plots
from kilogram.kitchen.report.sentences import figure, signed
from kilogram.kitchen.report.svg import compact
from kilogram.kitchen.report.terms import explained, terms_in
from kilogram.kitchen.report.worst_rows import worst_rows
from tests.kitchen.conftest import QUICK, classes, curved

VOID = {"meta", "br", "img", "link", "hr"}


class Balanced(HTMLParser):
    """Fails on a tag that closes another; collects ids and links."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_the_page_is_whole_small_and_alone(which, request):
    found = request.getfixturevalue(which)
    page = as_html(found)
    assert len(page) < 500_000
    parser = Balanced()
    parser.feed(page.decode())
    assert not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    assert {link for link in parser.links if not link.startswith("#")} == {"model-card.md"}
    assert {link[1:] for link in parser.links if link.startswith("#")} <= set(parser.ids)
    text = page.decode()
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]+"', "", text)
    assert "<script" not in text
    plain = html.unescape(re.sub(r"</?abbr[^>]*>", "", text)).replace("\u00a0", " ")
    for sentence in found.verdict:
        assert sentence.split("(")[0].strip() in plain
    words = {"cooked": "Half of the predictions", "two_classes": "of these predictions are right",
             "sorted_classes": "of the rows of every class are found"}  # fmt: skip
    assert words[which] in plain or "are found most often" in plain


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_pictures_have_words_and_the_colours_of_the_page(which, request):
    found = plots(request.getfixturevalue(which))
    assert len(found) >= 4
    assert len({picture.name for picture in found}) == len(found)
    for picture in found:
        assert len(picture.alt) > 20
        assert len(picture.caption) > 20
        assert 'role="img" aria-label="' in picture.svg
        assert "var(--ink)" in picture.svg
        assert "math" not in picture.svg
        assert not re.search(r"#0[0-9]0[0-9]0[0-9]", picture.svg)


def test_the_picture_of_tuning_shows_the_rule_that_reads_the_classes():
    """Three classes in a row: by the largest value the linear lines would end far below."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    frame = pd.DataFrame({"x": 3.0 * y + 0.5 * rng.normal(size=120), "z": rng.normal(size=120)})
    frame["kind"] = np.array(["low", "middle", "high"])[y]
    found = cook(frame, "kind", **QUICK)
    linear = next(path for path in found.evidence.tuning if path.recipe == "linear")
    outer = next(one for one in found.judged if one.name == "linear").score.mean
    assert (linear.by_fisher, linear.folds) == (2, 2)
    assert np.nanmax(linear.path) == pytest.approx(outer, abs=0.05)
    shown = next(one for one in plots(found) if one.name == "tuning")
    assert "linear in 2 of 2" in shown.caption
    assert "linear in 2 of 2" in shown.alt


def test_words_of_the_table_are_escaped():
    frame = classes(60).rename(columns={"a": "<script>alert(1)</script>", "kind": "<b>&\"'"})
    found = cook(frame, "<b>&\"'", **QUICK)
    page = as_html(found).decode() + found._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page


def test_dollars_are_not_formulas():
    frame = classes(60).rename(columns={"a": "price ($)", "b": "cost ($)", "kind": "$x^2$ {"})
    assert "$x^2$ {" in as_html(cook(frame, "$x^2$ {", **QUICK)).decode()


def test_json_twin_says_the_same(cooked):
    facts = json.loads(as_json(cooked))
    assert facts["conclusion"] == list(cooked.verdict)
    names = [recipe["name"] for recipe in facts["recipes"]]
    assert names == [one.name for one in cooked.judged]
    assert names[:3] == ["baseline", "linear", "kernel"]
    scores = [fold["score"] for fold in facts["recipes"][2]["folds"]]
    assert scores == cooked.judged[2].pooled.parts.tolist()
    assert facts["recipes"][2]["optimism"] == cooked.judged[2].optimism
    assert facts["comparisons"][-1]["verdict"] in ("better", "tie", "worse")
    assert facts["settings"]["folds"] == 3
    assert len(facts["columns"]) == 3


def test_the_command_cooks_the_same_again(cooked, sorted_classes, tmp_path):
    assert command(cooked) == "kilogram.cook(table, 'y', folds=3, repeats=2)"
    classes(60).to_csv(tmp_path / "my classes.csv", index=False)
    path = str(tmp_path / "my classes.csv")
    found = cook(path, "kind", **QUICK, ignore=["b"])
    options = "--target kind --folds 2 --repeats 1 --search path --ignore b"
    assert command(found) == f"kg cook '{path}' {options}"
    bundled = replace(sorted_classes, table=replace(sorted_classes.table, path=str(BUNDLED)))
    assert command(bundled) == "kg cook --target kind --folds 3 --repeats 1 --search path"


def test_card_for_notebooks(cooked):
    card = cooked._repr_html_()
    assert cooked.verdict[1].split("(")[0] in card
    assert "<svg" in card


def test_plots_of_a_result_stand_on_their_own(cooked, tmp_path):
    found = cooked.plots()
    assert {"scores", "predictions", "errors", "columns", "dependence-0"} <= set(found)
    text = found["scores"].save(tmp_path / "scores.svg").read_text()
    assert text.startswith("<svg")
    assert "var(--" not in text
    assert "<figure" in found["scores"]._repr_html_()
    assert len(repr(found["scores"])) < 60


def test_predictions_with_details(cooked, two_classes):
    row = pd.DataFrame({"x": [0.0], "noise": [0.0], "word": ["red"]})
    predicted = cooked.predict(row, details=True)
    assert set(predicted) == {"predicted y", "low y", "high y", "out of distribution"}
    assert predicted["low y"][0] < predicted["predicted y"][0] < predicted["high y"][0]
    predicted = two_classes.predict(classes(5), details=True)
    assert predicted["P(true)"] + predicted["P(false)"] == pytest.approx(1)


def test_the_report_has_data_effects_worst_rows_and_terms(cooked, two_classes):
    page = as_html(cooked).decode()
    for place in ("data", "effects", "worst", "terms", "reliability"):
        assert f'id="{place}"' in page
        assert f'href="#{place}"' in page
    assert '<abbr title="Fraction of the variance' in page
    assert page.count('class="small-plot"') == 4  # the target and three columns
    names, rows = worst_rows(cooked)
    assert names[0] == "x"
    errors = [float(row.wrong) for row in rows]
    assert errors == sorted(errors, reverse=True)
    frame = curved()
    for row in rows:
        assert figure(frame["y"][row.row]) == row.observed
    assert all(row.observed != row.predicted for row in worst_rows(two_classes)[1])


def test_terms_are_marked_once_and_escaped():
    text = explained("R² <b> of R²; recall")
    assert text.count("<abbr") == 2
    assert "&lt;b&gt;" in text
    assert [term for term, _ in terms_in("Recall and precision")] == ["precision", "recall"]


def test_ticks_have_no_offset():
    assert [compact(v) for v in (0.25, 1500, 20_000, 2.5e6, -3e9)] == [
        "0.25", "1500", "20k", "2.5M", "−3G",
    ]  # fmt: skip


def test_figures_are_written_for_reading():
    assert [figure(v) for v in (0.12345, -0.00001, 12.34, -1234.5, None, float("nan"))] == [
        "0.123", "0.000", "12.3", "−1,234", "–", "–",
    ]  # fmt: skip
    assert [signed(v) for v in (0.5, -0.5, 0.0001)] == ["+0.500", "−0.500", "0.000"]
    assert [quantity(v) for v in (6.0, 7.75, 16.0, 100.0, 0.0)] == ["6", "7.75", "16", "100", "0"]


def test_a_target_written_as_text_has_a_histogram():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    money = 5000 + 900 * x + 300 * rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": [f"£{v:,.0f}" for v in money]})
    found = cook(frame, "y", recipes=["linear"], **QUICK)
    target, _ = overview(found)[0]
    assert target.histogram is not None
    assert target.quantiles[2] == pytest.approx(np.median(found.question.y))


def test_differences_are_never_written_as_none():
    assert extent(0.0001) == "less than 0.001"
    assert extent(-0.25) == "0.250"
    assert [percent(v) for v in (0.0, 0.002, 0.19, 0.999, 1.0)] == [
        "0 %", "less than 1 %", "19 %", "over 99 %", "100 %"]  # fmt: skip


def test_many_columns_are_folded():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 15)), columns=[f"c{k}" for k in range(15)])
    frame["y"] = frame.c0 + rng.normal(size=60)
    page = as_html(cook(frame, "y", recipes=["linear"], **QUICK)).decode()
    shown, folded = page.split("<summary>4 more columns</summary>")
    assert "<h3>c10</h3>" in shown
    assert "<h3>c14</h3>" in folded
