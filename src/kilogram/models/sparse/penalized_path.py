"""Sparse linear models of any loss along a path of penalties."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Budget, warn_if_unfinished
from kilogram.base.constraints import (
    Integer,
    OneOf,
    Real,
    check_parameter,
)
from kilogram.base.labels import distinct_classes, signs, validate_labels
from kilogram.base.progress import ticking
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.models.sparse.penalized_classifier import PenalizedClassifier
from kilogram.models.sparse.penalized_model import (
    ADVICE,
    CLASSIFICATION,
    REGRESSION,
    ensure_targets,
    weighted_rows,
)
from kilogram.models.sparse.penalized_regressor import PenalizedRegressor
from kilogram.solvers.coordinate.penalized import (
    PenalizedPath,
    StopRule,
)
from kilogram.solvers.solution import Solution

Array = np.ndarray[Any, np.dtype[Any]]


class PenalizedPathResult(NamedTuple):
    """Solutions along a path; gaps are infinite for concave penalties."""

    alphas: Array
    coefs: Array
    intercepts: Array
    dual_gaps: Array
    violations: Array
    n_iters: Array


def penalized_path(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_error",
    penalty: str = "l1",
    l1_ratio: float = 0.5,
    gamma: float = 3.0,
    epsilon: float = 1.35,
    groups: Any = None,
    weights: Any = None,
    eps: float = 1e-2,
    n_alphas: int = 100,
    alphas: Any = None,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-4,
    max_time: float | None = None,
    sample_weight: Any = None,
) -> PenalizedPathResult:
    """Sparse linear models of any loss for a decreasing grid of alphas, each from the one before.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        Numbers, or the labels of two classes for the losses "logistic" and "squared_hinge".
    loss : {"squared_error", "huber", "poisson", "gamma", "logistic", "squared_hinge"}
    penalty, l1_ratio, gamma, epsilon, groups, weights, fit_intercept, max_iter, tol
        As in `PenalizedRegressor` and `PenalizedClassifier`.
    eps : float, default=1e-2
        Ratio of the smallest to the largest alpha of the grid.
    n_alphas : int, default=100
        Number of alphas in the grid.
    alphas : array-like, default=None
        The alphas themselves, sorted in decreasing order before use.
    max_time : float or None, default=None
        Seconds after which the path ends; the alphas reached are returned.
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    PenalizedPathResult
        `alphas` (m,), `coefs` (d, m), `intercepts`, `dual_gaps`, `violations` and `n_iters` (m,).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from kilogram import penalized_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = penalized_path(scale(X), y, loss="logistic", n_alphas=5, tol=1e-6)
    >>> (path.coefs != 0).sum(axis=0)
    array([ 0,  2,  5,  9, 13])
    """
    check_parameter("loss", loss, OneOf(*REGRESSION, *CLASSIFICATION))
    check_parameter("eps", eps, Real(0, 1, closed="neither"))
    check_parameter("n_alphas", n_alphas, Integer(1))
    shared: dict[str, Any] = dict(
        penalty=penalty, l1_ratio=l1_ratio, gamma=gamma, groups=groups, weights=weights,
        fit_intercept=fit_intercept, max_iter=max_iter, tol=tol, max_time=max_time,
    )  # fmt: skip
    model: PenalizedClassifier | PenalizedRegressor
    if loss in CLASSIFICATION:
        model = PenalizedClassifier(loss, **shared)
        X, y, w = _two_classes(model, X, y, sample_weight)
    else:
        model = PenalizedRegressor(loss, epsilon=epsilon, **shared)
        X, y, w = _targets(model, X, y, sample_weight)
    settings = model._settings()
    data = weighted_rows(X, y, w, bool(fit_intercept))
    with ticking(model, "step", Budget(max_time).deadline) as tick:
        path = PenalizedPath(
            data, model._row_loss(), settings.penalty(data.X.shape[1]),
            StopRule(float(tol), int(max_iter)), tick,
        )  # fmt: skip
        grid = _grid(path.strength_max, settings.ratio, alphas, eps, n_alphas)
        points = path.solve_path([settings.strengths(alpha) for alpha in grid.tolist()])
    found = Solution(
        None, len(points), converged=all(point.converged for point in points),
        message=f"alphas missed the tolerance: {sum(not p.converged for p in points)}.",
    )  # fmt: skip
    warn_if_unfinished("penalized_path", found, ADVICE)
    return PenalizedPathResult(
        grid[: len(points)],
        np.stack([point.coef for point in points], axis=1),
        np.array([point.intercept for point in points]),
        np.array([point.gap for point in points]),
        np.array([point.violation for point in points]),
        np.array([point.n_iter for point in points]),
    )


def _two_classes(
    model: PenalizedClassifier, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Array, Any]:
    """X, signs of the two classes, and weights, validated."""
    X, y, w = model._in_memory(validate_labels(model, X, y, sample_weight))
    classes = distinct_classes(y)
    if len(classes) > 2:
        raise ValueError(
            f"penalized_path needs two classes, got {len(classes)}. Take one class against the "
            "rest."
        )
    return X, signs(y, classes)[:, 0], model._row_weights(classes, y, w)


def _targets(
    model: PenalizedRegressor, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Array, Any]:
    """X, one target that the loss takes, and weights, validated."""
    rows = gather_regression_data(model, validate_regression_data(model, X, y, sample_weight))
    y = column_or_1d(to_numpy(rows.Y))
    w = None if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
    ensure_targets(y, w, model.loss, "penalized_path")
    return rows.X, y, w


def _grid(top: float, ratio: float, alphas: Any, eps: float, n_alphas: int) -> Array:
    if alphas is not None:
        found = np.sort(np.asarray(to_numpy(alphas), dtype=np.float64))[::-1]
        for alpha in found.tolist():
            check_parameter("alphas", alpha, Real(0))
        return found
    if ratio == 0:
        raise ValueError(
            "A grid of alphas cannot be made for l1_ratio=0, whose path never reaches 0. Give the "
            "alphas."
        )
    top = max(top / ratio, float(np.finfo(float).resolution))
    return np.geomspace(top, top * eps, n_alphas) if n_alphas > 1 else np.array([top])
