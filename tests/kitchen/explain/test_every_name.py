"""`kg explain` knows every public name, of the packages too."""

import inspect

import pytest

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.explain.registry import explained, public_names


@pytest.mark.parametrize(
    "name", ["TermCounts", "nested_cross_validate", "Cosine", "curve", "RocCurveDisplay", "NAMES"]
)
def test_a_name_of_a_package_is_explained(name):
    text = explained(name)
    assert text.startswith(name)
    assert len(text.splitlines()) > 3


def test_every_public_name_is_explained_with_its_documentation():
    for name in public_names():
        text = explained(name)
        assert text.splitlines()[0].startswith(name)


def test_public_names_are_documented():
    missing = []
    for name, module in public_names().items():
        thing = getattr(__import__(module, fromlist=[name]), name)
        if callable(thing) and not inspect.getdoc(thing):
            missing.append(name)
    assert missing == []


def test_a_package_may_stand_before_the_name():
    assert explained("kilogram.evaluation.curve") == explained("curve")
    assert "from kilogram.evaluation import curve" in explained("CURVE")


def test_an_unknown_name_gets_suggestions():
    with pytest.raises(KitchenError, match="nested_cross_validate"):
        explained("nested_crossvalidate")
