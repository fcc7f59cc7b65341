"""The pages in a headless Chromium, from the server and from exported files.

Skipped with the reason where there is no Chromium or the front end has not been built.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kilogram.book import export
from kilogram.book.content import contents, page_content
from kilogram.book.errors import BookError
from kilogram.book.export import export_page, packed_page, recorded_grid
from kilogram.book.scene import run_scene, scenes
from kilogram.book.server import HOST, STATIC, _listen, make_app
from kilogram.book.thumbnails import thumbnail
from kilogram.book.worker import Worker

FRONT_END = Path(__file__).parents[2] / "book" / "frontend"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NODE = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
]  # fmt: skip
# set where the browser tests have all they need, so that they cannot be skipped by mistake
REQUIRED = os.environ.get("KILOGRAM_BROWSER_TESTS") == "required"

needs_bundle = pytest.mark.skipif(
    not (STATIC / "app.js").exists() and not REQUIRED,
    reason="the front end is not built: run `make book`",
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="Chromium is not installed"
)
needs_playwright = pytest.mark.skipif(
    (NODE is None or not (FRONT_END / "node_modules" / "playwright-core").exists())
    and not REQUIRED,
    reason="Node or playwright-core is not installed: run `make book`",
)
# one server and one browser serve them all
pytestmark = pytest.mark.xdist_group("browser")


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


@pytest.fixture(scope="module")
def seen(address, tmp_path_factory):
    """What one run through the whole book has seen; `e2e/run.mjs` says what it looks at."""
    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "SLUGS", ("centroids",))
        home = export.export_book(folder / "copy", notify=lambda _: None)
    single = export.export_page("centroids", folder / "page.html")
    command = [str(NODE), "e2e/run.mjs", address, home, single, folder / "seen.json", str(CHROMIUM)]
    subprocess.run(command, cwd=FRONT_END, timeout=900, check=True)
    return json.loads((folder / "seen.json").read_text("utf-8"))


browser = [needs_bundle, needs_chromium, needs_playwright]


def in_browser(test):
    """A test of what the run through the book has seen."""
    for mark in browser:
        test = mark(test)
    return test


@in_browser
def test_the_run_came_to_its_end(seen):
    assert "failed" not in seen, seen["failed"]


@in_browser
def test_every_scene_plays_to_its_end_without_an_error(seen):
    assert set(seen["scenes"]) == set(scenes())
    for name, found in seen["scenes"].items():
        assert "failed" not in found, (name, found["failed"])
        assert found["problems"] == [], name
        assert not found["alert"], (name, found["alert"])
        assert found["at"] == found["frames"], name
        assert found["frames"] == 1 or found["caption"] or name.startswith("textbook_"), name


@in_browser
def test_the_first_page_has_a_picture_of_every_page(seen):
    assert seen["home"] == {"pictures": len(contents()), "phone": 0}


@in_browser
def test_marks_glide_unless_less_motion_is_preferred(seen):
    assert seen["motion"]["no-preference"].startswith("0.4")
    assert set(seen["motion"]["reduce"].split(", ")) == {"0s"}


@in_browser
def test_a_printed_page_is_white_and_has_no_buttons(seen):
    assert "slack in the offset" in seen["print"]["misprint"]
    assert seen["print"]["hidden"] == []
    assert seen["print"]["paper"] == "rgb(255, 255, 255)"
    assert seen["print"]["overflow"] <= 0


@in_browser
def test_the_last_state_has_the_numbers_of_the_python_fit(seen):
    """Readouts at the end, number by number; two fits on one machine differ by rounding only."""
    for name in scenes():
        _, recording = run_scene(name, {})
        expected = [*recording.frames[-1].readouts, *recording.readouts]
        found = seen["scenes"][name]
        assert found["names"] == [words for words, _ in expected], name
        for shown, (words, value) in zip(found["values"], expected, strict=True):
            if isinstance(value, float):
                assert shown == pytest.approx(value, rel=1e-3, abs=1e-6), (name, words)
            else:
                assert shown == value, (name, words)


@in_browser
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_nothing_scrolls_sideways(seen, width):
    assert {k: v[width] for k, v in seen["scenes"].items() if v.get(width, 0) > 0} == {}


@in_browser
def test_axe_finds_no_violation_on_any_page_light_or_dark(seen):
    first = {page_content(entry["slug"])["scenes"][0]["id"] for entry in contents()}
    assert first | {f"{name}, dark" for name in first} | {"home", "choose"} <= set(seen["axe"])
    assert {page: found for page, found in seen["axe"].items() if found} == {}


@in_browser
def test_a_dragged_point_is_fitted_again(seen):
    for name, found in seen["drags"].items():
        assert found["fits"] >= 3, name
        assert found["edited"], name
        assert not found["alert"], name


@in_browser
def test_the_keyboard_reaches_everything(seen):
    for page, found in seen["keyboard"].items():
        assert found["missed"] == [], page
        assert found["first"].startswith("1 /"), page
        assert found["second"].startswith("2 /"), page


@in_browser
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no table", "no number where one is needed"),
        ("empty", "no table"),
        ("NaN", "no number where one is needed"),
        ("too many", "at most 1000 points"),
        ("one point", "needs at least 2 points"),
        ("one class", "All points have the same class"),
        ("server stopped", "The server has stopped"),
        ("out of range", "must be between 0.01 and 1000, got -5"),
        ("no number", "must be between 1 and 8"),
        ("no such page", "no page called 'nothing'"),
    ],
)
def test_bad_input_is_a_sentence_and_the_points_stay(seen, name, sentence):
    found = seen["bad"][name]
    assert sentence in found["alert"]
    assert found.get("circles", 180) == 180  # ninety points in two panels, after an undo


@in_browser
def test_two_tabs_have_their_own_fits(seen):
    for k, values in zip((2, 5), seen["tabs"], strict=True):
        assert values == [value for _, value in run_scene("kmeans", {"k": k})[1].readouts]


@in_browser
def test_exported_files_open_without_a_network(seen):
    for name, found in seen["exported"].items():
        assert found["problems"] == found["requests"] == [], name
        assert not found["alert"], name
        assert found["headings"] == (0 if name == "embed" else 1)
        assert found["phone"] <= 0, name
        assert found["step"].startswith("4 /") or name == "home"


@needs_bundle
@needs_chromium
def test_a_page_is_fitted_and_drawn(address, tmp_path):
    """The readouts in the browser are the numbers of the Python fit."""
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
    y = np.repeat(["no", "yes"], 6)
    shown = kg.book.page("perceptron", X=X, y=y, live=False)._repr_html_()
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
    assert "centroids|three|printed=false|seed=0" in found["runs"]
    assert all("error" not in run for run in found["runs"].values())


def test_pages_are_recorded_by_several_processes_in_their_order(monkeypatch):
    monkeypatch.setattr(export, "n_threads", lambda: 2)
    slugs = ("online", "centroids", "densities")
    found = list(export._recorded(slugs))
    assert tuple(slug for slug, _, _ in found) == slugs
    for slug, packed, picture in found:
        assert picture == thumbnail(slug)
        assert len(packed) == pytest.approx(len(packed_page(slug)), rel=0.02)  # times differ
