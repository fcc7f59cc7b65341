"""recipe.toml: all it takes to cook the same again, and whether the table is still the same.

[table]     path as it was given, fingerprint of the file, how it is written
[question]  target
[settings]  every setting of the run that is not the default
[result]    the score that came out, to compare with
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kilogram.kitchen.errors import KitchenError, some
from kilogram.kitchen.settings import Settings

if TYPE_CHECKING:
    from kilogram.kitchen.cook import Cooked

FORMAT = "kilogram recipe 1"
BUNDLED = Path(__file__).parent / "data"
READING = ("header", "delimiter", "encoding", "sheet", "max_memory")


@dataclass(frozen=True)
class RecipeFile:
    """What a recipe says: the table, the target, and the keywords of `cook`."""

    path: Path | None
    sha256: str | None
    target: str
    keywords: dict[str, Any]
    bundled: bool = False

    def table(self, given: Path | None) -> Path | None:
        """The table to cook: the one given, or the recipe's; None is the bundled one."""
        if given is None and self.path is None and not self.bundled:
            raise KitchenError("The recipe was written for a data frame: say which table to cook.")
        return given or self.path

    def changed(self, table: Path | None) -> str | None:
        """A sentence if the table is not the one the recipe was written for."""
        if self.sha256 is None or table is None or fingerprint(table) == self.sha256:
            return None
        return f"{table.name} is not the file the recipe was written for: other numbers may follow."


def as_toml(cooked: Cooked) -> bytes:
    """The recipe of a run as the content of a file."""
    table = cooked.table
    lines = [f"format = {_text(FORMAT)}", "", "[table]"]
    if table.path is not None and Path(table.path).parent == BUNDLED:
        lines.append("bundled = true")
    elif table.path is not None:
        lines.append(f"path = {_text(str(Path(table.path).absolute()))}")
        lines.append(f"sha256 = {_text(fingerprint(Path(table.path)))}")
    how = {"header": table.header, **cooked.reading}
    default = {"header": True}
    lines += _pairs({k: v for k, v in how.items() if v is not None and v != default.get(k)})
    lines += ["", "[question]", f"target = {_text(cooked.question.target)}", "", "[settings]"]
    settings, plain = asdict(cooked.settings), asdict(Settings())
    lines += _pairs(
        {k: v for k, v in settings.items() if v != plain[k]} | {"seed": settings["seed"]}
    )
    lines += ["", "[result]", f"measure = {_text(cooked.measure.name)}"]
    lines += [f"chosen = {_text(cooked.chosen.name)}", f"score = {cooked.chosen.score.mean!r}"]
    lines += [f"folds = {len(cooked.judged[0].nested.folds)}"]
    return ("\n".join(lines) + "\n").encode()


def load_recipe(path: str | Path) -> RecipeFile:
    """The recipe in a file; relative paths of tables start at the recipe's folder."""
    path = Path(path)
    try:
        held = tomllib.loads(path.read_text("utf-8"))
    except OSError as bad:
        raise KitchenError(f"The recipe {path} cannot be read: {bad.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as bad:
        raise KitchenError(f"{path.name} is no TOML file: {bad}.") from None
    if held.get("format") != FORMAT:
        raise KitchenError(f"{path.name} is not a recipe written by kg cook.")
    table, question = dict(held.get("table", {})), held.get("question", {})
    settings = dict(held.get("settings", {}))
    known = {field.name for field in fields(Settings)}
    odd = sorted(set(settings) - known) + sorted(
        set(table) - {"path", "sha256", "bundled", *READING}
    )
    if odd or "target" not in question:
        what = f"does not know {some(odd)}" if odd else "needs a target"
        raise KitchenError(f"{path.name}: kg cook {what}. Was it written by another version?")
    where = table.get("path")
    return RecipeFile(
        None if where is None else path.parent / where,
        table.get("sha256"),
        question["target"],
        settings | {k: table[k] for k in READING if k in table},
        bool(table.get("bundled", False)),
    )


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
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """A basic TOML string: JSON's escapes, and DEL, which JSON leaves alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
