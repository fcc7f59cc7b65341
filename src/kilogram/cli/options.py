"""The options that commands share: types of columns, and the format of the file.

A command asks for them as one argument, `about`, a dictionary of keywords for the kitchen; the
command line shows each as an option of its own, in the place where `about` stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

_HOW = "Format of the file"
_KINDS = "Types of columns (repeat for several)"


def _columns(help: str, *names: str) -> typer.models.OptionInfo:
    return typer.Option(*names, metavar="<str>", help=help, rich_help_panel=_KINDS)


def _file(help: str) -> typer.models.OptionInfo:
    return typer.Option(help=help, rich_help_panel=_HOW)


KINDS: dict[str, Any] = {
    "numeric": Annotated[list[str] | None, _columns("Column of numbers.")],
    "categorical": Annotated[list[str] | None, _columns("Column of categories.")],
    "ordinal": Annotated[
        list[str] | None,
        _columns("Ordered categories, lowest first: size=S,M,L; also of the target."),
    ],
    "text": Annotated[list[str] | None, _columns("Column of free text.")],
    "date": Annotated[list[str] | None, _columns("Column of dates.")],
    "image": Annotated[list[str] | None, _columns("Column of image paths.")],
    "drop": Annotated[list[str] | None, _columns("Column to leave out.", "--drop", "--ignore")],
}
ORDER: dict[str, Any] = {
    "group": Annotated[
        str | None,
        _columns("Column of groups: rows of one group stay in one fold."),
    ],
    "time": Annotated[str | None, _columns("Column of times: test rows come after training rows.")],
}
HEADER: dict[str, Any] = {
    "header": Annotated[bool, _file("The first line of a text file holds the column names.")],
}
FILE: dict[str, Any] = {
    "delimiter": Annotated[str | None, _file("Of a text file, if detected wrongly.")],
    "encoding": Annotated[str | None, _file("Of a text file, if detected wrongly.")],
    "sheet": Annotated[str | None, _file("Table of a database or sheet of a workbook.")],
    "max_memory": Annotated[str | None, _file("Memory limit for reading, such as 2GB.")],
}


def about_the_table(
    *blocks: dict[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these blocks of options, gathered in its argument `about`."""
    shared = {name: kind for block in blocks for name, kind in block.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            about = _keywords({name: given.pop(name) for name in shared})
            command(**given, about=about)

        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters
        shown = []
        for name, parameter in own.items():
            if name != "about":
                shown.append(parameter.replace(annotation=hints[name]))
            else:
                shown += [_option(key, kind) for key, kind in shared.items()]
        signature: Any = inspect.Signature(shown)
        # typer reads the options off the signature, which mypy does not know functions may be given
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in shown}
        return run

    return decorate


def _option(name: str, kind: Any) -> inspect.Parameter:
    default = True if name == "header" else None
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=kind)


def _keywords(given: dict[str, Any]) -> dict[str, Any]:
    """Options as the kitchen takes them: a type of column that was not given is empty."""
    lists = {name: given[name] or () for name in KINDS if name in given}
    return given | lists | {"delimiter": _unescaped(given["delimiter"])}


def _unescaped(delimiter: str | None) -> str | None:
    return "\t" if delimiter in ("\\t", "tab") else delimiter
