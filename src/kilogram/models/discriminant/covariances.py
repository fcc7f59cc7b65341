"""Covariances of the classes: the maximum likelihood estimate, shrunk, or by another estimator.

    C(a) = (1 - a) C + a (tr C / d) I

With shrinkage="auto" the columns are brought to unit variance first and a is Ledoit and Wolf's,
from sums that are additive and weighted like everything else:

    a = min(1, beta / delta)      beta  = (1/(W d)) (sum_i w_i |z_i|^4 / W - |C|^2)
                                  delta = (|C|^2 - (tr C)^2 / d) / d

so it needs the covariance first and one more pass over the rows for the fourth powers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base.constraints import HasMethods, Null, OneOf, Real
from kilogram.base.generative import reference
from kilogram.base.labels import codes_of
from kilogram.statistics.class_scatters import ClassScatters


@dataclass(frozen=True, eq=False)
class FourthPowers:
    """(K,): sum of w_i |z_i|^4 over the rows of every class, a value with `+`."""

    sums: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, w: Any, classes: Any, means: Any, scales: Any) -> FourthPowers:
        """Covariances of rows z = (x - mean) / scale of their class."""
        X = X.toarray() if is_sparse(X) else X
        xp, codes = namespace(X), _codes(X, y, classes)
        at = xp.asarray(codes, device=X.device)
        Z = (X - xp.take(like(means, X), at, axis=0)) / xp.take(like(scales, X), at, axis=0)
        powers = to_numpy(xp.sum(Z * Z, axis=1)).astype(np.float64) ** 2
        weights = powers if w is None else powers * to_numpy(w)
        return cls(np.bincount(codes, weights=weights, minlength=means.shape[0]))

    def __add__(self, other: FourthPowers) -> FourthPowers:
        return FourthPowers(self.sums + other.sums)


def _codes(X: Any, y: Any, classes: Any) -> np.ndarray:
    """Classes of the rows as positions; without classes all rows are one."""
    return np.zeros(X.shape[0], dtype=np.int64) if classes is None else codes_of(y, classes)


def shrunk(C: Any, amount: float) -> Any:
    """(1 - a) C + a (tr C / d) I."""
    xp = namespace(C)
    d = C.shape[-1]
    level = xp.sum(xp.linalg.diagonal(C)) / d
    return (1 - amount) * C + amount * level * xp.eye(d, dtype=C.dtype, device=C.device)


def ledoit_wolf_amount(C: Any, weight: float, fourth: float) -> float:
    """a, of a covariance about known means, the weight of its rows and their fourth powers."""
    xp = namespace(C)
    d = C.shape[0]
    square, trace = float(xp.sum(C * C)), float(xp.sum(xp.linalg.diagonal(C)))
    beta = (fourth / weight - square) / (weight * d)
    delta = (square - trace**2 / d) / d
    beta = min(beta, delta)
    return beta / delta if beta > 0 and delta > 0 else 0.0


def class_covariances(
    found: ClassScatters, shrinkage: Any, estimator: BaseEstimator, rows: tuple, classes: Any
) -> Any:
    """(K, d, d): the covariance of every class, regularised by the parameters; rows are (X, y, w).

    With classes=None all rows are one class.
    """
    xp = namespace(found.scatters)
    if estimator is not None:
        return _estimated(estimator, rows, classes, found)
    covariances = found.covariances
    if shrinkage is None:
        return covariances
    if shrinkage != "auto":
        return xp.stack([shrunk(C, float(shrinkage)) for C in _one_per_class(covariances)])
    return _automatic(found, covariances, rows, classes)


def _one_per_class(stack: Any) -> list[Any]:
    return [stack[c, ...] for c in range(stack.shape[0])]


def _automatic(found: ClassScatters, covariances: Any, rows: tuple, classes: Any) -> Any:
    xp = namespace(covariances)
    variances = xp.stack([xp.linalg.diagonal(C) for C in _one_per_class(covariances)])
    scales = xp.sqrt(xp.where(variances > 0, variances, xp.ones_like(variances)))
    X, y, w = rows
    fourth = reduce_rows(
        partial(FourthPowers.of, classes=classes, means=found.means, scales=scales), X, y, w
    )
    out = []
    for c, C in enumerate(_one_per_class(covariances)):
        s = scales[c, :]
        unit = C / (s[:, None] * s[None, :])
        amount = ledoit_wolf_amount(unit, float(found.weights[c]), float(fourth.sums[c]))
        out.append(shrunk(unit, amount) * (s[:, None] * s[None, :]))
    return xp.stack(out)


def _estimated(estimator: BaseEstimator, rows: tuple, classes: Any, found: ClassScatters) -> Any:
    """By a covariance estimator with scikit-learn's interface, on NumPy rows without weights."""
    X, y, w = rows
    if is_streamed(X) or w is not None:
        raise ValueError(
            "covariance_estimator needs rows in memory without sample_weight: it is fitted on the "
            "rows of each class. Use shrinkage instead."
        )
    dense, codes = to_numpy(X.toarray() if is_sparse(X) else X), _codes(X, y, classes)
    parts = []
    for c in range(found.means.shape[0]):
        fitted = clone(estimator, safe=False).fit(dense[codes == c])
        if not hasattr(fitted, "covariance_"):
            raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
        parts.append(np.atleast_2d(fitted.covariance_))
    return like(np.stack(parts), reference(found.scatters))


SHRINKAGE = Real(0.0, 1.0) | OneOf("auto") | Null()
COVARIANCE_ESTIMATOR = HasMethods(("fit",), "an estimator with fit and covariance_") | Null()


def check_regularisation(solver: str, shrinkage: Any, estimator: BaseEstimator) -> None:
    """shrinkage and covariance_estimator exclude each other, and neither goes with SVD."""
    if solver == "svd" and shrinkage is not None:
        raise NotImplementedError("shrinkage not supported with 'svd' solver.")
    if solver == "svd" and estimator is not None:
        raise ValueError("covariance_estimator is not supported with solver='svd'.")
    if shrinkage is not None and estimator is not None and shrinkage != 0:
        raise ValueError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can "
            "be set."
        )
