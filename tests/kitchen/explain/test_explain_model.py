"""Explanations: intervals that hold, effects as they are, neighbours that are near."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

from kilogram.base.budget import Budget
from kilogram.cli import app
from kilogram.kitchen import KitchenError, cook, explain
from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.partial_dependence import dependence, grid
from kilogram.kitchen.artifact.responses import in_words, value_in_words
from kilogram.kitchen.explain.importance import importance
from kilogram.kitchen.explain.nearest import UNSCALED, nearest, on_one_scale
from kilogram.kitchen.explain.show import as_html, sentences
from kilogram.kitchen.features.columns import Column, Layout
from tests.kitchen.conftest import QUICK, classes, curved
from tests.kitchen.report.test_report import Balanced


class Fixed(LinearRegression):
    """y = x0 + 2 x1, whatever the data."""

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(X)[:, 0] + 2.0 * np.asarray(X)[:, 1]


def fixed_model():
    columns = tuple(Column(name, "numeric", "") for name in "abc")
    return Model("y", "regression", Layout(columns), Pipeline([("model", Fixed())]),
                 about={"measure": "r2"})  # fmt: skip


def of_rows(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = X[:, 0] + 2 * X[:, 1] + rng.normal(size=rows)
    return importance(fixed_model(), X, y, shuffles=5, rng=rng, budget=Budget())


def test_importance_is_what_theory_says_and_intervals_hold_it():
    """Shuffling x_j adds 2 w_j^2 to the squared error; var y = 1 + 4 + 1."""
    truth = {0: 2 / 6, 1: 8 / 6, 2: 0.0}
    held = {0: 0, 1: 0}
    for seed in range(100):
        found = of_rows(60, seed)
        assert found.columns == (1, 0, 2)
        for k, loss in zip(found.columns, found.losses, strict=True):
            if truth[k]:
                held[k] += loss.low <= truth[k] <= loss.high
            else:
                assert (loss.mean, loss.low, loss.high) == (0, 0, 0)
    assert all(88 <= count <= 100 for count in held.values()), held
    large = of_rows(20_000, 0)
    assert large.losses[0].mean == pytest.approx(8 / 6, rel=0.05)


def test_a_picture_shows_the_effect_and_whether_rows_agree(cooked):
    X = np.random.default_rng(0).normal(size=(50, 3))
    straight = dependence(fixed_model(), X, 1)
    assert np.diff(straight.mean[:, 0]) == pytest.approx(2 * np.diff(straight.values))
    assert straight.unlike == pytest.approx(0, abs=1e-12)
    frame = curved(100, seed=1)
    found = explain.explain_model(cooked.model, frame, shuffles=3)
    (x,) = (one for one in found.dependences if one.column.name == "x")
    assert np.corrcoef(x.mean[:, 0], np.cos(1.5 * x.values))[0, 1] > 0.98
    (word,) = (one for one in found.dependences if one.column.name == "word")
    at = dict(zip(word.labels, word.mean[:, 0], strict=True))
    assert at["red"] - at["blue"] == pytest.approx(1.0, abs=0.3)
    assert found.model.layout.used[found.importance.columns[0]].name == "x"
    assert 0.85 < found.score < 1


def test_grids():
    few = grid(Column("c", "categorical", "", levels=("p", "q")), np.array([1.0, 1.0, 0.0, -1.0]))
    assert few.tolist() == [1, 0]
    assert len(grid(Column("n", "numeric", ""), np.arange(100.0))) == 20
    assert grid(Column("n", "numeric", ""), np.ones(5)).tolist() == [1]
    assert dependence(fixed_model(), np.ones((5, 3)), 0) is None


def test_neighbours_are_the_nearest_and_not_the_row_itself(cooked):
    model = cooked.model
    held = model.use["examples"]
    near = nearest(model, held["cells"][:3], (held["cells"], held["y"]), 4)
    Z = model.pipeline[:-1].transform(held["cells"])
    Z, _ = on_one_scale(Z, Z) if model.about["recipe"] in UNSCALED else (Z, Z)
    D = np.sqrt(((Z[:3, None] - Z[None]) ** 2).sum(2))
    for i, found in enumerate(near):
        distances = [one.distance for one in found]
        assert distances == sorted(distances)
        assert distances[0] > 0
        order = np.argsort(D[i])[1:5]
        assert [one.truth for one in found] == held["y"][order].tolist()


def test_gaps_and_scales_do_not_hide_neighbours():
    F = np.array([[0.0, 1e6], [1.0, 2e6], [np.nan, 3e6]])
    Z, G = on_one_scale(F[:1], F)
    assert np.isfinite(G).all()
    assert G[2, 0] == 0
    assert G[:, 1].std() == pytest.approx(1)
    assert Z[0].tolist() == G[0].tolist()


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_the_page_is_whole_small_and_alone(which, request, tmp_path):
    model = request.getfixturevalue(which).model
    frame = curved(60, seed=2) if which == "cooked" else classes(60, seed=2)
    found = explain.explain_model(model, frame, shuffles=2)
    files = found.save(tmp_path)
    page = files["explanation.html"].read_text()
    assert len(page) < 600_000
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count('role="img" aria-label="') == 1 + len(found.dependences)
    reported = json.loads(files["explanation.json"].read_text())
    assert reported["importance"][0]["low"] <= reported["importance"][0]["mean"]
    assert len(reported["examples"][0]["neighbours"]) == 4
    assert sentences(found)[0].split("(")[0] in page
    assert found._repr_html_().startswith("<div")


def test_without_the_truth_changes_of_predictions_are_measured(cooked, sorted_classes):
    found = explain.explain_model(cooked.model, curved(50, seed=2).drop(columns="y"), shuffles=2)
    assert not found.importance.known
    assert found.score is None
    assert "change of the predictions" in " ".join(found.notes)
    found = explain.explain_model(sorted_classes.model, classes(50)[["a", "b"]], shuffles=2, top=0)
    assert found.importance.losses[0].mean > 0.1
    assert "no table" not in as_html(found).decode()


def test_rows_of_the_model_or_of_its_table(cooked):
    alone = explain.explain_model(cooked.model, shuffles=2, rows=[3])
    assert "optimistic" in alone.notes[0]
    assert [one.row for one in alone.examples] == [3]
    whole = explain.explain_model(cooked.model, curved(20, seed=4), training=curved(), shuffles=1)
    assert "remembers" not in " ".join(whole.notes)
    # rows without truth keep their numbers, and can be shown
    gap = curved(20, seed=4)
    gap.loc[0, "y"] = np.nan
    found = explain.explain_model(cooked.model, gap, rows=[0, 5], shuffles=1)
    assert found.examples[0].truth is None
    assert found.examples[1].truth == gap["y"][5]
    bare = replace(cooked.model, use={})
    with pytest.raises(KitchenError, match="no example rows"):
        explain.explain_model(bare)
    assert explain.explain_model(bare, curved(20), shuffles=1).examples[0].neighbours == ()


def test_bad_tables_are_refused(cooked, tmp_path):
    with pytest.raises(KitchenError, match="lacks the column 'x'"):
        explain.explain_model(cooked.model, curved(20).drop(columns="x"))
    with pytest.raises(KitchenError, match="one row"):
        explain.explain_model(cooked.model, curved(20).head(1))
    with pytest.raises(KitchenError, match="no row '99'"):
        explain.explain_model(cooked.model, curved(20), rows=[99])
    with pytest.raises(KitchenError, match="not numbers"):
        explain.explain_model(cooked.model, curved(20).assign(y="a"))
    with pytest.raises(KitchenError, match="shuffles"):
        explain.explain_model(cooked.model, curved(20), shuffles=0)
    (tmp_path / "m.skops").write_text("no model")
    with pytest.raises(KitchenError, match="not a model file"):
        explain.explain_model(tmp_path / "m.skops")


def test_text_and_a_model_with_constant_predictions():
    frame = classes(60)
    frame["story"] = [f"{kind} was seen near {kind}{kind} again" for kind in frame["kind"]]
    found = cook(frame, "kind", text=["story"], accept=["KG-A07"], **QUICK)
    reported = explain.explain_model(found.model, frame, shuffles=2)
    assert {one.column.name for one in reported.dependences} <= {"a", "b"}
    assert "story" in [found.model.layout.used[k].name for k in reported.importance.columns]
    plain = found.judged[0].first_round[0].model
    use = {name: found.model.use[name] for name in ("examples", "distribution")}
    dull = explain.explain_model(replace(found.model, pipeline=plain, use=use), frame, shuffles=1)
    assert sentences(dull)[0].startswith("No column has")


def test_cells_in_words(sorted_classes):
    date = Column("d", "date", "")
    assert in_words(date, 365.0) == "1971-01-01"
    size = Column("s", "ordinal", "", levels=("S", "M", "L"))
    assert [in_words(size, v) for v in (1 / 3, 1.0, np.nan)] == ["S", "L", "–"]
    assert in_words(Column("c", "categorical", "", levels=("p",)), -1.0) == "a new category"
    assert value_in_words(sorted_classes.model, 2.0) == "r"


def test_the_command(cooked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cooked.save(tmp_path)
    curved(40, seed=3).to_csv("new.csv", index=False)
    run = CliRunner()
    done = run.invoke(app, ["explain-model", "model.skops", "new.csv", "--row", "2", "--shuffles",
                            "2", "--out", "o"], catch_exceptions=False)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Most important columns: x" in done.stdout
    assert "row 2: as requested" in done.stdout
    assert (tmp_path / "o" / "explanation.html").exists()
    done = run.invoke(app, ["explain-model", "model.skops", "new.csv", "--json"])
    assert json.loads(done.stdout)["target"] == "y"
    pd.DataFrame({"z": [1, 2]}).to_csv("other.csv", index=False)
    done = run.invoke(app, ["explain-model", "model.skops", "other.csv"])
    assert done.exit_code == 1
    assert "lacks the column" in done.stderr
