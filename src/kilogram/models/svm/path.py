"""Regularisation path over C of a support vector machine, and C by cross-validation.

The dual of a support vector machine depends on C by its box alone, the primal by a factor of its
loss. So a path over increasing C reuses everything that is expensive:

    kernel rows     computed once, kept for all values
    dual point b    times C'/C it is feasible for C', and g = K b scales with it
    Hessian sums    of the linear machine, times C'/C; only rows that change piece are added

Reference: Hastie, Rosset, Tibshirani and Zhu 2004 follow the path from kink to kink; on a grid,
warm starts from the last value cost less than following every kink between two of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import get_tags

from kilogram.arrays.rows import take_rows
from kilogram.base.folds import split_rows
from kilogram.base.parameters import numbers
from kilogram.models.svm.kernel_machine import KernelMachine
from kilogram.models.svm.linear_machine import LinearMachine

CS = tuple(float(C) for C in np.logspace(-3, 3, 10))


@dataclass(frozen=True)
class SVMPath:
    """Fitted machines for several values of C, in the order of `Cs`.

    Attributes
    ----------
    Cs : ndarray of shape (n_values,)
    models : tuple of estimators
        One fitted model for each C, as its own `fit` would leave it.
    scores : ndarray of shape (n_values, n_folds) or None
        Held-out scores, where `cv` was given.
    """

    Cs: np.ndarray
    models: tuple[Any, ...]
    scores: np.ndarray | None = None

    @property
    def objectives(self) -> np.ndarray:
        """The objective of every model at its C."""
        return np.array([model.objective_ for model in self.models])

    @property
    def dual_gaps(self) -> np.ndarray:
        """The duality gap of every model."""
        return np.array([model.dual_gap_ for model in self.models])

    @property
    def best(self) -> Any:
        """The model with the largest mean score; of equal ones that with the smallest C."""
        if self.scores is None:
            raise AttributeError("best needs held-out scores: call svm_path with cv.")
        mean = self.scores.mean(axis=1)
        order = np.lexsort((self.Cs, -mean))
        return self.models[int(order[0])]


def svm_path(
    model: KernelMachine | LinearMachine,
    X: Any,
    y: Any,
    Cs: Sequence[float] = CS,
    *,
    sample_weight: Any = None,
    cv: Any = None,
    scoring: Any = None,
) -> SVMPath:
    """Fit a support vector machine for many values of C at little more than the cost of one.

    Parameters
    ----------
    model : SVC, SVR, LinearSVC or LinearSVR
        All parameters but C; it is not changed.
    X : array-like or sparse matrix of shape (n, d), or (n, n) for kernel="precomputed"
    y : array-like of shape (n,)
    Cs : sequence of floats, default=10 values from 1e-3 to 1e3
        Greater than 0 and finite, in any order.
    sample_weight : float or array-like of shape (n,), default=None
        Factors of C, one for each row.
    cv : int, splitter or None, default=None
        If given, the path is also fitted on the training rows of every fold and scored on the
        held-out rows.
    scoring : str, callable or None, default=None
        The score; None is the model's own.

    Returns
    -------
    path : SVMPath

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import SVC, svm_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1).astype(int)
    >>> path = svm_path(SVC(), X, y, [0.01, 1.0, 100.0], cv=5)
    >>> path.best.C
    100.0
    """
    if not isinstance(model, KernelMachine | LinearMachine):
        raise TypeError(
            f"svm_path takes an SVC, SVR, LinearSVC or LinearSVR, not {type(model).__name__}."
        )
    values = np.atleast_1d(numbers(Cs if np.ndim(Cs) == 0 else list(Cs), "Cs"))
    if values.size == 0 or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(f"Cs must be finite numbers greater than 0, got {Cs!r}.")
    models = fit_path(model, X, y, values, sample_weight)
    if cv is None:
        return SVMPath(values, tuple(models))
    scorer = check_scoring(model, scoring)
    scores = [
        [scorer(one, *held) for one in fit_path(model, seen, labels, values, inside)]
        for (seen, labels, inside), held in folds(model, X, y, sample_weight, cv)
    ]
    return SVMPath(values, tuple(models), np.array(scores).T)


def fit_path(
    model: KernelMachine | LinearMachine, X: Any, y: Any, values: np.ndarray, sample_weight: Any
) -> list[Any]:
    """Models for all values of C, each started from the one of the next smaller C."""
    order = np.argsort(values, kind="stable")
    first = clone(model).set_params(C=float(values[order[0]]))
    along = [copy.copy(first).set_params(C=float(values[at])) for at in order]
    first._fit_path(X, y, sample_weight, along)
    back = np.argsort(order, kind="stable")
    return [along[at] for at in back]


def folds(
    model: KernelMachine | LinearMachine, X: Any, y: Any, w: Any, cv: Any
) -> Iterator[tuple[tuple, tuple]]:
    """Training rows and held-out rows, one pair per fold."""
    targets = np.asarray(y)
    pairwise = get_tags(model).input_tags.pairwise
    weights = None if w is None else np.broadcast_to(np.asarray(w), targets.shape)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    for train, test in split_rows(cv, targets, targets, classifier=is_classifier(model)):
        seen, held = some_rows(rows, train), some_rows(rows, test)
        if pairwise:
            seen, held = seen[:, train], held[:, train]
        inside = None if weights is None else weights[train]
        yield (seen, targets[train], inside), (held, targets[test])


def some_rows(X: Any, at: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix or a data frame."""
    return X.iloc[at] if hasattr(X, "iloc") else take_rows(X, at)
