"""Dirty tables: a clear error or a consistent result, never a traceback or a silent loss.

`python -m tests.kitchen.test_dirty_tables 500` cooks so many, `... 500 120` from seed 120 on.
"""

import json
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kilogram.cli.cook import _left_out
from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.formatting import figure
from kilogram.kitchen.measures import MEASURES
from kilogram.kitchen.report.facts import as_json
from kilogram.kitchen.report.html import as_html

QUICK = {"folds": 2, "repeats": 1, "search": "path"}
RECIPES = [["linear", "trees"], ["linear", "boosting", "ensemble"], ["kernel", "knn"], []]
NUMBERS = [name for name, one in MEASURES.items() if one.task == "regression"]
CLASSES = [name for name, one in MEASURES.items() if one.task == "classification"]


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
        frame["note"] = [" ".join(rng.choice(["late", "paid", "ship", "blue", "7", "ü"], 12))
                         for _ in range(rows)]  # fmt: skip
    if rng.random() < 0.2:
        frame["name"] = [f"row {k}" for k in range(rows)]
    settings = QUICK | {"recipes": RECIPES[rng.integers(len(RECIPES))]}
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
    if rng.random() < 0.3 and kind != "constant":
        measures = NUMBERS if kind in ("number", "money") else CLASSES
        settings["measure"] = str(rng.choice(measures))
    return frame.sample(frac=1, random_state=seed), settings, numeric


def as_file(frame, seed, folder):
    """The table as a text file of some kind, names twice or blank among its headers."""
    rng = np.random.default_rng([seed, 1])
    names = list(frame.columns)
    if rng.random() < 0.4 and "word" in names:
        names[names.index("word")] = str(rng.choice(["", "x0", " x0 ", "X0"]))
    path = folder / "table.csv"
    comma = rng.random() < 0.3 and not any("," in str(cell) for cell in frame["x0"])
    frame.set_axis(names, axis=1).to_csv(
        path, index=False, sep=";" if comma else str(rng.choice([",", "\t", "|"])),
        decimal="," if comma else ".", encoding=str(rng.choice(["utf-8", "utf-8-sig", "utf-16"])),
    )  # fmt: skip
    return path


def problems(seed):
    """What is wrong with the result of one table; an error with a message is a result."""
    frame, settings, numeric = dirty(seed)
    with tempfile.TemporaryDirectory() as folder:
        table = as_file(frame, seed, Path(folder)) if seed % 2 else frame
        try:
            cooked = cook(table, "y", **settings)
        except KitchenError as bad:
            return [] if str(bad).strip() else ["an empty message"]
    return [*wrong_columns(cooked, numeric, seed), *wrong_words(cooked, frame)]


def wrong_columns(cooked, numeric, seed):
    """Columns that vanish without a word."""
    found = json.loads(as_json(cooked))
    used = {column["name"] for column in found["columns"] if column["used"]}
    with_reason = {column["name"] for column in found["columns"] if column["reason"]}
    inputs = [name for name in cooked.table.data.column_names if name != "y"]
    wrong = [f"{name} was dropped" for name in numeric if name not in used]
    wrong += [f"{name} has no reason" for name in inputs if name not in with_reason]
    named = " ".join(_left_out(cooked))
    return wrong + [f"{name} is not named" for name in inputs
                    if name not in used and repr(name) not in named]  # fmt: skip


def wrong_words(cooked, frame):
    """Sentences that say something else than the numbers."""
    found = json.loads(as_json(cooked))
    wrong = []
    headline, why, _ = found["conclusion"]
    predicted = found["chosen"] != "baseline"
    if predicted != ("can be predicted:" in headline):
        wrong.append("headline and choice differ")
    if predicted != (found["trust"]["chance"]["p_value"] <= 0.025):
        wrong.append("test and choice differ")
    by_name = {one["name"]: one["score"] for one in found["recipes"]}
    sign = cooked.measure.sign
    best = max(by_name, key=lambda name: sign * by_name[name]["mean"])
    if predicted and best == "baseline":
        wrong.append("worse than the baseline")
    if predicted and f"{figure(by_name[found['chosen']]['mean'])} on " not in headline:
        wrong.append("the score of the headline is not that of the chosen recipe")
    if "it has the best score" in why:
        able = [one.name for one in cooked.judged[1:]
                if one.over_baseline(cooked.judged[0]).verdict == "better"]  # fmt: skip
        if sign * by_name[found["chosen"]]["mean"] < max(sign * by_name[n]["mean"] for n in able):
            wrong.append("another recipe has a better score")
    for name, score in by_name.items():
        if not score["low"] <= score["mean"] <= score["high"]:
            wrong.append(f"interval of {name}")
    page = as_html(cooked)
    page = page if isinstance(page, str) else page.decode()
    wrong += [f"{word} on the page" for word in (">nan<", ">None<", "{{", "inf)") if word in page]
    rows = frame.drop(columns="y").head(3)
    if list(rows) == [n for n in cooked.table.data.column_names if n != "y"]:
        table = cooked.predict_table(rows)
        if table.num_rows != 3:
            wrong.append("rows were lost at prediction")
    return wrong


@pytest.mark.parametrize("seed", [0, 9, 23, 27, 37, 154, 294, 344, 421])
def test_dirty_tables(seed):
    assert not problems(seed)


if __name__ == "__main__":
    warnings.simplefilter("error")
    count, first, failed = int(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]), 0
    for number in range(first, first + count):
        try:
            wrong = problems(number)
        except Exception:
            wrong = [traceback.format_exc(limit=-3)]
        if wrong:
            failed += 1
            print(number, *wrong, sep="\n  ", flush=True)
        elif number % 20 == 0:
            print(number, "ok", flush=True)
    print(f"{failed} of {count} tables failed")
