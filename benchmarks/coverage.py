"""Do the intervals that `kg cook` states hold on data kept aside?

    python -m benchmarks.coverage --repetitions 50 --rows 200

Each repetition draws a table, cooks it, and judges the delivered model on rows it has never seen:
many fresh ones where the table is simulated, all that were not drawn where it is resampled.

    score        fraction of repetitions whose 95 % interval holds the score on the rows kept aside
    allowing     the same, the interval widened by the error that the score kept aside has itself
    covered      fraction of rows kept aside inside the 90 % prediction intervals (numbers)
    area         fraction of repetitions whose 95 % interval holds the ROC area there (two classes)
    probability  mean gap between probabilities and what came true there (two classes)

`--all-measures` adds the same for every measure that the task offers. What the rows kept aside are
follows from what the folds keep apart, because that is what the interval promises: other rows;
rows of other groups; with `later`, the rows just after the table, as far ahead as the folds look,
over many courses that the series could have taken (a single course varies more than their mean).

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
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from benchmarks import tables
from kilogram.evaluation import auc, reliability, wilson
from kilogram.evaluation.intervals import rows_error
from kilogram.kitchen import Cooked, cook
from kilogram.kitchen.artifact.uncertainty import predict_with_details
from kilogram.kitchen.measures import MEASURES, ORDERED, TOP

ASIDE = 4000
FOLDS = 5
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


def counts(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Counts of two columns' making."""
    X = rng.normal(size=(rows, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] + 1))
    return pd.DataFrame(X, columns=list("abc")).assign(target=y)


def four(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Four classes around four centres."""
    label = rng.integers(0, 4, rows)
    X = rng.normal(size=(rows, 3)) + 1.5 * np.eye(4)[label, :3]
    names = np.array(["north", "east", "south", "west"])
    return pd.DataFrame(X, columns=list("abc")).assign(target=names[label])


def groups(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A number with an effect of its group, ten rows each; groups of other calls are others."""
    who = np.arange(rows) // 10
    X = rng.normal(size=(rows, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=who[-1] + 1)[who] + rng.normal(size=rows)
    return pd.DataFrame(X, columns=list("abc")).assign(who=who, target=5 + y)


def series(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A number along time: two columns, a season that no column knows, noise that stays a while."""
    X, when = rng.normal(size=(rows, 2)), np.arange(rows)
    season = np.sin(2 * np.pi * (when / 25 + rng.uniform()))
    noise = rng.normal(size=rows)
    for t in range(1, rows):
        noise[t] += 0.6 * noise[t - 1]
    y = X @ [1.0, 0.5] + 0.5 * season + noise
    return pd.DataFrame(X, columns=list("ab")).assign(when=when, target=20 + y)


def later(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A series, and what could follow it: as many rows as a fold of it has, in many courses."""
    ahead = rows // (FOLDS + 1)
    courses = [series(rng, rows + ahead).iloc[rows:] for _ in range(ASIDE // ahead)]
    return series(rng, rows), pd.concat(courses, ignore_index=True)


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
    "counts": simulated(counts),
    "four": simulated(four),
    "tiny": simulated(line),
    "groups": simulated(groups),
    "later": later,
    "diabetes": resampled(datasets.load_diabetes),
    "breast cancer": resampled(datasets.load_breast_cancer),
    **{name: large(name) for name in LARGE},
}


# Rows and settings of tables that have their own.
ROWS = {"tiny": 30}
SETTINGS: dict[str, dict[str, Any]] = {
    "counts": {"task": "regression"}, "groups": {"group": "who"}, "later": {"time": "when"},
}  # fmt: skip


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
    by_measure: dict[str, list[bool]] = field(default_factory=dict)
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


def judged_by_all(found: Found, cooked: Cooked, aside: pd.DataFrame) -> None:
    """Add one repetition by every measure that the task offers."""
    classes, kept = cooked.question.classes, cooked.kept
    details = cooked.predict(aside, details=True)
    truth, predicted = aside["target"].to_numpy(), cooked.predict(aside)
    outputs: dict[str, np.ndarray] = {"predictions": np.asarray(predicted)}
    if classes:
        places = {name: place for place, name in enumerate(classes)}
        truth, outputs["predictions"] = (np.array([places[one] for one in column])
                                         for column in (truth, predicted))  # fmt: skip
        outputs["probabilities"] = np.column_stack([details[f"P({name})"] for name in classes])
    for measure in MEASURES.values():
        if measure.task != cooked.measure.task or not _suits(measure.name, truth, len(classes)):
            continue
        came = measure.function(truth, outputs[measure.of])
        found.by_measure.setdefault(measure.name, []).append(came in kept.interval(measure))


def _suits(measure: str, y: np.ndarray, classes: int) -> bool:
    if measure in ORDERED:
        return False
    if measure == "top_3_accuracy":
        return classes > TOP
    if measure == "mean_absolute_percentage_error":  # has no mean where numbers lie around 0
        return bool(np.all(y > 0))
    return measure != "poisson_deviance" or bool(np.all(y >= 0))


def experiment(name: str, seed: int, options: argparse.Namespace) -> Found:
    """All repetitions of one table."""
    found = Found(name)
    for k in range(options.repetitions):
        rng = np.random.default_rng([seed, k])
        frame, aside = TABLES[name](rng, ROWS.get(name, options.rows))
        started = time.process_time()
        cooked = cook(frame, "target", folds=options.folds, seed=k, recipes=options.recipe,
                      accept=["KG-A04", "KG-A05"], **SETTINGS.get(name, {}))  # fmt: skip
        found.seconds += time.process_time() - started
        judged_aside(found, cooked, aside)
        if options.all_measures:
            judged_by_all(found, cooked, aside)
    return found


def show_measures(all_found: list[Found]) -> None:
    """Of each measure and table, how many intervals hold."""
    print("\n| table | measure | intervals that hold | 95 % of that |\n" + "|---" * 4 + "|")
    for found in all_found:
        for name, held in found.by_measure.items():
            low, high = wilson(sum(held), len(held))
            print(f"| {found.name} | {name} | {sum(held)}/{len(held)} | {low:.2f} to {high:.2f} |")


def _at_hand() -> list[str]:
    """All tables, the large ones where the folder that holds them is named."""
    return [name for name in TABLES if name not in LARGE or "KILOGRAM_DATA" in os.environ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--recipe", action="append", default=[], help="default: those of kg cook")
    parser.add_argument("--all-measures", action="store_true")
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
        found = experiment(name, options.seed, options)
        all_found.append(found)
        print(found.row, flush=True)
    held, total = sum(f.held for f in all_found), sum(len(f.came) for f in all_found)
    print(f"\n{held} of {total} intervals hold: {held / total:.1%}.")
    if options.all_measures:
        show_measures(all_found)
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(f) for f in all_found], indent=1))


if __name__ == "__main__":
    main()
