"""Manifolds: a rolled sheet, flattened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    plane,
    python_lines,
)
from kilogram.book.errors import BookError
from kilogram.book.misprints import weights_of_length_one
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, slider, switch
from kilogram.book.tables import (
    VIEW,
    bent_sheet,
    sheet_at,
)
from kilogram.book.textbook_steps import record
from kilogram.models.manifold.classical_mds import ClassicalMDS
from kilogram.models.manifold.isomap import Isomap
from kilogram.models.manifold.locally_linear import LocallyLinearEmbedding
from kilogram.models.manifold.mds import MDS

_METHODS = (
    ("standard", "standard"),
    ("modified", "modified"),
    ("hessian", "Hessian"),
    ("ltsa", "tangent spaces (LTSA)"),
)


def _sheet_points(c: Mapping[str, Any]) -> Points:
    """The sheet as it is seen, row by row."""
    X, t = bent_sheet(c["kind"])
    return Points(X @ VIEW, np.arange(1, len(t) + 1))


def _manifold(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = sheet_at(np.column_stack([data.xy, data.labels]), c["kind"]), c["k"]
    if len(X) <= k + 1:
        raise BookError(f"{k} neighbours need more than {k + 1} points.")
    t = bent_sheet(c["kind"])[1]
    color = np.where(data.labels > 0, np.clip(np.floor(t * 6), 0, 5)[data.labels - 1], -1)
    found = {
        "lle": (
            f"Locally linear embedding, {dict(_METHODS)[c['method']]}",
            LocallyLinearEmbedding(n_neighbors=k, method=c["method"]).fit_transform(X),
        ),
        "isomap": (
            "Isomap: distances along the sheet",
            Isomap(n_neighbors=k, n_components=2).fit_transform(X),
        ),
        "mds": (
            ("Classical scaling: straight distances", ClassicalMDS(n_components=2).fit_transform(X))
            if c["scaling"] == "classical"
            else ("MDS by stress: straight distances", MDS(max_iter=100).fit_transform(X))
        ),
    }
    steps = record("locally_linear_embedding", X, k)
    near = np.asarray(steps[0].state["near"])
    if c["printed"]:
        title = "As printed: weights divided by their norm"
        found["lle"] = (title, weights_of_length_one(X, near))
    flat = data.xy
    i, j = np.repeat(np.arange(len(X)), near.shape[1]), near.ravel()
    edges = segments(flat[i, 0], flat[i, 1], flat[j, 0], flat[j, 1], color="muted", width=0.5)
    panels = [
        plane(
            data,
            "data",
            "The sheet in space",
            equal=False,
            axes=False,
            describe="points of a bent sheet, coloured along it",
        )
    ]
    for name, (title, Z) in found.items():
        panels.append(Panel(name, title, limits(Z[:, 0]), limits(Z[:, 1]), axes=False))
    frames = []
    for s, step in enumerate(steps):
        layers: dict[str, Any] = {"data": [*([edges] if s == 0 else []), data_points(c=color, r=3)]}
        for name, (_, Z) in found.items():
            if name != "lle" or s == len(steps) - 1:
                layers[name] = [points(Z[:, 0], Z[:, 1], c=color, r=3)]
        frames.append(Frame(step.name, layers, step.line))
    lines = [
        "from kilogram.book.tables import sheet_at",
        f"X = sheet_at(T, {c['kind']!r})",
        f"model = kg.LocallyLinearEmbedding(n_neighbors={k}, method={c['method']!r}).fit(X)",
    ]
    return Recording(panels, frames, notes=["Colours follow the position along the sheet, which no method sees. A point moves across the line of sight."],
                     python=python_lines("rows", *lines), code="locally_linear_embedding", fitted={"n_features_in_": 3})  # fmt: skip


SCENES = (
    Scene(
        "manifolds", "manifolds", "Unrolling a sheet",
        "A flat sheet, bent in space. Straight distances jump across the gaps between its layers; methods that look at neighbours follow the sheet.",
        _manifold, data="rows", presets=("sample",), classes=301, draw=_sheet_points, redraws=("kind",), min_points=6,
        controls=(choice("kind", "sheet", (("roll", "a roll"), ("s", "an S"))), slider("k", "neighbours", 10, 4, 40, export=(5, 10, 40)),
                  choice("method", "weights of LLE", _METHODS), choice("scaling", "scaling", (("classical", "classical (eigenvectors)"), ("stress", "MDS (stress)"))), switch("printed", "as printed: LLE’s weights divided by their norm")),
        breaks=(Break("Too many neighbours: a short cut through the roll", controls={"k": 40}), Break("Too few: the sheet tears", controls={"k": 5}), Break("What the printed page gets wrong: weights that do not sum to 1", controls={"printed": True}), Break("One weight vector for each point leaves the sheet bent: modified weights flatten it", controls={"method": "modified"})),
        question="Why can classical scaling not unroll the roll?",
        answer="It keeps straight distances, and they are short between layers. Isomap measures along the sheet.",
        names=("LocallyLinearEmbedding", "Isomap", "ClassicalMDS", "MDS"),
    ),
)  # fmt: skip
