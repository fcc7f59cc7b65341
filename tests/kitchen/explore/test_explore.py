"""Exploring a table: structure that is there is found, and none where there is none."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import kilogram as kg
from kilogram.kitchen import KitchenError
from kilogram.kitchen.explore.show import as_html
from kilogram.kitchen.explore.topics import topics
from kilogram.kitchen.report.overview import histogram
from tests.kitchen.report.test_report import Balanced


def grouped(n=180, seed=0):
    """Two groups in three of five columns, with words, dates, gaps, and an outlying row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 7 * group[:, None]
    frame = pd.DataFrame({"<b>a": X[:, 0], "b": X[:, 1], "noise": rng.normal(size=n)})
    frame["word"] = np.array(["p", "q"])[np.where(rng.random(n) < 0.9, group, 0)]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D")
    frame["number"] = np.arange(n).astype(str) + "x"
    frame.loc[frame["noise"] > 1.5, "b"] = np.nan
    frame.loc[7, ["<b>a", "noise"]] = [40.0, 30.0]
    return frame


@pytest.fixture(scope="module")
def explored():
    return kg.explore(grouped())


def test_groups_are_found_and_described(explored):
    assert explored.clusters.found
    assert explored.clusters.choice.k == 2
    assert not explored.clusters.of_single_columns
    marks = " ".join(" ".join(one.marks) for one in explored.clusters.profiles)
    assert "<b>a" in marks
    assert "word" in marks
    assert sum(one.rows for one in explored.clusters.profiles) == 180


def test_the_outlying_row_is_named_with_its_cells(explored):
    assert explored.outlying[0].row == 7
    assert any("noise" in cell for cell in explored.outlying[0].cells)


def test_the_summary_states_what_is_in_the_table(explored):
    text = str(explored)
    assert "180 rows and 6 columns" in text
    assert "identifier" in text
    assert "not missing completely at random: whether b is missing depends on noise" in text
    assert "2 clusters" in text


def test_page_and_json_agree_and_load_nothing(explored, tmp_path):
    files = explored.save(tmp_path)
    page = files["exploration.html"].read_text()
    assert len(page) < 1_000_000
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    assert all(link.startswith("#") for link in parser.links)
    assert {link[1:] for link in parser.links} <= set(parser.ids)
    assert "<b>a" not in page
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]+"', "", page)
    facts = json.loads(files["exploration.json"].read_text())
    assert facts["summary"] == list(explored.sentences)
    assert facts["clusters"]["k"] == 2
    assert facts["outliers"]["count"] == len(explored.outliers.rows)
    assert [c["name"] for c in facts["columns"]] == list(grouped().columns)
    assert "<svg" in explored._repr_html_()


def test_noise_has_no_clusters_and_no_components():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 4)), columns=list("abcd"))
    found = kg.explore(frame)
    assert not found.clusters.found
    assert found.components.beyond == 0
    assert re.search("No (clear )?clusters", str(found))
    assert "No dependence between columns" in str(found)
    assert as_html(found)


def test_groups_of_single_columns_are_reported():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": 9 * rng.integers(0, 2, 200) + rng.normal(size=200),
                          "b": 9 * rng.integers(0, 2, 200) + rng.normal(size=200)})  # fmt: skip
    found = kg.explore(frame)
    assert found.clusters.of_single_columns
    assert "they come from single columns" in str(found)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"a": ["x"] * 30, "b": [None] * 30}),
        pd.DataFrame({"a": np.repeat([1.0, 2.0], 15), "t": [f"some words {k}" for k in range(30)]}),
        pd.DataFrame({"a": [1e308, -1e308, *range(28)], "b": range(30)}),
    ],
)
def test_odd_tables_have_a_page(frame):
    found = kg.explore(frame)
    assert as_html(found)
    json.loads(found.as_json())


def test_topics_of_text():
    rng = np.random.default_rng(0)
    words = [["goal", "match", "team", "player", "coach", "league"],
             ["flour", "oven", "butter", "sugar", "bake", "dough"]]  # fmt: skip
    texts = [" ".join(rng.choice(words[k % 2], 8)) for k in range(120)]
    found = topics("text", np.array(texts, dtype=object), 0)
    assert len(found.topics) == 2
    for topic in found.topics:
        assert set(topic.terms[:6]) in (set(words[0]), set(words[1]))


def test_limits():
    with pytest.raises(KitchenError, match="max_rows must be"):
        kg.explore(grouped(), max_rows=3)
    with pytest.raises(KitchenError, match="max_time must be"):
        kg.explore(grouped(), max_time=0)
    found = kg.explore(grouped(), max_time=1e-9)
    assert found.clusters is None
    assert "time limit left out" in " ".join(found.notes)
    sampled = kg.explore(grouped(), max_rows=60)
    assert len(sampled.rows) == 60
    assert "random sample of 60 of 180 rows" in " ".join(sampled.notes)


def test_histogram_counts_every_row():
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=500), rng.standard_cauchy(500), rng.integers(0, 5, 500), np.ones(9)):
        found = histogram(x.astype(float))
        assert sum(found.counts) + found.below + found.above == len(x)
