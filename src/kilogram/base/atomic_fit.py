"""Atomic fits: an estimator whose fit fails or is interrupted stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

#: The methods that change a model.
FITTING = ("fit", "partial_fit", "fit_transform", "fit_predict")


def atomic(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which leaves its estimator unchanged if it raises, KeyboardInterrupt included.

    Attributes are restored, not copied: a fit replaces fitted arrays and does not write into them.
    NumPy's floating-point warnings are off meanwhile: they name lines of Kilogram, and what is not
    finite in the end is refused with an error that names the cause.
    """

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            with np.errstate(all="ignore"):
                return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    guarded.is_atomic = True  # type: ignore[attr-defined]
    return guarded


def make_fits_atomic(cls: type) -> None:
    """Wrap those fitting methods that the class itself defines."""
    for name in FITTING:
        method = vars(cls).get(name)
        if callable(method) and not hasattr(method, "is_atomic"):
            setattr(cls, name, atomic(method))
