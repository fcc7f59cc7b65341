"""The tables on which `kg cook` is compared with LightGBM, as a folder of CSV files.

    KILOGRAM_DATA=folder python -m benchmarks.boosting_data --out tables

Every file is `name.csv.gz` with the target in the column `y`; a target of words is a class. Any
folder of such files can be compared (`benchmarks.boosting_tables`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

ARRAYS = ("yacht", "boston", "energy", "concrete", "wine_red", "kin8nm", "california")
CLASSES = ("heart", "sonar", "ionosphere", "pima", "german", "titanic", "spambase", "vehicle",
           "vowel", "segment", "splice", "banana")  # fmt: skip
# On these the recipes and the choice between them were settled; they never saw the others.
SEEN = (*ARRAYS, *CLASSES[:7], "abalone", "diamonds")


def prepared(data: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table by name, with its target in the column `y`."""
    for name in ARRAYS:
        file = np.load(data / f"uci_regression/{name}.npz")
        frame = pd.DataFrame(file["X"], columns=[f"x{k}" for k in range(file["X"].shape[1])])
        yield name, frame.assign(y=np.ravel(file["y"]))
    for name in CLASSES:
        frame = pd.read_csv(data / f"keel/{name}.csv.gz", header=None)
        frame.columns = [*(f"x{k}" for k in range(frame.shape[1] - 1)), "y"]
        yield name, frame.assign(y="c" + frame["y"].astype(str).str.strip())
    yield "abalone", _renamed(data / "uci_regression/abalone.csv.gz", "rings")
    yield "wine_white", _renamed(data / "uci_regression/wine_white.csv.gz", "11")
    yield "auto_mpg", _renamed(data / "dirty/auto_mpg.csv.gz", "class")
    diamonds = pd.read_csv(data / "dirty/diamonds.csv.gz")
    yield "diamonds", diamonds.rename(columns={"y": "width", "price": "y"})
    yield "diabetes", _renamed(data / "classics/diabetes.csv.gz", "target")
    cancer = _renamed(data / "classics/breast_cancer.csv.gz", "target")
    yield "breast_cancer", cancer.assign(y="c" + cancer["y"].astype(str))


def _renamed(path: Path, target: str) -> pd.DataFrame:
    return pd.read_csv(path).rename(columns={target: "y"})


def load(folder: Path, name: str = "*") -> dict[str, pd.DataFrame]:
    """The tables of a folder, or one of them, by name; the smallest first."""
    files = sorted(folder.glob(f"{name}.csv.gz"))
    if not files:
        raise SystemExit(f"{folder} holds no tables: write them with benchmarks.boosting_data.")
    found = {file.name.removesuffix(".csv.gz"): pd.read_csv(file) for file in files}
    return dict(sorted(found.items(), key=lambda pair: pair[1].size))


def is_class(frame: pd.DataFrame) -> bool:
    """Are there classes to predict, rather than numbers?"""
    return not pd.api.types.is_numeric_dtype(frame["y"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in prepared(Path(os.environ["KILOGRAM_DATA"])):
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
        print(f"{name}: {len(frame):,} x {frame.shape[1] - 1}")


if __name__ == "__main__":
    main()
