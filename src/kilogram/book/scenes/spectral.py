"""Spectral clustering: the graph, its eigenvectors, the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    matched_labels,
    plane,
    python_lines,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    picture,
    points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.kmeans.kmeans import KMeans
from kilogram.models.spectral.spectral_clustering import SpectralClustering


def _spectral(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = data.xy, c["k"]
    if k >= len(np.unique(X, axis=0)):
        raise BookError(f"{k} clusters need more than {k} different points.")
    K = np.asarray(Gaussian(c["sigma"])(X, X))
    run = "spectral_clustering" if c["printed"] else "normalised_cut"
    letter = "H_hat" if c["printed"] else "F"
    steps = thinned(record(run, K, k), 14)
    model = SpectralClustering(n_clusters=k, gamma=1 / (2 * c["sigma"] ** 2), random_state=0).fit(X)
    plain = KMeans(k, random_state=0, n_init=10).fit(X)
    order = np.argsort(model.labels_, kind="stable")
    n = len(X)
    matrix = Panel(
        "matrix",
        "Affinities, points by cluster",
        (0, n),
        (0, n),
        [picture(K[np.ix_(order, order)], 0, 0, n, n, colors="accent")],
        equal=True,
        axes=False,
    )
    F = np.asarray(steps[-1].state[letter])
    embed = Panel(
        "embed",
        "Points by two eigenvectors",
        limits(F[:, 0]),
        limits(F[:, 1]) if F.shape[1] > 1 else (-1, 1),
        x_label="first",
        y_label="second",
    )
    frames = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        labels = (
            model.labels_
            if last and not c["printed"]
            else step.state["c"]
            if "c" in step.state.arrays and step.state["c"].min() >= 0
            else np.full(n, -1)
        )
        place = (
            [points(F[:, 0], F[:, 1] if F.shape[1] > 1 else np.zeros(n), c=labels, r=4)]
            if letter in step.state.arrays
            else []
        )
        frames.append(
            Frame(step.name, {"data": [data_points(c=labels)], "embed": place}, step.line)
        )
    beside = plane(
        data, "plain", "K-means on the same points",
        layers=[data_points(c=matched_labels(plain.labels_, model.labels_)[plain.labels_])],
    )  # fmt: skip
    return Recording(
        [plane(data, "data", "As printed: without degrees" if c["printed"] else "Spectral clustering", describe="points by cluster"), beside, embed, matrix], frames,
        python=python_lines("cloud", f"model = kg.SpectralClustering({k}, gamma=1 / (2 * {c['sigma']}**2), random_state=0).fit(X)"),
        code=run, fitted={"labels_": model.labels_},
    )  # fmt: skip


SCENES = (
    Scene(
        "spectral", "spectral", "Spectral clustering",
        "Points are joined by affinities; the leading eigenvectors place connected points together, and k-means finds the rest easy.",
        _spectral, data="cloud", presets=("circles", "moons", "long", "blobs", "one"),
        controls=(slider("k", "clusters k", 2, 2, 6, export=(2, 3)), log_slider("sigma", "width of the affinity σ", 0.3, 0.05, 3.0), switch("printed", "as printed: eigenvectors of the kernel matrix itself")),
        breaks=(Break("Too wide: it is k-means again", "circles", {"sigma": 2.0}), Break("One group: a cut all the same", "one")),
        question="Why does k-means succeed on the eigenvectors where it failed on the points?",
        answer="Connected points have nearly equal rows there: the rings have become two small groups.",
        names=("SpectralClustering",), min_points=4,
    ),
)  # fmt: skip
