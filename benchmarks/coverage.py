"""Do the intervals that `kg cook` states hold on data kept aside?

    python -m benchmarks.coverage --repetitions 50 --rows 200

Each repetition draws a table, cooks it, and judges the delivered model on rows it has never seen:
many fresh ones where the table is simulated, all that were not drawn where it is resampled.

    score        fraction of repetitions whose 95 % interval holds the score on the rows kept aside
    allowing     the same, the interval widened by the error that the score kept aside has itself
    covered      fraction of rows kept aside inside the 90 % prediction intervals (numbers)
    area         fraction of repetitions whose 95 % interval holds the ROC area there (two classes)
    probability  mean gap between probabilities and what came true there (two classes)

At least 90 % of the score intervals are to hold. The score kept aside has an error of its own, so a
resampled table with few rows left can show less: the large tables (KILOGRAM_DATA names the folder
that holds them) leave so many that it does not matter.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from benchmarks import tables
from kilogram.evaluation import auc, reliability, wilson
from kilogram.evaluation.intervals import rows_error
from kilogram.kitchen import Cooked, cook
from kilogram.kitchen.artifact.uncertainty import predict_with_details

ASIDE = 4000
CLASSES = 20  # up to so many different values are classes
LARGE = ("california", "adult", "spambase")
Draw = Callable[[np.random.Generator, int], tuple[pd.DataFrame, pd.DataFrame]]


def line(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A number that is a sum of three columns and noise."""
    X = rng.normal(size=(rows, 5))
    y = X[:, :3] @ [1.0, 0.5, 0.25] + rng.normal(size=rows)
    return pd.DataFrame(X, columns=list("abcde")).assign(target=y)


def bend(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A number that bends, with noise of long tails and a column of words."""
    X = rng.uniform(-2, 2, size=(rows, 3))
    word = rng.choice(["red", "green", "blue"], rows)
    y = 2 * np.cos(1.5 * X[:, 0]) + X[:, 1] * (word == "red") + 0.5 * rng.standard_t(4, rows)
    return pd.DataFrame(X, columns=list("abc")).assign(word=word, target=y)


def noise(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Nothing to be learnt."""
    X = rng.normal(size=(rows, 4))
    return pd.DataFrame(X, columns=list("abcd")).assign(target=rng.normal(size=rows))


def odds(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Two classes with known chances, the second a third of the rows."""
    X = rng.normal(size=(rows, 4))
    p = 1 / (1 + np.exp(-(1.5 * X[:, 0] + X[:, 1] - 1)))
    answer = np.where(rng.uniform(size=rows) < p, "yes", "no")
    return pd.DataFrame(X, columns=list("abcd")).assign(target=answer)


def rare(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Two classes, the second one row in eight: judged by balanced accuracy."""
    label = rng.uniform(size=rows) < 0.125
    X = rng.normal(size=(rows, 3)) + 1.2 * label[:, None] * [1, 1, 0]
    return pd.DataFrame(X, columns=list("abc")).assign(target=np.where(label, "ill", "well"))


def simulated(make: Callable[[np.random.Generator, int], pd.DataFrame]) -> Draw:
    return lambda rng, rows: (make(rng, rows), make(rng, ASIDE))


def resampled(load: Callable[..., tuple[pd.DataFrame, pd.Series]]) -> Draw:
    """Rows drawn without replacement from a table of scikit-learn; the others are kept aside."""
    X, y = load(return_X_y=True, as_frame=True)
    words = y.nunique() <= CLASSES
    return partial(_drawn, X.assign(target=y.map("class {}".format) if words else y))


def _drawn(
    frame: pd.DataFrame, rng: np.random.Generator, rows: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = rng.permutation(len(frame))
    return frame.iloc[order[:rows]], frame.iloc[order[rows:]]


def large(name: str) -> Draw:
    """Few rows of a large table of `benchmarks.tables`: the score of the others is near exact."""
    return lambda rng, rows: _drawn(_whole(name), rng, rows)


@cache
def _whole(name: str) -> pd.DataFrame:
    if "KILOGRAM_DATA" not in os.environ:
        raise SystemExit(f"Say where the table {name} is: KILOGRAM_DATA=folder.")
    found = tables.TABLES[name](Path(os.environ["KILOGRAM_DATA"]))
    parts = [found.frame] if isinstance(found, tables.Whole) else [found.train, found.test]
    frame = pd.concat(parts).rename(columns={found.target: "target"}).dropna(subset=["target"])
    if frame["target"].nunique() > CLASSES:
        return frame
    return frame.assign(target=frame["target"].map("class {}".format))


TABLES: dict[str, Draw] = {
    "line": simulated(line),
    "bend": simulated(bend),
    "noise": simulated(noise),
    "odds": simulated(odds),
    "rare": simulated(rare),
    "diabetes": resampled(datasets.load_diabetes),
    "breast cancer": resampled(datasets.load_breast_cancer),
    **{name: large(name) for name in LARGE},
}


@dataclass
class Found:
    """One table: what was stated and what came, repetition by repetition."""

    name: str
    stated: list[tuple[float, float, float]] = field(default_factory=list)
    came: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)  # standard errors of what came
    covered: list[float] = field(default_factory=list)
    areas: list[bool] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def held(self) -> int:
        pairs = zip(self.stated, self.came, strict=True)
        return sum(low <= score <= high for (_, low, high), score in pairs)

    @property
    def allowed(self) -> int:
        """Those that hold it when the error of the score that came widens them."""
        mean, low, high = np.array(self.stated).T
        miss, own = np.array(self.came) - mean, 1.96 * np.array(self.errors)
        side = np.where(miss > 0, high - mean, mean - low)
        return int(np.sum(miss**2 <= side**2 + own**2))

    @property
    def row(self) -> str:
        n = len(self.came)
        low, high = wilson(self.held, n)
        bias = np.mean([mean for mean, _, _ in self.stated]) - np.mean(self.came)
        width = np.mean([high - low for _, low, high in self.stated])
        more = [f"{np.mean(v):.3f}" if v else "–" for v in (self.covered, self.areas, self.gaps)]
        return (
            f"| {self.name} | {self.held}/{n} | {low:.2f} to {high:.2f} | {self.allowed}/{n} | "
            f"{width:.3f} | "
            f"{bias:+.3f} | {' | '.join(more)} | {self.seconds / n:.1f} s |"
        )


def judged_aside(found: Found, cooked: Cooked, aside: pd.DataFrame) -> None:
    """Add one repetition."""
    score, model = cooked.kept.score, cooked.model
    table = cooked.table.data.from_pandas(aside, preserve_index=False)
    predicted = predict_with_details(model, model.layout.array(table), 0.9)
    truth = aside["target"].to_numpy()
    found.stated.append((score.mean, score.low, score.high))
    values = predicted.values
    if model.classes:
        values = np.asarray(model.classes, dtype=object)[values]
    found.came.append(float(cooked.measure.function(truth, values)))
    found.errors.append(rows_error(cooked.measure.function, truth, values))
    if predicted.low is not None and predicted.high is not None:
        found.covered.append(float(np.mean((predicted.low <= truth) & (truth <= predicted.high))))
    if predicted.probability is not None and len(model.classes) == 2:
        second = truth == model.classes[1]
        p = np.where(predicted.values == 1, predicted.probability, 1 - predicted.probability)
        found.gaps.append(reliability(second, p).calibration_error)
        if cooked.kept is cooked.shown and cooked.evidence.trust.ranking is not None:
            found.areas.append(auc(second, p) in cooked.evidence.trust.ranking.roc)


def experiment(name: str, repetitions: int, rows: int, folds: int, seed: int) -> Found:
    """All repetitions of one table."""
    found = Found(name)
    for k in range(repetitions):
        rng = np.random.default_rng([seed, k])
        frame, aside = TABLES[name](rng, rows)
        started = time.process_time()
        cooked = cook(frame, "target", folds=folds, seed=k, accept=["KG-A04", "KG-A05"])
        found.seconds += time.process_time() - started
        judged_aside(found, cooked, aside)
    return found


def _at_hand() -> list[str]:
    """All tables, the large ones where the folder that holds them is named."""
    return [name for name in TABLES if name not in LARGE or "KILOGRAM_DATA" in os.environ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--table", action="append", choices=sorted(TABLES), help="default: all at hand"
    )
    parser.add_argument("--out", type=Path, help="JSON file for every repetition")
    options = parser.parse_args()
    print("| table | intervals that hold | 95 % of that | allowing | width | stated - came "
          "| rows inside | area held | probability gap | time |\n"
          + "|---" * 10 + "|")  # fmt: skip
    all_found = []
    for name in options.table or _at_hand():
        found = experiment(name, options.repetitions, options.rows, options.folds, options.seed)
        all_found.append(found)
        print(found.row, flush=True)
    held, total = sum(f.held for f in all_found), sum(len(f.came) for f in all_found)
    print(f"\n{held} of {total} intervals hold: {held / total:.1%}.")
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(f) for f in all_found], indent=1))


if __name__ == "__main__":
    main()
