"""What a scene returns: panels made of layers, the frames of the algorithm, and the numbers.

A layer is a small dictionary the browser knows how to draw: points, lines, bands, bars, ellipses,
fields on a grid, pictures. Coordinates are in the units of the panel. Grids are sent as bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Layer = dict[str, Any]

BISECTIONS = 3  # a border is drawn within a sixteenth of a cell: a fifth of a pixel


def numbers(values: ArrayLike, digits: int = 5) -> list[Any]:
    """Numbers with `digits` significant digits of the largest; NaN and infinity become None."""
    array = np.atleast_1d(np.asarray(values, dtype=float).squeeze())
    fine = np.isfinite(array)
    top = float(np.abs(array[fine]).max(initial=0.0))
    places = digits - 1 - int(np.floor(np.log10(top))) if top > 0 else 0
    found: list[Any] = np.round(array, places).tolist()
    return found if fine.all() else [v if ok else None for v, ok in zip(found, fine, strict=True)]


def number(value: float, digits: int = 5) -> float | None:
    """One number with few significant digits, None where it is not finite."""
    if not np.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def _bytes(grid: NDArray[Any], lo: float, hi: float) -> str:
    scale = 255 / (hi - lo) if hi - lo > 1e-300 else 0.0
    with np.errstate(over="ignore"):  # values far outside are clipped
        filled = np.nan_to_num((grid - lo) * scale, nan=0.0, posinf=255, neginf=0)
    return _encoded(np.clip(np.rint(filled), 0, 255).astype(np.uint8))


def _encoded(cells: NDArray[np.uint8]) -> str:
    return base64.b64encode(cells.tobytes()).decode("ascii")


def _signed_bytes(grid: NDArray[Any], limit: float) -> str:
    """The signed square root as bytes: fine near zero, where a border lies."""
    fraction = np.clip(np.nan_to_num(grid / limit, nan=0.0), -1, 1)
    return _bytes(np.sign(fraction) * np.sqrt(np.abs(fraction)), -1, 1)


def _borders(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The cells beside a border between classes, and their neighbours."""
    found = np.zeros(labels.shape, dtype=bool)
    across, along = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= across
    found[:, :-1] |= across
    found[1:] |= along
    found[:-1] |= along
    wide = found.copy()
    wide[1:] |= found[:-1]
    wide[:-1] |= found[1:]
    found = wide.copy()
    wide[:, 1:] |= found[:, :-1]
    wide[:, :-1] |= found[:, 1:]
    return wide


def _runs(labels: NDArray[np.uint8]) -> str:
    """Pairs of class and length, at most 255, of the runs of equal labels."""
    starts = np.flatnonzero(np.diff(labels, prepend=labels[:1] ^ 1))
    lengths = np.diff(starts, append=len(labels))
    full, rest = np.divmod(lengths, 255)
    count = full + (rest > 0)
    sizes = np.full(count.sum(), 255, dtype=np.uint8)
    sizes[np.cumsum(count) - 1] = np.where(rest > 0, rest, 255)
    return _encoded(np.stack([np.repeat(labels[starts], count), sizes], axis=1).astype(np.uint8))


def points(x: ArrayLike, y: ArrayLike, **style: Any) -> Layer:
    """Marks at (x, y); `c` a class for each or one colour, `shape` dot, ring, cross, square."""
    for key in ("c", "r"):
        if key in style and not isinstance(style[key], (int, float, str)):
            style[key] = numbers(style[key])
    return {"kind": "points", "x": numbers(x), "y": numbers(y), **style}


def line(x: ArrayLike, y: ArrayLike, **style: Any) -> Layer:
    """A polyline; `color`, `width`, `dash`, `label`."""
    return {"kind": "line", "x": numbers(x), "y": numbers(y), **style}


def segments(x1: ArrayLike, y1: ArrayLike, x2: ArrayLike, y2: ArrayLike, **style: Any) -> Layer:
    """Separate straight pieces."""
    ends = {"x1": numbers(x1), "y1": numbers(y1), "x2": numbers(x2), "y2": numbers(y2)}
    return {"kind": "segments", **ends, **style}


def band(x: ArrayLike, lo: ArrayLike, hi: ArrayLike, **style: Any) -> Layer:
    """The area between two curves."""
    return {"kind": "band", "x": numbers(x), "lo": numbers(lo), "hi": numbers(hi), **style}


def bars(x: ArrayLike, y: ArrayLike, width: float = 0.8, **style: Any) -> Layer:
    """Bars from 0 to y; `c` a class for each."""
    if "c" in style:
        style["c"] = numbers(style["c"])
    return {"kind": "bars", "x": numbers(x), "y": numbers(y), "w": width, **style}


def text(x: float, y: float, words: str, **style: Any) -> Layer:
    """Words at a place; `anchor` start, middle or end."""
    return {"kind": "text", "x": number(x), "y": number(y), "text": words, **style}


def ellipses(centres: ArrayLike, covariances: ArrayLike, scale: float = 1.0, **style: Any) -> Layer:
    """The ellipses `scale` standard deviations around Gaussians in the plane."""
    shapes = []
    for centre, covariance in zip(np.asarray(centres), np.asarray(covariances), strict=True):
        values, vectors = np.linalg.eigh(covariance)
        long, short = scale * np.sqrt(np.maximum(values[::-1], 0))
        angle = np.arctan2(vectors[1, -1], vectors[0, -1])
        shapes.append(numbers([*centre, long, short, angle]))
    return {"kind": "ellipses", "shapes": shapes, **style}


def data_points(**style: Any) -> Layer:
    """The editable points, drawn where the reader has them; `c`, `r` and `ring` per point."""
    for key in ("c", "r", "ring"):
        if key in style and not isinstance(style[key], (int, float, str)):
            style[key] = numbers(style[key])
    return {"kind": "data", **style}


@dataclass(frozen=True)
class Grid:
    """The places at which a field is computed: cell centres of a rectangle."""

    x0: float
    x1: float
    y0: float
    y1: float
    nx: int
    ny: int

    @property
    def places(self) -> NDArray[np.float64]:
        """(nx * ny, 2), row by row from the bottom."""
        return self.at(*np.divmod(np.arange(self.nx * self.ny), self.nx))

    def at(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """The centres of some cells."""
        x = self.x0 + (columns + 0.5) * (self.x1 - self.x0) / self.nx
        y = self.y0 + (rows + 0.5) * (self.y1 - self.y0) / self.ny
        return np.stack([x, y], axis=1)

    def _layer(self, kind: str, **more: Any) -> Layer:
        box = {"x0": self.x0, "x1": self.x1, "y0": self.y0, "y1": self.y1}
        return {"kind": kind, **box, "nx": self.nx, "ny": self.ny, **more}

    def finer(self, times: int) -> Grid:
        """A finer grid over the same rectangle: `times` as many cells in each direction."""
        return replace(self, nx=self.nx * times, ny=self.ny * times)

    def regions(self, predict: Callable[[NDArray[np.float64]], ArrayLike], **style: Any) -> Layer:
        """Regions of classes 0, 1, 2, ...: `predict` at every place, more densely at borders.

        The labels are sent as runs: pairs of class and length, row by row. `cuts` says where each
        border crosses the line between two neighbouring places, so that straight borders are drawn
        straight.
        """
        labels = np.asarray(predict(self.places), dtype=np.uint8).reshape(self.ny, self.nx)
        grid = self.finer(2)
        at_border = np.repeat(np.repeat(_borders(labels), 2, axis=0), 2, axis=1)
        labels = np.repeat(np.repeat(labels, 2, axis=0), 2, axis=1)
        if at_border.any():
            labels[at_border] = predict(grid.at(*np.nonzero(at_border)))
        cuts = _encoded(grid._cuts(labels, predict))
        return grid._layer("regions", data=_runs(labels.ravel()), cuts=cuts, **style)

    def _cuts(
        self, labels: NDArray[np.uint8], predict: Callable[[NDArray[np.float64]], ArrayLike]
    ) -> NDArray[np.uint8]:
        """Where the class changes between neighbours of different classes, as bytes of the way.

        First the pairs along the rows, then those along the columns, each row by row from the
        bottom. Found by bisection.
        """
        row, column = np.nonzero(labels[:, 1:] != labels[:, :-1])
        up_row, up_column = np.nonzero(labels[1:] != labels[:-1])
        rows, columns = np.append(row, up_row), np.append(column, up_column)
        if not len(rows):
            return np.zeros(0, dtype=np.uint8)
        along = np.arange(len(rows)) < len(row)
        start, end = self.at(rows, columns), self.at(rows + ~along, columns + along)
        own = labels[rows, columns]
        low, high = np.zeros(len(rows)), np.ones(len(rows))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            same = np.asarray(predict(start + middle[:, None] * (end - start))) == own
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.rint(255 * (low + high) / 2).astype(np.uint8)

    def values(
        self, values: ArrayLike, *, levels: Iterable[float] = (), limit: float | None = None,
        **style: Any,
    ) -> Layer:  # fmt: skip
        """A real function: signed around 0 if `limit` is given, else from its least to its most."""
        array = np.asarray(values, float)
        finite = array[np.isfinite(array)]
        if limit is not None:
            lo, hi = -limit, limit
        else:
            lo, hi = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        return self._layer(
            "field", data=_signed_bytes(array, hi) if limit is not None else _bytes(array, lo, hi),
            lo=number(lo), hi=number(hi),
            levels=numbers(list(levels)), signed=limit is not None, **style,
        )  # fmt: skip


def picture(matrix: ArrayLike, x0: float, y0: float, x1: float, y1: float, **style: Any) -> Layer:
    """A matrix as grey or coloured cells, its first row on top."""
    array = np.asarray(matrix, float)
    finite = array[np.isfinite(array)]
    lo = style.pop("lo", float(finite.min()) if finite.size else 0.0)
    hi = style.pop("hi", float(finite.max()) if finite.size else 1.0)
    rows, columns = array.shape
    return {
        "kind": "picture", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "nx": columns, "ny": rows,
        "data": _bytes(array, lo, hi), "lo": number(lo), "hi": number(hi), **style,
    }  # fmt: skip


@dataclass
class Panel:
    """One drawing: axes, layers that stay, and whether the data in it can be moved."""

    id: str
    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    layers: Sequence[Layer] = ()
    x_label: str = ""
    y_label: str = ""
    editable: bool = False
    equal: bool = False
    axes: bool = True
    small: bool = False
    legend: Sequence[tuple[str, str]] = ()
    describe: str = ""
    whole: bool = False  # the x axis counts: its ticks are integers
    mirrored: bool = False  # counts of one class point down: no minus at their ticks


@dataclass
class Frame:
    """One moment: the step's name and caption, the lit line of the code, layers by panel.

    `python` replaces that of the recording where each frame is a fit with its own parameters.
    """

    step: str
    layers: Mapping[str, Sequence[Layer]]
    line: int | None = None
    readouts: Sequence[tuple[str, Any]] = ()
    python: str = ""
    caption: str = ""  # what one sees, in plain words


@dataclass
class Recording:
    """Everything a scene shows for one set of data and controls."""

    panels: Sequence[Panel]
    frames: Sequence[Frame]
    readouts: Sequence[tuple[str, Any]] = ()
    notes: Sequence[str] = ()
    python: str = ""
    code: str = ""
    start: int | None = None  # the frame shown first, where it is not the last
    #: the attributes of the fitted estimator that the last frame shows, for the tests
    fitted: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The recording as the browser reads it."""
        return {
            "panels": [plain(panel) for panel in self.panels],
            "frames": [plain(frame) for frame in self.frames],
            "readouts": [list(pair) for pair in self.readouts],
            "notes": list(self.notes),
            "python": self.python,
            "code": self.code,
            "start": self.start,
        }


def plain(thing: Panel | Frame) -> dict[str, Any]:
    """The fields that differ from their defaults, as the browser reads them."""
    usual = {f.name: f.default for f in fields(thing)}
    shown = {
        key: value
        for key, value in vars(thing).items()
        if value != usual[key] or type(value) is not type(usual[key])
    }
    for key in ("x", "y"):
        if key in shown:
            shown[key] = numbers(shown[key])
    return shown


def limits(values: ArrayLike, pad: float = 0.06) -> tuple[float, float]:
    """The range of finite values with a small margin."""
    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    if not array.size:
        return 0.0, 1.0
    lo, hi = float(array.min()), float(array.max())
    same = hi - lo <= 1e-9 * max(abs(lo), abs(hi))  # equal up to rounding
    margin = max(abs(hi), 1.0) * 0.1 if same else (hi - lo) * pad
    return lo - margin, hi + margin
