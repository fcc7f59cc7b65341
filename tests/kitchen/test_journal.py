"""Work that is cut off goes on where it stopped, with the same numbers."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from kilogram.evaluation.nested import Fold
from kilogram.kitchen import cook
from kilogram.kitchen.journal import Journal, fingerprint_of, forget_all, kept_in
from tests.kitchen.conftest import curved

WORK = {"folds": 2, "repeats": 2, "search": "path"}


def folds_of(folder):
    report = json.loads((folder / "report.json").read_text())
    return {
        recipe["name"]: [(f["score"], f["inner_score"], f["winner"]) for f in recipe["folds"]]
        for recipe in report["recipes"]
    }, report["trust"]


def command(table, out):
    return [sys.executable, "-m", "kilogram.cli", "cook", str(table), "--target", "y", "--out",
            str(out), "--folds", "2", "--repeats", "2", "--search", "path", "--quiet"]  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A table and the folds of a run of it that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    curved(40).to_csv(folder / "t.csv", index=False)
    cook(folder / "t.csv", "y", **WORK).save(folder)
    return folder / "t.csv", folds_of(folder)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_begun_again_the_numbers_are_the_same(tmp_path, how, uninterrupted):
    table, whole = uninterrupted
    cut = tmp_path / "cut"
    run = subprocess.Popen(command(table, cut), stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while kept_in(cut) < 6 and run.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    run.send_signal(how)
    said = run.communicate()[1]
    finished = kept_in(cut)
    assert finished >= 6
    assert not (cut / "report.json").exists()
    if how == signal.SIGINT:
        assert run.returncode == 130
        assert "finished folds are kept" in said
    kept = {f.name: f.stat().st_mtime_ns for f in cut.glob(".unfinished-*/fold-*.npz")}
    again = cook(table, "y", **WORK, resume=cut)
    after = {f.name: f.stat().st_mtime_ns for f in cut.glob(".unfinished-*/fold-*.npz")}
    assert {name: after[name] for name in kept} == kept  # no finished fold was done again
    assert f"{finished} folds were finished" in " ".join(again.notes)
    again.save(cut)
    again.journal.forget()
    assert kept_in(cut) == 0
    assert folds_of(cut) == whole


def test_other_data_or_settings_find_nothing(tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    splits = [(np.arange(3), np.arange(3, 6))]
    key = fingerprint_of(X, y, splits, "a")
    assert key == fingerprint_of(X.copy(), y, splits, "a")
    words = X.astype(object)
    others = {fingerprint_of(X + 1, y, splits, "a"), fingerprint_of(X, y[::-1], splits, "a"),
              fingerprint_of(X, y, splits, "b"), fingerprint_of(words, y, splits, "a"),
              fingerprint_of(X, y, [splits[0][::-1]], "a")}  # fmt: skip
    assert len(others | {key}) == 6


def test_damaged_files_count_as_none(tmp_path):
    journal = Journal(tmp_path, "k")
    rows = np.arange(3)
    fold = Fold(0.5, None, {"alpha": 0.1, "kind": "log"}, rows, rows + 3, np.ones(3), 1.0)
    journal.keep(0, "linear", fold)
    found = journal.finished(0, "linear", rows, rows + 3)
    assert (found.score, found.winner, found.model) == (0.5, fold.winner, None)
    assert journal.finished(0, "linear", rows, rows) is None  # other rows
    assert journal.finished(1, "linear", rows, rows + 3) is None
    (file,) = tmp_path.glob(".unfinished-*/fold-*")
    file.write_bytes(file.read_bytes()[:100])
    assert journal.finished(0, "linear", rows, rows + 3) is None
    os.chmod(file.parent, 0o700)
    forget_all(tmp_path)
    assert kept_in(tmp_path) == 0
    assert Journal(None, "").count() == 0
