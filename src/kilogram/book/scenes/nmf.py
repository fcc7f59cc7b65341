"""Non-negative factors: pictures as sums of parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    HI,
    LO,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.misprints import factors_at_once, printed_steps
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    picture,
)
from kilogram.book.scene import Break, Points, Scene, choice, slider, switch
from kilogram.book.tables import (
    digits,
    drawing,
    faces,
)
from kilogram.book.textbook_steps import record, thinned
from kilogram.models.factorization.nmf import NMF
from kilogram.models.pca.pca import PCA


def _mosaic(rows: np.ndarray, across: int) -> list[dict[str, Any]]:
    """Rows of pixels as small square pictures side by side."""
    layers, side = [], int(np.sqrt(rows.shape[1]))
    for i, row in enumerate(rows):
        x, y = i % across, i // across
        layers.append(
            picture(
                row.reshape(side, side),
                1.1 * x,
                -1.1 * y - 1,
                1.1 * x + 1,
                -1.1 * y,
                colors="grey",
                lo=0.0,
                hi=float(row.max()) or 1.0,
            )
        )
    return layers


OWN = 12  # rows that the reader's picture fills: one of hundreds would change no part
NOISE = 2e-3  # of the largest variance: a smaller component of the drawn faces is their noise


def _drawn(kind: str) -> np.ndarray:
    return {"digits": digits, "faces": faces}[kind]()


def _pictures(kind: str) -> np.ndarray:
    return _drawn(kind).copy()


def _own_picture(c: Mapping[str, Any]) -> Points:
    """The dark pixels of one of the pictures, as points to move, delete and paint."""
    pixels = _pictures(c["pictures"])[3]
    side = int(np.sqrt(len(pixels)))
    row, column = np.divmod(np.flatnonzero(pixels > 0.5), side)
    xy = 6 / side * np.stack([column + 0.5, side - row - 0.5], axis=1) - 3
    return Points(xy, np.zeros(len(xy), dtype=int))


def _nmf(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = _pictures(c["pictures"]), c["parts"]
    side = int(np.sqrt(X.shape[1]))
    X[:OWN] = drawing(np.column_stack([data.xy, data.labels]), side)
    rng = np.random.default_rng(0)
    start = rng.random((len(X), k)) + 0.1, rng.random((k, X.shape[1])) * X.mean() + 0.01
    steps = (
        thinned(printed_steps(factors_at_once(X, *start)), 26)
        if c["printed"]
        else thinned(record("nmf", X, *start, m=60), 26)
    )
    model = NMF(n_components=k, init="nndsvda", random_state=0, max_iter=500, tol=1e-3)
    W = model.fit_transform(X)
    parts = model.components_
    across = 4 if k <= 16 else 5
    panel, mark = objective_panel([s.state.objective for s in steps], title="|X − WH|²")
    frames = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1 and not c["printed"]
        H = parts if last else step.state["H"]
        frames.append(
            Frame(
                "kg.NMF at the end" if last else step.name,
                {"parts": _mosaic(H, across), "objective": mark(i)},
                None if last else step.line,
            )
        )
    title = "As printed: both factors at once" if c["printed"] else f"NMF: {k} parts"
    panels = [
        _own_panel(data, (W @ parts)[0]),
        *_mosaic_panels(title, X, W @ parts, k, across),
        panel,
    ]
    lines = [f"from kilogram.book.tables import drawing, {c['pictures']}", f"X = {c['pictures']}()",
             f"X[:{OWN}] = drawing(np.loadtxt('points.csv', delimiter=','), {side})",
             f'model = kg.NMF({k}, init="nndsvda", random_state=0, max_iter=500, tol=1e-3).fit(X)']  # fmt: skip
    return Recording(panels, frames, [("reconstruction error", short(float(model.reconstruction_err_)))],
                     notes=[f"Your picture counts like {OWN} of the others. An empty square: a component of hardly any variance."],
                     python=python_lines("none", *lines), code="nmf", fitted={"reconstruction_err_": model.reconstruction_err_})  # fmt: skip


def _own_panel(data: Points, rebuilt: np.ndarray) -> Panel:
    """The reader's picture over its reconstruction."""
    side = int(np.sqrt(len(rebuilt)))
    shown = picture(rebuilt.reshape(side, side), LO, LO, HI, HI, colors="accent", lo=0.0, hi=1.0)
    return plane(
        data, "data", "Your picture, and rebuilt", layers=[shown, data_points(r=3)], axes=False,
        describe="dark pixels that can be moved, deleted and painted, over their reconstruction",
    )  # fmt: skip


def _mosaic_panels(
    title: str, X: np.ndarray, rebuilt: np.ndarray, k: int, across: int
) -> list[Panel]:
    """Parts (they come with the frames), some pictures with their reconstructions, components."""
    box = (-0.05, 1.1 * across - 0.05), (0.05 - 1.1 * -(-k // across), 0.05)
    shown = np.r_[0, OWN : OWN + 7]
    seen = _mosaic(np.concatenate([X[shown], rebuilt[shown]]), 8)
    components = PCA(n_components=k).fit(X)
    spread = components.explained_variance_
    axes = components.components_ * (spread > NOISE * spread[0])[:, None]
    signed = [dict(layer, colors="signed") for layer in _signed_mosaic(axes, across)]
    words = "non-negative parts of the pictures"
    return [
        Panel("parts", title, *box, axes=False, equal=True, describe=words),
        Panel("seen", "Pictures, and rebuilt from parts", (-0.05, 8.75), (-2.15, 0.05), seen, axes=False, equal=True),
        Panel("pca", "PCA: components of both signs", *box, signed, axes=False, equal=True),
    ]  # fmt: skip


def _signed_mosaic(rows: np.ndarray, across: int) -> list[dict[str, Any]]:
    side, tops = int(np.sqrt(rows.shape[1])), np.abs(rows).max(axis=1) + 1e-12
    return [picture(row.reshape(side, side), 1.1 * (i % across), -1.1 * (i // across) - 1, 1.1 * (i % across) + 1, -1.1 * (i // across), lo=-top, hi=top)
            for i, (row, top) in enumerate(zip(rows, tops, strict=True))]  # fmt: skip


SCENES = (
    Scene(
        "nmf", "factors", "Parts of pictures",
        "Non-negative factors can only add: the parts are hair, brows and mouths, or strokes of digits. Principal components add and cancel, and look like nothing.",
        _nmf, data="cloud", presets=("sample",), draw=_own_picture, redraws=("pictures",), min_points=0,
        controls=(choice("pictures", "pictures", (("faces", "drawn faces"), ("digits", "handwritten digits"))), slider("parts", "parts", 12, 4, 20, export=(4, 8, 12, 16)), switch("printed", "as printed: both factors from the old ones")),
        breaks=(Break("What the printed page gets wrong: the error need not fall", controls={"printed": True}), Break("Too few parts: whole digits", controls={"parts": 4, "pictures": "digits"}),),
        question="Why do NMF’s parts have so many exact zeros?",
        answer="A part cannot be cancelled by another, so a pixel that is often white must be zero in it.",
        names=("NMF", "PCA"),
    ),
)  # fmt: skip
