"""Files that are whole or not there, and model files that hold known types only.

Writing   every file is written under another name in the same folder, flushed, and only when all
          of them are there are they moved into place; whatever goes wrong before, a full disk, a
          read-only folder, Ctrl-C, leaves the folder as it was.
Loading   a model file is a skops archive. It is opened only if each type in it is one that
          scikit-learn's own are known by, or is on the list below; nothing in it is executed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from kilogram.kitchen.columns import Column, Layout
from kilogram.kitchen.errors import CannotWriteError, KitchenError, some
from kilogram.kitchen.model import Model

FORMAT = "kilogram model 1"
# An archive of numbers shrinks little; what says it shrank by more was made to explode.
_BOMB_RATIO, _HARMLESS = 50, 64 << 20
_ADAPTERS = tuple(
    f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask")
)
# Ours, and plain array types; scikit-learn's own types are known to skops.
KNOWN = frozenset(
    {
        "kilogram.kernels.gaussian.Gaussian",
        "kilogram.kitchen.featurise.dates.DateParts",
        "kilogram.kitchen.featurise.images.HOG",
        "kilogram.kitchen.featurise.numbers.Numbers",
        "kilogram.kitchen.featurise.numbers.Scaled",
        "kilogram.kitchen.featurise.text.Compressed",
        "kilogram.kitchen.featurise.text.TermCounts",
        "kilogram.kitchen.featurise.text.TermWeights",
        "kilogram.kitchen.search.TwinSearchClassifier",
        "kilogram.kitchen.search.TwinSearchRegressor",
        "kilogram.kitchen.trees.TreesSearchClassifier",
        "kilogram.kitchen.trees.TreesSearchRegressor",
        "kilogram.models.features.nystroem.Nystroem",
        "kilogram.models.regression.kernel_ridge.KernelRidge",
        "kilogram.models.regression.ridge.Ridge",
        "numpy.dtype",
    }
)


@contextmanager
def promised(folder: Path) -> Iterator[None]:
    """A folder that can be written to, made before the work and unmade if the work fails."""
    made = []
    try:
        for part in (*reversed(folder.parents), folder):
            if not part.exists():
                part.mkdir()
                made.append(part)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as bad:
        _unmake(made)
        raise CannotWriteError(cannot_write(folder, bad)) from None
    try:
        yield
    except BaseException:
        _unmake(made)
        raise


def _unmake(folders: list[Path]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):  # somebody else put something there: leave it
            folder.rmdir()


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """All of the files, or none of them."""
    waiting: dict[Path, Path] = {}
    with promised(folder):
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
    """The content under a passing name, safely on the disk; gone again if it does not fit."""
    handle, passing = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(passing, 0o666 & ~umask())
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(passing)
        raise
    return Path(passing)


def umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cannot_write(folder: Path, bad: OSError) -> str:
    """What to say of a folder that cannot be written to."""
    return (
        f"Cannot write to {folder}: {bad.strerror}. Choose another folder with --out, or make room."
    )


def skops() -> Any:
    """skops, when a model is written or read: it looks through all of scikit-learn on import.

    On that walk it would import every array library that scikit-learn has an adapter for, seconds
    of torch for a table of penguins: those adapters are out of sight meanwhile.
    """
    hidden = [name for name in _ADAPTERS if name not in sys.modules]
    if "skops.io" in sys.modules:
        hidden = []
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        return import_module("skops.io")
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def model_bytes(model: Model, *, card: str | None = None) -> bytes:
    """A model as the content of a file, with its card."""
    return skops().dumps(
        {
            "format": FORMAT,
            "target": model.target,
            "task": model.task,
            "classes": list(model.classes),
            "header": model.header,
            "columns": [asdict(column) for column in model.layout.columns],
            "about": dict(model.about) | ({"card": card} if card else {}),
            "use": dict(model.use),
            "pipeline": model.pipeline,
        }
    )


def load_model(path: str | Path) -> Model:
    """The model in a file, or an error if it is not one of ours or holds anything unknown."""
    path = Path(path)
    try:
        _refuse_bomb(path)
        content = path.read_bytes()
    except OSError as bad:
        raise KitchenError(f"The model {path} cannot be read: {bad.strerror}.") from None
    not_ours = f"{path.name} is not a model file made by kg cook, or it is damaged."
    try:
        unknown = set(skops().get_untrusted_types(data=content)) - KNOWN
    except Exception as bad:  # whatever a stranger's archive makes its reader stumble over
        raise KitchenError(not_ours) from bad
    if unknown:
        raise KitchenError(
            f"{path.name} holds types that no model of kg cook has: {some(sorted(unknown))}. It "
            "was not opened."
        )
    try:
        return _model(skops().loads(content, trusted=sorted(KNOWN)))
    except Exception as bad:
        raise KitchenError(not_ours) from bad


def _refuse_bomb(path: Path) -> None:
    """An error if an archive says it unpacks to far more than it is; it cannot unpack to more."""
    packed = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise KitchenError(
            f"{path.name} is not a model file made by kg cook, or it is damaged. Copy it again, or "
            "cook it again with the recipe.toml beside it."
        ) from None
    if unpacked > _HARMLESS + _BOMB_RATIO * packed:
        raise KitchenError(
            f"{path.name} unpacks to {unpacked / 2**20:,.0f} MiB, far more than its size: that is "
            "no model but a decompression bomb. It was not opened."
        )


def _model(held: Any) -> Model:
    """The model in what a file held, each part of the type it should be."""
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise ValueError("another format")
    if not isinstance(held["pipeline"], Pipeline) or not isinstance(held["about"], dict):
        raise TypeError("no pipeline")
    columns = (Column(**{**c, "levels": tuple(c["levels"])}) for c in held["columns"])
    return Model(
        target=str(held["target"]),
        task=held["task"],
        layout=Layout(tuple(columns)),
        pipeline=held["pipeline"],
        classes=tuple(held["classes"]),
        header=bool(held["header"]),
        about=held["about"],
        use=held.get("use", {}),
    )
