"""One small picture of each page for the table of contents: a panel of its first scene."""

from __future__ import annotations

from typing import Any

from kilogram.book.content import find_page
from kilogram.book.recording import plain
from kilogram.book.scene import run_scene, scenes

#: pages whose second or third panel shows more than the first
_PANELS = {
    "svm": "kernel",
    "sparse": "path",
    "pursuit": "path",
    "factors": "parts",
    "cca": "kernel",
    "kernels": "draws",
}


def thumbnail(slug: str) -> dict[str, Any]:
    """The panel with the layers of the step that the scene shows first."""
    page = find_page(slug)
    scene = next(s for s in scenes().values() if s.page == page)
    data, recording = run_scene(scene.id, {})
    wanted = _PANELS.get(page)
    panel = next((p for p in recording.panels if p.id == wanted), recording.panels[0])
    frame = recording.frames[-1 if recording.start is None else recording.start]
    return {
        "panel": plain(panel),
        "layers": frame.layers.get(panel.id, []),
        "points": data.rows(),
        "data": scene.data,
    }
