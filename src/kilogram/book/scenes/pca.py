"""Principal components: the line that moves least, and the variance along it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    plane,
    python_lines,
    short,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    ellipses,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.book.textbook_steps import record
from kilogram.kernels import Gaussian
from kilogram.models.pca.kernel_pca import KernelPCA
from kilogram.models.pca.pca import PCA


def _pca(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    model = PCA(n_components=2).fit(X)
    steps = record("pca", X, 2)
    mean = np.zeros(2) if c["printed"] else model.mean_
    scatter = (X - mean).T @ (X - mean) / len(X)
    values, vectors = np.linalg.eigh(scatter)
    values, W = values[::-1], vectors[:, ::-1]
    sd = np.sqrt(np.maximum(values, 0))
    feet = mean + np.outer((X - mean) @ W[:, 0], W[:, 0])
    axes = [line(mean[0] + np.array([-2, 2]) * sd[j] * W[0, j], mean[1] + np.array([-2, 2]) * sd[j] * W[1, j],
                 color="ink" if j == 0 else "muted", width=3 if j == 0 else 2) for j in range(2)]  # fmt: skip
    centre = points([mean[0]], [mean[1]], color="ink", shape="cross", r=6)
    stages = [[centre], [ellipses([mean], [scatter], 2.0, color="accent"), centre],
              [ellipses([mean], [scatter], 2.0, color="accent"), *axes, centre],
              [segments(X[:, 0], X[:, 1], feet[:, 0], feet[:, 1], width=1), *axes,
               points(feet[:, 0], feet[:, 1], color="accent", r=3), centre]]  # fmt: skip
    frames = [
        Frame(step.name, {"data": [data_points(), *stages[min(i, 3)]]}, step.line)
        for i, step in enumerate(steps)
    ]
    kernel = KernelPCA(n_components=2, kernel=Gaussian(c["sigma"])).fit(X)
    grid = data_grid(data, 44)
    component = np.asarray(kernel.transform(grid.places))[:, c["component"] - 1]
    spread = float(np.abs(component).max()) or 1.0
    beside = plane(data, "kernel", f"Kernel version, component {c['component']}",
                   layers=[grid.values(component, limit=spread, levels=spread * np.array([-0.6, -0.3, 0.3, 0.6])), data_points(color="ink")],
                   describe="the value of a kernel principal component at every place")  # fmt: skip
    fraction = values / values.sum() if values.sum() > 0 else values
    scree = Panel(
        "scree",
        "Explained variance",
        (0.4, 2.6),
        (0, 1.05),
        [bars([1, 2], fraction, 0.6)],
        x_label="component",
        small=True,
        whole=True,
    )
    title = "Principal axes" if not c["printed"] else "As printed: without centring"
    notes = (
        [
            "Printed in the cookbook: XX′ as covariance. Off the origin its leading direction is the mean."
        ]
        if c["printed"]
        else []
    )
    return Recording(
        [plane(data, "data", title, describe="points, their principal axes and projections"), beside, scree], frames,
        [("variance along the first axis", short(float(values[0]))), ("along the second", short(float(values[1])))],
        notes=notes, python=python_lines("cloud", "model = kg.PCA(2).fit(X)"), code="pca",
        fitted={"explained_variance_ratio_": model.explained_variance_ratio_, "mean_": model.mean_},
    )  # fmt: skip


SCENES = (
    Scene(
        "pca", "pca", "Principal components",
        "The direction of largest variance, then the largest across it. The kernel version does the same in the space of a kernel: its components are curved.",
        _pca, data="cloud", presets=("ellipse", "shifted", "moons", "circles", "blobs"),
        controls=(switch("printed", "as printed: without centring"), log_slider("sigma", "kernel width σ", 1.0, 0.1, 5.0), slider("component", "kernel component", 1, 1, 2, export=(1, 2))),
        breaks=(Break("What the printed page gets wrong: no centring", "shifted", {"printed": True}), Break("A ring has no principal direction", "circles"), Break("Groups: variance is not what parts them", "blobs")),
        question="Shift all points by the same vector. Do the axes turn?",
        answer="No, since the mean is subtracted first. The printed version without centring turns toward the mean: try it.",
        names=("PCA", "KernelPCA"), min_points=3,
    ),
)  # fmt: skip
