"""Dirty tables: a clear error or a consistent result, never a traceback or a silent loss.

`python -m tests.kitchen.test_dirty_tables 500` cooks so many.
"""

import json
import sys
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.report.facts import as_json
from kilogram.kitchen.report.html import as_html

QUICK = {"folds": 2, "repeats": 1, "search": "path", "recipes": ["linear", "trees"]}


def numbers_as_text(rng, x):
    """The same numbers as people write them, some cells unreadable."""
    forms = ["${:,.2f}", "{:.2f} kg", "{:.1f}%", "{:,.2f}", "{:.3f}"]
    form = forms[rng.integers(len(forms))]
    words = [form.format(v) for v in x]
    for k in np.flatnonzero(rng.random(len(x)) < rng.choice([0, 0.02, 0.1])):
        words[k] = rng.choice(["n/k", "12..5", "?", "", " "])
    return words


def dirty(seed):
    """A table, its target, the settings, and the numeric columns that must not vanish."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([22, 30, 45, 80, 150]))
    columns = int(rng.choice([1, 2, 4, 40], p=[0.2, 0.4, 0.3, 0.1]))
    X = rng.normal(size=(rows, columns)) * rng.choice([1, 100], columns)
    signal = X[:, 0] / X[:, 0].std() + 0.5 * rng.normal(size=rows)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(columns)])
    numeric = [f"x{k}" for k in range(columns)]
    if rng.random() < 0.6:
        frame["x0"] = numbers_as_text(rng, 1000 + 100 * frame["x0"])
    if rng.random() < 0.3:
        frame["word"] = rng.choice(["a", "b", "c ", "A"], rows)
    if rng.random() < 0.3:
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D")
        frame["day"] = [d.strftime(rng.choice(["%Y-%m-%d", "%d/%m/%Y"])) for d in day]
    if rng.random() < 0.2:
        frame["gaps"] = np.where(rng.random(rows) < 0.9, np.nan, rng.normal(size=rows))
    if rng.random() < 0.2:
        frame["name"] = [f"row {k}" for k in range(rows)]
    settings = dict(QUICK)
    kind = rng.choice(["number", "money", "two", "rare", "many", "constant"],
                      p=[0.3, 0.15, 0.2, 0.15, 0.15, 0.05])  # fmt: skip
    if kind == "number":
        target = signal
    elif kind == "money":
        target = numbers_as_text(rng, 5000 + 900 * signal)
    elif kind == "two":
        target = np.where(signal > 0, "yes", "no")
    elif kind == "rare":
        target = np.where(signal > np.quantile(signal, 0.93), "yes", "no")
    elif kind == "many":
        target = [f"c{k}" for k in rng.integers(0, rows // 3, rows)]
    else:
        target = np.ones(rows)
    frame["y"] = target
    if rng.random() < 0.2:
        frame["who"] = rng.integers(0, max(rows // 5, 2), rows)
        settings["group"] = "who"
    elif rng.random() < 0.2:
        frame["when"] = np.arange(rows)
        settings["time"] = "when"
    settings["accept"] = ["KG-A04", "KG-A05", "KG-A07", "KG-A08", "KG-A09", "KG-A10", "KG-A17"]
    return frame.sample(frac=1, random_state=seed), settings, numeric


def problems(seed):
    """What is wrong with the result of one table; an error with a message is a result."""
    frame, settings, numeric = dirty(seed)
    try:
        cooked = cook(frame, "y", **settings)
    except KitchenError as bad:
        return [] if str(bad).strip() else ["an empty message"]
    found = json.loads(as_json(cooked))
    wrong = []
    used = {column["name"] for column in found["columns"] if column["used"]}
    with_reason = {column["name"] for column in found["columns"] if column["reason"]}
    wrong += [f"{name} was dropped" for name in numeric if name not in used]
    wrong += [f"{name} has no reason" for name in frame if name not in with_reason | {"y"}]
    predicted = found["chosen"] != "baseline"
    if predicted != ("can be predicted:" in found["conclusion"][0]):
        wrong.append("headline and choice differ")
    if predicted != (found["trust"]["chance"]["p_value"] <= 0.025):
        wrong.append("test and choice differ")
    best = max(found["recipes"], key=lambda one: one["score"]["mean"])
    if predicted and best["name"] == "baseline":
        wrong.append("worse than the baseline")
    for one in found["recipes"]:
        if not one["score"]["low"] <= one["score"]["mean"] <= one["score"]["high"]:
            wrong.append(f"interval of {one['name']}")
    as_html(cooked)
    cooked.predict(frame.drop(columns="y").head(3))
    return wrong


@pytest.mark.parametrize("seed", range(6))
def test_dirty_tables(seed):
    assert not problems(seed)


if __name__ == "__main__":
    warnings.simplefilter("error")
    failed = 0
    for number in range(int(sys.argv[1])):
        try:
            wrong = problems(number)
        except Exception:
            wrong = [traceback.format_exc(limit=-3)]
        if wrong:
            failed += 1
            print(number, *wrong, sep="\n  ", flush=True)
    print(f"{failed} of {sys.argv[1]} tables failed")
