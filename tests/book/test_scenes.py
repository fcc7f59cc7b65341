"""Every scene runs, says what is wrong with bad data, and shows what the Python lines give."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kilogram.book.content import contents, find_page, page_content
from kilogram.book.scene import BookError, run_scene, scenes
from kilogram.book.worker import answer
from kilogram.registry import SLUGS

SCENES = sorted(scenes())


@pytest.mark.parametrize("slug", SLUGS)
def test_every_page_of_the_registry_has_its_content(slug):
    page = page_content(slug)
    json.dumps(page)
    assert all(page[part] for part in ("title", "objective", "names"))
    assert all(scene["id"] in scenes() for scene in page["scenes"])


def test_contents_list_every_page_in_order():
    assert [entry["slug"] for entry in contents()] == list(SLUGS)


@pytest.mark.parametrize(
    ("name", "slug"), [("kmeans", "clusters"), ("KernelRidge", "ridge"), ("pca", "pca")]
)
def test_pages_are_found_by_slug_estimator_and_scene(name, slug):
    assert find_page(name) == slug


def test_unknown_page_is_a_sentence():
    with pytest.raises(BookError, match="no page called 'kmenas'"):
        find_page("kmenas")


@pytest.mark.parametrize("scene", SCENES)
def test_scene_is_well_formed(scene):
    """JSON without NaN; layers of frames belong to panels; a lit line lies in the code."""
    reply = answer({"scene": scene})
    assert "error" not in reply, reply.get("error")
    json.dumps(reply, allow_nan=False)
    panels = [panel["id"] for panel in reply["panels"]]
    assert len(set(panels)) == len(panels) > 0
    assert reply["frames"]
    for frame in reply["frames"]:
        assert set(frame["layers"]) <= set(panels)
    if reply["code"]:
        entry = {e["key"]: e for e in page_content(scenes()[scene].page)["textbook"]}[reply["code"]]
        count = len(entry["code"].splitlines())
        assert all(0 <= frame.get("line", 0) < count for frame in reply["frames"])


@pytest.mark.parametrize("scene", SCENES)
def test_python_lines_give_what_the_scene_shows(scene, tmp_path, monkeypatch):
    """The lines on the page, run on the saved points, fit the model of the last frame."""
    points, recording = run_scene(scene, {})
    if not recording.fitted:
        pytest.skip("this scene shows no single fitted estimator")
    table = np.column_stack([points.xy, points.labels])
    np.savetxt(tmp_path / "points.csv", table, delimiter=",", fmt="%.17g")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(recording.python, names)
    for attribute, expected in recording.fitted.items():
        found = np.asarray(getattr(names["model"], attribute), dtype=float)
        np.testing.assert_allclose(found, np.asarray(expected, float), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scene", SCENES)
def test_places_where_it_breaks_run(scene):
    for found in scenes()[scene].breaks:
        reply = answer({"scene": scene, "preset": found.preset, "controls": found.controls})
        assert "error" not in reply, (found.label, reply["error"])


@pytest.mark.parametrize("preset", ["moons", "overlap", "wrong_labels"])
def test_adaboost_shows_the_weights_of_the_textbook_version(preset):
    from kilogram.book.textbook_steps import record

    data, recording = run_scene("adaboost", {}, preset)
    steps = record("adaboost", data.xy, np.where(data.labels > 0, 1.0, -1.0), 6)
    for frame, step in zip(recording.frames[:7], steps, strict=True):
        shown, w = frame.layers["weights"][0]["y"], step.state["w"]
        np.testing.assert_allclose(shown, w / w.mean(), atol=1e-3)


def test_wrong_labels_take_half_of_the_weight():
    _, recording = run_scene("adaboost", {}, "wrong_labels")
    w = np.array(recording.frames[-1].layers["weights"][0]["y"])
    assert w[[3, 11, 47, 62]].sum() > 0.35 * w.sum()


EDITABLE = [scene for scene in SCENES if scenes()[scene].data != "none"]


@pytest.mark.parametrize("scene", EDITABLE)
@pytest.mark.parametrize(
    "points",
    [
        [],
        [[0.5, 0.5, 0]],
        [[0.5, 0.5, 0], [0.5, 0.5, 1]],
        [[0.0, 0.0, 0], [1.0, 1.0, 0], [2.0, 1.0, 0]],
        [[float("nan"), 0.0, 0], [1.0, 1.0, 1]],
        [[1.0, "x", 0]],
        [[0.0, 0.0, 0]] * 1001,
    ],
    ids=["none", "one", "two equal", "one class", "nan", "text", "too many"],
)
def test_bad_points_are_a_sentence_or_a_picture(scene, points):
    reply = answer({"scene": scene, "points": points})
    if "error" in reply:
        assert reply["error"].endswith((".", "?"))
        assert "Traceback" not in reply["error"]
    else:
        json.dumps(reply, allow_nan=False)


@pytest.mark.parametrize("scene", SCENES)
def test_controls_out_of_range_are_a_sentence(scene):
    for control in scenes()[scene].controls:
        if control.kind == "range":
            reply = answer({"scene": scene, "controls": {control.name: control.hi * 10 + 1}})
            assert "must be between" in reply["error"]
    assert "no control" in answer({"scene": scene, "controls": {"nothing": 1}})["error"]
