"""Boosting: AdaBoost with the weights of its points, and gradient boosting of small trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_box,
    data_grid,
    fresh_points,
    percent,
    plane,
    probability_field,
    python_lines,
    score_field,
    short,
)
from kilogram.book.misprints import adaboost_uphill
from kilogram.book.recording import (
    Frame,
    Layer,
    Panel,
    Recording,
    bars,
    data_points,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.scenes.two_classes import SIDES
from kilogram.book.textbook_steps import record
from kilogram.models.boosting.adaboost_classifier import AdaBoostClassifier
from kilogram.models.boosting.hist_gradient_boosting import HistGradientBoostingClassifier

ROUNDS = 30  # each is a frame, which one steps through: our choice


@dataclass(frozen=True)
class _Run:
    """Rounds of AdaBoost: stumps (column, threshold, left, right vote), votes, errors, weights."""

    stumps: np.ndarray
    alpha: np.ndarray
    errors: np.ndarray
    weights: np.ndarray  # (rounds, n), of sum 1, that each round began with

    def stump_votes(self, Z: np.ndarray) -> np.ndarray:
        """(rounds, rows) of -1 and +1; a stump without a column has all rows on its left."""
        column, threshold, left, right = self.stumps.T
        below = (Z[:, column.astype(int)] <= threshold).T | (column < 0)[:, None]
        return np.where(below, left[:, None], right[:, None])

    def scores(self, Z: np.ndarray) -> np.ndarray:
        """The votes so far, divided by their sum."""
        total = np.cumsum(self.alpha)[:, None]
        return np.cumsum(self.alpha[:, None] * self.stump_votes(Z), axis=0) / np.maximum(total, 1e-300)  # fmt: skip


def _adaboost(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    signs = np.where(y > 0, 1.0, -1.0)
    settings = {"n_estimators": ROUNDS, "learning_rate": c["rate"], "criterion": c["criterion"]}
    model = AdaBoostClassifier(**settings).fit(X, y)
    run = _printed_run(X, signs) if c["printed"] else _run_of(model, X, signs)
    grid, (fresh, target) = data_grid(data, 56), fresh_points(data)
    fields, weights, votes = run.scores(grid.places), run.weights, run.stump_votes(X)
    train, test = (
        np.mean((run.scores(Z) > 0) != (labels > 0), axis=1)
        for Z, labels in ((X, y), (fresh, target))
    )
    bound, rounds = model.training_error_bound_, np.arange(1, len(run.alpha) + 1)
    # the first two states of the textbook version: the start, and a round
    lines = [step.line for step in record("adaboost", X, signs, 1)]
    frames = []
    for t, stump in enumerate(run.stumps):
        w = weights[t] * len(y)
        wrong = votes[t] != signs
        shown = [
            score_field(grid, fields[t]),
            *_stump(stump, data),
            data_points(r=np.clip(3.4 * np.sqrt(w), 1.8, 14), ring=wrong.astype(int)),
        ]
        curves = [
            line(rounds[: t + 1], bound[: t + 1], color="c2", dash=True),
            line(rounds[: t + 1], train[: t + 1], color="c0", width=2.4),
            line(rounds[: t + 1], test[: t + 1], color="c1", width=2.4),
            points([t + 1], [train[t]], color="c0", r=4.5),
        ]
        frames.append(Frame(
            f"round {t + 1}: ringed points {'lose' if c['printed'] else 'gain'} weight",
            {"data": shown, "weights": [bars(np.arange(len(y)), w, c=y)], "errors": curves[c["printed"]:]},
            None if c["printed"] else lines[-1],
            [("weighted error of this stump", short(float(run.errors[t]))),
             ("its vote α", short(float(run.alpha[t]))),
             ("largest weight", f"{w.max():.1f} × the mean"),
             ("training error", percent(float(train[t]))), ("error on fresh points", percent(float(test[t])))],
        ))  # fmt: skip
    panels = [
        plane(data, "data", "Votes of the stumps", legend=(*SIDES, ("contour", "this round’s stump")), describe="points by weight, the stump of this round and the border of all votes so far"),
        Panel("weights", "Weight of each point", (-1, len(y)), (0, max(4.0, 1.05 * float(weights.max()) * len(y))), x_label="point", y_label="times the mean", describe="weights of the points in this round"),
        Panel("errors", "Error by round", (0.5, max(len(rounds), 2) + 0.5), (0, max(1.0, float(bound.max())) * 1.02), x_label="round", legend=(("c0", "training"), ("c1", "fresh points"), ("c2", "bound of training")), small=True),
    ]  # fmt: skip
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return Recording(
        panels, frames,
        notes=["A point’s area is its weight in this round; a ring marks what this round’s stump gets wrong."],
        python=python_lines("classes", f"model = kg.AdaBoostClassifier({words}).fit(X, y)"),
        code="adaboost", fitted={"estimator_weights_": model.estimator_weights_, "estimator_errors_": model.estimator_errors_},
    )  # fmt: skip


def _run_of(model: AdaBoostClassifier, X: np.ndarray, signs: np.ndarray) -> _Run:
    """The rounds of a fitted model. The weights of a round are exp(-y_i f(x_i)) of those before."""
    stumps = [e.stump for e in model.estimators_]
    table = np.array([[s.column, s.threshold, 2 * s.left - 1, 2 * s.right - 1] for s in stumps])
    alpha = np.asarray(model.estimator_weights_)
    run = _Run(table.astype(float), alpha, np.asarray(model.estimator_errors_), np.empty(0))
    f = np.cumsum(alpha[:, None] * run.stump_votes(X), axis=0) / 2
    before = np.exp(-signs * np.concatenate([np.zeros((1, len(signs))), f[:-1]]))
    return replace(run, weights=before / before.sum(axis=1, keepdims=True))


def _printed_run(X: np.ndarray, signs: np.ndarray) -> _Run:
    *_, last = adaboost_uphill(X, signs, ROUNDS // 2)
    return _Run(*(np.asarray(last[letter]) for letter in ("stumps", "beta", "err", "w")))


def _stump(stump: np.ndarray, data: Points) -> list[Layer]:
    """The line of a stump's threshold; nothing where both of its sides vote alike."""
    column, threshold, left, right = stump
    if column < 0 or left == right:
        return []
    box = data_box(data)
    at, across = [threshold] * 2, box[1 - int(column)]
    x, y = (at, across) if column == 0 else (across, at)
    return [line(x, y, color="contour", width=2.4, dash=True)]


def _boosting(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    grid = data_grid(data, 56)
    counts = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)
    frames, train, test = [], [], []
    fresh, target = fresh_points(data)
    settings: dict[str, Any] = {
        "learning_rate": c["rate"],
        "max_depth": c["depth"],
        "min_samples_leaf": 3,
        "early_stopping": False,
        "random_state": 0,
    }
    model = HistGradientBoostingClassifier(max_iter=counts[-1], **settings).fit(X, y)
    stages = list(model.staged_predict_proba(grid.places))
    own, new = (list(model.staged_predict(Z)) for Z in (X, fresh))
    classes = np.asarray(model.classes_)
    for i, count in enumerate(counts):
        p = np.asarray(stages[count - 1])
        train.append(float(np.mean(own[count - 1] != y)))
        test.append(float(np.mean(new[count - 1] != target)))
        field = (
            probability_field(grid, p[:, 1], levels=(0.0,))
            if len(classes) == 2 and tuple(classes) == (0, 1)
            else grid.regions(partial(_after, model, count))
        )
        rounds = np.log2(counts[: i + 1])
        curve = [
            line(rounds, train, color="c0"),
            line(rounds, test, color="c1"),
            points(rounds[-1:], test[-1:], color="c1", r=5),
        ]
        frames.append(
            Frame(
                f"{count} tree{'s' * (count != 1)}",
                {"data": [field, data_points()], "error": curve},
                None,
                [
                    ("training error", percent(train[-1])),
                    ("error on fresh points", percent(test[-1])),
                ],
            )
        )
    panel = Panel(
        "error",
        "Error by trees",
        (-0.2, float(np.log2(counts[-1])) + 0.2),
        (0, max(*train, *test, 0.05) * 1.1),
        x_label="log2 trees",
        legend=(("c0", "training"), ("c1", "fresh points")),
        small=True,
    )
    words = ", ".join(f"{k}={v!r}" for k, v in settings.items())
    return Recording(
        [plane(data, "data", "Trees added one by one", describe="probability of class 1 after some trees"), panel], frames,
        start=int(np.argmin(test)),
        python=python_lines("classes", f"model = kg.HistGradientBoostingClassifier(max_iter=100, {words}).fit(X, y)"),
        fitted={"n_iter_": model.n_iter_},
    )  # fmt: skip


def _after(model: HistGradientBoostingClassifier, count: int, Z: np.ndarray) -> np.ndarray:
    """The classes after `count` trees."""
    return np.asarray(next(islice(model.staged_predict(Z), count - 1, None)))


SCENES = (
    Scene(
        "adaboost", "boosting", "AdaBoost",
        "One stump after the other, each a single threshold of one column. Points that a stump gets wrong grow in weight, so the next stump attends to them; the votes add up to a border no stump could draw.",
        _adaboost, data="classes", presets=("moons", "circles", "overlap", "wrong_labels", "xor"),
        controls=(choice("criterion", "a stump makes least", (("error", "the weighted error"), ("gini", "the Gini impurity"))),
                  log_slider("rate", "learning rate", 1.0, 0.05, 2.0), switch("printed", "as printed: the loss exp(+y f)")),
        breaks=(Break("What the printed page gets wrong: easy points gain weight", "moons", {"printed": True}), Break("Four wrong labels take half of the weight", "wrong_labels"), Break("Exclusive or: no stump is better than chance", "xor"), Break("Overlap: it chases what cannot be learned", "overlap")),
        question="Paint one point of the other class into the middle of a group. What happens to its weight?",
        answer="It grows in every round that gets it wrong, exponentially, until a stump is bent around it: wrong labels lead AdaBoost astray.",
        names=("AdaBoostClassifier",), min_points=4,
    ),
    Scene(
        "boosting", "boosting", "Gradient boosting",
        "Small trees, one after the other, each fitted to what the sum of those before it still misses.",
        _boosting, data="classes", presets=("moons", "overlap", "xor", "circles", "three"), classes=3,
        controls=(log_slider("rate", "learning rate", 0.3, 0.01, 1.0), slider("depth", "depth of each tree", 2, 1, 6, export=(1, 2, 4))),
        breaks=(Break("Overlap: more trees learn the noise", "overlap", {"rate": 1.0, "depth": 4}), Break("Stumps cannot see exclusive or", "xor", {"depth": 1})),
        question="Depth 1 on exclusive or: do more trees help?",
        answer="No: a sum of functions of one column each cannot express it.",
        names=("HistGradientBoostingClassifier",), min_points=8,
    ),
)  # fmt: skip
