"""Coefficients of lasso and elastic net for many strengths of the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.models.sparse.problem import alpha_grid, from_rows
from kilogram.solvers.coordinate.elastic_net import ElasticNetOptions, elastic_net_path

Array = np.ndarray[Any, np.dtype[Any]]


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Any = None,
    precompute: Any = "auto",
    positive: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
    return_n_iter: bool = False,
    sample_weight: Any = None,
) -> Any:
    """The lasso for a decreasing grid of alphas, each started from the one before.

    Minimises ``1/(2 n) |y - X b|^2 + alpha |b|_1``; no intercept is fitted: centre X and y first.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha of the grid.
    n_alphas : int, default=100
        Length of the grid.
    alphas : array-like, default=None
        The alphas themselves, sorted in decreasing order before use.
    precompute : default="auto"
        Accepted for compatibility with scikit-learn.
    positive : bool, default=False
        Only coefficients of at least 0.
    max_iter, tol : int, float
        As in `Lasso`.
    return_n_iter : bool, default=False
        Return the number of epochs too.
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
    coefs : ndarray of shape (d, n_alphas)
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
        X, y, l1_ratio=1.0, eps=eps, n_alphas=n_alphas, alphas=alphas, precompute=precompute,
        positive=positive, max_iter=max_iter, tol=tol, return_n_iter=return_n_iter,
        sample_weight=sample_weight,
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
    positive: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
    return_n_iter: bool = False,
    sample_weight: Any = None,
) -> Any:
    """The elastic net for a decreasing grid of alphas; see `lasso_path`.

    Parameters
    ----------
    X, y, eps, n_alphas, alphas, precompute, positive, max_iter, tol, return_n_iter, sample_weight
        As in `lasso_path`.
    l1_ratio : float, default=0.5
        Mixture of absolute values (1) and squares (0).

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
    check_parameter("eps", eps, Real(0, 1, closed="neither"))
    check_parameter("n_alphas", n_alphas, Integer(1))
    check_parameter("tol", tol, Real(0))
    check_parameter("max_iter", max_iter, Integer(1))
    X = X if is_sparse(X) else np.asarray(to_numpy(X), dtype=_float_type(X))
    y = np.asarray(to_numpy(y), dtype=np.float64)
    if y.ndim != 1 or X.shape[0] != len(y):
        raise ValueError(
            f"y must have shape ({X.shape[0]},), got {y.shape}. Call it once for each target."
        )
    w = None if sample_weight is None else np.asarray(to_numpy(sample_weight), dtype=np.float64)
    design, _ = from_rows(X, y, w, fit_intercept=False)
    options = ElasticNetOptions(positive=positive, tol=tol, max_iter=max_iter)
    if alphas is None:
        grid = alpha_grid(design, l1_ratio, n_alphas, eps, options)
    else:
        grid = np.sort(np.asarray(to_numpy(alphas), dtype=np.float64))[::-1]
    strengths = [(a * l1_ratio, a * (1 - l1_ratio)) for a in grid.tolist()]
    points = elastic_net_path(design, strengths, options)
    coefs = np.stack([point.coef for point in points], axis=1)
    gaps = np.array([point.gap * design.yy for point in points])
    found = (grid, coefs, gaps)
    return (*found, [point.n_iter for point in points]) if return_n_iter else found


def _float_type(X: Any) -> type:
    return np.float32 if "float32" in str(getattr(X, "dtype", "")) else np.float64
