"""Loss of each row, for bootstrap, optimism, subgroups and cross-validation.

    classes    0-1 loss      [y_i != f_i]            its mean is the error rate
    numbers    squared error (y_i - f_i)^2           its mean is the mean squared error

A score is larger when better; a loss is smaller when better and belongs to one row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from kilogram.base.constraints import Function, OneOf, check_parameter

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def zero_one(y: ArrayLike, f: ArrayLike) -> np.ndarray:
    """1 for every wrong prediction, 0 for every right one.

    Examples
    --------
    >>> from kilogram.evaluation import zero_one
    >>> zero_one(["a", "b", "b"], ["a", "a", "b"])
    array([0., 1., 0.])
    """
    return (np.asarray(y) != np.asarray(f)).astype(float)


def squared(y: ArrayLike, f: ArrayLike) -> np.ndarray:
    """Squared error (y - f)^2 of every row.

    Examples
    --------
    >>> from kilogram.evaluation import squared
    >>> squared([3.0, -1.0], [1.0, 0.0])
    array([4., 1.])
    """
    return (np.asarray(y, dtype=float) - np.asarray(f, dtype=float)) ** 2


def absolute(y: ArrayLike, f: ArrayLike) -> np.ndarray:
    """Absolute error |y - f| of every row.

    Examples
    --------
    >>> from kilogram.evaluation import absolute
    >>> absolute([3.0, -1.0], [1.0, 0.0])
    array([2., 1.])
    """
    return np.abs(np.asarray(y, dtype=float) - np.asarray(f, dtype=float))


NAMED: dict[str, Loss] = {"zero_one": zero_one, "squared": squared, "absolute": absolute}


def loss_of(estimator: BaseEstimator, loss: str | Loss | None = None) -> Loss:
    """The loss asked for by name or function; None: 0-1 for classifiers, squared for the rest."""
    if loss is None:
        return zero_one if is_classifier(estimator) else squared
    check_parameter("loss", loss, OneOf(*NAMED) | Function())
    return loss if callable(loss) else NAMED[loss]
