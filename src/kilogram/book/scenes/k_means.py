"""K-means beside kernel k-means: Lloyd's algorithm round by round."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    matched_labels,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import Frame, Recording, data_points, line, points
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.kmeans.kernel_kmeans import KernelKMeans
from kilogram.models.kmeans.kmeans import KMeans


def _starts(X: np.ndarray, k: int, start: str, seed: int) -> np.ndarray:
    """The rows at which the centres begin."""
    rng = np.random.default_rng(seed)
    if start == "k-means++":
        return np.asarray(record("k_means_plus_plus", X, k, rng)[-1].state["chosen"])
    if start == "corner":
        return np.argsort(X.sum(axis=1))[:k]
    return np.sort(rng.choice(len(X), k, replace=False))


def _nearest(centres: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(((Z[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1))


def _run(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = data.xy, c["k"]
    if k > len(np.unique(X, axis=0)):
        raise BookError(f"{k} clusters need {k} different points: add some or choose a smaller k.")
    starts = _starts(X, k, c["start"], c["seed"])
    steps = thinned(record("k_means", X, X[starts]))
    model = KMeans(n_clusters=k, init=X[starts], n_init=1, tol=0).fit(X)
    grid = data_grid(data)
    values = [
        float(np.sum(np.linalg.norm(X - s.state["mu"][np.maximum(s.state["c"], 0)], axis=1)))
        if c["printed"] and s.state["c"].min() >= 0
        else None
        if c["printed"]
        else s.state.objective
        for s in steps
    ]
    title = "J as printed: without the square" if c["printed"] else "Objective J"
    panel, mark = objective_panel(values, title=title)
    panels = [plane(data, "data", "K-means", describe="the points, coloured by cluster"), panel]
    frames = []
    for i, step in enumerate(steps):
        mu = step.state["mu"]
        trail = np.array([s.state["mu"] for s in steps[: i + 1]])
        layers = [grid.regions(partial(_nearest, mu), faint=True)]
        layers += [line(trail[:, j, 0], trail[:, j, 1], color=f"c{j}", dash=True) for j in range(k)]
        layers += [
            data_points(c=step.state["c"]),
            points(mu[:, 0], mu[:, 1], c=np.arange(k), shape="centre"),
        ]
        frames.append(Frame(step.name, {"data": layers, "objective": mark(i)}, step.line))
    fit = f"model = kg.KMeans({k}, init=X[{starts.tolist()}], n_init=1, tol=0).fit(X)"
    recording = Recording(
        panels, frames, [("J at the end", short(model.inertia_)), ("iterations", model.n_iter_)],
        python=python_lines("cloud", fit), code="k_means",
        fitted={"inertia_": model.inertia_, "labels_": model.labels_},
    )  # fmt: skip
    if c["kernel"]:
        _add_kernel(recording, data, c, model.labels_)
    return recording


def _add_kernel(recording: Recording, data: Points, c: Mapping[str, Any], like: np.ndarray) -> None:
    """Kernel k-means on the same points, in a panel beside."""
    kernel = KernelKMeans(n_clusters=c["k"], kernel=Gaussian(c["sigma"]), random_state=c["seed"])
    labels = kernel.fit_predict(data.xy)
    color = matched_labels(labels, like)
    grid = data_grid(data)
    layers = [
        grid.regions(lambda Z: color[kernel.predict(Z)], faint=True),
        data_points(c=color[labels]),
    ]
    beside = plane(
        data, "kernel", f"Kernel k-means, σ = {c['sigma']:.2g}", layers=layers,
        describe="the same points, coloured by cluster of kernel k-means",
    )  # fmt: skip
    recording.panels = [recording.panels[0], beside, recording.panels[1]]


SCENES = (
    Scene(
        "kmeans", "clusters", "K-means",
        "Assign every point to its nearest centre, move every centre to the mean of its points, repeat. "
        "The objective J can only fall.",
        _run, data="cloud", presets=("blobs", "unequal", "long", "circles", "moons", "one"),
        controls=(
            slider("k", "clusters k", 3, 1, 8, export=(2, 3, 4, 5)),
            choice("start", "start", (("random", "random rows"), ("k-means++", "k-means++"),
                                      ("corner", "all in one corner"))),
            slider("seed", "random seed", 1, 0, 20, export=(1, 2)),
            switch("printed", "as printed: J without the square"),
            switch("kernel", "kernel version beside", True),
            log_slider("sigma", "kernel width σ", 1.0, 0.1, 4.0),
        ),
        breaks=(
            Break("Rings: no straight border parts them", "circles", {"k": 2, "sigma": 0.5}),
            Break("Unequal groups are cut halfway", "unequal", {"k": 3}),
            Break("A poor start ends in a poor minimum", "blobs", {"k": 4, "start": "corner"}),
            Break("One group is divided all the same", "one", {"k": 4}),
        ),
        question="Start all centres in one corner. Do they still find the three groups?",
        answer="Often not: each step lowers J, but only to the nearest local minimum. k-means++ spreads "
        "the first centres, and several starts (n_init) keep the best.",
        names=("KMeans", "KernelKMeans"), min_points=1,
    ),
)  # fmt: skip
