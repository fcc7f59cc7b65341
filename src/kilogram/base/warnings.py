"""Warnings of a fit: it stopped early, or used less memory than the exact solver."""

from __future__ import annotations

import sys
import warnings as _warnings

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning

from kilogram.solvers.solution import Solution


class ConvergenceWarning(_SklearnConvergenceWarning):
    """A fit stopped before its tolerance; the model is usable, the message gives its distance."""


class MemoryFallbackWarning(UserWarning):
    """The exact solver does not fit in memory; the message names the one used instead."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called Kilogram, however deep the call is."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_internal(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    _warnings.warn(message, category, stacklevel=level)


def _is_internal(module: str) -> bool:
    return module.split(".")[0] in ("kilogram", "sklearn", "contextlib")


def warn_if_unfinished(name: str, found: Solution, advice: str) -> None:
    """One warning for every iterative fit: what stopped, how far it got, what to do."""
    if not found.converged:
        warn(
            f"{name} stopped after {found.n_iter} iterations: {found.message} "
            f"The model is usable as it is. {advice}",
            ConvergenceWarning,
        )


def warn_memory_fallback(name: str, sentence: str) -> None:
    """Warn that a solver with less memory is used, before the work starts."""
    warn(f"{name}: {sentence}", MemoryFallbackWarning)
