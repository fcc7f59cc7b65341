"""Errors for the user: one sentence on what is wrong, one on what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kilogram.base.constraints import Constraint, InvalidParameterError, check_parameter
from kilogram.errors import UserError, close_names, quoted, readable

__all__ = [
    *("CannotWriteError", "KitchenError", "check_setting", "close_names", "lacking", "quoted"),
    "readable",
]


class KitchenError(UserError):
    """A table, a target, a file or a setting that cannot be used."""


class CannotWriteError(KitchenError):
    """A folder that cannot be written to, or a full disk."""


def check_setting(name: str, value: Any, constraint: Constraint) -> None:
    """The check of the estimators' parameters, as an error for the user."""
    try:
        check_parameter(name, value, constraint)
    except InvalidParameterError as error:
        raise KitchenError(str(error)) from None


def lacking(lost: list[str], names: Iterable[str], needed: Iterable[str]) -> str:
    """What a table lacks, and which of its columns, not `needed` as they are, may be meant."""
    wanted = set(needed)
    spare = [name for name in names if name not in wanted]
    hint = close_names(lost[0], spare) if spare else ""
    hint = hint if "Did you mean" in hint else ""
    return f"The table lacks the column{'s' * (len(lost) > 1)} {quoted(lost)}.{hint}"
