"""Targets that are computed from other columns are found before anything is fitted."""

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import cook
from kilogram.kitchen.audit import audit
from tests.kitchen.conftest import QUICK


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.gamma(2.0, 10.0, (rows, 4)).round(2), columns=list("abcd"))
    return frame.assign(word=rng.choice(["u", "v"], rows))


MADE = {
    "sum of two": (lambda f: f.a + f.b, {"a", "b"}),
    "sum of three": (lambda f: f.a + f.b + f.c, {"a", "b", "c"}),
    "difference": (lambda f: 3 * f.a - f.c + 7, {"a", "c"}),
    "ratio": (lambda f: (f.a / f.b).round(4), {"a", "b"}),
    "product": (lambda f: (f.b * f.d).round(1), {"b", "d"}),
}


@pytest.mark.parametrize("how", MADE)
def test_formulas_of_columns(how):
    make, parts = MADE[how]
    frame = table()
    found = audit(frame.assign(y=make(frame)), "y").of("KG-A07")
    assert [set(f.columns) for f in found if f.severity == "serious"] == [parts]


@pytest.mark.parametrize("make", [np.log, np.sqrt, lambda x: 1.8 * x + 32, lambda x: 1 / (x + 1)])
def test_functions_of_one_column(make):
    frame = table(200)
    found = audit(frame.assign(y=make(frame.a + 0.01)), "y").serious
    assert any(f.code == "KG-A07" and "a" in f.columns for f in found)


def test_thresholds():
    frame = table(300)
    found = audit(frame.assign(low=np.where(frame.c < 21.5, "yes", "no")), "low").serious
    assert [f.columns for f in found if "threshold" in f.evidence] == [("c",)]
    three = pd.cut(frame.c, [-1, 10, 25, 1000], labels=["s", "m", "l"]).astype(str)
    found = audit(frame.assign(size=three), "size").serious
    assert any("threshold of 'c'" in f.evidence for f in found)


def test_noise_is_no_formula():
    frame = table(200)
    rng = np.random.default_rng(1)
    y = frame.a + frame.b
    noisy = audit(frame.assign(y=y + 0.1 * y.std() * rng.normal(size=200)), "y")
    assert not noisy.of("KG-A07")
    label = np.where(frame.c + rng.normal(size=200) > 20, "u", "v")
    assert not any("threshold" in f.evidence for f in audit(frame.assign(y=label), "y").findings)


def test_a_perfect_score_is_doubted_first():
    frame = table(150)
    frame["y"] = frame.a + frame.b
    cooked = cook(frame, "y", accept=["KG-A07"], **QUICK)
    assert cooked.verdict[0].startswith("Too good to be true")
    assert "'a'" in cooked.verdict[0]
    assert "'b'" in cooked.verdict[0]
