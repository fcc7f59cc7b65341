"""recipe.toml: everything needed to repeat a run, and a fingerprint of the table.

[table]     path relative to the recipe, fingerprint of the file, format
[question]  target
[settings]  every setting of the run that is not the default: what was done, without a time limit,
            so that repeating it does not depend on the speed of the machine; where a time limit
            had ended searches, `stopped_at` has the number of settings that each tried
[result]    the score that came out, to compare with
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kilogram.kitchen.bundled import is_bundled
from kilogram.kitchen.errors import KitchenError, quoted, readable
from kilogram.kitchen.read.table import Table
from kilogram.kitchen.settings import Settings

FORMAT = "kilogram recipe 1"
_TEXT, _COUNT, _NUMBER, _SWITCH, _TEXTS, _COUNTS = "a string", "an integer", "a number", \
    "a boolean", "a list of strings", "a table of lists of integers"  # fmt: skip
# The type of every key that may stand in a recipe.
TABLE_TYPES = {
    "path": _TEXT, "sha256": _TEXT, "bundled": _SWITCH, "header": _SWITCH, "delimiter": _TEXT,
    "encoding": _TEXT, "sheet": _TEXT, "max_memory": "a string or an integer",
}  # fmt: skip
SETTING_TYPES = {
    "task": _TEXT, "measure": _TEXT, "folds": _COUNT, "repeats": _COUNT, "seed": _COUNT,
    "max_time": _NUMBER, "max_rows": _COUNT, "keep": _TEXT, "numeric": _TEXTS,
    "categorical": _TEXTS, "ignore": _TEXTS, "ordinal": _TEXTS, "text": _TEXTS, "date": _TEXTS,
    "image": _TEXTS, "group": _TEXT, "time": _TEXT, "accept": _TEXTS, "drop_duplicates": _SWITCH,
    "examples": _SWITCH, "search": _TEXT, "recipes": _TEXTS, "outer_folds": _COUNT, "cost": _TEXT,
    "stopped_at": _COUNTS,
}  # fmt: skip
READING = ("header", "delimiter", "encoding", "sheet", "max_memory")


@dataclass(frozen=True)
class RecipeFile:
    """The content of a recipe: the table, the target, and the keywords of `cook`."""

    path: Path | None
    sha256: str | None
    target: str
    keywords: dict[str, Any]
    bundled: bool = False

    def table(self, given: Path | None) -> Path | None:
        """The table to read: the one given, or the recipe's; None is the bundled one."""
        if given is None and self.path is None and not self.bundled:
            raise KitchenError("The recipe was written for a data frame: give the table to read.")
        return given or self.path

    def changed(self, table: Path | None) -> str | None:
        """A warning if the table is not the one the recipe was written for."""
        if self.sha256 is None or table is None or fingerprint(table) == self.sha256:
            return None
        return f"{table.name} is not the file the recipe was written for: results may differ."


def as_toml(
    table: Table,
    target: str,
    settings: Settings,
    reading: dict[str, Any],
    outcome: dict[str, Any],
    folder: Path,
) -> bytes:
    """The content of recipe.toml in `folder`, from which the path of the table starts."""
    lines = [f"format = {_text(FORMAT)}", "", "[table]"]
    if is_bundled(table.path):
        lines.append("bundled = true")
    elif table.path is not None:
        lines.append(f"path = {_text(readable(_relative(Path(table.path), folder)))}")
        lines.append(f"sha256 = {_text(fingerprint(Path(table.path)))}")
    how = {"header": table.header, **reading}
    default = {"header": True}
    lines += _pairs({k: v for k, v in how.items() if v is not None and v != default.get(k)})
    lines += ["", "[question]", f"target = {_text(target)}", "", "[settings]"]
    values, defaults = asdict(settings), asdict(Settings())
    lines += _pairs(
        {k: v for k, v in values.items() if v != defaults[k]} | {"seed": values["seed"]}
    )
    lines += ["", "[result]", *_pairs(outcome)]
    return ("\n".join(lines) + "\n").encode()


def _relative(table: Path, folder: Path) -> str:
    """The path of the table as seen from the folder: both can be moved together."""
    try:
        return Path(os.path.relpath(table.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive there is no relative path
        return table.name


def load_recipe(path: str | Path) -> RecipeFile:
    """The recipe in a file; relative paths of tables start at the recipe's folder."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise KitchenError(f"The recipe {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitchenError(f"{path.name} is not a valid TOML file: {error}.") from None
    if content.get("format") != FORMAT:
        raise KitchenError(f"{path.name} is not a recipe written by kg cook.")
    table = _section(content, "table", path.name, TABLE_TYPES)
    settings = _section(content, "settings", path.name, SETTING_TYPES)
    question = _section(content, "question", path.name, {"target": _TEXT})
    if "target" not in question:
        raise KitchenError(f"{path.name} needs a target in [question].")
    where = table.get("path")
    return RecipeFile(
        None if where is None else path.parent / where,
        table.get("sha256"),
        question["target"],
        settings | {name: table[name] for name in READING if name in table},
        table.get("bundled", False),
    )


def _section(
    content: dict[str, Any], section: str, name: str, types: dict[str, str]
) -> dict[str, Any]:
    """A table of the file; an error names the first key that is unknown or of the wrong type."""
    found = content.get(section, {})
    if not isinstance(found, dict):
        raise KitchenError(f"{name}: [{section}] must be a table, got {_abbreviated(found)}.")
    unknown = sorted(set(found) - set(types))
    if unknown:
        raise KitchenError(
            f"{name}: [{section}] has the unknown key {quoted(unknown)}. Was it written by another "
            "version?"
        )
    for key, value in found.items():
        if not _has_type(value, types[key]):
            raise KitchenError(
                f"{name}: {key} in [{section}] must be {types[key]}, got {_abbreviated(value)}."
            )
    return dict(found)


def _has_type(value: Any, kind: str) -> bool:
    if kind == _TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == _COUNTS:
        return isinstance(value, dict) and all(
            isinstance(counts, list) and all(_has_type(count, _COUNT) for count in counts)
            for counts in value.values()
        )
    accepted: dict[str, tuple[type, ...]] = {
        _TEXT: (str,), _COUNT: (int,), _NUMBER: (int, float), _SWITCH: (bool,),
        "a string or an integer": (str, int),
    }  # fmt: skip
    return isinstance(value, accepted[kind]) and (kind == _SWITCH or not isinstance(value, bool))


def _abbreviated(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def fingerprint(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as bad:
        raise KitchenError(f"{path} cannot be read: {bad.strerror}.") from None


def _pairs(values: dict[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in values.items() if value is not None]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """A basic TOML string: JSON's escapes, and DEL, which JSON leaves alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
