"""Orthogonal matching pursuit: least squares on few columns, chosen one after another.

Best subset regression, min |y - X b - c|^2 with at most k coefficients that are not 0, would have
to try every subset. The pursuit takes the column most correlated with the residual, solves least
squares on the columns chosen so far, and goes on (`solvers/pursuit/matching_pursuit.py`).

References: Pati, Rezaiifar and Krishnaprasad 1993; Tropp 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import column_count
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Boolean, Integer, Null, OneOf, Real, check_parameter
from kilogram.base.linear import LinearPredictor
from kilogram.base.regression_data import validate_regression_data
from kilogram.base.warnings import warn
from kilogram.models.sparse.folds import FoldDesigns, fold_data, split_folds
from kilogram.models.sparse.problem import Centring, designs_of, from_rows
from kilogram.operators.cost import rates
from kilogram.solvers.coordinate.designs import Design, MomentDesign
from kilogram.solvers.pursuit.matching_pursuit import Pursuit, matching_pursuit

Array = np.ndarray[Any, np.dtype[Any]]


class OrthogonalMatchingPursuit(LinearPredictor):
    """Least squares on few features, chosen one after another by correlation with the residual.

    Every step adds the feature with the largest ``|X_j' r|`` and solves least squares on all chosen
    ones, by a triangle that grows by a row. Takes scikit-learn's parameters; `positive`,
    `sample_weight`, sparse and streaming rows are Kilogram's. Features should have comparable
    scales. Features that depend on the chosen ones are passed over.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Number of features to choose; None with `tol=None` is a tenth of them, at least 1. Ignored
        if `tol` is given.
    tol : float or None, default=None
        Stop when the sum of squared residuals is at most this.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    precompute : bool or "auto", default="auto"
        Accepted for compatibility: decided from the shape of X.
    positive : bool, default=False
        Choose by the largest correlation instead of its size, and solve non-negative least squares:
        all coefficients are at least 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (n_targets, d)
        Coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept of the decision or regression function.
    n_iter_ : int or list of int
        Number of features chosen, for every target.
    n_nonzero_coefs_ : int or None
        The number asked for; None if `tol` is given.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    OrthogonalMatchingPursuitCV : The number of features chosen by cross-validation.
    Lasso : Sparse by a convex penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import OrthogonalMatchingPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 8))
    >>> y = 2 * X[:, 3] - X[:, 5]
    >>> OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, y).coef_.round(6)
    array([ 0.,  0.,  0.,  2.,  0., -1.,  0.,  0.])
    """

    laws: ClassVar[Laws] = Laws(example={"tol": 5.0}, rtol=1e-6)
    parameter_constraints: ClassVar = {
        "n_nonzero_coefs": Integer(1) | Null(),
        "tol": Real(0) | Null(),
        "fit_intercept": Boolean(),
        "precompute": Boolean() | OneOf("auto"),
        "positive": Boolean(),
    }

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        tol: float | None = None,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        positive: bool = False,
    ):
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose features and fit their coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight)
        p = column_count(rows.X)
        most = _wanted(self.n_nonzero_coefs, self.tol, p)
        designs, flat = designs_of(rows, bool(self.fit_intercept))
        found = [
            matching_pursuit(
                design, most, tol=_mean_tol(self.tol, centring), positive=bool(self.positive)
            )
            for design, centring in designs
        ]
        W = np.stack([pursuit.coef(p) for pursuit in found], axis=1)
        b = np.array([c.intercept(W[:, t]) for t, (_, c) in enumerate(designs)])
        self._store_linear((W, b), rows, flat=flat)
        counts = [len(pursuit.columns) for pursuit in found]
        self.n_iter_ = counts[0] if flat else counts
        self.n_nonzero_coefs_ = most if self.tol is None else None
        _warn_if_early(type(self).__name__, found)
        return self

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        steps = self.n_nonzero_coefs or max(1, d // 10)
        seconds = 2.0 * n * d * min(steps, n) / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "matching pursuit", seconds, 8.0 * n * d)


def _wanted(n_nonzero_coefs: int | None, tol: float | None, p: int) -> int:
    """Maximum number of features."""
    if tol is not None:
        return p
    if n_nonzero_coefs is None:
        return max(int(0.1 * p), 1)
    if n_nonzero_coefs > p:
        raise ValueError(
            f"n_nonzero_coefs must be an integer of at most the number of features, {p}, got "
            f"{n_nonzero_coefs}."
        )
    return int(n_nonzero_coefs)


def _mean_tol(tol: float | None, centring: Centring) -> float | None:
    """The tolerance of a sum of squares, for the mean that designs have."""
    return None if tol is None else float(tol) / centring.total


def _warn_if_early(name: str, found: list[Pursuit]) -> None:
    early = [pursuit for pursuit in found if not pursuit.complete]
    if early:
        warn(
            f"{name} ended after {len(early[0].columns)} features: the others depend on them "
            "or are uncorrelated with the residual. The coefficients are those of the features "
            "chosen.",
            RuntimeWarning,
        )


class OrthogonalMatchingPursuitCV(LinearPredictor):
    """Orthogonal matching pursuit whose number of features is chosen by cross-validation.

    Every fold is one pursuit of `max_iter` features; the number with the smallest mean squared
    error on the rows left out is fitted to all rows. Takes scikit-learn's parameters.

    Parameters
    ----------
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int or None, default=None
        Most features; None is a tenth of them, at least 5.
    cv : int, splitter or iterable, default=None
        Folds or splitter; None is five folds.
    n_jobs, verbose
        Accepted for compatibility with scikit-learn.
    positive : bool, default=False
        As in `OrthogonalMatchingPursuit`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    n_nonzero_coefs_ : int
        The number of features chosen.
    n_iter_ : int
        Number of features in the final fit.
    mse_path_ : ndarray of shape (max_iter, n_folds)
        Mean squared errors on the rows left out, after each feature.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kilogram import OrthogonalMatchingPursuitCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OrthogonalMatchingPursuitCV().fit(X, y)
    >>> model.n_nonzero_coefs_
    5
    """

    laws: ClassVar[Laws] = Laws(
        weight="folds are cut between rows: a repeated row may lie in two of them",
        permutation="folds follow the order of the rows",
        block="folds need rows in memory; streaming rows are gathered",
        textbook="OrthogonalMatchingPursuit's, once for every fold",
        rtol=1e-6,
    )
    parameter_constraints: ClassVar = {
        "copy": Boolean(),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1) | Null(),
        "positive": Boolean(),
    }

    def __init__(
        self,
        *,
        copy: bool = True,
        fit_intercept: bool = True,
        max_iter: int | None = None,
        cv: Any = None,
        n_jobs: Any = None,
        verbose: Any = False,
        positive: bool = False,
    ):
        self.copy = copy
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.positive = positive

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the number of features and fit them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered in memory.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        data, rows = fold_data(self, X, y, sample_weight)
        p = data.X.shape[1]
        most = min(max(int(0.1 * p), 5), p) if self.max_iter is None else min(self.max_iter, p)
        designs = FoldDesigns(data, bool(self.fit_intercept))
        folds = split_folds(self.cv, data)
        positive = bool(self.positive)
        errors = np.empty((most, len(folds)))
        for f, (train, test) in enumerate(folds):
            design, centring = designs.without(train, test)
            pursuit = matching_pursuit(design, most, positive=positive)
            coefs = np.stack([pursuit.coef(p, k) for k in range(1, most + 1)], axis=1)
            errors[:, f] = data.part(test).squared_errors(coefs, centring.intercepts(coefs))
        mean = np.average(errors, axis=1, weights=data.fold_weights(folds))
        self.mse_path_ = errors
        # errors of the size of their rounding are all equal: the fewest features
        rounding = (64 * np.finfo(float).eps) ** 2 * float(np.mean(data.y**2))
        self.n_nonzero_coefs_ = int(np.argmin(np.maximum(mean, rounding))) + 1
        design, centring = designs.whole()
        pursuit = matching_pursuit(design, self.n_nonzero_coefs_, positive=positive)
        W = pursuit.coef(p)[:, None]
        self._store_linear((W, centring.intercepts(W)), rows, flat=True)
        self.n_iter_ = len(pursuit.columns)
        _warn_if_early(type(self).__name__, [pursuit])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        steps = self.max_iter or max(5, d // 10)
        work = 12.0 * n * d * min(steps, n)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "pursuits of the folds", seconds, 16.0 * n * d)


def orthogonal_mp(
    X: Any,
    y: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    precompute: Any = False,
    copy_X: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    positive: bool = False,
) -> Any:
    """Coefficients of few columns by orthogonal matching pursuit, without an intercept.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The dictionary; columns of length one are compared fairly.
    y : array-like of shape (n,) or (n, n_targets)
    n_nonzero_coefs : int or None, default=None
        Number of columns; None with `tol=None` is a tenth of them, at least 1.
    tol : float or None, default=None
        Stop when the sum of squared residuals is at most this, whatever the number of columns.
    precompute, copy_X
        Accepted for compatibility with scikit-learn.
    return_path : bool, default=False
        Return the coefficients after every step, on a last axis.
    return_n_iter : bool, default=False
        Return the number of columns chosen for every target too.
    positive : bool, default=False
        Whether to restrict the coefficients to be at least 0.

    Returns
    -------
    coef : ndarray of shape (d,), (d, n_targets), or with a last axis of steps
    n_iters : list of int, if `return_n_iter`

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import orthogonal_mp
    >>> D = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> orthogonal_mp(D, np.array([3.0, 4.0]), n_nonzero_coefs=1)
    array([0., 0., 5.])
    """
    X = X if is_sparse(X) else np.asarray(to_numpy(X), dtype=np.float64)
    y = np.asarray(to_numpy(y), dtype=np.float64)
    if y.ndim not in (1, 2) or X.shape[0] != len(y):
        raise ValueError(f"y must have {X.shape[0]} rows like X, got shape {y.shape}.")
    Y = y.reshape(len(y), -1)
    designs = [from_rows(X, Y[:, t], None, fit_intercept=False) for t in range(Y.shape[1])]
    total = float(X.shape[0])
    scaled = None if tol is None else _checked(tol) / total
    found = _pursuits([d for d, _ in designs], n_nonzero_coefs, scaled, positive)
    return _arranged(found, X.shape[1], y.ndim == 1, return_path, return_n_iter)


def orthogonal_mp_gram(
    Gram: Any,
    Xy: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    norms_squared: Any = None,
    copy_Gram: bool = True,
    copy_Xy: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
    positive: bool = False,
) -> Any:
    """Orthogonal matching pursuit from products alone; see `orthogonal_mp`.

    Parameters
    ----------
    Gram : array-like of shape (d, d)
        X'X.
    Xy : array-like of shape (d,) or (d, n_targets)
        X'y.
    n_nonzero_coefs, tol, return_path, return_n_iter, positive
        As in `orthogonal_mp`.
    norms_squared : array-like of shape (n_targets,), default=None
        y'y of every target; needed with `tol`.
    copy_Gram, copy_Xy
        Accepted for compatibility with scikit-learn.

    Returns
    -------
    coef : ndarray
    n_iters : list of int, if `return_n_iter`

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import orthogonal_mp_gram
    >>> orthogonal_mp_gram(np.eye(2), np.array([1.0, -3.0]), n_nonzero_coefs=1)
    array([ 0., -3.])
    """
    G, q = (np.asarray(to_numpy(a), dtype=np.float64) for a in (Gram, Xy))
    if G.ndim != 2 or G.shape[0] != G.shape[1] or len(q) != len(G):
        raise ValueError(f"Gram must be square and Xy as long, got {G.shape} and {q.shape}.")
    if tol is not None and norms_squared is None:
        raise ValueError("norms_squared must be given with tol: y'y is not in Gram and Xy.")
    Q = q.reshape(len(G), -1)
    if norms_squared is None:  # bounded from below by what all columns explain
        norms = np.einsum("ij,ij->j", Q, np.linalg.lstsq(G, Q, rcond=None)[0])
    else:
        norms = np.broadcast_to(np.asarray(to_numpy(norms_squared), dtype=np.float64), Q.shape[1:])
    designs: list[Design] = [
        MomentDesign(np.ascontiguousarray(G), np.ascontiguousarray(Q[:, t]), float(norms[t]))
        for t in range(Q.shape[1])
    ]
    scaled = None if tol is None else _checked(tol)
    found = _pursuits(designs, n_nonzero_coefs, scaled, positive)
    return _arranged(found, len(G), q.ndim == 1, return_path, return_n_iter)


def _checked(tol: float) -> float:
    check_parameter("tol", tol, Real(0))
    return float(tol)


def _pursuits(
    designs: Any, n_nonzero_coefs: int | None, tol: float | None, positive: bool
) -> list[Pursuit]:
    check_parameter("n_nonzero_coefs", n_nonzero_coefs, Integer(1) | Null())
    found = []
    for design in designs:
        most = _wanted(n_nonzero_coefs, tol, len(design.q))
        found.append(matching_pursuit(design, most, tol=tol, positive=positive))
    _warn_if_early("orthogonal matching pursuit", found)
    return found


def _arranged(found: list[Pursuit], p: int, flat: bool, path: bool, n_iter: bool) -> Any:
    """Coefficients in the shape of the targets, with steps on the last axis if asked for."""
    counts = [len(pursuit.columns) for pursuit in found]
    if path:
        longest = range(1, max(counts) + 1)
        coef = np.stack(
            [np.stack([f.coef(p, k) for k in longest], axis=1) for f in found], axis=1
        ) if max(counts) else np.zeros((p, len(found), 0))  # fmt: skip
    else:
        coef = np.stack([pursuit.coef(p) for pursuit in found], axis=1)
    coef = coef[:, 0] if flat else coef
    return (coef, counts[0] if flat else counts) if n_iter else coef
