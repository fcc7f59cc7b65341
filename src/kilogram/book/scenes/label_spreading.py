"""Semi-supervised learning: labels that spread along the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    percent,
    plane,
    python_lines,
)
from kilogram.book.recording import (
    Frame,
    Recording,
    data_points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider
from kilogram.book.textbook_steps import record, thinned
from kilogram.models.semi_supervised.label_spreading import LabelSpreading


def _spreading(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    rng = np.random.default_rng(c["seed"])
    known = np.concatenate(
        [
            rng.choice(
                np.flatnonzero(y == k), min(c["labelled"], int(np.sum(y == k))), replace=False
            )
            for k in np.unique(y)
        ]
    )
    given = np.full(len(y), -1)
    given[known] = y[known]
    gamma = 1 / (2 * c["sigma"] ** 2)
    model = LabelSpreading(kernel="rbf", gamma=gamma, alpha=0.8).fit(X, given)
    A = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(A, 0)
    classes = np.unique(y)
    Y = (given[:, None] == classes).astype(float)
    steps = thinned(record("label_spreading", A, Y, 0.8, 60), 24)
    frames = []
    for i, step in enumerate(steps):
        F = np.asarray(step.state["F"])
        sure = F.max(axis=1) > 1e-6
        labels = (
            model.transduction_
            if i == len(steps) - 1
            else np.where(sure, classes[F.argmax(axis=1)], -1)
        )
        ring = np.isin(np.arange(len(y)), known).astype(int)
        frames.append(
            Frame(
                step.name,
                {"data": [data_points(c=labels, ring=ring)]},
                step.line,
                [("points with a label", int(np.sum(labels >= 0)))],
            )
        )
    wrong = float(np.mean(model.transduction_ != y))
    beside = plane(data, "truth", "The true classes", layers=[data_points(c=y)])
    fit = [
        f"known = {known.tolist()}; given = np.full(len(y), -1); given[known] = y[known]",
        f'model = kg.LabelSpreading(kernel="rbf", gamma={gamma!r}, alpha=0.8).fit(X, given)',
    ]
    return Recording(
        [plane(data, "data", "Labels spreading", describe="ringed points have a label; the others receive one"), beside], frames,
        [("labelled points", len(known)), ("wrong at the end", percent(wrong))],
        python=python_lines("classes", *fit), code="label_spreading", fitted={"transduction_": model.transduction_},
    )  # fmt: skip


SCENES = (
    Scene(
        "label_spreading", "semi_supervised", "Semi-supervised learning",
        "Only the ringed points have a label. It spreads to their neighbours, and from them to theirs, until whole groups have it.",
        _spreading, data="classes", presets=("moons", "circles", "two", "overlap"),
        controls=(slider("labelled", "labels per class", 2, 1, 10, export=(1, 2, 5)), log_slider("sigma", "reach σ", 0.25, 0.05, 3.0), slider("seed", "which points have a label", 0, 0, 20, export=(0, 1))),
        breaks=(Break("Reach too long: distance alone decides", "moons", {"sigma": 2.0}), Break("Overlap: labels leak across", "overlap")),
        question="One label per moon: is that enough?",
        answer="Yes, as long as the moons are denser inside than the gap between them.",
        names=("LabelSpreading",), min_points=4,
    ),
)  # fmt: skip
