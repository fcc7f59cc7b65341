"""Boosting on ten real tables, ours and LightGBM's with its defaults: equal rounds and leaves.

    KILOGRAM_DATA=... python -m benchmarks.boosting_rounds [table ...]

Every table is split five times into three quarters to fit and a quarter to score: log-loss for
classes, R^2 for numbers. Both fit 100 rounds of at most 31 leaves at a learning rate of 0.1 and 20
rows in a leaf. A difference counts where it exceeds twice its standard error over the splits.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

import kilogram as kg

SPLITS = 5
CLASSES = {"spambase", "segment", "german", "wisconsin", "vowel"}
TABLES = {
    "california": "uci_regression/california.npz",
    "concrete": "uci_regression/concrete.npz",
    "energy": "uci_regression/energy.npz",
    "kin8nm": "uci_regression/kin8nm.npz",
    "wine_red": "uci_regression/wine_red.npz",
    "spambase": "keel/spambase.csv.gz",
    "segment": "keel/segment.csv.gz",
    "german": "keel/german.csv.gz",
    "wisconsin": "keel/wisconsin.csv.gz",
    "vowel": "keel/vowel.csv.gz",
}


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as numbers (words by their order) and the target."""
    path = folder / TABLES[name]
    if path.suffix == ".npz":
        file = np.load(path, allow_pickle=False)
        return np.asarray(file["X"], float), np.ravel(file["y"]).astype(float)
    frame = pd.read_csv(path, header=None)
    for k in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[k]):
            frame[k] = pd.factorize(frame[k], sort=True)[0]
    return frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy()


def models(classes: bool) -> dict[str, Any]:
    """Ours and LightGBM's."""
    kind = "Classifier" if classes else "Regressor"
    ours = getattr(kg, f"HistGradientBoosting{kind}")(early_stopping=False, random_state=0)
    peer = getattr(import_module("lightgbm"), f"LGBM{kind}")(verbose=-1, random_state=0)
    return {"kilogram": ours, "LightGBM": peer}


def scores(X: np.ndarray, y: np.ndarray, classes: bool) -> dict[str, np.ndarray]:
    """Scores of both on the rows kept aside, (splits,)."""
    found: dict[str, list[float]] = {}
    for seed in range(SPLITS):
        parts = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=y if classes else None
        )
        for name, model in models(classes).items():
            model.fit(parts[0], parts[2])
            if classes:
                value = log_loss(parts[3], model.predict_proba(parts[1]), labels=model.classes_)
            else:
                value = r2_score(parts[3], model.predict(parts[1]))
            found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def verdict(ours: np.ndarray, peer: np.ndarray, classes: bool) -> str:
    """Which is better by more than twice the standard error of the difference."""
    gain = (peer - ours) if classes else (ours - peer)
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    if abs(gain.mean()) <= 2 * error:
        return "level"
    return "kilogram" if gain.mean() > 0 else "LightGBM"


def main(wanted: list[str]) -> None:
    folder = Path(os.environ["KILOGRAM_DATA"])
    print("| table | rows x features | score | Kilogram | LightGBM | better |")
    print("|---|---|---|---|---|---|")
    for name in wanted or TABLES:
        X, y = load(folder, name)
        classes = name in CLASSES
        found = scores(X, y, classes)
        kind = "log-loss" if classes else "R^2"
        print(
            f"| {name} | {X.shape[0]:,} x {X.shape[1]} | {kind} | {found['kilogram'].mean():.4f} | "
            f"{found['LightGBM'].mean():.4f} | "
            f"{verdict(found['kilogram'], found['LightGBM'], classes)} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
