"""Kernels as functions of two points, and their Gram matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    curve_places,
    data_box,
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
    limits,
    line,
    picture,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, switch
from kilogram.book.scenes.kernel_curves import kernel_of


def _kernels(data: Points, c: Mapping[str, Any]) -> Recording:

    kernel, words = kernel_of(c)
    if c["printed"] and c["kernel"] == "gaussian":
        kernel, words = kernel_of({**c, "sigma": c["sigma"] ** 0.5})
    order = np.argsort(data.x)
    X = data.x[order][:, None]
    K = np.asarray(kernel(X, X))
    n = len(X)
    places = curve_places(data, 160)
    big = np.asarray(kernel(places, places))
    values, vectors = np.linalg.eigh(big)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = root @ np.random.default_rng(5).standard_normal((len(places), 4))
    centre = np.array([[0.0]])
    shape = np.asarray(kernel(places, centre)).ravel()
    spectrum = np.sort(np.linalg.eigvalsh(K))[::-1]
    shown = min(n, 20)
    box = data_box(data)[0]
    panels = [
        plane(data, "data", "Points (their x is used)", equal=False, layers=[data_points()]),
        Panel("shape", "k(x, 0)", box, limits([0, *shape]), [line(places, shape, color="accent", width=2.4)], x_label="x"),
        Panel("draws", "Functions the kernel prefers", box, limits(draws), [line(places, draws[:, j], color=f"c{j}", width=1.8) for j in range(4)]),
        Panel("matrix", "Kernel matrix, points in order of x", (0, n), (0, n), [picture(K, 0, 0, n, n, colors="accent")], equal=True, axes=False),
        Panel("spectrum", "Eigenvalues", (0.3, shown + 0.7), (0, float(spectrum[0]) * 1.05), [bars(range(1, shown + 1), np.maximum(spectrum[:shown], 0), 0.7)], small=True),
    ]  # fmt: skip
    return Recording(panels, [Frame("the kernel", {})], [("least eigenvalue", short(float(spectrum[-1]))), ("trace", short(float(np.trace(K))))],
                     python=python_lines("curve", f"K = {words}(X, X)"))  # fmt: skip


SCENES = (
    Scene(
        "kernels", "kernels", "Kernels",
        "A kernel says which points are similar. Its matrix, its eigenvalues and the functions it prefers are three views of one choice.",
        _kernels, data="curve", presets=("sine", "few", "gap"),
        controls=(choice("kernel", "kernel", (("gaussian", "Gaussian"), ("laplacian", "Laplacian"), ("matern", "Matérn 3/2"), ("polynomial", "cubic polynomial"), ("linear", "linear"))), log_slider("sigma", "width σ", 0.7, 0.05, 5.0), switch("printed", "as printed: 2σ below the Gaussian’s distance")),
        breaks=(Break("What the printed page gets wrong: σ is no width", "sine", {"printed": True, "sigma": 0.05}), Break("Narrow: every point for itself", "sine", {"sigma": 0.05}), Break("Wide: all points alike", "sine", {"sigma": 5.0})),
        question="Which kernel prefers rough functions?",
        answer="The Laplacian: its corner at 0 makes draws that are continuous but nowhere smooth. The Gaussian’s are smooth to every order.",
        names=("Gaussian", "Laplacian", "Matern"), min_points=2,
    ),
)  # fmt: skip
