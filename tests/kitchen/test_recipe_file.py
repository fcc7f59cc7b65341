"""recipe.toml: what was said comes back; what is not a recipe is refused."""

import tomllib

import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.recipe_file import as_toml, load_recipe
from tests.kitchen.conftest import QUICK, curved


@pytest.fixture
def table(tmp_path):
    path = tmp_path / 'odd "name".csv'
    curved(60).to_csv(path, index=False, sep=";")
    return path


def test_settings_come_back_and_cook_the_same(table, tmp_path):
    how = {**QUICK, "seed": 3, "drop": ["noise"], "delimiter": ";"}
    first = cook(table, "y", **how)
    path = tmp_path / "recipe.toml"
    path.write_bytes(as_toml(first))
    found = load_recipe(path)
    assert found.path == table
    assert found.changed(table) is None
    assert found.keywords["ignore"] == ["noise"]
    assert found.keywords["delimiter"] == ";"
    assert found.keywords["search"] == "path"
    again = cook(found.path, found.target, **found.keywords)
    assert again.verdict == first.verdict
    held = tomllib.loads(path.read_text())
    assert held["result"]["score"] == again.chosen.score.mean
    table.write_text(table.read_text() + "1;1;red;1\n")
    assert "not the file" in found.changed(table)


def test_a_data_frame_has_no_path(cooked, tmp_path):
    path = tmp_path / "r.toml"
    path.write_bytes(as_toml(cooked))
    found = load_recipe(path)
    assert found.path is None
    with pytest.raises(KitchenError, match="which table"):
        found.table(None)
    assert found.table(path) == path


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("x =", "no TOML"),
        ("x = 1", "not a recipe"),
        ('format = "kilogram recipe 1"\n[settings]\nodd = 1', "does not know 'odd'"),
        ('format = "kilogram recipe 1"\n[settings]\nfolds = 3', "needs a target"),
    ],
)
def test_what_is_no_recipe_is_refused(content, word, tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(content)
    with pytest.raises(KitchenError, match=word):
        load_recipe(path)
    with pytest.raises(KitchenError, match="cannot be read"):
        load_recipe(tmp_path / "none.toml")
