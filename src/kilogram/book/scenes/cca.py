"""Canonical correlation of two views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, switch
from kilogram.book.tables import (
    two_views,
    views_at,
)
from kilogram.book.textbook_steps import record
from kilogram.kernels import Gaussian
from kilogram.models.cca.cca import CCA
from kilogram.models.cca.kernel_cca import KernelCCA


def _correlation(scores: tuple[Any, Any]) -> float:
    """Correlation of the first pair of scores."""
    return float(np.abs(np.corrcoef(np.ravel(scores[0]), np.ravel(scores[1]))[0, 1]))


def _view_points(c: Mapping[str, Any]) -> Points:
    """The view whose points can be moved, row by row."""
    X, Y, t = two_views(c["kind"])
    return Points(X if c["view"] == "x" else Y, np.arange(1, len(t) + 1))


def _cca(data: Points, c: Mapping[str, Any]) -> Recording:
    X, Y = views_at(np.column_stack([data.xy, data.labels]), c["kind"], c["view"])
    t = np.where(data.labels > 0, two_views(c["kind"])[2][data.labels - 1], np.nan)
    if np.ptp(X, axis=0).min() == 0 or np.ptp(Y, axis=0).min() == 0:
        raise BookError("A column is constant here and correlates with nothing: move a point.")
    linear = CCA(n_components=1).fit(X, Y)
    alpha = 1e-7 if c["printed"] else c["alpha"]
    kernel = KernelCCA(n_components=1, kernel=Gaussian(c["sigma"]), alpha=alpha).fit(X, Y)
    fresh = two_views(c["kind"], seed=3)[:2]
    new = [_correlation(model.transform(*fresh)) for model in (linear, kernel)]
    U, V = (np.ravel(s) for s in linear.transform(X, Y))
    P, Q = (np.ravel(s) for s in kernel.transform(X, Y))
    steps = record("cca_two_views", X, Y, 1)
    color = np.nan_to_num(np.clip(np.floor((t + 3) / 6 * 5), 0, 4), nan=-1)
    views = [plane(data, name, f"{title}, to be moved", equal=False, layers=[data_points(c=color, r=3.6)], x_label="column 1", y_label="column 2") if name == c["view"] else
             Panel(name, title, limits(Z[:, 0]), limits(Z[:, 1]), [points(Z[:, 0], Z[:, 1], c=color, r=3.2)], x_label="column 1", y_label="column 2")
             for name, title, Z in (("x", "View X", X), ("y", "View Y", Y))]  # fmt: skip
    scores = [Panel(name, f"{title}: correlation {np.corrcoef(a, b)[0, 1]:.2f}", limits(a), limits(b), [points(a, b, c=color, r=3.2)], x_label="score of X", y_label="score of Y")
              for name, title, a, b in (("linear", "Linear", U, V), ("kernel", "Kernel", P, Q))]  # fmt: skip
    frames = []
    for i, step in enumerate(steps):
        arrows: dict[str, Any] = {}
        if i == len(steps) - 1:
            for name, w in (("x", step.state["A"][:, 0]), ("y", step.state["B"][:, 0])):
                w = 2 * w / np.linalg.norm(w)
                arrows[name] = [segments([-w[0]], [-w[1]], [w[0]], [w[1]], color="ink", width=3)]
        frames.append(Frame(step.name, arrows, step.line))
    rho = float(np.abs(np.corrcoef(U, V)[0, 1]))
    lines = [
        "from kilogram.book.tables import views_at",
        f"X, Y = views_at(T, {c['kind']!r}, {c['view']!r})",
        "model = kg.CCA(n_components=1).fit(X, Y)",
    ]
    return Recording(
        [*views, *scores], frames, [("linear correlation", short(rho)), ("kernel correlation", short(float(np.abs(np.corrcoef(P, Q)[0, 1])))),
         ("linear, fresh rows", short(new[0])), ("kernel, fresh rows", short(new[1]))],
        notes=["Colours follow the hidden variable t, which no method sees."],
        python=python_lines("rows", *lines), code="cca_two_views", fitted={"correlations_": linear.correlations_},
    )  # fmt: skip


SCENES = (
    Scene(
        "cca", "cca", "Canonical correlations",
        "Two views of the same rows. The directions whose scores correlate most show what the views share; the kernel version finds shared curves.",
        _cca, data="rows", presets=("sample",), classes=161, draw=_view_points, redraws=("kind", "view"), min_points=5,
        controls=(choice("view", "points to move", (("x", "those of view X"), ("y", "those of view Y")), export=("x",)), choice("kind", "relation", (("sine", "a sine"), ("line", "a line"), ("parabola", "a parabola"))), log_slider("sigma", "kernel width σ", 0.8, 0.1, 5.0), log_slider("alpha", "penalty of the kernel version", 0.1, 1e-3, 10.0), switch("printed", "as printed: the kernel version without a penalty")),
        breaks=(Break("What the printed page gets wrong: correlation 1, and none on fresh rows", controls={"printed": True}), Break("A parabola: no linear correlation at all", controls={"kind": "parabola"}), Break("No penalty: a perfect and worthless correlation", controls={"alpha": 0.001, "sigma": 0.15})),
        question="A parabola is a perfect dependence. What does linear CCA say?",
        answer="Nothing: the correlation of t and t² is zero for symmetric t. The kernel version sees it.",
        names=("CCA", "KernelCCA"),
    ),
)  # fmt: skip
