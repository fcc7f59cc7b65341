"""What a fit may have to say: it stopped early, took a cheaper road, or begins anew."""

from __future__ import annotations

import warnings as _warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning

from kilogram.solvers.solution import Solution


class ConvergenceWarning(_SklearnConvergenceWarning):
    """A fit stopped before its tolerance; the model is usable, the message says how far it is."""


class MemoryRoadWarning(UserWarning):
    """The exact road does not fit in memory; the message names the road taken instead."""


def warn_if_unfinished(name: str, found: Solution, advice: str) -> None:
    """One warning for every iterative fit: what stopped, how far it got, what to do."""
    if not found.converged:
        _warnings.warn(
            f"{name} stopped after {found.n_iter} steps: {found.message} "
            f"The model is usable as it is. {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )


def announce_road(name: str, sentence: str) -> None:
    """Say that a cheaper road is taken, before the work starts."""
    _warnings.warn(f"{name}: {sentence}", MemoryRoadWarning, stacklevel=3)


def begins_anew(model: Any, sums: str, fitted: str) -> bool:
    """Whether `partial_fit` has no sums to add rows to; a warning if there was a fit without."""
    if hasattr(model, sums):
        return False
    if hasattr(model, fitted):
        _warnings.warn(
            f"This {type(model).__name__} was fitted by `fit`, which keeps no moments to add rows "
            "to: partial_fit begins anew with these rows.",
            stacklevel=3,
        )
    return True
