"""A page of the book inside a notebook, with one's own data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kilogram.book.content import find_page
from kilogram.book.export import Own, single_page
from kilogram.book.scene import BookError, Scene, run_scene, scenes


@dataclass(frozen=True)
class NotebookPage:
    """A page as one HTML document; a notebook shows it in a frame."""

    html: str
    height: int

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe title="Kilogram" style="{style}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"NotebookPage({len(self.html) / 1e6:.1f} MB, shown by notebooks)"


def page(name: str, X: Any = None, y: Any = None, *, height: int = 900) -> NotebookPage:
    """A page of the live book for a notebook: fits recorded over a grid of its controls.

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
    """
    slug = find_page(name)
    if X is None:
        if y is not None:
            raise BookError("y needs X: page(name, X=X, y=y).")
        return NotebookPage(single_page(slug), height)
    scene = _scene(name, slug)
    own = Own(scene.id, _points(scene, X, y))
    run_scene(scene.id, {}, given=own.points)  # what is wrong with the data is reported here
    return NotebookPage(single_page(slug, own), height)


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
