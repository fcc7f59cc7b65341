"""Two small tables, cooked once for all tests of this package.

Numbers are cooked with the search of columns, as by default; classes with their penalties alone,
as is whatever a test needs only some model for (`QUICK`).
"""

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import cook

QUICK = {"folds": 2, "repeats": 1, "search": "path"}


def curved(rows=90, seed=0):
    """A number that bends with one column, with words, gaps and a column of noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, rows)
    word = rng.choice(["red", "green", "blue"], rows)
    y = 3 * np.cos(1.5 * x) + (word == "red") + 0.2 * rng.normal(size=rows)
    frame = pd.DataFrame({"x": x, "noise": rng.normal(size=rows), "word": word, "y": y})
    frame.loc[::9, "noise"] = np.nan
    frame.loc[3, "y"] = np.nan
    return frame


def classes(rows=90, seed=0):
    """Three classes that a line can tell apart."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, rows)
    X = rng.normal(size=(rows, 2)) + 3 * np.array([[0, 0], [2, 0], [0, 2]])[label]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.array(["p", "q", "r"])[label]})


@pytest.fixture(scope="session")
def cooked():
    return cook(curved(), "y", folds=3, repeats=2)


@pytest.fixture(scope="session")
def sorted_classes():
    return cook(classes(), "kind", folds=3, repeats=1, search="path")


@pytest.fixture(scope="session")
def two_classes():
    frame = classes(80)
    frame["kind"] = frame["kind"] == "p"
    return cook(frame, "kind", folds=3, repeats=1, search="path")
