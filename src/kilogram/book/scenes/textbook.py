"""Every page's textbook versions, run line by line on the points of the page.

Made from the registry: a new textbook version has its live page as soon as `examples` says what it
is run on. What the lines compute is drawn as matrices, beside the points it says something about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kilogram.book.drawing import data_box, objective_panel, plane, short
from kilogram.book.errors import BookError
from kilogram.book.examples import EXAMPLES, example
from kilogram.book.recording import (
    Frame,
    Layer,
    Panel,
    Recording,
    data_points,
    line,
    picture,
    points,
    text,
)
from kilogram.book.scene import Points, Scene, choice
from kilogram.book.textbook_steps import Step, record, thinned
from kilogram.registry import Page, pages
from kilogram.textbook import ENTRIES

FRAMES = 24  # as many as one steps through: our choice
ACROSS = 3  # arrays side by side
MOST_SHOWN = 9  # arrays of one algorithm
FINEST = 30  # cells of a picture, each way; larger arrays are thinned

#: pages whose methods predict a number from one column; the others look at points in the plane
CURVES = (
    "least_squares", "robust", "nonlinear", "kernel_regression", "ridge", "sparse", "pursuit",
    "gaussian_process", "feature_maps", "cca",
)  # fmt: skip
#: textbook versions that explain no estimator, and the page they stand on
BESIDE = {
    "naive_bayes": ("threshold_errors", "roc"),
    "neighbors": ("one_prototype_each", "partial_distance"),
    "semi_supervised": ("uncertainty_sampling",),
    "gaussian_process": ("gaussian_process_samples",),
    "factors": ("projection_histogram",),
    "pursuit": ("matching_pursuit_qr",),
    "online": ("perceptron",),
    "choose_k": ("two_part_picture", "two_part_code", "pixel_guessing", "two_part_contexts"),
}


def algorithms_of(page: Page) -> list[str]:
    """The textbook versions of a page's methods, and those that stand beside them."""
    own = [key for key in EXAMPLES if set(ENTRIES[key].explains) & set(page.names)]
    # those that explain methods of other pages too come later
    own.sort(key=lambda key: len(set(ENTRIES[key].explains) - set(page.names)))
    return [*own, *BESIDE.get(page.slug, ())]


def _run(data: Points, c: Mapping[str, Any], curve: bool) -> Recording:
    key = c["algorithm"]
    steps = _steps(key, data)
    names = _shown_names(steps)
    main = plane(data, "data", "Points", equal=not curve, describe="the points it runs on")
    arrays = _array_panel(names)
    objective, mark = objective_panel([step.state.objective for step in steps])
    followed = any(step.state.objective is not None for step in steps)
    frames = []
    for i, step in enumerate(steps):
        before = steps[i - 1].state.arrays if i else {}
        new = {name for name, a in step.state.arrays.items() if a is not before.get(name)}
        layers = {"data": _on_the_points(step, data, curve), "arrays": _drawn(step, names, new)}
        if followed:
            layers["objective"] = mark(i)
        frames.append(Frame(step.name, layers, step.line, _numbers(step)))
    lines = (
        "import numpy as np",
        "from kilogram.book.examples import example, read_points",
        "from kilogram.textbook import ENTRIES, run",
        f'args, settings = example("{key}", read_points("points.csv"))',
        f'result = run(ENTRIES["{key}"].function(*args, **settings))',
    )
    return Recording(
        [main, arrays, *([objective] if followed else [])], frames,
        notes=["Pictures: one cell for each number, blue below zero, orange above. The arrays that "
               "the lit line computes are named in bold."],
        python="\n".join(lines[1:]), code=key,
    )  # fmt: skip


def _steps(key: str, data: Points) -> list[Step]:
    """The algorithm on the points; data it cannot be run on are a sentence."""
    try:
        args, settings = example(key, data)
        return thinned(record(key, *args, **settings), FRAMES)
    except BookError:
        raise
    except (ValueError, IndexError, ZeroDivisionError, KeyError, StopIteration) as error:
        raise BookError(
            "The textbook version checks nothing, and cannot be run on these points "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__})."
        ) from error


def _shown_names(steps: list[Step]) -> list[str]:
    """The arrays worth a picture, in the order in which they appear."""
    found: dict[str, None] = {}
    for step in steps:
        for name, array in step.state.arrays.items():
            if array.size > 1 and array.dtype.kind in "biufc":
                found.setdefault(name)
    return list(found)[:MOST_SHOWN]


def _matrices_per_row(names: list[str]) -> int:
    return 2 if len(names) <= 4 else ACROSS


def _array_panel(names: list[str]) -> Panel:
    across = _matrices_per_row(names)
    rows = max(-(-len(names) // across), 2)
    return Panel(
        "arrays", "What the lines compute", (-0.05, 1.2 * across - 0.15), (-1.35 * rows, 0.02),
        axes=False, equal=True, describe=", ".join(names),
    )  # fmt: skip


def _numbers(step: Step) -> list[tuple[str, Any]]:
    """Single numbers of the state."""
    found: list[tuple[str, Any]] = []
    if step.state.objective is not None:
        found.append(("objective", short(float(step.state.objective))))
    for name, array in step.state.arrays.items():
        if array.size == 1 and array.dtype.kind in "biuf":
            found.append((name, short(float(array.ravel()[0]))))
    return found[:8]


def _drawn(step: Step, names: list[str], new: set[str]) -> list[Layer]:
    layers: list[Layer] = []
    for k, name in enumerate(names):
        if name not in step.state.arrays:
            continue
        array = step.state.arrays[name]
        left, top = 1.2 * (k % _matrices_per_row(names)), -1.35 * (k // _matrices_per_row(names))
        shape = " × ".join(map(str, array.shape))
        layers.append(text(left, top - 0.14, name, anchor="start", bold=name in new))
        layers.append(text(left + 1.0, top - 0.14, shape, anchor="end", color="quiet"))
        layers += _matrix(array, left, top - 0.22)
    return layers


def _matrix(array: NDArray[Any], left: float, top: float) -> list[Layer]:
    """An array as cells in a square of side 1, with its numbers where there are few."""
    if array.size == 0:
        return []
    table = np.real(array).astype(float)
    short_vector = table.ndim == 1 and len(table) <= 5
    if table.ndim == 1:
        table = table[:, None] if short_vector else _wrapped(table)
    table = table.reshape(table.shape[0], -1)
    table = table[_thin(table.shape[0])][:, _thin(table.shape[1])]
    rows, columns = table.shape
    side = min(1.0 / max(rows, columns), 0.36)
    fine = np.abs(table[np.isfinite(table)])
    most = float(fine.max(initial=0.0)) or 1.0
    signed = bool((table < 0).any())
    style = {"colors": "signed", "lo": -most} if signed else {"colors": "c1", "lo": 0.0}
    layers = [
        picture(
            np.nan_to_num(table), left, top - rows * side, left + columns * side, top,
            hi=most, **style,
        )
    ]  # fmt: skip
    if not (short_vector or max(rows, columns) <= 3):
        return layers
    for r, c in np.ndindex(rows, columns):
        x = left + (columns + 0.12) * side if short_vector else left + (c + 0.5) * side
        words = f"{table[r, c]:.3g}".replace("-", "−")
        anchor = "start" if short_vector else "middle"
        layers.append(text(x, top - (r + 0.5) * side - 0.03, words, anchor=anchor))
    return layers


def _wrapped(values: NDArray[Any]) -> NDArray[Any]:
    """A long vector as rows of a near-square table, empty cells NaN."""
    columns = int(np.ceil(np.sqrt(len(values))))
    filled = np.full(columns * -(-len(values) // columns), np.nan)
    filled[: len(values)] = values
    return filled.reshape(-1, columns)


def _thin(count: int) -> NDArray[Any]:
    return np.unique(np.linspace(0, count - 1, min(count, FINEST)).astype(int))


def _on_the_points(step: Step, data: Points, curve: bool) -> list[Layer]:
    """What of the state can be seen among the points: labels, centres, a border, a fit."""
    arrays, n = step.state.arrays, len(data)
    layers: list[Layer] = []
    labels = [
        a
        for a in arrays.values()
        if a.shape == (n,) and a.dtype.kind in "biu" and a.min() >= -1 and a.max() < 8
    ]
    layers.append(data_points(c=labels[-1]) if labels and not curve else data_points())
    for name, a in arrays.items():
        if name.rstrip("_0123456789") == "mu" and a.ndim == 2 and a.shape[1] == 2 and len(a) <= 8:
            layers.append(points(a[:, 0], a[:, 1], c=np.arange(len(a)), shape="centre"))
        if curve and name in ("f", "y_hat", "fitted") and a.size == n:
            order = np.argsort(data.x)
            layers.insert(0, line(data.x[order], np.ravel(a)[order], color="accent", width=2.6))
        if not curve and name == "w" and a.shape == (3,) and np.any(a[1:]):
            layers.insert(0, _border(a, data))
    return layers


def _border(w: NDArray[Any], data: Points) -> Layer:
    """The line w_0 + w_1 x + w_2 y = 0, through the whole panel."""
    reach = 2 * max(abs(v) for side in data_box(data) for v in side)
    normal = w[1:] / np.linalg.norm(w[1:])
    foot = -w[0] / np.linalg.norm(w[1:]) * normal
    along = np.array([-normal[1], normal[0]]) * reach
    ends = np.stack([foot - along, foot + along])
    return line(ends[:, 0], ends[:, 1], color="ink", width=2.4)


def _scene(page: Page) -> Scene:
    keys, curve = algorithms_of(page), page.slug in CURVES
    labels = [(key, ENTRIES[key].title) for key in keys]
    runs: Callable[[Points, Mapping[str, Any]], Recording] = partial(_run, curve=curve)
    return Scene(
        f"textbook_{page.slug}", page.slug, "Line by line",
        "The algorithms as the texts print them, with their errors corrected: every step computes "
        "the lit line, on points you can move.",
        runs, data="curve" if curve else "classes",
        presets=("few", "sine", "line") if curve else ("small", "two", "moons"),
        controls=(choice("algorithm", "algorithm", labels, export=tuple(keys)),),
        names=page.names, min_points=4, algorithms=tuple(keys),
    )  # fmt: skip


SCENES = tuple(_scene(page) for page in pages() if algorithms_of(page))
