"""A page of the book inside a notebook, with one's own data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kilogram.book.content import find_page
from kilogram.book.errors import BookError
from kilogram.book.export import Own, single_page
from kilogram.book.scene import Scene, run_scene, scenes


@dataclass(frozen=True)
class NotebookPage:
    """A page with recorded fits as one HTML document; a notebook shows it in a frame."""

    html: str
    height: int

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe title="Kilogram" style="{style}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"NotebookPage({len(self.html) / 1e6:.1f} MB, shown by notebooks)"


def page(
    name: str, X: Any = None, y: Any = None, *, height: int = 900, live: bool | None = None
) -> Any:
    """A page of the live book for a notebook, with one's own data.

    Where anywidget is installed (`pip install kilogram[notebook]`), the page is live: points can be
    moved, and the kernel makes the fits. Elsewhere it replays fits recorded over a grid of its
    controls, which also needs no kernel once the notebook is saved.

    Parameters
    ----------
    name : str
        A page, a scene or an estimator: "kmeans", "svm", "Ridge".
    X : array-like of shape (n, 2) or (n, 1), default=None
        Data shown instead of the book's: two columns, or one for scenes that fit a curve. The
        controls (widths of kernels, distances) suit columns between about -3 and 3.
    y : array-like of shape (n,), default=None
        Classes; or the values of the curve.
    height : int, default=900
        Of the frame, in pixels.
    live : bool, default=None
        Whether the kernel makes the fits; by default it does if anywidget is installed.
    """
    slug = find_page(name)
    own = _own_data(name, slug, X, y)
    if own:
        run_scene(own.scene, {}, given=own.points)  # what is wrong with the data is reported here
    widget = _widget_class() if live or live is None else None
    if widget is not None:
        return widget(slug, own, height)
    if live:
        raise BookError("A live page needs anywidget: pip install kilogram[notebook].")
    return NotebookPage(single_page(slug, own), height)


def _widget_class() -> Any:
    """The widget, or None where anywidget is not installed."""
    try:
        from kilogram.book.widget import PageWidget
    except ModuleNotFoundError as missing:
        if missing.name not in ("anywidget", "traitlets"):
            raise
        return None
    return PageWidget


def _own_data(name: str, slug: str, X: Any, y: Any) -> Own | None:
    if X is None:
        if y is not None:
            raise BookError("y needs X: page(name, X=X, y=y).")
        return None
    scene = _scene(name, slug)
    return Own(scene.id, _points(scene, X, y))


def _scene(name: str, slug: str) -> Scene:
    """The scene called `name`, or the first of the page that takes data."""
    able = [s for s in scenes().values() if s.page == slug and s.data not in ("none", "rows")]
    if not able:
        raise BookError(f"The page {slug!r} has no scene that takes data.")
    return next((s for s in able if s.id == name), able[0])


def _points(scene: Scene, X: Any, y: Any) -> list[list[float]]:
    table = np.asarray(X, dtype=float)
    columns = 1 if scene.data == "curve" else 2
    if table.ndim != 2 or table.shape[1] != columns:
        words = "one column" if columns == 1 else "two columns"
        raise BookError(f"{scene.title} shows {words}: X has the shape {table.shape}.")
    if y is None and scene.data != "cloud":
        raise BookError(f"{scene.title} needs y.")
    values = np.zeros(len(table)) if y is None or scene.data == "cloud" else np.asarray(y)
    if values.shape != (len(table),):
        raise BookError(f"y must have {len(table)} values, got the shape {values.shape}.")
    if scene.data == "curve":
        rows = np.column_stack([table, values.astype(float), np.zeros(len(table))])
    else:
        rows = np.column_stack([table, np.unique(values, return_inverse=True)[1]])
    found: list[list[float]] = rows.tolist()
    return found
