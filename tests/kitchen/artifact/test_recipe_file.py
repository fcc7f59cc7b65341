"""recipe.toml: what was written comes back; what is not a recipe is refused."""

import tomllib
from dataclasses import fields

import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.artifact.recipe_file import SETTING_TYPES, load_recipe
from kilogram.kitchen.settings import Settings
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
    path.write_bytes(first._recipe(tmp_path))
    found = load_recipe(path)
    assert found.path.resolve() == table.resolve()
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
    path.write_bytes(cooked._recipe(tmp_path))
    found = load_recipe(path)
    assert found.path is None
    with pytest.raises(KitchenError, match="give the table"):
        found.table(None)
    assert found.table(path) == path


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("x =", "not a valid TOML"),
        ("x = 1", "not a recipe"),
        ('format = "kilogram recipe 1"\n[settings]\nodd = 1', "unknown key 'odd'"),
        ('format = "kilogram recipe 1"\n[settings]\nfolds = 3', "needs a target"),
        ('format = "kilogram recipe 1"\nsettings = 3', r"\[settings\] must be a table, got 3"),
        ('format = "kilogram recipe 1"\ntable = []', r"\[table\] must be a table"),
        ('format = "kilogram recipe 1"\nquestion = "y"', r"\[question\] must be a table"),
        ('format = "kilogram recipe 1"\n[question]\ntarget = 7', "target .* a string, got 7"),
        ('format = "kilogram recipe 1"\n[table]\npath = 7', "path .* a string, got 7"),
        ('format = "kilogram recipe 1"\n[table]\nheader = "no"', "header .* a boolean"),
        ('format = "kilogram recipe 1"\n[settings]\nfolds = "three"', "folds .* an integer"),
        ('format = "kilogram recipe 1"\n[settings]\nfolds = true', "folds .* an integer"),
        ('format = "kilogram recipe 1"\n[settings]\nmax_time = "long"', "max_time .* a number"),
        ('format = "kilogram recipe 1"\n[settings]\ndrop_duplicates = 1', "a boolean, got 1"),
        ('format = "kilogram recipe 1"\n[settings]\nnumeric = "a"', "a list of strings, got 'a'"),
        ('format = "kilogram recipe 1"\n[settings]\naccept = [1]', "a list of strings"),
    ],
)
def test_what_is_no_recipe_is_refused(content, word, tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(content)
    with pytest.raises(KitchenError, match=word):
        load_recipe(path)
    with pytest.raises(KitchenError, match="cannot be read"):
        load_recipe(tmp_path / "none.toml")


def test_every_setting_has_a_type():
    assert set(SETTING_TYPES) == {field.name for field in fields(Settings)}


def test_the_recipe_holds_no_absolute_path(table, tmp_path):
    """Recipe and table can be moved together, and no folder name of the author is passed on."""
    found = cook(table, "y", **QUICK, delimiter=";")
    files = found.save(tmp_path / "out")
    content = files["recipe.toml"].read_text()
    assert str(tmp_path) not in content
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    table.rename(moved / table.name)
    (tmp_path / "out").rename(moved / "out")
    found = load_recipe(moved / "out" / "recipe.toml")
    assert found.path.resolve() == (moved / table.name).resolve()
    assert found.changed(found.path) is None
