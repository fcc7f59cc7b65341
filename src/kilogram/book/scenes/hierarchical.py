"""Hierarchical clustering: merges, and the tree they draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.cluster import hierarchy

from kilogram.book.drawing import (
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.presets import CLOUDS
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    line,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, slider
from kilogram.models.hierarchical.agglomerative import AgglomerativeClustering


def _hierarchical(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    if len(X) > 250:
        raise BookError("A dendrogram of more than 250 points cannot be read: delete some.")
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = AgglomerativeClustering(n_clusters=c["k"], linkage=c["linkage"]).fit(X)
    Z = hierarchy.linkage(X, c["linkage"])
    tree = hierarchy.dendrogram(Z, no_plot=True)
    xs, ys = np.array(tree["icoord"]) / 10, np.array(tree["dcoord"])  # a leaf every whole number
    leaves = np.array(tree["leaves"])
    heights = Z[:, 2]
    top = float(heights[-1]) * 1.15  # with room for the name of the axis
    counts = thin_counts(len(X))
    frames = []
    for count in counts:
        labels = np.asarray(hierarchy.fcluster(Z, count, "maxclust")) - 1
        cut = (
            float((heights[-count] + (heights[-count + 1] if count > 1 else top)) / 2)
            if count <= len(heights)
            else 0.0
        )
        edges = _cluster_links(X, D, labels)
        frames.append(Frame(
            f"{count} cluster{'s' * (count != 1)}", {"data": [edges, data_points(c=labels)], "tree": [*_links(xs, ys, labels[leaves], cut), line([0, len(X)], [cut, cut], color="accent", dash=True)]},
            None, [("clusters", int(labels.max()) + 1), ("height of the cut", short(cut))],
        ))  # fmt: skip
    dendrogram = Panel(
        "tree",
        "Dendrogram",
        (0, len(X)),
        (0, top),
        x_label="points, by cluster",
        y_label="distance",
        describe="the tree of mergers with the cut; below it a colour for each cluster",
    )
    return Recording(
        [plane(data, "data", f"Clusters, {c['linkage']} linkage", describe="points by cluster"), dendrogram], frames,
        python=python_lines("cloud", f"model = kg.AgglomerativeClustering({c['k']}, linkage={c['linkage']!r}).fit(X)"),
        code="hierarchical", fitted={"n_clusters_": model.n_clusters_}, start=int(np.argmin([abs(count - c['k']) for count in counts])),
    )  # fmt: skip


def _links(xs: np.ndarray, ys: np.ndarray, labels: np.ndarray, cut: float) -> list[dict[str, Any]]:
    """The pieces of the tree: below the cut in the colours of their clusters, `labels` by place."""
    color = np.where(ys.max(axis=1) <= cut, labels[xs[:, 0].astype(int)], -1)
    found = []
    for c in np.unique(color):
        x, y = xs[color == c], ys[color == c]
        found.append(
            segments(
                x[:, :3].ravel(),
                y[:, :3].ravel(),
                x[:, 1:].ravel(),
                y[:, 1:].ravel(),
                color="ink" if c < 0 else f"c{c % 8}",
                width=1 if c < 0 else 1.6,
            )
        )
    return found


def thin_counts(n: int) -> list[int]:
    """Numbers of clusters to show, from all points down to one."""
    return sorted(
        {min(n, v) for v in (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 45, 70, 110, 170, 250)},
        reverse=True,
    )


def _cluster_links(X: np.ndarray, D: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Each point joined to its nearest one of the same cluster."""
    same = np.where(labels[:, None] == labels[None], D, np.inf) + np.diag(np.full(len(X), np.inf))
    near = same.argmin(axis=1)
    own = np.isfinite(same[np.arange(len(X)), near])
    return segments(X[own, 0], X[own, 1], X[near[own], 0], X[near[own], 1], color="muted", width=1)


SCENES = (
    Scene(
        "hierarchical", "hierarchical", "Hierarchical clustering",
        "Every point begins as a cluster; the closest two merge. Where the dendrogram is cut decides how many remain.",
        _hierarchical, data="cloud", presets=CLOUDS,
        controls=(choice("linkage", "linkage", (("single", "single"), ("complete", "complete"), ("average", "average"), ("ward", "Ward"))), slider("k", "clusters", 3, 1, 10, export=(2, 3, 4))),
        breaks=(Break("Complete linkage cuts rings", "circles", {"linkage": "complete"}), Break("Single linkage chains through noise", "one", {"linkage": "single"})),
        question="Which linkage finds the two rings?",
        answer="Single: it follows neighbours. Complete and Ward want compact clusters.",
        names=("AgglomerativeClustering", "dendrogram"), min_points=3,
    ),
)  # fmt: skip
