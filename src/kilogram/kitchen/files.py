"""Files that are complete or absent.

Every file is written under a temporary name in the same folder, flushed, and moved into place when
all of them are there. Whatever goes wrong before (a full disk, a read-only folder, Ctrl-C) leaves
the folder as it was. Temporary files are created exclusively, so that no link is ever followed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kilogram.kitchen.errors import CannotWriteError


@contextmanager
def writable_folder(folder: Path) -> Iterator[None]:
    """A folder that can be written to: created before the work, removed again if the work fails."""
    created = []
    try:
        for part in (*reversed(folder.parents), folder):
            if not part.exists():
                part.mkdir()
                created.append(part)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as bad:
        _remove_empty(created)
        raise CannotWriteError(cannot_write(folder, bad)) from None
    try:
        yield
    except BaseException:
        _remove_empty(created)
        raise


def _remove_empty(folders: list[Path]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):  # somebody else put something there: leave it
            folder.rmdir()


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all of the files, or none of them."""
    waiting: dict[Path, Path] = {}
    with writable_folder(folder):
        try:
            for name, content in files.items():
                waiting[_written(folder, name, content)] = folder / name
            for written, place in waiting.items():
                os.replace(written, place)
        except OSError as bad:
            whole = " Nothing was half written."
            raise CannotWriteError(cannot_write(folder, bad) + whole) from None
        finally:
            for written in waiting:
                written.unlink(missing_ok=True)
    return list(waiting.values())


def _written(folder: Path, name: str, content: bytes) -> Path:
    """The content under a temporary name, flushed to disk; removed again if it does not fit."""
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~umask())
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return Path(temporary)


def umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cannot_write(folder: Path, bad: OSError) -> str:
    """Error for a folder that cannot be written to."""
    return (
        f"Cannot write to {folder}: {bad.strerror}. Choose another folder with --out, or free "
        "some space."
    )
