"""How much lower the training error is than the error to come, and what to add to it.

    err      error on the rows the model was fitted on
    Err      error on new rows;  opt = Err - err is the optimism
    Err_in   error on new targets at the same x:  E Err_in = E err + (2/N) sum_i Cov(y_i, f_i)

The covariance penalty has a closed form where f = S y: the sum is sigma^2 trace(S), which for least
squares with d coefficients gives Mallows' 2 d sigma^2 / N, and for ridge replaces d by
sum_j s_j^2 / (s_j^2 + alpha). Elsewhere it is sampled:

    bootstrap      y* ~ N(f, sigma^2), refit, covariance of y*_i and f*_i over the draws
    perturbation   y* = y + delta s with signs s_i = +-1, refit:  sigma^2 mean_s(s_i f*_i) / delta

Corrected cross-validation takes from each fold only the optimism, opt_l = (error of f_l on the fold
held out) - (error of f_l on all rows), and adds the mean to err: plain K-fold trains on fewer rows
and so overestimates the error of small data.

Reference: B. Efron, The estimation of prediction error, JASA 99, 2004; P. Burman, A comparative
study of ordinary cross-validation, Biometrika 76, 1989.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import check_cv

from kilogram.evaluation.losses import Loss, loss_of
from kilogram.evaluation.row_indexing import take


@dataclass(frozen=True)
class CorrectedError:
    """Training error, mean error on held-out rows, and training error plus the folds' optimism."""

    training: float
    plain: float
    optimism: float

    @property
    def corrected(self) -> float:
        return self.training + self.optimism


def corrected_cross_validate(
    estimator: BaseEstimator, X: Any, y: Any, *, cv: Any = 5, loss: str | Loss | None = None
) -> CorrectedError:
    """Plain and corrected cross-validated error of any estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Ridge
    >>> from kilogram.evaluation import corrected_cross_validate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> y = X[:, 0] + rng.normal(size=40)
    >>> found = corrected_cross_validate(Ridge(), X, y)
    >>> round(found.plain, 2), round(found.corrected, 2)
    (1.06, 1.04)
    """
    y, each = np.asarray(y), loss_of(estimator, loss)
    held, optimism = [], []
    for train, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y):
        model = clone(estimator).fit(take(X, train), y[train])
        losses = each(y, np.asarray(model.predict(X)))
        held.append(float(np.mean(losses[test])))
        optimism.append(held[-1] - float(np.mean(losses)))
    f = np.asarray(clone(estimator).fit(X, y).predict(X))
    return CorrectedError(
        float(np.mean(each(y, f))), float(np.mean(held)), float(np.mean(optimism))
    )


@dataclass(frozen=True)
class CovariancePenalty:
    """Training error, the optimism to add to it, and the degrees of freedom this amounts to."""

    training: float
    penalty: float
    degrees_of_freedom: float

    @property
    def error(self) -> float:
        """Err_in, for squared error."""
        return self.training + self.penalty


def covariance_penalty(
    estimator: BaseEstimator,
    X: Any,
    y: ArrayLike,
    sigma: float,
    *,
    method: Literal["bootstrap", "perturbation"] = "perturbation",
    draws: int = 50,
    delta: float | None = None,
    seed: int = 0,
) -> CovariancePenalty:
    """In-sample error of any regressor by refits to changed targets; `sigma` is the noise of y.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Ridge
    >>> from kilogram.evaluation import covariance_penalty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> y = X[:, 0] + rng.normal(size=40)
    >>> found = covariance_penalty(Ridge(), X, y, sigma=1.0)
    >>> round(found.training, 2), round(found.penalty, 2)
    (0.83, 0.2)
    """
    if not sigma > 0:
        raise ValueError(f"sigma, the standard deviation of the noise, must be > 0; got {sigma}.")
    y = np.asarray(y, dtype=float)
    f = _fitted(estimator, X, y)
    rng = np.random.default_rng(seed)
    if method == "perturbation":
        step = sigma / 10 if delta is None else delta
        S = rng.choice([-1.0, 1.0], (draws, len(y)))
        F = np.array([_fitted(estimator, X, y + step * s) - f for s in S])
        total = sigma**2 / step * float((S * F).mean(axis=0).sum())
    elif method == "bootstrap":
        Y = f + sigma * rng.standard_normal((draws, len(y)))
        F = np.array([_fitted(estimator, X, star) for star in Y])
        total = float(((Y - Y.mean(0)) * (F - F.mean(0))).sum() / (draws - 1))
    else:
        raise ValueError(f'method must be "bootstrap" or "perturbation", got {method!r}.')
    return CovariancePenalty(float(np.mean((y - f) ** 2)), 2 * total / len(y), total / sigma**2)


def linear_penalty(degrees_of_freedom: float, sigma: float, rows: int) -> float:
    """Optimism of the training error of a fit that is linear in y: 2 df sigma^2 / N.

    Examples
    --------
    >>> from kilogram.evaluation import linear_penalty
    >>> linear_penalty(degrees_of_freedom=5.0, sigma=1.0, rows=100)
    0.1
    """
    return 2 * degrees_of_freedom * sigma**2 / rows


def ridge_degrees_of_freedom(X: ArrayLike, alpha: float) -> float:
    """Effective degrees of freedom of ridge regression.

    They are sum_j s_j^2 / (s_j^2 + alpha) of the singular values of X as it is: centre it first
    where there is an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import ridge_degrees_of_freedom
    >>> X = np.eye(4)
    >>> ridge_degrees_of_freedom(X, alpha=0.0), ridge_degrees_of_freedom(X, alpha=1.0)
    (4.0, 2.0)
    """
    s2 = np.linalg.svd(np.asarray(X, dtype=float), compute_uv=False) ** 2
    if alpha == 0:
        return float(np.sum(s2 > s2.max(initial=0.0) * 1e-12))
    return float(np.sum(s2 / (s2 + alpha)))


def _fitted(estimator: BaseEstimator, X: Any, y: np.ndarray) -> np.ndarray:
    return np.asarray(clone(estimator).fit(X, y).predict(X), dtype=float)
