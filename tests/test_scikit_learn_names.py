"""docs/scikit_learn.md lists exactly what differs from the installed scikit-learn."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn
from sklearn.utils import all_estimators

import kilogram as kg
from kilogram.registry import PUBLIC

PAGE = Path(__file__).parents[1] / "docs" / "scikit_learn.md"
PEERS = dict(all_estimators())
SHARED = sorted(name for name in PUBLIC if name in PEERS and inspect.isclass(getattr(kg, name)))


def listed():
    """Class -> parameters not taken, methods not there, other defaults, as the page says."""
    found = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            names, *rest = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:-1])
            found |= {name: tuple(set(cell) for cell in rest) for name in names}
    return found


def differences(name):
    """The same, measured; deprecated markers of scikit-learn are no defaults."""
    ours, theirs = (
        inspect.signature(cls.__init__).parameters for cls in (getattr(kg, name), PEERS[name])
    )
    methods = {m for m in vars_of(PEERS[name]) if not hasattr(getattr(kg, name), m)}
    defaults = {
        p
        for p in set(ours) & set(theirs)
        if theirs[p].default not in ("warn", "deprecated") and theirs[p].default != ours[p].default
    }
    return set(theirs) - set(ours), methods, defaults


def vars_of(cls):
    """Public methods, without those of metadata routing."""
    for name in dir(cls):
        if not name.startswith(("_", "set_", "get_metadata")) and callable(
            getattr(cls, name, None)
        ):
            yield name


@pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the page describes scikit-learn 1.9"
)
@pytest.mark.parametrize("name", SHARED)
def test_differences_are_those_listed(name):
    assert differences(name) == listed().get(name, (set(), set(), set()))


def test_the_page_names_shared_classes_only():
    assert set(listed()) <= set(SHARED)


def test_the_readme_counts_them():
    readme = PAGE.parents[1] / "README.md"
    assert f"({len(listed())} of {len(SHARED)} classes)" in readme.read_text()
