"""Finished folds on disk, so that work which was cut off goes on where it stopped.

    folder/.unfinished-KEY/fold-3-kernel.npz

One file per fold and recipe, written under another name first and moved into place, so that a file
is whole or not there. KEY is a fingerprint of the cells, the answers, the folds, the settings that
matter and the version: other data or other settings find nothing to go on from. Fitted models lie
in the files as skops archives and are opened only if they hold known types; nothing is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.evaluation.nested import Fold
from kilogram.kitchen.save import KNOWN, skops

PREFIX = ".unfinished-"


@dataclass(frozen=True)
class Journal:
    """The finished folds of one piece of work; without a folder nothing is kept."""

    folder: Path | None
    key: str

    @property
    def place(self) -> Path:
        assert self.folder is not None
        return self.folder / f"{PREFIX}{self.key[:16]}"

    def count(self) -> int:
        """How many folds are finished, one for each recipe."""
        if self.folder is None or not self.place.is_dir():
            return 0
        return len(list(self.place.glob("fold-*.npz")))

    def keep(self, k: int, recipe: str, fold: Fold) -> None:
        """Write a finished fold down; a full disk costs the journal, not the work."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                self._write(self._file(k, recipe), _packed(fold))

    def _write(self, place: Path, content: bytes) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, passing = tempfile.mkstemp(dir=place.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(passing, place)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(passing)
            raise

    def finished(self, k: int, recipe: str, train: np.ndarray, test: np.ndarray) -> Fold | None:
        """The fold if it was finished before, else None; a file that is not ours counts as none."""
        if self.folder is None or not self._file(k, recipe).is_file():
            return None
        try:
            return _unpacked(self._file(k, recipe).read_bytes(), np.asarray(train), test)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def told(self) -> str:
        """Where finished folds are kept, and how to go on from them or be rid of them."""
        count = self.count()
        if not count:
            return ""
        size = sum(file.stat().st_size for file in self.place.iterdir()) / 2**20
        folds = "1 finished fold is" if count == 1 else f"{count} finished folds are"
        return (
            f" {folds} kept in {self.place} ({size:.1f} MiB): with room, the same command goes on "
            "from there; kg cook --fresh, or removing that folder, begins anew."
        )

    def forget(self) -> None:
        """Remove what was kept: the work is done."""
        if self.folder is not None:
            _remove(self.place)

    def _file(self, k: int, recipe: str) -> Path:
        return self.place / f"fold-{k}-{recipe}.npz"


def kept_in(folder: Path) -> int:
    """How many finished folds, of whatever work, lie in a folder."""
    return len(list(folder.glob(f"{PREFIX}*/fold-*.npz")))


def forget_all(folder: Path) -> None:
    """Remove the finished folds of all work in a folder."""
    for place in folder.glob(f"{PREFIX}*"):
        _remove(place)


def _remove(place: Path) -> None:
    if not place.is_dir():
        return
    for file in place.iterdir():
        file.unlink(missing_ok=True)
    place.rmdir()


def fingerprint_of(X: np.ndarray, y: np.ndarray, splits: Iterable[Any], *said: Any) -> str:
    """The key of a piece of work."""
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
    for one in said:
        digest.update(repr(one).encode())
    return digest.hexdigest()


def _packed(fold: Fold) -> bytes:
    facts = {"score": fold.score, "inner_score": fold.inner_score, "winner": fold.winner,
             "seconds": fold.seconds, "tried": fold.tried}  # fmt: skip
    model = b"" if fold.model is None else skops().dumps(fold.model)
    stream = io.BytesIO()
    np.savez(
        stream,
        facts=np.array(json.dumps(facts)),
        test=fold.test,
        prediction=fold.prediction,
        model=np.frombuffer(model, dtype=np.uint8),
    )
    return stream.getvalue()


def _unpacked(content: bytes, train: np.ndarray, test: np.ndarray) -> Fold | None:
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        if not np.array_equal(held["test"], test):
            return None
        facts = json.loads(str(held["facts"]))
        model = held["model"].tobytes()
        return Fold(
            score=float(facts["score"]),
            inner_score=facts["inner_score"],
            winner=facts["winner"],
            train=train,
            test=np.asarray(test),
            prediction=held["prediction"],
            seconds=float(facts["seconds"]),
            model=_opened(model) if model else None,
            tried=int(facts["tried"]),
        )


def _opened(content: bytes) -> Any:
    if set(skops().get_untrusted_types(data=content)) - KNOWN:
        raise ValueError("types that no fold of ours has")
    return skops().loads(content, trusted=sorted(KNOWN))
