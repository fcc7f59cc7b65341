"""Distance correlation: zero for independent columns, any form of dependence found."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.spatial.distance import pdist, squareform

from kilogram.kitchen.explore.dependence import _centred, _correlations, dependence
from kilogram.kitchen.features.column_types import find_layout


def found(frame):
    table = pa.Table.from_pandas(frame)
    layout = find_layout(table, None)
    return dependence(layout, layout.array(table))


def test_the_statistic_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    n = 30
    centred = []
    for v in (x, y):
        D = squareform(pdist(v[:, None]))
        A = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    A[i, j] = (D[i, j] - D[i].sum() / (n - 2) - D[:, j].sum() / (n - 2)
                               + D.sum() / ((n - 1) * (n - 2)))  # fmt: skip
        centred.append(A)
    A, B = centred
    expected = (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())
    R, count = _correlations([_centred(x)], [_centred(y)])
    assert R[0, 0] == pytest.approx(expected)
    assert count[0, 0] == n


def test_missing_cells_are_left_out_pair_by_pair():
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    y = x + 0.3 * rng.normal(size=60)
    gaps = x.copy()
    gaps[:20] = np.nan
    R, count = _correlations([_centred(gaps)], [_centred(y)])
    assert count[0, 0] == 40
    assert R[0, 0] > 0.7


def test_bends_and_categories_are_found_and_noise_is_not():
    rng = np.random.default_rng(2)
    n = 300
    x = rng.uniform(-1, 1, n)
    word = rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame({
        "x": x, "square": x**2 + 0.1 * rng.normal(size=n), "line": x + 0.1 * rng.normal(size=n),
        "noise": rng.normal(size=n), "word": word,
        "by_word": (word == "a") + 0.2 * rng.normal(size=n),
    })  # fmt: skip
    pairs = {frozenset((p.first, p.second)): p for p in found(frame).pairs}
    square = pairs[frozenset(("x", "square"))]
    assert abs(square.rank_correlation) < 0.2
    assert square.significant
    assert square.bent
    line = pairs[frozenset(("x", "line"))]
    assert line.significant
    assert line.strength > 0.9
    assert pairs[frozenset(("word", "by_word"))].significant
    assert not any(p.significant for names, p in pairs.items() if "noise" in names)


def test_missingness_that_depends_on_another_column_is_found():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 300))
    frame = pd.DataFrame({"x": x, "z": np.where(x > 0.8, np.nan, z)})
    assert [(p.first, p.second) for p in found(frame).missing] == [("z", "x")]
    frame["z"] = np.where(rng.random(300) < 0.2, np.nan, z)
    assert not found(frame).missing


def test_independent_columns_are_called_dependent_rarely():
    """The test is conservative: of 21 pairs in each of 8 tables hardly any is significant."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(8):
        frame = pd.DataFrame(rng.standard_t(3, size=(50, 7)), columns=list("abcdefg"))
        wrong += any(p.significant or p.bent for p in found(frame).pairs)
    assert wrong <= 2
