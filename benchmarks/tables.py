"""`kg cook` on twelve tables, against gradient boosting and logistic regression tuned as long.

    KILOGRAM_DATA=folder python -m benchmarks.tables --table adult --max-time 180 --out folder

A part of every table is kept aside. `kg cook` sees the rest, as a file, through the command line;
its model predicts the part kept aside. The peers are scikit-learn's: histogram gradient boosting,
and logistic (for numbers ridge) regression on scaled and one-hot columns, text as tf-idf, searched
at random with three folds until they have spent the processor time that `kg cook` spent.

    stated     score and 95 % interval of the report
    aside      score of the delivered model on the rows kept aside, and whether the interval held it
    peer       score of the best of the peers on the same rows
    gain       95 % interval of aside less peer, over draws of the rows kept aside; "level" where
               it holds zero
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

MEASURES = {
    "r2": r2_score,
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
}


@dataclass(frozen=True)
class Case:
    """What is learnt from, what is kept aside, the target, and the other options of `kg cook`."""

    train: pd.DataFrame
    test: pd.DataFrame
    target: str
    arguments: tuple[str, ...] = ()

    def parted(self, seed: int) -> Case:
        """As it is: it came in two parts."""
        return self


@dataclass(frozen=True)
class Whole:
    """A table that comes in one part, of which a quarter is to be kept aside."""

    frame: pd.DataFrame
    target: str
    arguments: tuple[str, ...] = ()
    classes: bool = True

    def parted(self, seed: int) -> Case:
        """Two parts, other ones for every seed."""
        frame = self.frame.dropna(subset=[self.target])
        stratify = frame[self.target] if self.classes else None
        train, test = train_test_split(frame, test_size=0.25, random_state=seed, stratify=stratify)
        return Case(train, test, self.target, self.arguments)


def adult(data: Path) -> Case:
    parts = [pd.read_csv(data / f"dirty/adult_{p}.csv.gz", na_values="?", skipinitialspace=True)
             for p in ("train", "test")]  # fmt: skip
    target = parts[0].columns[-1]
    parts[1].columns = parts[0].columns
    parts[1][target] = parts[1][target].str.rstrip(".")
    return Case(parts[0], parts[1], target, ("--accept", "KG-A04"))


def diamonds(data: Path) -> Whole:
    return Whole(pd.read_csv(data / "dirty/diamonds.csv.gz"), "price", classes=False)


def sms_spam(data: Path) -> Whole:
    frame = pd.read_csv(data / "sms_spam.csv.gz")
    # copies of a message on both sides would be remembered
    return Whole(frame.drop_duplicates(), frame.columns[0])


def newsgroups(data: Path) -> Case:
    train, test = (pd.read_csv(data / f"newsgroups20_{p}.csv.gz") for p in ("train", "test"))
    return Case(train, test.dropna(), "label", ("--text", "text"))


def auto_imports(data: Path) -> Whole:
    frame = pd.read_csv(data / "dirty/auto_imports.csv.gz", header=None, na_values="?")
    frame.columns = [f"c{k}" for k in frame.columns]
    return Whole(frame, frame.columns[-1], classes=False)


def horse_colic(data: Path) -> Whole:
    frame = pd.read_csv(data / "dirty/horse_colic.csv.gz", header=None, na_values="?")
    frame.columns = [f"c{k}" for k in frame.columns]
    return Whole(frame.drop(columns="c2"), "c23")


def penguins(data: Path) -> Whole:
    frame = pd.read_csv(data / "dirty/penguins_raw.csv.gz")
    return Whole(frame.drop(columns=["Species"]), "Body Mass (g)", classes=False)


def california(data: Path) -> Whole:
    held = np.load(data / "uci_regression/california.npz")
    frame = pd.DataFrame(held["X"], columns=[f"x{k}" for k in range(held["X"].shape[1])])
    return Whole(frame.assign(value=held["y"]), "value", classes=False)


def wine(data: Path) -> Whole:
    frame = pd.read_csv(data / "uci_regression/wine_white.csv.gz")
    frame.columns = [*(f"x{k}" for k in range(frame.shape[1] - 1)), "quality"]
    frame = frame.drop_duplicates()
    return Whole(frame, "quality", ("--task", "regression"), classes=False)


def spambase(data: Path) -> Whole:
    frame = pd.read_csv(data / "keel/spambase.csv.gz", header=None).drop_duplicates()
    frame.columns = [*(f"x{k}" for k in range(frame.shape[1] - 1)), "spam"]
    return Whole(frame, "spam")


def faces(data: Path) -> Whole:
    held = np.load(data / "orl_faces.npz")
    X = held["X"][:, ::4, ::4].reshape(len(held["X"]), -1).astype(float)
    frame = pd.DataFrame(X, columns=[f"p{k}" for k in range(X.shape[1])])
    return Whole(frame.assign(who=[f"person {k}" for k in held["y"]]), "who")


def mfeat(data: Path) -> Whole:
    held = np.load(data / "mfeat.npz")
    names = sorted(set(held.files) - {"y"})
    X = np.hstack([held[name] for name in names])
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    return Whole(frame.assign(digit=[f"digit {k}" for k in held["y"]]), "digit")


TABLES: dict[str, Callable[[Path], Case | Whole]] = {
    one.__name__: one
    for one in (adult, diamonds, sms_spam, newsgroups, auto_imports, horse_colic, penguins,
                california, wine, spambase, faces, mfeat)
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One table: what was stated, what came, what the peer reached."""

    table: str
    rows: int
    columns: int
    measure: str
    recipe: str
    stated: float
    low: float
    high: float
    aside: float
    peer: float
    peer_name: str
    gain_low: float
    gain_high: float
    minutes: float
    cpu_minutes: float
    report_kb: float

    @property
    def held(self) -> bool:
        return self.low <= self.aside <= self.high

    @property
    def verdict(self) -> str:
        return "above" if self.gain_low > 0 else "below" if self.gain_high < 0 else "level"

    @property
    def line(self) -> str:
        held = "yes" if self.held else "no"
        return (
            f"| {self.table} | {self.rows:,} x {self.columns} | {self.measure} | {self.recipe} | "
            f"{self.stated:.3f} ({self.low:.3f} to {self.high:.3f}) | {self.aside:.3f} | {held} | "
            f"{self.peer:.3f} ({self.peer_name}) | {self.verdict} ({self.gain_low:+.3f} to "
            f"{self.gain_high:+.3f}) | {self.minutes:.1f} |"
        )


HEAD = (
    "| table | rows | measure | recipe | stated | aside | held | peer | gain | minutes |\n"
    + "|---" * 10
    + "|"
)  # fmt: skip


def cooked(case: Case, folder: Path, max_time: float) -> tuple[dict[str, Any], float, float]:
    """The report of `kg cook`, and the wall and processor minutes it took."""
    path = folder / "table.csv"
    case.train.to_csv(path, index=False)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    arguments = [
        "--target",
        case.target,
        "--out",
        str(folder),
        "--max-time",
        str(max_time),
        *case.arguments,
    ]
    command = [sys.executable, "-m", "kilogram.cli", "cook", str(path), "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"kg cook: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads((folder / "report.json").read_text())
    return report, (time.perf_counter() - started) / 60, cpu / 60


def predictions(case: Case, folder: Path) -> np.ndarray:
    """What the delivered model says of the rows kept aside."""
    from kilogram.kitchen.artifact.model_file import load_model

    path = folder / "aside.csv"
    case.test.drop(columns=case.target).to_csv(path, index=False)
    return load_model(folder / "model.skops").predict(path)


def peers(case: Case, numbers: bool, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """Peers with parameters drawn at random, without end."""
    rng = np.random.default_rng(seed)
    X = case.train.drop(columns=case.target)
    text = [c for c in X if not pd.api.types.is_numeric_dtype(X[c]) and X[c].str.len().mean() > 40]
    plain = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
    words = [c for c in X if c not in (*plain, *text) and X[c].nunique() < 200]
    while True:
        steps: list[Any] = [(c, TfidfVectorizer(sublinear_tf=True, min_df=2), c) for c in text]
        scaled = Pipeline([("fill", SimpleImputer(strategy="median")), ("s", StandardScaler())])
        hot = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=3)
        alpha = float(10 ** rng.uniform(-3, 3))
        linear = Ridge(alpha) if numbers else LogisticRegression(C=1 / alpha, max_iter=300)
        ready = ColumnTransformer([*steps, ("n", scaled, plain), ("w", hot, words)])
        yield "linear", Pipeline([("columns", ready), ("model", linear)])
        if not (plain or words):
            continue  # trees on thousands of words cost more than they bring
        code = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1,
                              encoded_missing_value=-1, max_categories=250)  # fmt: skip
        kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        trees = kind(
            learning_rate=float(10 ** rng.uniform(-2, -0.3)),
            max_iter=int(10 ** rng.uniform(1.7, 2.8)),
            max_leaf_nodes=int(10 ** rng.uniform(0.7, 2)),
            min_samples_leaf=int(10 ** rng.uniform(0.5, 1.8)),
            l2_regularization=float(10 ** rng.uniform(-4, 1)),
            early_stopping=False,
        )
        ready = ColumnTransformer([("w", code, words), ("n", "passthrough", plain)])
        yield "boosting", Pipeline([("columns", ready), ("model", trees)])


def tuned(case: Case, measure: str, cpu_minutes: float) -> tuple[str, np.ndarray]:
    """The best peer by three folds within the processor time, and what it says aside."""
    X, y = case.train.drop(columns=case.target), case.train[case.target]
    left, best = 60 * cpu_minutes, (-np.inf, "", None)
    for name, model in peers(case, measure == "r2"):
        started = time.process_time()
        score = float(np.mean(cross_val_score(model, X, y, cv=3, scoring=measure)))
        best = max(best, (score, name, model), key=lambda one: one[0])
        left -= time.process_time() - started
        if left < 0:
            break
    assert best[2] is not None
    return best[1], best[2].fit(X, y).predict(case.test.drop(columns=case.target))


def gain(
    measure: str, truth: Any, ours: Any, theirs: Any, draws: int = 2000
) -> tuple[float, float]:
    """95 % interval of our score less theirs, over draws of the rows."""
    rng, score = np.random.default_rng(0), MEASURES[measure]
    rows = [rng.integers(0, len(truth), len(truth)) for _ in range(draws)]
    found = [score(truth[at], ours[at]) - score(truth[at], theirs[at]) for at in rows]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def trial(name: str, data: Path, max_time: float, out: Path | None, seed: int) -> Row:
    """One table from file to row."""
    case = TABLES[name](data).parted(seed)
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(passing) if out is None else out / name
        folder.mkdir(parents=True, exist_ok=True)
        report, wall, cpu = cooked(case, folder, max_time)
        ours = predictions(case, folder)
        size = (folder / "report.html").stat().st_size / 1000
    measure = report["measure"]["name"]
    kept = next(r for r in report["recipes"] if r["name"] == report["model"]["recipe"])
    peer_name, theirs = tuned(case, measure, cpu)
    kind = float if measure == "r2" else str
    truth, ours, theirs = (
        np.asarray(one, dtype=kind) for one in (case.test[case.target], ours, theirs)
    )
    score = MEASURES[measure]
    return Row(
        name, len(case.train), case.train.shape[1] - 1, measure, kept["name"],
        kept["score"]["mean"], kept["score"]["low"], kept["score"]["high"],
        float(score(truth, ours)), float(score(truth, theirs)), peer_name,
        *gain(measure, truth, ours, theirs), wall, cpu, size,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--table", action="append", choices=sorted(TABLES), help="default: all")
    parser.add_argument("--max-time", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=0, help="of the rows kept aside")
    parser.add_argument("--out", type=Path, help="folder for reports and rows.json")
    options = parser.parse_args()
    if "KILOGRAM_DATA" not in os.environ:
        raise SystemExit("Say where the tables are: KILOGRAM_DATA=folder.")
    data, rows = Path(os.environ["KILOGRAM_DATA"]), {}
    file = None if options.out is None else options.out / "rows.json"
    if file is not None and file.exists():
        rows = json.loads(file.read_text())
    print(HEAD)
    for name in options.table or TABLES:
        row = trial(name, data, options.max_time, options.out, options.seed)
        print(row.line, flush=True)
        rows[name] = asdict(row)
        if file is not None:
            file.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
