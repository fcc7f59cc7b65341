"""Atomic fits: parameters are checked first, and a fit that fails changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from kilogram.arrays.namespace import is_sparse
from kilogram.base.constraints import check_parameters

#: The methods that change a model.
FITTING = ("fit", "partial_fit", "fit_transform", "fit_predict")


#: Messages of NumPy and SciPy, which tell nothing about the input.
FAILURES = (
    "Singular matrix",
    "Eigenvalues did not converge",
    "SVD did not converge",
    "Matrix is not positive definite",
    "-th leading minor",
    "must not contain infs or NaNs",
)


def atomic(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which leaves its estimator unchanged if it raises, KeyboardInterrupt included.

    Constructor parameters are checked before anything else; predictions do not use them.
    Attributes are restored, not copied: a fit replaces fitted arrays and does not write into them.
    Those that a class names in `kept_after_failure` say why the fit failed and stay.
    NumPy's floating-point warnings are off meanwhile: they name lines of Kilogram, and what is not
    finite in the end is refused with an error that names the cause.
    """

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_parameters(self)
        before = dict(vars(self))
        try:
            with np.errstate(all="ignore"):
                return method(self, *args, **kwargs)
        except BaseException as error:
            names = getattr(self, "kept_after_failure", ())
            kept = {name: vars(self)[name] for name in names if name in vars(self)}
            vars(self).clear()
            vars(self).update(before | kept)
            if is_numerical_failure(error):
                raise numerical_failure(type(self).__name__, args, kwargs) from error
            raise

    guarded.is_atomic = True  # type: ignore[attr-defined]
    return guarded


def is_numerical_failure(error: BaseException) -> bool:
    """Whether a factorisation met numbers that are not finite, or did not converge."""
    kinds = (np.linalg.LinAlgError, ValueError)
    return type(error) in kinds and any(text in str(error) for text in FAILURES)


def numerical_failure(name: str, args: Any, kwargs: Any) -> ValueError:
    """The cause of such a failure: X is not finite, or out of the range of its squares.

    Many fits look for NaN in the sums they compute anyway; those of a factorisation end here.
    """
    given = (*args, *(kwargs[key] for key in ("X", "y") if key in kwargs))[:2]
    for key, values in zip(("X", "y"), given, strict=False):
        try:
            numbers = np.asarray(values.data if is_sparse(values) else values, dtype=np.float64)
        except (TypeError, ValueError):  # streaming input, a device, words
            continue
        try:
            assert_all_finite(numbers, input_name=key, estimator_name=name)
        except ValueError as error:
            return error
    return ValueError(
        f"{name}: the values of X and y are finite, but products of them overflow or underflow. "
        "Divide the columns of X, and y, by their scale first (StandardScaler does)."
    )


def make_fits_atomic(cls: type) -> None:
    """Wrap those fitting methods that the class itself defines."""
    for name in FITTING:
        method = vars(cls).get(name)
        if callable(method) and not hasattr(method, "is_atomic"):
            setattr(cls, name, atomic(method))
