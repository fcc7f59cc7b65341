"""The book as files that open without a server: fits recorded over a grid of the controls."""

from __future__ import annotations

import base64
import gzip
import json
import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from kilogram.arrays.threads import blas_threads
from kilogram.book.choose import choose_trees
from kilogram.book.content import contents, find_page, page_content
from kilogram.book.costs import page_costs
from kilogram.book.errors import BookError
from kilogram.book.scene import Control, Scene, scenes
from kilogram.book.server import built
from kilogram.book.thumbnails import thumbnail
from kilogram.book.tours import tours
from kilogram.book.worker import answer
from kilogram.native.threads import n_threads
from kilogram.registry import SLUGS

#: Of the recordings of one page, in bytes after compression: with its text and code below 1 MB.
MAX_PAGE = 850_000
# Of controls and presets, for a scene, before `MAX_PAGE` reduces them: our choice.
COMBINATIONS = 96


@dataclass(frozen=True)
class Own:
    """The reader's data for a scene: rows (x, y, class)."""

    scene: str
    points: list[list[float]]


def export_book(folder: Path, notify: Callable[[str], None] = print) -> Path:
    """Write the whole book into a folder; returns its first page."""
    static = built()
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name in ("app.js", "app.css"):
        (folder / name).write_bytes((static / name).read_bytes())
    thumbnails = {}
    for i, (slug, packed, picture) in enumerate(_recorded(SLUGS)):
        call = f"kilogramPage({json.dumps(slug)}, {json.dumps(packed)});\n"
        (folder / "data" / f"{slug}.js").write_text(call, "utf-8")
        thumbnails[slug] = picture
        notify(f"{i + 1} of {len(SLUGS)}: {slug}, {len(packed) / 1e6:.2f} MB")
    index = (static / "index.html").read_text("utf-8")
    book = _book(data={}, thumbnails=thumbnails)
    start = f"<script>window.KILOGRAM_EXPORT = {script(book)};</script>\n    "
    page = folder / "index.html"
    page.write_text(index.replace("<script src", start + "<script src"), "utf-8")
    return page


def _recorded(slugs: Sequence[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each page with its recordings and its small picture, made by a process for every thread."""
    workers = min(n_threads(), len(slugs))
    if workers < 2:
        yield from map(_record, slugs)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_record, slugs)


def _record(slug: str) -> tuple[str, str, dict[str, Any]]:
    with blas_threads(1):
        return slug, packed_page(slug), thumbnail(slug)


def export_page(name: str, file: Path) -> Path:
    """Write one page as a single file."""
    if not name:
        raise BookError("Say which page to export: --page kmeans.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(single_page(find_page(name)), "utf-8")
    return file


def single_page(slug: str, own: Own | None = None) -> str:
    """A page as one HTML document."""
    book = _book(data={slug: packed_page(slug, own)}, single=slug)
    return document(f"window.KILOGRAM_EXPORT = {script(book)};")


def document(start: str) -> str:
    """The front end as one HTML document that begins with the statement `start`."""
    static = built()
    style = (static / "app.css").read_text("utf-8")
    code = (static / "app.js").read_text("utf-8").replace("</script", "<\\/script")
    index = (static / "index.html").read_text("utf-8")
    index = index.replace('<link rel="stylesheet" href="app.css" />', f"<style>{style}</style>")
    scripts = f"<script>{start}</script>\n<script>{code}</script>"
    return index.replace('<script src="app.js"></script>', scripts)


def _book(**more: Any) -> dict[str, Any]:
    return {"book": {"pages": contents(), "tours": tours()}, "choose": choose_trees(), **more}


def script(value: Any) -> str:
    """A value as it stands inside a script of an HTML document."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


def packed_page(slug: str, own: Own | None = None) -> str:
    """A page with its recordings, compressed; as many combinations as `MAX_PAGE` allows.

    With `own` data the page has its scene only.
    """
    most = COMBINATIONS
    while True:
        with warnings.catch_warnings():  # as in the worker: scenes show fits that fail, too
            warnings.simplefilter("ignore")
            packed = _packed(slug, most, own)
        if len(packed) <= MAX_PAGE or most <= 2:
            return packed
        most = max(2, most * MAX_PAGE // (len(packed) + 1) * 9 // 10)


def _packed(slug: str, most: int, own: Own | None) -> str:
    page = json.loads(json.dumps(page_content(slug)))
    if own:
        page["scenes"] = [found for found in page["scenes"] if found["id"] == own.scene]
    runs: dict[str, Any] = {}
    for described in page["scenes"]:
        scene = scenes()[described["id"]]
        grid, presets = recorded_grid(scene, most)
        described["presets"] = [pair for pair in described["presets"] if pair[0] in presets]
        if own:
            presets, described["presets"] = ["own"], [["own", "your data"]]
        for control in described["controls"]:
            control["values"] = list(grid[control["name"]])
            if control["kind"] == "choice":
                control["choices"] = [c for c in control["choices"] if c[0] in control["values"]]
        described["breaks"] = [
            found
            for found in described["breaks"]
            if not found["preset"] or found["preset"] in presets
        ]
        wanted = [
            (preset, dict(zip(grid, values, strict=True)))
            for preset in presets or [""]
            for values in product(*grid.values())
        ]
        wanted += [
            (found["preset"] or (presets or [""])[0], {**_defaults(scene), **found["controls"]})
            for found in described["breaks"]
        ]
        for preset, controls in wanted:
            request = {"scene": scene.id, "preset": preset, "controls": controls}
            reply = answer({**request, "points": own.points if own else None})
            runs[_key(scene.id, preset, controls)] = reply
    kept = {"page": page, "runs": runs, "costs": page_costs(slug)}
    text = json.dumps(kept, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")


def recorded_grid(scene: Scene, most: int) -> tuple[dict[str, tuple[Any, ...]], list[str]]:
    """The values of each control and the presets to record, at most `most` combinations.

    Other seeds go first; then long lists are shortened to two values, then the last controls keep
    their default only.
    """
    grid = {control.name: _values(control) for control in scene.controls}
    defaults = {control.name: control.default for control in scene.controls}
    presets = list(scene.presets[:4])
    if "seed" in grid and max(len(presets), 1) * prod(map(len, grid.values())) > most:
        grid["seed"] = (defaults["seed"],)
    names = list(grid)
    while max(len(presets), 1) * prod(map(len, grid.values())) > most:
        longest = max(names, key=lambda name: (len(grid[name]), names.index(name)))
        several = [name for name in names if len(grid[name]) > 1]
        if len(grid[longest]) > 2:
            grid[longest] = _shortened(grid[longest], defaults[longest])
        elif several and (len(presets) <= 2 or len(several) > 1):
            grid[several[-1]] = _shortened(grid[several[-1]], defaults[several[-1]])
        else:
            presets.pop()
    return grid, presets


def _shortened(values: tuple[Any, ...], default: Any) -> tuple[Any, ...]:
    """The values without the last one that is not the default."""
    others = [value for value in values if value != default]
    return tuple(value for value in values if value != others[-1])


def _values(control: Control) -> tuple[Any, ...]:
    if control.export:
        return tuple(sorted({*control.export, control.default}))
    if control.kind == "choice":
        return tuple(choice for choice, _ in control.choices)
    if control.kind == "switch":
        return (False, True) if not control.default else (True,)
    if not control.log:
        return (control.default,)
    low, high = (control.lo * control.default) ** 0.5, (control.hi * control.default) ** 0.5
    return tuple(sorted({float(f"{low:.2g}"), control.default, float(f"{high:.2g}")}))


def _defaults(scene: Scene) -> dict[str, Any]:
    return {control.name: control.default for control in scene.controls}


def _key(scene: str, preset: str, controls: Mapping[str, Any]) -> str:
    """Key of a request, equal to the one the browser computes."""
    return "|".join([scene, preset, *(f"{k}={_text(controls[k])}" for k in sorted(controls))])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)
