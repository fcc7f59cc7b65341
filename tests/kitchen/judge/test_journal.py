"""Work that is cut off goes on where it stopped, with the same numbers."""

import errno
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from kilogram.evaluation.nested import Fold
from kilogram.kitchen import KitchenError, cook
from kilogram.kitchen.judge.journal import Journal, count_finished, fingerprint_of, remove_all
from tests.kitchen.conftest import curved

WORK = {"folds": 2, "repeats": 2, "search": "path"}


def folds_of(folder):
    report = json.loads((folder / "report.json").read_text())
    return {
        recipe["name"]: [(f["score"], f["inner_score"], f["winner"]) for f in recipe["folds"]]
        for recipe in report["recipes"]
    }, report["trust"]


def command(table, out):
    return ["cook", str(table), "--target", "y", "--out", str(out), "--folds", "2", "--repeats",
            "2", "--search", "path", "--quiet"]  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A table and the folds of a run of it that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    curved(40).to_csv(folder / "t.csv", index=False)
    cook(folder / "t.csv", "y", **WORK).save(folder)
    return folder / "t.csv", folds_of(folder)


# Stops itself by a signal when so many folds are kept: no clock and no second process decide when.
STOPS = """
import os, signal, sys
from kilogram.cli import app
from kilogram.kitchen.judge.journal import Journal

how, left, keep = getattr(signal, sys.argv[1]), [int(sys.argv[2])], Journal.keep
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

def kept(self, *rest):
    keep(self, *rest)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), how)

Journal.keep = kept
app(sys.argv[3:])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_begun_again_the_numbers_are_the_same(tmp_path, how, uninterrupted):
    table, whole = uninterrupted
    cut, finished = tmp_path / "cut", 6
    run = subprocess.run([sys.executable, "-c", STOPS, how.name, str(finished),
                          *command(table, cut)], stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert count_finished(cut) == finished
    assert not (cut / "report.json").exists()
    assert run.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    if how == signal.SIGINT:
        assert f"{finished} finished folds are kept" in run.stderr
    kept = {f.name: f.stat().st_mtime_ns for f in cut.glob(".unfinished-*/fold-*.npz")}
    again = cook(table, "y", **WORK, resume=cut)
    after = {f.name: f.stat().st_mtime_ns for f in cut.glob(".unfinished-*/fold-*.npz")}
    assert {name: after[name] for name in kept} == kept  # no finished fold was done again
    assert f"{finished} folds were finished" in " ".join(again.notes)
    again.save(cut)
    again.journal.forget()
    assert count_finished(cut) == 0
    assert folds_of(cut) == whole


def one_fold(journal):
    rows = np.arange(3)
    fold = Fold(0.5, None, {"alpha": 0.1}, rows, rows + 3, np.ones(3), 1.0)
    journal.keep(0, "linear", fold)
    return journal.finished(0, "linear", rows, rows + 3)


def test_links_are_never_followed(tmp_path):
    """Neither writing, reading nor removing the journal touches what a link points to."""
    target, folder = tmp_path / "precious", tmp_path / "out"
    target.mkdir()
    folder.mkdir()
    for name in ("letter.txt", "fold-0-linear.npz"):
        (target / name).write_text("keep me")
    journal = Journal(folder, "k" * 16)
    journal.place.symlink_to(target)
    assert one_fold(journal) is None
    assert count_finished(folder) == journal.count() == 0
    remove_all(folder)
    assert {f.name: f.read_text() for f in target.iterdir()} == {
        "letter.txt": "keep me", "fold-0-linear.npz": "keep me"}  # fmt: skip
    assert not journal.place.is_symlink()
    assert one_fold(journal).score == 0.5  # the link is gone: a folder of our own is made
    os.unlink(journal.place / "fold-0-linear.npz")
    (journal.place / "fold-0-linear.npz").symlink_to(target / "letter.txt")
    assert journal.count() == 0
    remove_all(folder)
    assert (target / "letter.txt").read_text() == "keep me"


def test_only_files_of_the_journal_are_removed(tmp_path):
    journal = Journal(tmp_path, "k" * 16)
    assert one_fold(journal) is not None
    (journal.place / "notes").mkdir()
    (journal.place / "mine.txt").write_text("keep me")
    remove_all(tmp_path)
    assert sorted(f.name for f in journal.place.iterdir()) == ["mine.txt", "notes"]
    assert journal.count() == 0
    assert one_fold(journal) is not None


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
    remove_all(tmp_path)
    assert count_finished(tmp_path) == 0
    assert Journal(None, "").count() == 0


def test_a_full_disk_keeps_the_finished_folds_and_says_where(tmp_path, monkeypatch):
    curved(40).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    cooked = cook(tmp_path / "t.csv", "y", **WORK, resume=out)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(KitchenError, match="No space left") as raised:
            cooked.save(out)
    (place,) = out.iterdir()
    assert place.name.startswith(".unfinished-")
    assert f"{count_finished(out)} finished folds are kept in {place}" in str(raised.value)
    assert "same command resumes" in str(raised.value)
    assert "--fresh" in str(raised.value)
    again = cook(tmp_path / "t.csv", "y", **WORK, resume=out)
    assert f"{count_finished(out)} folds were finished" in " ".join(again.notes)
    again.save(out)
    again.journal.forget()
    assert not list(out.glob(".*"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(KitchenError) as raised:
            again.save(out)
    assert str(raised.value).endswith("Nothing was half written.")  # nothing is kept any more
