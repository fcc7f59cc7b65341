"""Two views, parts of pictures, manifolds and semi-supervised learning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    HI,
    LO,
    objective_panel,
    percent,
    plane,
    python_lines,
    short,
)
from kilogram.book.misprints import factors_at_once, printed_steps, weights_of_length_one
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    picture,
    points,
    segments,
)
from kilogram.book.scene import BookError, Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.tables import (
    VIEW,
    bent_sheet,
    digits,
    drawing,
    faces,
    sheet_at,
    two_views,
    views_at,
)
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.cca.cca import CCA
from kilogram.models.cca.kernel_cca import KernelCCA
from kilogram.models.factorization.nmf import NMF
from kilogram.models.manifold.classical_mds import ClassicalMDS
from kilogram.models.manifold.isomap import Isomap
from kilogram.models.manifold.locally_linear import LocallyLinearEmbedding
from kilogram.models.manifold.mds import MDS
from kilogram.models.pca.pca import PCA
from kilogram.models.semi_supervised.label_spreading import LabelSpreading


def _correlation(scores: tuple[Any, Any]) -> float:
    """Of the first pair of scores."""
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


@cache
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


def _spreading(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    rng = np.random.default_rng(c["seed"])
    known = np.concatenate(
        [
            rng.choice(
                np.flatnonzero(y == k), min(c["labelled"], int(np.sum(y == k))), replace=False
            )
            for k in np.unique(y)
        ]
    )
    given = np.full(len(y), -1)
    given[known] = y[known]
    gamma = 1 / (2 * c["sigma"] ** 2)
    model = LabelSpreading(kernel="rbf", gamma=gamma, alpha=0.8).fit(X, given)
    A = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(A, 0)
    classes = np.unique(y)
    Y = (given[:, None] == classes).astype(float)
    steps = thinned(record("label_spreading", A, Y, 0.8, 60), 24)
    frames = []
    for i, step in enumerate(steps):
        F = np.asarray(step.state["F"])
        sure = F.max(axis=1) > 1e-6
        labels = (
            model.transduction_
            if i == len(steps) - 1
            else np.where(sure, classes[F.argmax(axis=1)], -1)
        )
        ring = np.isin(np.arange(len(y)), known).astype(int)
        frames.append(
            Frame(
                step.name,
                {"data": [data_points(c=labels, ring=ring)]},
                step.line,
                [("points with a label", int(np.sum(labels >= 0)))],
            )
        )
    wrong = float(np.mean(model.transduction_ != y))
    beside = plane(data, "truth", "The true classes", layers=[data_points(c=y)])
    fit = [
        f"known = {known.tolist()}; given = np.full(len(y), -1); given[known] = y[known]",
        f'model = kg.LabelSpreading(kernel="rbf", gamma={gamma!r}, alpha=0.8).fit(X, given)',
    ]
    return Recording(
        [plane(data, "data", "Labels spreading", describe="ringed points have a label; the others receive one"), beside], frames,
        [("labelled points", len(known)), ("wrong at the end", percent(wrong))],
        python=python_lines("classes", *fit), code="label_spreading", fitted={"transduction_": model.transduction_},
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
    Scene(
        "manifolds", "manifolds", "Unrolling a sheet",
        "A sheet bent in space. Straight distances see through the gaps; methods on neighbourhoods follow the sheet.",
        _manifold, data="rows", presets=("sample",), classes=301, draw=_sheet_points, redraws=("kind",), min_points=6,
        controls=(choice("kind", "sheet", (("roll", "a roll"), ("s", "an S"))), slider("k", "neighbours", 10, 4, 40, export=(5, 10, 40)),
                  choice("method", "weights of LLE", _METHODS), choice("scaling", "scaling", (("classical", "classical (eigenvectors)"), ("stress", "MDS (stress)"))), switch("printed", "as printed: LLE’s weights divided by their norm")),
        breaks=(Break("Too many neighbours: a short cut through the roll", controls={"k": 40}), Break("Too few: the sheet tears", controls={"k": 5}), Break("What the printed page gets wrong: weights that do not sum to 1", controls={"printed": True}), Break("One weight vector for each point leaves the sheet bent: modified weights flatten it", controls={"method": "modified"})),
        question="Why can classical scaling not unroll the roll?",
        answer="It keeps straight distances, and they are short between layers. Isomap measures along the sheet.",
        names=("LocallyLinearEmbedding", "Isomap", "ClassicalMDS", "MDS"),
    ),
    Scene(
        "label_spreading", "semi_supervised", "Semi-supervised learning",
        "A few points have a label (ringed). Labels spread to neighbours until the groups are full.",
        _spreading, data="classes", presets=("moons", "circles", "two", "overlap"),
        controls=(slider("labelled", "labels per class", 2, 1, 10, export=(1, 2, 5)), log_slider("sigma", "reach σ", 0.25, 0.05, 3.0), slider("seed", "which ones", 0, 0, 20, export=(0, 1))),
        breaks=(Break("Reach too long: distance alone decides", "moons", {"sigma": 2.0}), Break("Overlap: labels leak across", "overlap")),
        question="One label per moon: is that enough?",
        answer="Yes, as long as the moons are denser inside than the gap between them.",
        names=("LabelSpreading",), min_points=4,
    ),
)  # fmt: skip
