"""The card says what is known, travels with the model, and keeps words of the table harmless."""

import pytest

from kilogram.kitchen import cook, load_model
from kilogram.kitchen.artifact.example_rows import sample, stored_examples
from kilogram.kitchen.report.model_card import as_markdown, card_of, escaped
from tests.kitchen.conftest import QUICK, classes, curved


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_a_card_has_its_parts(which, request):
    found = request.getfixturevalue(which)
    text = as_markdown(found)
    for part in (
        "Model details",
        "Training data",
        "Evaluation",
        "Errors by subgroup",
        "Limitations",
    ):
        assert f"## {part}\n" in text
    assert "kg cook --recipe" in text
    assert "optimism" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_the_card_travels_with_the_model(cooked, tmp_path):
    files = cooked.save(tmp_path)
    assert card_of(load_model(files["model.skops"])) == files["model-card.md"].read_text()
    assert "Model of y" in card_of(cooked.model)


def test_words_of_the_table_stay_words():
    frame = classes(60).rename(columns={"a": "a|b *x* <script>\n# big"})
    text = as_markdown(cook(frame, "kind", **QUICK))
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "\n# big" not in text
    assert escaped("a|b") == "a\\|b"


def test_examples_are_a_bounded_sample_or_none():
    frame = curved(60)
    frame["story"] = [f"row {k} tells of many things " * 3 for k in range(60)]
    model = cook(frame, "y", **QUICK, text=["story"]).model
    cells, y = stored_examples(model.use)
    assert cells.shape == (59, 4)
    assert cells[0, 3].startswith("row 0")
    assert y[0] == frame["y"][0]
    bare = cook(curved(60), "y", **QUICK, examples=False)
    assert stored_examples(bare.model.use) is None
    assert "holds no rows" in as_markdown(bare)
    long = sample(frame[["story"]].to_numpy(object) * 200, frame["x"].to_numpy())
    assert len(long["y"]) < 30
