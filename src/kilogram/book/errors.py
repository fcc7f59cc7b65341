"""Errors of the book that the reader can mend; importing them costs nothing."""

from __future__ import annotations

from kilogram.errors import UserError


class BookError(UserError):
    """Something the reader can mend: shown as one sentence."""
