"""Predicting: intervals, probabilities, odd rows, in blocks; files whole or not there."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.artifact.model_file import load_model, model_bytes
from kilogram.kitchen.artifact.predictions import PredictionSummary, predict_blocks, with_columns
from kilogram.kitchen.artifact.table_writers import refuse_input, writing
from kilogram.kitchen.artifact.uncertainty import features
from tests.kitchen.conftest import QUICK, classes, curved


def answered(model, source, **how):
    tally = PredictionSummary()
    blocks = list(predict_blocks(model, source, tally, **how))
    return pa.concat_tables(blocks).to_pandas(), tally


def test_blocks_change_nothing(cooked):
    frame = curved(100, seed=2)
    whole, _ = answered(cooked.model, frame)
    parts, tally = answered(cooked.model, frame, block_rows=7)
    assert tally.rows == 100
    assert whole["predicted y"].to_numpy() == pytest.approx(cooked.predict(frame))
    # a product of few rows rounds differently
    assert parts["predicted y"].to_numpy() == pytest.approx(whole["predicted y"].to_numpy())
    assert parts["out of distribution"].equals(whole["out of distribution"])


def test_intervals_hold_as_often_as_asked(cooked, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(model_bytes(cooked.model))
    fresh = curved(400, seed=3).dropna(subset="y")
    # the model of all rows errs less than those of three folds: intervals hold a little too often
    for coverage, low, high in [(0.5, 0.4, 0.85), (0.9, 0.8, 0.98)]:
        found, tally = answered(load_model(path), fresh, coverage=coverage)
        inside = (found["low y"] <= found["y"]) & (found["y"] <= found["high y"])
        assert low < inside.mean() < high
    assert any("R²" in note for note in tally.notes(cooked.model, "other.csv"))
    with pytest.raises(KitchenError, match="coverage"):
        answered(cooked.model, fresh, coverage=90)


def test_probabilities_belong_to_the_prediction(sorted_classes, two_classes):
    found, _ = answered(sorted_classes.model, classes(200, seed=4))
    assert found["probability"].between(1 / 3, 1).all()
    assert np.mean(found["predicted kind"] == found["kind"]) > 0.95
    found, _ = answered(two_classes.model, classes(200, seed=4).drop(columns="kind"))
    assert found["probability"].ge(0.5 - 1e-9).all()
    bare, _ = answered(two_classes.model, classes(5), bare=True)
    assert list(bare.columns) == ["a", "b", "kind", "predicted kind"]


def test_odd_rows_are_reported_and_usual_rows_are_not(cooked):
    like, tally = answered(cooked.model, curved(300, seed=6))
    assert like["out of distribution"].mean() < 0.03
    odd = curved(40, seed=7)
    odd.loc[:9, "x"] = 50.0
    odd.loc[30:, "word"] = "purple"
    odd.loc[20:22, "x"] = np.nan  # x was never missing
    found, tally = answered(cooked.model, odd)
    assert found["out of distribution"].to_numpy()[:10].all()
    assert found["out of distribution"].to_numpy()[30:].all()
    assert found["out of distribution"].to_numpy()[20:23].all()
    assert found["out of distribution"].sum() <= 24
    notes = " ".join(tally.notes(cooked.model, "t"))
    assert "10 rows have a category of 'word'" in notes
    assert "'x' in 13" in notes
    assert "extrapolations" in notes


def test_a_strange_combination_of_usual_values_is_odd():
    """Each value has been seen; the two together have not."""
    from kilogram.kitchen.artifact import out_of_distribution as familiar

    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    X = np.column_stack([x, x + 0.05 * rng.normal(size=500)])
    found = familiar.describe(X, X)
    new = np.array([[1.5, 1.5], [1.5, -1.5]])
    assert (familiar.distances(found, new) > 1).tolist() == [False, True]
    assert not familiar.outside_range(found, new).any()
    wide = familiar.describe(np.zeros((20, 400)), rng.normal(size=(20, 400)))
    assert wide["factor"] is None
    widest = familiar.describe(np.zeros((3, 1)), np.zeros((3, 5000)))
    assert familiar.distances(widest, np.ones((2, 5000))).tolist() == [0, 0]


def test_long_files_are_read_and_written_in_blocks(cooked, tmp_path):
    frame = pd.concat([curved(500, seed=k) for k in range(8)])
    frame.to_csv(tmp_path / "long.csv", index=False)
    whole, _ = answered(cooked.model, tmp_path / "long.csv")
    blocks = predict_blocks(
        cooked.model, tmp_path / "long.csv", PredictionSummary(), max_memory="1MB"
    )
    with writing(tmp_path / "out.csv") as sink:
        count = sum(1 for block in blocks if sink.write(block) is None)
    assert count > 1
    out = pd.read_csv(tmp_path / "out.csv")
    assert out["predicted y"].to_numpy() == pytest.approx(whole["predicted y"].to_numpy())
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_file_is_whole_or_not_there(tmp_path):
    block = pa.table({"a": [1, 2], "b": [[1], [2]]})
    with pytest.raises(AttributeError), writing(tmp_path / "a.csv") as sink:
        sink.write(None)
    assert list(tmp_path.iterdir()) == []
    with writing(tmp_path / "a.csv") as sink:
        sink.write(block)
        sink.write(block)
    assert len(pd.read_csv(tmp_path / "a.csv")) == 4
    with writing(tmp_path / "a.parquet") as sink:
        sink.write(pa.table({"a": [1]}))
        with pytest.raises(KitchenError, match="changes its type"):
            sink.write(pa.table({"a": ["x"]}))
    with pytest.raises(KitchenError, match="Cannot write"), writing(tmp_path / "no" / "a.csv"):
        pass


def test_nothing_is_overwritten():
    table = with_columns(pa.table({"probability": [1]}), {"probability": np.array([0.5])})
    assert table.column_names == ["probability", "probability'"]


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A model cooked from a table with decimal commas and points between thousands."""
    folder = tmp_path_factory.mktemp("german")
    rng = np.random.default_rng(0)
    x = rng.uniform(1000, 9000, 60).round(1)
    frame = pd.DataFrame({"x": [f"{v:,.1f}".translate(str.maketrans(",.", ".,")) for v in x],
                          "y": [str(v).replace(".", ",") for v in (x / 500).round(3)]})  # fmt: skip
    frame.to_csv(folder / "t.csv", sep=";", index=False)
    found = cook(folder / "t.csv", "y", **QUICK, accept=["KG-A07"])
    return found.model, folder


def test_numbers_are_read_as_the_training_table_wrote_them(german):
    model, folder = german
    assert model.about["written"] == {"x": "comma", "y": "comma"}
    # three thousand and two hundred here, 3.2 elsewhere: the row alone does not tell
    (folder / "new.csv").write_text("x;y\n3.200;6,4\n8.000;16,0\n")
    found, tally = answered(model, folder / "new.csv")
    assert found["x"].tolist() == [3200, 8000]
    assert found["predicted y"].to_numpy() == pytest.approx([6.4, 16.0], abs=0.2)
    assert any("R²" in note and "1.000" in note for note in tally.notes(model, "new.csv"))
    assert model.predict(folder / "new.csv") == pytest.approx([6.4, 16.0], abs=0.2)
    (folder / "point.csv").write_text("x,y\n3200.0,6.4\n")
    assert answered(model, folder / "point.csv")[0]["x"].tolist() == [3200.0]
    (folder / "other.csv").write_text("x;y\n3200.55;6.4\n")
    assert answered(model, folder / "other.csv")[0]["x"].tolist() == [3200.55]


def test_long_tables_with_decimal_commas(german):
    model, folder = german
    rows = "".join(f"{k % 9 + 1}.000,5;{k % 9 * 2},5\n" for k in range(40_000))
    (folder / "long.csv").write_text("x;y\n" + rows)
    found, _ = answered(model, folder / "long.csv", max_memory="1MB")
    assert found["x"].iloc[:2].tolist() == [1000.5, 2000.5]
    assert len(found) == 40_000


def test_gaps_that_trees_are_given_are_no_strangeness():
    from kilogram.kitchen.artifact import out_of_distribution as familiar

    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    Z[::4, 0] = np.nan
    Z[:, 2] = np.nan
    found = familiar.describe(Z, Z)
    new = np.array([[np.nan, 0.0, np.nan], [0.0, 40.0, np.nan]])
    assert (familiar.distances(found, new) > 1).tolist() == [False, True]


def test_safe_csv_quotes_formulas(tmp_path):
    table = pa.table(
        {"=name": ["=1+1", "+2", "-x", "@sum", "\tcell", "plain", None], "n": [-1.0] * 7}
    )
    with writing(tmp_path / "safe.csv", safe_csv=True) as writer:
        writer.write(table)
    lines = (tmp_path / "safe.csv").read_text().splitlines()
    assert lines == ['"\'=name","n"', '"\'=1+1",-1', '"\'+2",-1', '"\'-x",-1', '"\'@sum",-1',
                     '"\'\tcell",-1', '"plain",-1', ",-1"]  # fmt: skip
    with writing(tmp_path / "plain.csv") as writer:
        writer.write(table)
    assert '"=1+1",-1' in (tmp_path / "plain.csv").read_text()


def test_the_input_is_never_the_output(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(table)
    for out in (table, tmp_path / "." / "t.csv", tmp_path / "link.csv"):
        with pytest.raises(KitchenError, match="would be overwritten"):
            refuse_input(out, table)
    refuse_input(tmp_path / "new.csv", table)


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_features_without_column_transformer_are_the_same(which, request):
    found = request.getfixturevalue(which)
    frame = curved(30, seed=3) if which == "cooked" else classes(30, seed=3)
    X = found.model.layout.array(pa.Table.from_pandas(frame))
    for one in found.judged[1:]:
        pipeline = one.first_round[0].model
        made = pipeline
        if one.name == "ensemble":  # those of its heaviest member
            made = pipeline[-1].members_[int(np.argmax(pipeline[-1].weights_))]
        expected = made[:-1].transform(X)
        assert np.array_equal(features(pipeline, X), expected, equal_nan=True)


def test_marks_of_missing_cells_in_a_frame_are_those_of_files(tmp_path):
    """A file's reader took `?` for missing, so that the column was numeric from the start."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    words = [f"{value:.3f}" for value in x]
    words[3] = "?"
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": words, "z": rng.normal(size=40), "y": x + rng.normal(size=40)}).to_csv(
        path, index=False
    )
    found = cook(path, "y", folds=2, repeats=1, search="path", recipes=["linear"])
    rows = pd.DataFrame({"x": ["0.5", "?", "1,000.5"], "z": [0.0, 0.0, 0.0]})
    numbers = pd.DataFrame({"x": [0.5, np.nan, 1000.5], "z": [0.0, 0.0, 0.0]})
    assert np.array_equal(found.predict(rows), found.predict(numbers))
    with pytest.raises(KitchenError, match="should hold numeric values but has 'many'"):
        found.predict(rows.assign(x="many"))
