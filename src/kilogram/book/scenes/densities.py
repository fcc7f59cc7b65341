"""Densities: histograms, kernels and density trees."""

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
    data_points,
    limits,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene
from kilogram.models.density.kernel_density import KernelDensity


def _density(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    widths = np.geomspace(0.06, 2.0, 18)
    loo = []
    for h in widths:
        U = ((X[:, None] - X[None]) ** 2).sum(axis=2) / h**2
        P = np.exp(-U / 2) / (2 * np.pi * h**2)
        np.fill_diagonal(P, 0)
        loo.append(float(np.mean(np.log(np.maximum(P.sum(axis=1) / max(len(X) - 1, 1), 1e-12)))))
    grid = data_grid(data, 48)
    frames = []
    logs = np.log10(widths)
    for i, h in enumerate(widths):
        model = KernelDensity(bandwidth=float(h)).fit(X)
        p = np.exp(model.score_samples(grid.places))
        top = float(p.max())
        layers = [
            grid.values(p, levels=top * np.array([0.1, 0.3, 0.5, 0.7, 0.9])),
            data_points(r=3),
        ]
        frames.append(Frame(f"width {h:.2g}", {"data": layers, "loo": [line(logs[: i + 1], loo[: i + 1], color="accent"), points(logs[i : i + 1], loo[i : i + 1], color="accent", r=5)]},
                            None, [("log likelihood, left out", short(loo[i]))]))  # fmt: skip
    best = widths[int(np.argmax(loo))]
    panel = Panel("loo", "Each point under the others", (logs[0], logs[-1]), limits(np.maximum(loo, np.max(loo) - 4), 0.1), [line(logs, loo, color="muted", width=1)],
                  x_label="log10 width", small=True)  # fmt: skip
    final = KernelDensity(bandwidth=float(widths[-1])).fit(X)
    return Recording(
        [plane(data, "data", "Kernel density", describe="points and the level lines of the density"), panel], frames, [("best width", short(float(best)))],
        python=python_lines("cloud", f"model = kg.KernelDensity(bandwidth={float(widths[-1])!r}).fit(X)"), code="kernel_density",
        fitted={"bandwidth_": final.bandwidth_} if hasattr(final, "bandwidth_") else {}, start=int(np.argmax(loo)),
    )  # fmt: skip


SCENES = (
    Scene(
        "densities", "densities", "Kernel density",
        "A small bump on every point, averaged. Play widens the bumps; the best width is the one under which each point is likely given the others.",
        _density, data="cloud", presets=("blobs", "moons", "circles", "unequal", "one"),
        breaks=(Break("Groups of unequal spread: no single width fits", "unequal"),),
        question="As the width goes to zero, what happens to the likelihood of the points themselves?",
        answer="It grows without bound: each point sits on its own spike. Leaving the point out shows the truth.",
        names=("KernelDensity",), min_points=2,
    ),
)  # fmt: skip
