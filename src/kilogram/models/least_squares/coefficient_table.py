"""Standard errors, t, p and confidence intervals of least-squares coefficients.

With z = (1, x), S = sum_i w_i z_i z_i', residuals r_i and leverages h_i = w_i z_i'S^-1 z_i,

    classical   Cov = sigma^2 S^-1,  sigma^2 = sum_i w_i r_i^2 / (n - rank)     equal variances
    HC0         Cov = S^-1 (sum_i w_i^2 r_i^2 z_i z_i') S^-1                    the sandwich
    HC1         HC0 times n / (n - rank)
    HC2, HC3    r_i^2 divided by 1 - h_i, by (1 - h_i)^2                        small samples
    bootstrap   the covariance of refits on rows drawn with replacement (pairs)

t = estimate / error is compared with Student's t with n - rank degrees of freedom. The sums are
taken about the means, Z about (1, m), and turned back: nothing but sums over rows is needed, so
rows may come in blocks or live on a cluster. Only the bootstrap needs them in memory.

Weights mean precisions (1 / variance up to a factor, n counts rows), or frequencies (w_i rows like
this one, n = sum w; then h and r^2 belong to one of them).

References: White 1980; MacKinnon and White 1985; Efron 1979.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base.coefficient_table import CoefficientTable, table_of
from kilogram.base.constraints import Integer, OneOf, Real, check_parameter
from kilogram.base.fitted import check_is_fitted
from kilogram.base.random_state import as_generator
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.least_squares.likelihood_table import feature_names, likelihood_table
from kilogram.models.least_squares.residual_sums import Residuals, residual_sums
from kilogram.solvers.least_squares import factorizations as factors
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.least_squares import solve_moments
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.least_squares.ridge import joint_moments
from kilogram.statistics import JointMoments

KINDS = ("classical", "HC0", "HC1", "HC2", "HC3", "bootstrap")
WEIGHTS = ("precision", "frequency")


def coefficient_table(
    model: BaseEstimator,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    kind: str = "classical",
    level: float = 0.95,
    weights: str = "precision",
    n_bootstrap: int = 1000,
    random_state: Any = None,
) -> CoefficientTable:
    """Standard errors, t, p and confidence intervals of a fitted model without penalty.

    Parameters
    ----------
    model : LinearRegression, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor
        Fitted without a penalty (`C=inf`, `alpha=0`); logistic regression with two classes. The t
        of logistic and Poisson coefficients is compared with the normal distribution.
    X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        The rows it was fitted on.
    y : array-like of shape (n,) or (n, n_targets)
    sample_weight : array-like of shape (n,), default=None
    kind : {"classical", "HC0", "HC1", "HC2", "HC3", "bootstrap"}, default="classical"
        "classical" takes the errors of all rows as equally large (after weighting); the sandwich
        ("HC3" is the careful one) and the bootstrap do not. Likelihood models have "classical",
        "HC0" and "HC1".
    level : float, default=0.95
        Confidence of the intervals.
    weights : {"precision", "frequency"}, default="precision"
        Meaning of the sample weights.
    n_bootstrap : int, default=1000
        Refits of the bootstrap; its intervals are the quantiles of their coefficients.
    random_state : int, Generator or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    CoefficientTable

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LinearRegression, coefficient_table
    >>> X = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 2.9, 5.1, 7.2, 8.8, 11.0])
    >>> table = coefficient_table(LinearRegression().fit(X, y), X, y)
    >>> table.names
    ('intercept', 'x0')
    >>> table.error.round(3)
    array([0.114, 0.038])
    """
    _check_settings(kind, level, weights, n_bootstrap)
    check_is_fitted(model)
    if hasattr(model, "_likelihood_terms"):
        return likelihood_table(model, X, y, sample_weight, kind=kind, level=level, weights=weights)
    _check(model)
    rows = validate_regression_data(model, X, y, sample_weight, reset=False, finite=False)
    found, _ = joint_moments(rows)
    model._ensure_finite(found.scatter, rows.X)
    normal = Normal.of(found, model.fit_intercept)
    bread, rank = _bread(normal, found.weight, rows, model.rank_, model.condition_)
    if model.fit_intercept:
        bread, rank = _with_intercept(bread, found.weight), rank + 1
    meaty, precise = kind.startswith("HC"), weights == "precision"
    statistic = partial(
        residual_sums,
        coef=np.atleast_2d(to_numpy(model.coef_).astype(np.float64)),
        intercept=np.ravel(np.asarray(to_numpy(model.intercept_), dtype=np.float64)),
        fit_intercept=model.fit_intercept,
        mean=found.mean,
        bread=bread,
        kind=kind,
        precise=precise,
    )
    block = max(256, BLOCK_ENTRIES // (model.n_features_in_ + 1)) if meaty else None
    sums = reduce_rows(statistic, rows.X, rows.Y, rows.w, block_rows=block)
    n = sums.n if precise else found.weight
    if n <= rank:
        raise ValueError(
            f"{n:g} rows leave no degrees of freedom for {rank} coefficients: there is nothing to "
            "estimate their errors from. Give more rows, or fewer columns."
        )
    turn = _from_centred(to_numpy(found.mean), model.fit_intercept)
    draws: np.ndarray | None = None
    if kind == "bootstrap":
        rng = as_generator(random_state)
        draws = _bootstrap(rows, model.fit_intercept, n_bootstrap, precise, rng)
        covariance = np.stack(
            [np.atleast_2d(np.cov(draws[:, :, j].T)) for j in range(draws.shape[2])]
        )
    else:
        covariance = turn @ _covariance(sums, bread, kind, n, rank) @ turn.T
    names, estimate = _estimates(model)
    deviations = np.sqrt(to_numpy(sums.squares) / (n - rank))
    table = table_of(names, estimate, covariance, deviations, kind, level, n - rank)
    if draws is not None:
        low, high = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        table = replace(table, low=low, high=high)
    return table.of_one_target() if model.coef_.ndim == 1 else table


def _check_settings(kind: str, level: float, weights: str, n_bootstrap: int) -> None:
    check_parameter("kind", kind, OneOf(*KINDS))
    check_parameter("weights", weights, OneOf(*WEIGHTS))
    check_parameter("level", level, Real(0, 1, closed="neither"))
    check_parameter("n_bootstrap", n_bootstrap, Integer(2))


def _check(model: BaseEstimator) -> None:
    if hasattr(model, "alpha") or not hasattr(model, "rank_"):
        raise ValueError(
            f"{type(model).__name__} is not plain least squares: a penalty or another loss biases "
            "the coefficients, and these errors would not hold. Fit a LinearRegression."
        )
    if model.positive:
        raise ValueError(
            "coefficients bounded by positive=True have no normal errors: fit without it."
        )


def _bread(
    normal: Normal, weight: float, rows: RegressionData, rank: int, condition: float
) -> tuple[np.ndarray, int]:
    """S^-1 about the means, (d, d), of rank `rank`, and that rank."""
    xp = namespace(normal.S)
    floor = factors.rounding(normal, weight, sparse=is_sparse(rows.X))
    D = to_numpy(factors.scales(xp.linalg.diagonal(normal.S), floor))
    if condition > 1e3:  # the triangle keeps digits that S has lost
        R = to_numpy(factors.triangle_of(normal, rows))[:, : D.shape[0]]
    else:
        R = to_numpy(normal.S) * D[:, None]
    _, s, Vt = np.linalg.svd(R * D[None, :])
    s = s if condition > 1e3 else np.sqrt(s)
    if rank < D.shape[0]:
        warnings.warn(
            f"only {rank} of {D.shape[0]} columns are independent: the errors are those of the "
            "solution of smallest norm, not of single columns.",
            stacklevel=3,
        )
    half = D[:, None] * (Vt[:rank].T / s[:rank])
    return half @ half.T, rank


def _with_intercept(inverse: np.ndarray, weight: float) -> np.ndarray:
    """S^-1 with the intercept first, which is uncorrelated about the means."""
    bread = np.zeros((inverse.shape[0] + 1, inverse.shape[0] + 1))
    bread[0, 0], bread[1:, 1:] = 1.0 / weight, inverse
    return bread


def _covariance(sums: Residuals, bread: np.ndarray, kind: str, n: float, rank: int) -> np.ndarray:
    """(t, p, p), about the means."""
    if kind == "classical":
        return to_numpy(sums.squares)[:, None, None] / (n - rank) * bread
    return (n / (n - rank) if kind == "HC1" else 1.0) * (bread @ to_numpy(sums.meat) @ bread)


def _from_centred(mean: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """(b, W) = T (b about the means, W)."""
    if not fit_intercept:
        return np.eye(mean.shape[0])
    T = np.eye(mean.shape[0] + 1)
    T[0, 1:] = -mean
    return T


def _bootstrap(
    rows: RegressionData,
    fit_intercept: bool,
    n_bootstrap: int,
    precise: bool,
    rng: np.random.Generator,
) -> np.ndarray:
    """Coefficients (B, p, t) of refits on rows drawn with replacement."""
    if is_streamed(rows.X):
        raise ValueError(
            "the bootstrap draws the rows again and again and needs them in memory; rows that "
            "come in blocks have kind='HC3', which allows unequal variances too."
        )
    n = rows.Y.shape[0]
    w = np.ones(n) if rows.w is None else to_numpy(rows.w).astype(np.float64)
    total, odds = (n, np.ones(n) / n) if precise else (round(float(w.sum())), w / w.sum())
    draws = []
    for _ in range(n_bootstrap):
        counts = rng.multinomial(total, odds) * (w if precise else 1.0)
        drawn = JointMoments.of(rows.X, rows.Y, like(counts, rows.Y))
        W, b = solve_moments(drawn, fit_intercept, sparse=is_sparse(rows.X)).found.value
        W, b = to_numpy(W), to_numpy(b)
        draws.append(np.vstack([b[None, :], W]) if fit_intercept else W)
    return np.stack(draws)


def _estimates(model: BaseEstimator) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and values (p, t) of the coefficients of a fitted model, the intercept first."""
    coef = to_numpy(model.coef_).astype(np.float64)
    estimate = coef[:, None] if coef.ndim == 1 else coef.T
    names = feature_names(model, estimate.shape[0])
    if model.fit_intercept:
        b = np.ravel(np.asarray(to_numpy(model.intercept_), dtype=np.float64))
        estimate, names = np.vstack([b[None, :], estimate]), ["intercept", *names]
    return tuple(names), estimate
