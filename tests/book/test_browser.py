"""The pages in a headless Chromium, from the server and from exported files.

Skipped with the reason where there is no Chromium or the front end has not been built.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kilogram.book.export import export_page, packed_page, recorded_grid
from kilogram.book.scene import BookError, scenes
from kilogram.book.server import HOST, STATIC, _listen, make_app
from kilogram.book.worker import Worker

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
]  # fmt: skip

needs_bundle = pytest.mark.skipif(
    not (STATIC / "app.js").exists(), reason="the front end is not built: run `make book`"
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def dom(address: str, folder: Path, width: int = 1280) -> str:
    """The page as the browser has it after its scripts have run."""
    command = [
        str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},900",
        "--virtual-time-budget=15000", "--dump-dom", address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def address():
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    worker = Worker(time_limit=60)
    worker.start()
    listening = _listen(0)
    config = uvicorn.Config(make_app(worker), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://{HOST}:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    worker.close()


@needs_bundle
@needs_chromium
def test_a_page_is_fitted_and_drawn(address, tmp_path):
    """The readouts in the browser are the numbers of the Python fit."""
    from kilogram.book.scene import run_scene

    text = dom(address + "#/clusters/kmeans?k=2", tmp_path)
    assert 'data-ready="yes"' in text
    assert 'role="alert"' not in text
    _, recording = run_scene("kmeans", {"k": 2})
    inertia = dict(recording.readouts)["J at the end"]
    assert f">{inertia}</dd>" in text
    assert 'class="katex' in text
    assert text.count("<circle") > 100


@needs_bundle
@needs_chromium
def test_a_bad_address_is_a_sentence(address, tmp_path):
    assert "no page called" in dom(address + "#/nothing", tmp_path)
    text = dom(address + "#/clusters/kmeans?k=99", tmp_path)
    assert re.search(r'role="alert"[^>]*>clusters k must be between', text)


@needs_bundle
@needs_chromium
def test_one_exported_page_opens_from_a_file_without_a_network(tmp_path):
    file = export_page("centroids", tmp_path / "page.html")
    assert file.stat().st_size < 2_000_000
    text = dom(file.as_uri(), tmp_path, 390)
    assert 'data-ready="yes"' in text
    assert "Recorded fits" in text


@needs_bundle
def test_an_exported_page_names_no_other_machine(tmp_path):
    text = export_page("centroids", tmp_path / "page.html").read_text("utf-8")
    loaded = re.findall(r'(?:src|href)="(https?:[^"]+)"', text)
    assert loaded == []


@needs_bundle
@needs_chromium
def test_a_notebook_shows_a_page_with_own_data(tmp_path):
    import kilogram as kg

    X = np.random.default_rng(0).normal(size=(12, 2))
    shown = kg.book.page("perceptron", X=X, y=np.repeat(["no", "yes"], 6))._repr_html_()
    file = tmp_path / "notebook.html"
    # the page sits in a frame, whose document is not part of the dump: it reports its readiness
    script = """<script>setInterval(() => { const inside = frames[0].document.body.innerHTML;
      const all = ['data-ready="yes"', 'your data'].every((words) => inside.includes(words));
      document.body.dataset.seen = all;
    }, 100)</script>"""
    file.write_text(f'<!doctype html><meta charset="utf-8"><body>{shown}{script}', "utf-8")
    assert 'data-seen="true"' in dom(file.as_uri(), tmp_path)


@needs_bundle
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"X": [1.0, 2.0], "y": [0, 1]}, "shows two columns"),
        ({"X": [[1.0, 2.0]] * 4}, "needs y"),
        ({"X": [[1.0, 2.0]] * 4, "y": [0]}, "y must have 4 values"),
        ({"X": [[float("nan"), 2.0]] * 4, "y": [0, 1, 0, 1]}, "NaN or infinity"),
        ({"y": [0]}, "y needs X"),
    ],
)
def test_own_data_that_cannot_be_shown_is_a_sentence(arguments, sentence):
    import kilogram as kg

    with pytest.raises(BookError, match=sentence):
        kg.book.page("svm", **arguments)


def test_recorded_combinations_are_few_and_have_the_defaults():
    for scene in scenes().values():
        grid, presets = recorded_grid(scene, 48)
        total = max(len(presets), 1)
        for control in scene.controls:
            assert control.default in grid[control.name]
            total *= len(grid[control.name])
        assert total <= 48


def test_a_packed_page_replays_what_was_recorded():
    import base64
    import gzip

    found = json.loads(gzip.decompress(base64.b64decode(packed_page("centroids"))))
    assert found["page"]["slug"] == "centroids"
    assert "centroids|three|seed=0" in found["runs"]
    assert all("error" not in run for run in found["runs"].values())
