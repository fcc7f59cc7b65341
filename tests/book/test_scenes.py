"""Every scene runs, says what is wrong with bad data, and shows what the Python lines give."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from kilogram.book.captions import CAPTIONS
from kilogram.book.content import contents, find_page, page_content
from kilogram.book.errors import BookError
from kilogram.book.scene import run_scene, scenes
from kilogram.book.worker import answer
from kilogram.registry import SLUGS
from kilogram.textbook import ENTRIES

SCENES = sorted(scenes())
MADE = [scene for scene in SCENES if not scene.startswith("textbook_")]


@pytest.mark.parametrize("slug", SLUGS)
def test_every_page_of_the_registry_has_its_content(slug):
    page = page_content(slug)
    json.dumps(page)
    assert all(page[part] for part in ("title", "objective", "names"))
    assert all(scene["id"] in scenes() for scene in page["scenes"])


def test_contents_list_every_page_by_family():
    listed = [entry["slug"] for entry in contents()]
    assert sorted(listed) == sorted(SLUGS)
    families = [entry["family"] for entry in contents()]
    assert families == sorted(families, key=families.index)  # each family in one piece
    assert all(entry["short"] and entry["idea"].endswith((".", "?")) for entry in contents())


@pytest.mark.parametrize("slug", SLUGS)
def test_every_page_has_a_small_picture(slug):
    found = answer({"thumbnail": slug})
    json.dumps(found, allow_nan=False)
    assert found["layers"] or found["panel"]["layers"]


@pytest.mark.parametrize("scene", MADE)
def test_every_step_has_a_caption(scene):
    """In plain words; a run of a misprint has none, for it does something else."""
    frames = answer({"scene": scene})["frames"]
    assert len(frames) == 1 or all(frame["caption"].endswith((".", "?")) for frame in frames)


def test_captions_belong_to_scenes():
    assert set(CAPTIONS) <= set(MADE)
    frames = answer({"scene": "kmeans", "controls": {"printed": True}})["frames"]
    assert not any("caption" in frame for frame in frames)


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


@pytest.mark.parametrize("scene", MADE)
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


def test_every_textbook_version_runs_line_by_line_on_a_page():
    """Each has its example, stands on a page, and its states are drawn without an error."""
    shown = set()
    for scene in (scenes()[name] for name in SCENES if name.startswith("textbook_")):
        for key, _ in scene.controls[0].choices:
            reply = answer({"scene": scene.id, "controls": {"algorithm": key}})
            assert "error" not in reply, (key, reply["error"])
            json.dumps(reply, allow_nan=False)
            assert reply["code"] == key
            shown.add(key)
    assert shown == set(ENTRIES)


def test_the_lines_of_a_textbook_scene_give_its_last_state(tmp_path, monkeypatch):
    points, recording = run_scene("textbook_clusters", {"algorithm": "k_means"})
    table = np.column_stack([points.xy, points.labels])
    np.savetxt(tmp_path / "points.csv", table, delimiter=",", fmt="%.17g")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(recording.python, names)
    centres = recording.frames[-1].layers["data"][-1]
    np.testing.assert_allclose(names["result"]["mu"][:, 0], centres["x"], atol=1e-3)


def test_every_page_of_the_registry_has_something_to_play():
    assert {scene.page for scene in scenes().values()} == set(SLUGS)


@pytest.mark.parametrize(
    ("scene", "preset"),
    [("perceptron", "aside"), ("centroids", "aside"), ("ridge", "high"), ("svm", "unequal_two")],
)
def test_what_the_printed_page_gets_wrong_looks_different(scene, preset):
    right, wrong = (run_scene(scene, {"printed": printed}, preset)[1] for printed in (False, True))
    i = {"ridge": 0}.get(scene, -1)  # the largest penalty, or the end
    panel = "kernel" if scene == "svm" else "data"
    assert right.frames[i].layers[panel][0] != wrong.frames[i].layers[panel][0]


SWITCHED = [name for name in MADE if any(c.name == "printed" for c in scenes()[name].controls)]


@pytest.mark.parametrize("scene", SWITCHED)
def test_the_switch_of_a_misprint_shows_another_picture(scene):
    right, wrong = (answer({"scene": scene, "controls": {"printed": on}}) for on in (False, True))
    assert "error" not in wrong
    drawn = [
        [p.get("layers") for p in r["panels"]] + [f["layers"] for f in r["frames"]]
        for r in (right, wrong)
    ]
    assert drawn[0] != drawn[1]


def test_printed_steps_of_logistic_regression_go_uphill():
    _, recording = run_scene("logistic", {"printed": True}, "overlap")
    first, last = (recording.frames[i].layers["objective"][0]["y"][-1] for i in (0, -1))
    assert last > first


def test_factors_updated_at_once_do_not_always_improve():
    _, recording = run_scene("nmf", {"printed": True})
    errors = recording.frames[-1].layers["objective"][0]["y"]
    assert np.any(np.diff(errors) > 0)


def test_kernel_correlation_without_a_penalty_is_perfect_and_vanishes_on_fresh_rows():
    shown = dict(run_scene("cca", {"printed": True})[1].readouts)
    assert shown["kernel correlation"] > 0.999
    assert shown["kernel, fresh rows"] < 0.5


def test_regions_are_those_of_every_fine_cell():
    from kilogram.book.recording import Grid

    grid = Grid(-3, 3, -3, 3, 16, 16)
    layer = grid.regions(lambda Z: (Z[:, 0] + 0.3 * Z[:, 1] > 0.1).astype(int) + (Z[:, 1] > 2))
    pairs = np.frombuffer(base64.b64decode(layer["data"]), np.uint8).reshape(-1, 2)
    labels = np.repeat(pairs[:, 0], pairs[:, 1])
    places = grid.finer(2).places
    np.testing.assert_array_equal(
        labels, (places[:, 0] + 0.3 * places[:, 1] > 0.1).astype(int) + (places[:, 1] > 2)
    )


def test_borders_of_regions_lie_on_the_line():
    """Each cut between two places is on the border, within half of the last bisection."""
    from kilogram.book.recording import BISECTIONS, Grid

    grid = Grid(-3, 3, -3, 3, 16, 16)
    layer = grid.regions(lambda Z: Z[:, 0] + 0.3 * Z[:, 1] > 0.1)
    pairs = np.frombuffer(base64.b64decode(layer["data"]), np.uint8).reshape(-1, 2)
    labels = np.repeat(pairs[:, 0], pairs[:, 1]).reshape(32, 32)
    cuts = np.frombuffer(base64.b64decode(layer["cuts"]), np.uint8) / 255
    across, up = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    assert len(cuts) == across.sum() + up.sum() > 32
    places = grid.finer(2).places.reshape(32, 32, 2)
    starts = np.concatenate([places[:, :-1][across], places[:-1][up]])
    ends = np.concatenate([places[:, 1:][across], places[1:][up]])
    found = starts + cuts[:, None] * (ends - starts)
    step = 6 / 32 * (2.0 ** -(BISECTIONS + 1) + 1 / 255)
    assert np.abs(found[:, 0] + 0.3 * found[:, 1] - 0.1).max() <= step


def test_nothing_of_a_panel_or_frame_is_lost_because_it_equals_nothing():
    from kilogram.book.recording import Frame, Panel, plain

    assert plain(Panel("a", "A", (0, 1), (0, 1), axes=False))["axes"] is False
    assert plain(Frame("first", {}, 0))["line"] == 0


@pytest.mark.parametrize("scene", ["lasso", "cca", "manifolds", "nmf"])
def test_rows_of_a_table_are_moved_deleted_and_added(scene):
    """The points of the sample give the sample; others are fitted anew."""
    points, _ = run_scene(scene, {})
    rows = [[*xy, c] for xy, c in zip(points.xy.tolist(), points.labels.tolist(), strict=True)]
    first = answer({"scene": scene})
    assert answer({"scene": scene, "points": rows})["frames"] == first["frames"]
    moved = [[1.5, -2.0, rows[0][2]], *rows[1:]]
    for changed in (moved, rows[1:], [*rows, [0.7, 0.3, 0]]):
        reply = answer({"scene": scene, "points": changed})
        assert "error" not in reply
        assert len(reply["points"]) == len(changed)
        assert reply["frames"] != first["frames"]


def test_a_moved_row_keeps_its_other_columns():
    from kilogram.book.tables import columns_at, correlated_columns

    X, y, _ = correlated_columns(0, 1.5, 0.3)
    table = np.column_stack([X[:, 2], y, np.arange(1, 61)])
    table[4, :2] = 2.5, -3.0
    found, target = columns_at(np.vstack([table[3:6], [[0.5, 1.0, 0]]]), 3, 0, 1.5, 0.3)
    expected = X[3:6].copy()
    expected[1, 2] = 2.5
    np.testing.assert_allclose(found[:3], expected)
    np.testing.assert_allclose(found[3], np.where(np.arange(8) == 2, 0.5, X.mean(axis=0)))
    np.testing.assert_allclose(target, [y[3], -3.0, y[5], 1.0] - np.mean([y[3], -3.0, y[5], 1.0]))


@pytest.mark.parametrize("scene", ["polynomial", "ridge", "neighbors", "kitchen_sinks", "lasso"])
def test_python_lines_follow_the_step(scene, tmp_path, monkeypatch):
    """Where every step is a fit of its own, its lines fit that one."""
    points, recording = run_scene(scene, {})
    np.savetxt(tmp_path / "points.csv", np.column_stack([points.xy, points.labels]), delimiter=",")
    monkeypatch.chdir(tmp_path)
    lines = [frame.python for frame in recording.frames]
    assert len(set(lines)) == len(lines)
    for text in (lines[0], lines[-1]):
        names: dict[str, object] = {}
        exec(text, names)
        assert hasattr(names["model"], "predict")


def test_clusters_have_the_colours_of_those_they_match():
    from kilogram.book.drawing import matched_labels

    like = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    labels = np.array([2, 2, 2, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(matched_labels(labels, like)[labels], like)


def test_signed_fields_are_fine_near_zero():
    from kilogram.book.recording import Grid

    values = np.linspace(-1, 1, 64)
    layer = Grid(0, 1, 0, 1, 8, 8).values(values, limit=1.0)
    root = np.frombuffer(base64.b64decode(layer["data"]), np.uint8) / 127.5 - 1
    decoded = root * np.abs(root)
    # half a step of the root, 1 / 255, times the slope of its square
    assert np.all(np.abs(decoded - values) <= (2 * np.abs(root) + 1 / 255) / 255)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_page_has_a_derivation(slug):
    steps = page_content(slug)["derivation"]
    assert len(steps) >= 2
    assert all(words.endswith((".", ":")) and formula for words, formula in steps)


def test_a_perceptron_without_an_offset_never_ends_beside_the_origin():
    _, right = run_scene("perceptron", {}, "aside")
    _, printed = run_scene("perceptron", {"printed": True}, "aside")
    assert dict(right.frames[-1].readouts)["wrong now"] == 0
    assert dict(printed.frames[-1].readouts)["wrong now"] > 0


def test_costs_are_those_of_estimate():
    import kilogram as kg
    from kilogram.book.costs import page_costs

    found = page_costs("ridge")
    ridge = next(method for method in found["methods"] if method["name"] == "Ridge")
    expected = kg.estimate(kg.Ridge(), n=found["rows"][0], d=found["columns"])
    assert ridge["costs"][0]["bytes"] == pytest.approx(expected.bytes, rel=0.05)


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


# of the scenes made from the registry, one for each kind of data
EDITABLE = [scene for scene in MADE if scenes()[scene].data != "none"]
EDITABLE += ["textbook_ridge", "textbook_svm"]


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
