"""`kg cook` beside LightGBM with its default parameters: two thirds of each table to learn from.

    KILOGRAM_DATA=folder python -m benchmarks.default_boosting --max-time 600 --out results.json

Errors on the third kept aside: root mean squared error of numbers, fraction of wrong classes. The
ratio is ours over LightGBM's (below 1: ours is smaller) with a 95 % interval over bootstrap draws
of the rows kept aside. Smallest tables first; a line is written after every table.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from kilogram.kitchen import cook

ACCEPT = ("KG-A04", "KG-A05", "KG-A07", "KG-A08", "KG-A09", "KG-A17")
REGRESSION = ("yacht", "boston", "energy", "concrete", "wine_red", "kin8nm", "california")
CLASSES = ("heart", "sonar", "ionosphere", "pima", "german", "titanic", "spambase")
DRAWS = 2000


def tables(data: Path) -> dict[str, tuple[pd.DataFrame, bool]]:
    """Name -> table with the target `y`, and whether that is a class; smallest first."""
    found: dict[str, tuple[pd.DataFrame, bool]] = {}
    for name in REGRESSION:
        held = np.load(data / f"uci_regression/{name}.npz")
        frame = pd.DataFrame(held["X"], columns=[f"x{k}" for k in range(held["X"].shape[1])])
        found[name] = frame.assign(y=np.ravel(held["y"])), False
    for name in CLASSES:
        frame = pd.read_csv(data / f"keel/{name}.csv.gz", header=None)
        frame.columns = [*(f"x{k}" for k in range(frame.shape[1] - 1)), "y"]
        found[name] = frame.assign(y="c" + frame["y"].astype(str)), True
    abalone = pd.read_csv(data / "uci_regression/abalone.csv.gz").rename(columns={"rings": "y"})
    found["abalone"] = abalone, False
    diamonds = pd.read_csv(data / "dirty/diamonds.csv.gz")
    diamonds = diamonds.rename(columns={"y": "width", "price": "y"})
    found["diamonds"] = diamonds, False
    return dict(sorted(found.items(), key=lambda pair: pair[1][0].size))


def compared(
    name: str, frame: pd.DataFrame, *, classes: bool, limit: float, seed: int = 0
) -> dict[str, Any]:
    """One table: errors of both on the same rows, and their ratio."""
    train, test = train_test_split(
        frame, test_size=1 / 3, random_state=seed, stratify=frame["y"] if classes else None
    )
    started = time.perf_counter()
    task: Any = "classification" if classes else "regression"
    measure = "accuracy" if classes else "r2"
    found = cook(train, "y", task=task, measure=measure, max_time=limit, accept=ACCEPT)
    spent = time.perf_counter() - started
    ours = np.asarray(found.predict(test.drop(columns="y")))
    started = time.perf_counter()
    theirs = _lightgbm(train, test, classes=classes)
    y = test["y"].to_numpy()
    if classes:
        losses = [(answer != y).astype(float) for answer in (ours.astype(str), theirs)]
    else:
        losses = [(answer - y) ** 2 for answer in (ours, theirs)]
    return {
        "table": name, "rows": len(frame), "columns": frame.shape[1] - 1,
        "chosen": found.chosen.name, "stated": found.chosen.score.mean,
        "kilogram": _error(losses[0], classes), "lightgbm": _error(losses[1], classes),
        **_ratio(losses, classes), "seconds": spent, "peer_seconds": time.perf_counter() - started,
    }  # fmt: skip


def _lightgbm(train: pd.DataFrame, test: pd.DataFrame, *, classes: bool) -> np.ndarray:
    from lightgbm import LGBMClassifier, LGBMRegressor

    both = pd.concat([train, test]).drop(columns="y")
    for column in both.columns:
        if not pd.api.types.is_numeric_dtype(both[column]):
            both[column] = both[column].astype("category")
    model = (LGBMClassifier if classes else LGBMRegressor)(verbose=-1, random_state=0)
    model.fit(both.iloc[: len(train)], train["y"])
    return np.asarray(model.predict(both.iloc[len(train) :]))


def _error(losses: np.ndarray, classes: bool) -> float:
    return float(losses.mean() if classes else np.sqrt(losses.mean()))


def _ratio(losses: list[np.ndarray], classes: bool) -> dict[str, float]:
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(losses[0]), (DRAWS, len(losses[0])))
    a, b = (one[draws].mean(axis=1) for one in losses)
    values = a / np.maximum(b, 1e-12)
    values = values if classes else np.sqrt(values)
    whole = _error(losses[0], classes) / max(_error(losses[1], classes), 1e-12)
    low, high = np.quantile(values, [0.025, 0.975])
    return {"ratio": whole, "low": float(low), "high": float(high)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--table", action="append", help="Only these; repeat.")
    parser.add_argument("--max-time", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0, help="of the rows kept aside")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name, (frame, classes) in tables(Path(os.environ["KILOGRAM_DATA"])).items():
        if given.table and name not in given.table:
            continue
        limits = {"limit": given.max_time, "seed": given.seed}
        one = compared(name, frame, classes=classes, **limits)
        rows.append(one)
        print(f"| {name} | {one['rows']:,} x {one['columns']} | {one['chosen']} | "
              f"{one['kilogram']:.4g} | {one['lightgbm']:.4g} | {one['ratio']:.3f} "
              f"({one['low']:.3f} to {one['high']:.3f}) | {one['seconds']:.0f} s |",
              flush=True)  # fmt: skip
        if given.out is not None:
            given.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
