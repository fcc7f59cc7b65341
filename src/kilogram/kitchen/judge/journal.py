"""Finished folds on disk, so that an interrupted run can be resumed.

    folder/.unfinished-KEY/fold-3-kernel.npz

One file per fold and recipe, written under a temporary name and moved into place, so that a file is
complete or absent. KEY is a fingerprint of the data, the target, the folds, the settings that
matter and the version: other data or settings find nothing to resume. Fitted models are stored as
skops archives and opened only if they hold trusted types; nothing is executed.

The folder is created by the run and must be a real folder of the same user. A symbolic link in its
place is never followed, neither to write, to read nor to remove, and only files that the journal
itself names are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.evaluation.nested import Fold
from kilogram.kitchen.archive import dumps, loads

PREFIX = ".unfinished-"
_FOLD = re.compile(r"fold-\d+-\w+\.npz")
_TEMPORARY = ".fold-"


@dataclass(frozen=True)
class Journal:
    """The finished folds of one run; without a folder nothing is stored."""

    folder: Path | None
    key: str

    @property
    def place(self) -> Path:
        assert self.folder is not None
        return self.folder / f"{PREFIX}{self.key[:16]}"

    def count(self) -> int:
        """How many folds are finished, counted for each recipe."""
        return 0 if self.folder is None else len(_folds(self.place))

    def keep(self, k: int, recipe: str, fold: Fold) -> None:
        """Store a finished fold; a full disk costs the journal, not the run."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self._write(self._file(k, recipe), _packed(fold))

    def _write(self, file: Path, content: bytes) -> None:
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            file.parent.mkdir(mode=0o700)
        if not is_own_folder(file.parent):
            return
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=_TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def finished(self, k: int, recipe: str, train: np.ndarray, test: np.ndarray) -> Fold | None:
        """The fold if it was finished before; None for an absent, damaged or foreign file."""
        if self.folder is None or self._file(k, recipe) not in _folds(self.place):
            return None
        try:
            return _unpacked(self._file(k, recipe).read_bytes(), np.asarray(train), test)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def resume_hint(self) -> str:
        """Where finished folds are stored, and how to resume from them or remove them."""
        files = [] if self.folder is None else _folds(self.place)
        if not files:
            return ""
        size = sum(file.lstat().st_size for file in files) / 2**20
        folds = "1 finished fold is" if len(files) == 1 else f"{len(files)} finished folds are"
        return (
            f" {folds} kept in {self.place} ({size:.1f} MiB): with enough space, the same command "
            "resumes from there; kg cook --fresh, or removing that folder, starts over."
        )

    def forget(self) -> None:
        """Remove the stored folds: the run is complete."""
        if self.folder is not None:
            _remove(self.place)

    def _file(self, k: int, recipe: str) -> Path:
        return self.place / f"fold-{k}-{recipe}.npz"


def count_finished(folder: Path) -> int:
    """How many finished folds, of any run, are in a folder."""
    return sum(len(_folds(place)) for place in folder.glob(f"{PREFIX}*"))


def remove_all(folder: Path) -> None:
    """Remove the finished folds of all runs in a folder."""
    for place in folder.glob(f"{PREFIX}*"):
        _remove(place)


def is_own_folder(place: Path) -> bool:
    """A real folder, not a link to one, that belongs to this user."""
    try:
        found = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_own(found)


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def _folds(place: Path) -> list[Path]:
    """The regular files of finished folds in a journal folder."""
    return _own_files(place, lambda name: bool(_FOLD.fullmatch(name)))


def _own_files(place: Path, wanted: Callable[[str], bool]) -> list[Path]:
    if not is_own_folder(place):
        return []
    found = []
    with contextlib.suppress(OSError):
        for file in place.iterdir():
            facts = file.lstat()
            if wanted(file.name) and stat.S_ISREG(facts.st_mode) and _is_own(facts):
                found.append(file)
    return sorted(found)


def _remove(place: Path) -> None:
    """Remove the journal's own files, and the folder unless something else is in it."""
    if place.is_symlink():
        place.unlink()  # the link, not what it points to
        return
    for file in _own_files(place, lambda n: bool(_FOLD.fullmatch(n)) or n.startswith(_TEMPORARY)):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        place.rmdir()


def fingerprint_of(X: np.ndarray, y: np.ndarray, splits: Iterable[Any], *settings: Any) -> str:
    """The key of a run."""
    digest = hashlib.sha256()
    if X.dtype == object:
        for row in X:
            digest.update("\x1f".join(map(str, row)).encode())
            digest.update(b"\n")
    else:
        digest.update(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    for train, test in splits:
        digest.update(np.asarray(train, dtype=np.int64).tobytes())
        digest.update(np.asarray(test, dtype=np.int64).tobytes())
    for one in settings:
        digest.update(repr(one).encode())
    return digest.hexdigest()


def _packed(fold: Fold) -> bytes:
    facts = {"score": fold.score, "inner_score": fold.inner_score, "winner": fold.winner,
             "seconds": fold.seconds, "tried": fold.tried,
             "stopped_at": fold.stopped_at}  # fmt: skip
    model = b"" if fold.model is None else dumps(fold.model)
    stream = io.BytesIO()
    np.savez(
        stream,
        facts=np.array(json.dumps(facts)),
        test=fold.test,
        prediction=fold.prediction,
        decision=np.empty(0) if fold.decision is None else fold.decision,
        model=np.frombuffer(model, dtype=np.uint8),
    )
    return stream.getvalue()


def _unpacked(content: bytes, train: np.ndarray, test: np.ndarray) -> Fold | None:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        if not np.array_equal(stored["test"], test):
            return None
        facts = json.loads(str(stored["facts"]))
        model = stored["model"].tobytes()
        return Fold(
            score=float(facts["score"]),
            inner_score=facts["inner_score"],
            winner=facts["winner"],
            train=train,
            test=np.asarray(test),
            prediction=stored["prediction"],
            seconds=float(facts["seconds"]),
            model=loads(model) if model else None,
            tried=int(facts["tried"]),
            stopped_at=int(facts["stopped_at"]),
            decision=stored["decision"] if stored["decision"].size else None,
        )
