"""Coefficients of lasso and elastic net for many strengths of the penalty."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base.constraints import Integer, OneOf, Real, check_parameter
from kilogram.models.sparse.problem import (
    from_moments,
    from_rows,
    logarithmic_grid,
    prefers_moments,
)
from kilogram.solvers.coordinate.designs import Design
from kilogram.solvers.coordinate.elastic_net import (
    ElasticNetOptions,
    PathPoint,
    elastic_net_path,
    strength_max,
)
from kilogram.solvers.coordinate.group_lasso import (
    Grouping,
    GroupOptions,
    group_path,
    group_strength_max,
)
from kilogram.statistics import JointMoments

Array = np.ndarray[Any, np.dtype[Any]]


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Any = None,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
    sample_weight: Any = None,
    selection: str = "cyclic",
    random_state: Any = None,
) -> Any:
    """The lasso for a decreasing grid of alphas, each started from the one before.

    Minimises ``1/(2 n) |y - X b|^2 + alpha |b|_1`` for one target; for several the features are
    shared: ``1/(2 n) |Y - X B|^2 + alpha sum_j |B_j|``, as `MultiTaskLasso` does. No intercept is
    fitted: centre X and y first.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,) or (n, n_targets)
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha of the grid, at most 1.
    n_alphas : int, default=100
        Number of alphas in the grid.
    alphas : array-like or int, default=None
        The alphas themselves, sorted in decreasing order before use; or the length of the grid.
    precompute, Xy : default="auto", default=None
        Accepted for compatibility with scikit-learn: whether products are computed beforehand is
        decided from the shape of X, and X'y is always computed from X and y.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    coef_init : array-like of shape (d,) or (n_targets, d), default=None
        Coefficients at which the first alpha starts.
    verbose : bool or int, default=False
        Print a line for every alpha to standard error.
    return_n_iter : bool, default=False
        Whether to return the number of epochs too.
    positive : bool, default=False
        Only coefficients of at least 0; for one target only.
    max_iter, tol : int, float
        As in `Lasso`.
    sample_weight : array-like of shape (n,), default=None
    selection, random_state : {"cyclic", "random"}, int, RandomState or None
        Accepted for compatibility: coordinates are visited in order.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
    coefs : ndarray of shape (d, n_alphas) or (n_targets, d, n_alphas)
    dual_gaps : ndarray of shape (n_alphas,)
    n_iters : list of int, if `return_n_iter`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = lasso_path(X, y - y.mean(), n_alphas=5)
    >>> (coefs != 0).sum(axis=0)
    array([ 0,  4,  7,  9, 10])
    """
    return enet_path(
        X, y, l1_ratio=1.0, eps=eps, n_alphas=n_alphas, alphas=alphas, precompute=precompute, Xy=Xy,
        copy_X=copy_X, coef_init=coef_init, verbose=verbose, return_n_iter=return_n_iter,
        positive=positive, max_iter=max_iter, tol=tol, sample_weight=sample_weight,
        selection=selection, random_state=random_state,
    )  # fmt: skip


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Any = None,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-4,
    sample_weight: Any = None,
    selection: str = "cyclic",
    random_state: Any = None,
) -> Any:
    """The elastic net for a decreasing grid of alphas; see `lasso_path`.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, Xy, copy_X, coef_init, verbose, return_n_iter, \
positive, max_iter, tol, sample_weight, selection, random_state
        As in `lasso_path`.
    l1_ratio : float, default=0.5
        Mixture of absolute values (1) and squares (0).
    check_input : bool, default=True
        Accepted for compatibility: input is always checked.

    Returns
    -------
    alphas, coefs, dual_gaps, and n_iters if asked
        As in `lasso_path`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import enet_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = enet_path(X, y - y.mean(), n_alphas=3, l1_ratio=0.9)
    >>> coefs.shape
    (10, 3)
    """
    check_parameter("l1_ratio", l1_ratio, Real(0, 1))
    check_parameter("eps", eps, Real(0, 1, closed="right"))
    check_parameter("n_alphas", n_alphas, Integer(1))
    check_parameter("tol", tol, Real(0))
    check_parameter("max_iter", max_iter, Integer(1))
    check_parameter("selection", selection, OneOf("cyclic", "random"))
    X = X if is_sparse(X) else np.asarray(to_numpy(X), dtype=_float_type(X))
    y = _targets(y, X.shape[0], positive)
    w = None if sample_weight is None else np.asarray(to_numpy(sample_weight), dtype=np.float64)
    start = None if coef_init is None else _start(coef_init, X.shape[1], y.shape[1:])
    design = _design(X, y, w)
    groups = Grouping.single(X.shape[1]) if y.ndim == 2 else None
    if alphas is None or isinstance(alphas, (int, np.integer)):
        length = n_alphas if alphas is None else int(alphas)
        check_parameter("alphas", length, Integer(1))
        top = (
            strength_max(design, None, positive)
            if groups is None
            else group_strength_max(design, groups)
        )
        grid = logarithmic_grid(top, l1_ratio, length, eps)
    else:
        grid = np.sort(np.asarray(to_numpy(alphas), dtype=np.float64))[::-1]
    strengths = [(a * l1_ratio, a * (1 - l1_ratio)) for a in grid.tolist()]
    if groups is None:
        options = ElasticNetOptions(positive=positive, tol=tol, max_iter=max_iter)
        points = elastic_net_path(design, strengths, options, start=start)
    else:
        shared = GroupOptions(groups, tol, max_iter)
        points = group_path(design, strengths, shared, start=None if start is None else start.T)
    coefs: Array = np.stack([point.coef.T for point in points], axis=-1).astype(
        _float_type(X), copy=False
    )
    gaps = np.array([point.gap * design.yy for point in points])
    if verbose:
        _report(grid, points)
    found = (grid, coefs, gaps)
    return (*found, [point.n_iter for point in points]) if return_n_iter else found


def _design(X: Any, y: Array, w: Array | None) -> Design:
    """Without an intercept; of few columns by their Gram matrix, which all alphas share."""
    if not prefers_moments(X):
        return from_rows(X, y, w, fit_intercept=False)[0]
    moments = JointMoments.of(X, y if y.ndim == 2 else y[:, None], w)
    return from_moments(moments, 0 if y.ndim == 1 else None, fit_intercept=False)[0]


def _targets(y: Any, n_samples: int, positive: bool) -> Array:
    y = np.asarray(to_numpy(y), dtype=np.float64)
    if y.ndim not in (1, 2) or len(y) != n_samples:
        raise ValueError(
            f"y must have shape ({n_samples},) or ({n_samples}, n_targets), got {y.shape}."
        )
    if positive and y.ndim == 2:
        raise ValueError(
            f"positive=True needs one target, got y of shape {y.shape}. Give y with one axis."
        )
    return y


def _start(coef_init: Any, n_features: int, targets: tuple[int, ...]) -> Array:
    start = np.asarray(to_numpy(coef_init), dtype=np.float64)
    if start.shape != (*targets, n_features) or not np.isfinite(start).all():
        raise ValueError(
            f"coef_init must be finite numbers of shape {(*targets, n_features)}, got shape "
            f"{start.shape}."
        )
    return start


def _report(grid: Array, points: list[PathPoint]) -> None:
    for alpha, point in zip(grid, points, strict=True):
        print(
            f"alpha={alpha:.4g}: {np.count_nonzero(point.coef)} coefficients are not 0, "
            f"{point.n_iter} epochs, relative duality gap {point.gap:.1e}",
            file=sys.stderr,
        )


def _float_type(X: Any) -> type:
    return np.float32 if "float32" in str(getattr(X, "dtype", "")) else np.float64
