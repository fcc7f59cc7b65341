"""Files are whole or not there; models come back the same; strangers' files are not opened."""

import errno
import json
import os
import subprocess
import sys
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import Ridge

from kilogram.kitchen import KitchenError, load_model
from kilogram.kitchen.archive import TRUSTED_TYPES
from kilogram.kitchen.artifact.model_file import model_bytes
from kilogram.kitchen.files import writable_folder, write_files
from kilogram.kitchen.settings import KEPT
from tests.kitchen.conftest import classes, curved


@pytest.mark.parametrize("which", ["cooked", "sorted_classes", "two_classes"])
def test_saved_models_predict_the_same(which, request, tmp_path):
    found = request.getfixturevalue(which)
    files = found.save(tmp_path / "a" / "b")
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == sorted(files)
    model = load_model(files["model.skops"])
    frame = curved(20, seed=5) if which == "cooked" else classes(20, seed=5)
    assert np.array_equal(model.predict(frame), found.predict(frame))
    assert model.layout == found.model.layout
    assert model.about["recipe"] == found.kept.name


@pytest.mark.parametrize("which", ["cooked", "sorted_classes"])
def test_every_recipe_is_made_of_known_types(which, request, tmp_path):
    found = request.getfixturevalue(which)
    frame = curved(40) if which == "cooked" else classes(40)
    names = [one.name for one in found.judged]
    menu = {"baseline", "linear", "kernel", "trees", "boosting", "ensemble"}
    assert set(names) == menu | ({"logistic"} if which == "sorted_classes" else set())
    assert names == [name for name in KEPT if name in names]
    for one in found.judged:
        model = replace(found.model, pipeline=one.first_round[0].model)
        content = model_bytes(model)
        assert set(skops.io.get_untrusted_types(data=content)) <= TRUSTED_TYPES
        (tmp_path / "m.skops").write_bytes(content)
        # plain arrays of trees may sum their answers in another order
        again = load_model(tmp_path / "m.skops").predict(frame)
        expected = model.predict(frame)
        if which == "cooked":
            assert again == pytest.approx(expected, rel=1e-12)
        else:
            assert again.tolist() == expected.tolist()


def test_models_on_landmarks_are_known_too(cooked, tmp_path):
    frame = curved()
    X = cooked.model.layout.array(pa.Table.from_pandas(frame.dropna(subset="y")))
    kernel = next(one for one in cooked.judged if one.name == "kernel").first_round[0].model
    pipeline = clone(kernel).set_params(model__max_exact=20, model__n_landmarks=15)
    pipeline.fit(X, frame["y"].dropna())
    assert len(pipeline[-1].model_) == 2
    model = replace(cooked.model, pipeline=pipeline)
    (tmp_path / "m.skops").write_bytes(model_bytes(model))
    assert np.array_equal(load_model(tmp_path / "m.skops").predict(frame), model.predict(frame))


def test_a_full_disk_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    write_files(tmp_path, {"a": b"old", "b": b"old"})

    def full(handle, *rest):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KitchenError, match="No space left"):
        write_files(tmp_path, {"a": b"new", "b": b"new"})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}


def test_an_interrupt_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    calls = []

    def interrupted(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "new", {"a": b"new", "b": b"new"})
    assert not (tmp_path / "new").exists()


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(KitchenError, match="Cannot write to"),
        writable_folder(tmp_path / "file" / "x"),
    ):
        pass
    with pytest.raises(RuntimeError), writable_folder(tmp_path / "p" / "q"):
        raise RuntimeError
    assert not (tmp_path / "p").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(KitchenError, match="Permission denied"):
        write_files(tmp_path, {"a": b""})


def test_files_of_others_are_not_opened(tmp_path):
    path = tmp_path / "m.skops"
    with pytest.raises(KitchenError, match="cannot be read"):
        load_model(path)
    path.write_bytes(b"no archive at all")
    with pytest.raises(KitchenError, match="not a model file"):
        load_model(path)
    path.write_bytes(skops.io.dumps({"format": "other", "pipeline": Ridge()}))
    with pytest.raises(KitchenError, match="not a model file"):
        load_model(path)
    path.write_bytes(skops.io.dumps({"format": "kilogram model 1", "pipeline": subprocess.run}))
    with pytest.raises(KitchenError, match=r"subprocess\.run.*not opened"):
        load_model(path)
    path.write_bytes(skops.io.dumps(Ridge())[:200])
    with pytest.raises(KitchenError, match="not a model file"):
        load_model(path)


def test_damaged_files_and_bombs_are_refused_not_unpacked(cooked, tmp_path):
    path = tmp_path / "m.skops"
    content = model_bytes(cooked.model)
    for cut in (len(content) // 2, len(content) - 30):
        path.write_bytes(content[:cut])
        with pytest.raises(KitchenError, match="not a model file"):
            load_model(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (200 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(KitchenError, match="bomb"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "[" * 100_000)
    with pytest.raises(KitchenError, match="not a model file"):
        load_model(path)
    held = {"format": "kilogram model 1", "pipeline": "rm -rf", "about": {}}
    path.write_bytes(skops.io.dumps(held))
    with pytest.raises(KitchenError, match="not a model file"):
        load_model(path)


def test_a_size_declared_too_small_does_not_hide_a_bomb(tmp_path):
    """The declared size is not trusted: what is decompressed is counted while it is read."""
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (256 << 20))
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    for place in (22, central + 24):  # uncompressed sizes in both headers
        content[place : place + 4] = (1000).to_bytes(4, "little")
    crc = zlib.crc32(b" " * 1000)
    for place in (14, central + 16):
        content[place : place + 4] = crc.to_bytes(4, "little")
    path.write_bytes(content)
    script = (
        "import resource, sys; from kilogram.kitchen import KitchenError, load_model\n"
        "from kilogram.kitchen.archive import skops; skops()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: load_model(sys.argv[1])\n"
        "except KitchenError: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert int(run.stdout) < 64 << 10, run.stderr  # KiB; the payload has 256 MiB


def test_nested_references_do_not_hang(tmp_path):
    """Sixty lists, each holding the one before twice: 2^60 nodes if they were followed."""
    member = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    state = {**member, "__id__": 1, "content": []}
    for k in range(2, 62):
        cached = {"__class__": "list", "__module__": "builtins", "__loader__": "CachedNode",
                  "__id__": k - 1}  # fmt: skip
        state = {**member, "__id__": k, "content": [state, cached]}
    shared = {**member, "__id__": 1, "content": []}
    for k in range(2, 62):  # the same with names in place of references
        shared = {**member, "__id__": k, "content": [shared, {**member, "__id__": k - 1}]}
    for schema in (state, shared):
        with zipfile.ZipFile(tmp_path / "m.skops", "w") as archive:
            archive.writestr("schema.json", json.dumps({**schema, "protocol": 2}))
        with pytest.raises(KitchenError, match="not a model file"):
            load_model(tmp_path / "m.skops")
