"""Libraries that tests use where they are installed: without one, its tests skip when run."""

from __future__ import annotations

from typing import Any

import pytest


class Missing:
    """Stands for a library that is not installed: any call of it skips the test."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Missing:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Missing(f"{self._name}.{attribute}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        pytest.skip(f"{self._name.split('.')[0]} is not installed")

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return self._name


try:
    import torch
except ImportError:
    torch = Missing("torch")  # type: ignore[assignment]

__all__ = ["torch"]
