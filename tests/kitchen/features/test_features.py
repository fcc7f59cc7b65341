"""Features: every kind of column becomes finite numbers, and is kept in the model file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline

import kilogram as kg
from kilogram.kitchen import KitchenError, cook, load_model
from kilogram.kitchen.features import (
    ColumnScaler,
    DateParts,
    DenseComponents,
    FeatureSettings,
    TermCounts,
    featurise,
    grid,
    transform_cache,
)
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.images import load_picture
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.kitchen.features.transform_cache import TransformCache
from kilogram.kitchen.features.word_counts import count_words
from kilogram.kitchen.measures import choose_measure
from kilogram.kitchen.question import make_question
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.recipes.recipe import fitted_pipeline, recipes
from tests.kitchen.conftest import QUICK

N = 80


def mixed(seed=0):
    rng = np.random.default_rng(seed)
    mood = rng.integers(0, 2, N)
    words = np.array([["awful slow boring", "dull long waste"], ["bright funny warm", "great fun"]])
    frame = pd.DataFrame({
        "number": rng.normal(size=N),
        "size": rng.choice(["S", "M", "L"], N),
        "colour": rng.choice(["red", "blue"], N),
        "seen": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
        "review": [f"{words[m, k % 2]}, said viewer {k} of {k * 7}" for k, m in enumerate(mood)],
        "liked": mood,
    })  # fmt: skip
    frame.loc[::7, "number"] = np.nan
    frame.loc[::9, "review"] = None
    return frame


@pytest.mark.parametrize(
    "plan",
    [
        FeatureSettings(),
        FeatureSettings(scale="rank", analyzer="char_wb", n=3, weights="plain", components=20),
        FeatureSettings(scale="log", buckets=64, weights="counts", circles=False, indicators=False),
        FeatureSettings(scale="whiten", weights="binary", components=5),
        FeatureSettings(scale="minmax", components=None),
    ],
    ids=lambda plan: plan.scale,
)
def test_every_plan_gives_finite_features(plan):
    data = read_table(mixed()).data
    layout = find_layout(data, "liked")
    assert {c.kind for c in layout.used} == {"numeric", "ordinal", "categorical", "date", "text"}
    columns = featurise(layout, N, plan).fit(layout.array(data))
    other = read_table(mixed(1)).data
    X = columns.transform(layout.array(other))
    X = X.toarray() if hasattr(X, "toarray") else X
    assert X.shape[0] == N
    assert np.all(np.isfinite(X))


def test_the_grid_is_accepted_by_the_transformer():
    data = read_table(mixed()).data
    layout = find_layout(data, "liked")
    pipeline = Pipeline([("columns", featurise(layout, N)), ("model", kg.Ridge())])
    axes = grid(layout)
    kinds = ["scale__kind", "circles", "analyzer", "counts__n", "formula", "n_components"]
    assert len(axes) == len(kinds)
    assert all(name.endswith(kind) for name, kind in zip(axes, kinds, strict=True))
    for name, values in axes.items():
        pipeline.set_params(**{name: values[-1]})
    pipeline.fit(layout.array(data), mixed()["liked"].to_numpy(float))


def test_dates_go_in_circles():
    days = np.arange(0, 800.0)[:, None]
    parts = DateParts().fit(days)
    X = parts.transform(np.array([[0.0], [365.2425], [7.0], [np.nan]]))
    assert X.shape == (4, 5)  # days, year, week
    assert np.allclose(X[0, 1:3], X[1, 1:3])
    assert np.allclose(X[0, 3:5], X[2, 3:5])
    assert np.isnan(X[3]).all()
    assert DateParts().fit(days[:5]).transform(days[:5]).shape == (5, 1)
    assert DateParts().fit(days[:30] / 24).transform(days[:30] / 24).shape == (30, 3)
    assert DateParts(circles=False).fit(days).transform(days).shape == (800, 1)


def test_scales():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 5
    white = ColumnScaler("whiten").fit_transform(X)
    assert np.allclose(np.cov(white.T), np.eye(3), atol=1e-6)
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    assert ColumnScaler("whiten").fit_transform(flat).shape == (200, 3)
    rank = ColumnScaler("rank").fit_transform(X)
    assert np.allclose(rank, ColumnScaler("rank").fit_transform(np.exp(X)), atol=0.02)
    with pytest.raises(ValueError, match="kind must be one of"):
        ColumnScaler("odd").fit(X)


@pytest.mark.parametrize("kind", ["standard", "whiten", "minmax", "rank", "log", "none"])
def test_numbers_far_beyond_those_seen_are_held_back(kind):
    X = np.random.default_rng(0).uniform(-1, 3, size=(50, 2))
    low, high = X.min(axis=0), X.max(axis=0)
    part = ColumnScaler(kind, reach=0.5).fit(X)
    ends = np.stack([low - (high - low) / 2, high + (high - low) / 2])
    far = ends + np.array([[-1e9], [1e9]])
    assert part.transform(far) == pytest.approx(part.transform(ends))
    assert part.transform(X) == pytest.approx(ColumnScaler(kind).fit(X).transform(X))
    free = ColumnScaler(kind).fit(X).transform(ends)  # up to there nothing is clipped
    assert part.transform(ends) == pytest.approx(free)
    with pytest.raises(ValueError, match="reach must be 0 or more"):
        ColumnScaler(kind, reach=-1).fit(X)


def test_below_all_that_was_seen_the_logarithm_ends():
    for X in (np.array([[-2.0], [0.0], [5.0]]), np.array([[0.0], [3.0], [9.0]])):
        part = ColumnScaler("log").fit(X)
        least = part.transform(X[:1])
        assert part.transform(X[:1] - np.array([[0.5], [1.0], [1e6]])) == pytest.approx(
            np.repeat(least, 3, axis=0)
        )
    rng = np.random.default_rng(5)  # lines through 200 rows answer fresh ones as well
    X, new = rng.normal(size=(200, 3)), rng.normal(size=(4000, 3))
    part = ColumnScaler("log").fit(X)
    model = kg.Ridge(1.0).fit(part.transform(X), X.sum(axis=1))
    assert model.score(part.transform(new), new.sum(axis=1)) > 0.7


def test_dates_go_on_beyond_those_seen():
    days = pd.date_range("2020-01-01", periods=60)
    frame = pd.DataFrame({"day": days, "n": np.arange(60.0), "y": np.arange(60) % 7})
    data = read_table(frame).data
    layout = find_layout(data, "y")
    part = featurise(layout, 60).fit(layout.array(data))
    scales = {name: steps["scale"].reach for name, steps, _ in part.transformers_[:2]}
    assert scales == {"numbers": 0.5, "dates": None}


def test_text_that_holds_nothing():
    data = read_table(pd.DataFrame({"t": ["", "!", "?"] * 10, "x": np.arange(30) / 7})).data
    layout = find_layout(data, "x", overrides=ColumnOverrides(text=("t",)))
    X = featurise(layout, 30).fit_transform(layout.array(data))
    assert np.all(np.isfinite(X))
    assert DenseComponents(2).fit_transform(np.eye(4)).shape == (4, 2)
    assert DenseComponents(9).fit_transform(np.eye(4)).shape == (4, 4)


def test_text_is_cooked_and_kept(tmp_path):
    frame = mixed()[["review", "liked"]]
    found = cook(frame, "liked", folds=3, repeats=1, search="path", keep="linear")
    assert found.kept.score.mean > 0.75
    found.save(tmp_path)
    model = load_model(tmp_path / "model.skops")
    assert model.predict(frame).tolist() == found.predict(frame).tolist()
    assert np.mean(model.predict(mixed(1)) == mixed(1)["liked"].astype(str)) > 0.7


@pytest.fixture
def pictures(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    names = []
    for k in range(40):
        cells = rng.integers(0, 60, (40, 40))
        stripes = np.arange(40) // 4 % 2 * 180
        cells = cells + (stripes[:, None] if k % 2 else stripes[None, :])
        Image.fromarray(cells.astype(np.uint8)).save(tmp_path / f"{k}.png")
        names.append(f"{k}.png")
    frame = pd.DataFrame({"picture": names, "way": ["up" if k % 2 else "down" for k in range(40)]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def test_pictures_beside_the_table_are_cooked(pictures):
    found = cook(pictures / "table.csv", "way", **QUICK, accept=["KG-A07"])
    assert found.kept.score.mean > 0.9
    found.save(pictures / "out")
    model = load_model(pictures / "out" / "model.skops")
    assert model.predict(pictures / "table.csv").tolist()[:2] == ["down", "up"]


def test_pictures_that_cannot_be_read(tmp_path):
    pytest.importorskip("PIL")
    with pytest.raises(KitchenError, match="no picture"):
        load_picture(str(tmp_path / "none.png"), 16)
    (tmp_path / "bad.png").write_bytes(b"no picture at all")
    with pytest.raises(KitchenError, match="cannot be read as a picture"):
        load_picture(str(tmp_path / "bad.png"), 16)
    assert load_picture("", 16) is None


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_words_are_counted_as_scikit_learn_counts_them(n):
    documents = ["a bb cc bb cc", "", "bb cc dd!", "Éé bb  CC_x 12", "bb cc"]
    for least in (1, 2):
        terms, counts = count_words(documents, n, least=least, most=1000)
        counter = CountVectorizer(ngram_range=(1, n), min_df=least)
        expected = counter.fit_transform(documents).toarray()
        assert terms == list(counter.get_feature_names_out())
        np.testing.assert_array_equal(counts.toarray(), expected)


def test_of_words_equally_frequent_the_first_in_the_alphabet_stay():
    terms, counts = count_words(["bb cc aa bb", "dd aa"], 1, least=1, most=3)
    assert terms == ["aa", "bb", "cc"]
    np.testing.assert_array_equal(counts.toarray(), [[1, 2, 1], [1, 0, 0]])


def test_documents_counted_twice_give_the_same_and_are_not_shared():
    documents = ["aa bb", "bb cc aa"]
    first = TermCounts(n=2).fit_transform(documents)
    first.data[:] = -1.0
    again = TermCounts(n=2).fit_transform(documents)
    assert (again.data > 0).all()


def test_columns_made_once_are_there_for_the_next_recipe(monkeypatch):
    """Alike cells and settings are fitted once; others, words and what is too much are not held."""
    made = []
    fit = ColumnScaler.fit
    monkeypatch.setattr(
        ColumnScaler, "fit", lambda self, X, y=None: made.append(1) or fit(self, X, y)
    )
    memory, X = TransformCache(), np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0]

    def fitted(kind, rows):
        steps = [("columns", ColumnScaler(kind)), ("model", kg.Ridge())]
        return clone(Pipeline(steps, memory=memory)).fit(rows, y[: len(rows)])

    first, again = fitted("standard", X), fitted("standard", X.copy())
    assert len(made) == 1
    assert first["columns"] is again["columns"]
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    fitted("log", X), fitted("standard", X[:20]), fitted("standard", X.astype(object))
    assert len(made) == 4
    assert len(memory.held) == 3
    for k in range(10):
        fitted("standard", X + k)
    assert len(memory.held) == transform_cache.MOST
    monkeypatch.setattr(transform_cache, "MOST_BYTES", 600)
    fitted("rank", X)
    assert len(memory.held) == 1


def test_what_is_delivered_holds_no_columns_of_others():
    table = read_table(mixed())
    layout = find_layout(table.data, "liked", overrides=ColumnOverrides(ignore=("review",)))
    question = make_question(table, "liked")
    menu = recipes(layout, choose_measure(question, None)[0], question.y)
    X = layout.array(table.data, None)
    assert fitted_pipeline(clone(menu[1].pipeline).fit(X, question.y)).memory is None


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("buckets", [None, 64])
def test_documents_of_several_lines(analyzer, buckets):
    documents = ["one\ntwo\n\nthree", "two three\r\nfour", "\n", ""]
    model = TermCounts(analyzer, n=3, buckets=buckets)
    first = model.fit_transform(documents)
    again = model.transform(documents)
    np.testing.assert_array_equal(first.toarray(), again.toarray())
    if buckets is None:
        names = model.get_feature_names_out()
        assert len(set(names)) == len(names) == first.shape[1]
