"""How many clusters: criteria side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    faint_curves,
    plane,
    python_lines,
    short,
)
from kilogram.book.presets import CLOUDS
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene
from kilogram.evaluation.silhouette import silhouette_score
from kilogram.models.kmeans.kmeans import KMeans


def _choose(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    ks = [k for k in range(1, 9) if k <= len(np.unique(X, axis=0)) - 1] or [1]
    models = [KMeans(k, random_state=0, n_init=5).fit(X) for k in ks]
    inertia = np.array([m.inertia_ for m in models]) / max(models[0].inertia_, 1e-300)
    silhouettes = [
        float(silhouette_score(X, m.labels_)) if k > 1 else np.nan
        for k, m in zip(ks, models, strict=True)
    ]
    grid = data_grid(data)
    frames = []
    for i, (k, model) in enumerate(zip(ks, models, strict=True)):
        mu = model.cluster_centers_
        layers = [
            grid.regions(model.predict, faint=True),
            data_points(c=model.labels_),
            points(mu[:, 0], mu[:, 1], c=np.arange(k), shape="centre"),
        ]
        marks = [
            line(ks[: i + 1], inertia[: i + 1], color="c0"),
            points([k], [inertia[i]], color="c0", r=5),
        ]
        others = (
            [
                line(ks[1 : i + 1], silhouettes[1 : i + 1], color="c1"),
                points([k], [silhouettes[i]], color="c1", r=5),
            ]
            if i
            else []
        )
        frames.append(Frame(f"k = {k}", {"data": layers, "elbow": marks, "silhouette": others}, None,
                            [("within / total", short(float(inertia[i]))), ("silhouette", short(silhouettes[i]))]))  # fmt: skip
    best = ks[int(np.nanargmax(silhouettes))] if len(ks) > 1 else 1
    panels = [
        plane(data, "data", "K-means for each k", describe="points by cluster"),
        Panel(
            "elbow",
            "Within-cluster sum of squares",
            (0.5, 8.5),
            (0, 1.05),
            faint_curves(ks, inertia),
            x_label="k",
            describe="elbow",
            whole=True,
        ),
        Panel(
            "silhouette",
            "Silhouette",
            (0.5, 8.5),
            limits([0, 0.5, *silhouettes]),
            x_label="k",
            whole=True,
        ),
    ]
    return Recording(
        panels, frames, [("largest silhouette at k", best)],
        python=python_lines("cloud", f"model = kg.KMeans({ks[-1]}, random_state=0, n_init=5).fit(X)", "print(kg.choose_k(X))"),
        code="elbow", fitted={"inertia_": models[-1].inertia_}, start=ks.index(best),
    )  # fmt: skip


SCENES = (
    Scene(
        "choose_k", "choose_k", "How many clusters?",
        "K-means for every k. The sum of squares always falls; the silhouette compares a point’s own cluster with the next.",
        _choose, data="cloud", presets=CLOUDS, breaks=(Break("One group: the curves still bend", "one"), Break("Rings: k-means is the wrong question", "circles")),
        question="One single group: what does the elbow say?",
        answer="It bends all the same. Only a comparison with data without clusters (the gap statistic in kg.choose_k) shows that there are none.",
        names=("choose_k", "silhouette_score"), min_points=3,
    ),
)  # fmt: skip
