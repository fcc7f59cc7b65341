"""Scores along a path of penalties and the best of them, for RidgeCV and KernelRidgeCV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV

from kilogram.arrays.namespace import is_foreign, to_numpy
from kilogram.base.parameters import numbers
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.leave_one_out import Press


class Identity(RegressorMixin, BaseEstimator):
    """A model whose predictions are its input, for scorers."""

    def fit(self, X: Any, y: Any = None) -> Identity:
        return self

    def predict(self, X: Any) -> Any:
        return X


@dataclass(frozen=True, eq=False)
class PathChoice:
    """Scores (k,), or (k, t) when every target chooses its own; positions of the best."""

    scores: Any
    index: list[int]
    per_target: bool

    @classmethod
    def of(cls, scores: Any, targets: int, per_target: bool) -> PathChoice:
        scores = np.asarray(scores, dtype=np.float64)
        own = per_target and targets > 1
        if per_target and targets == 1:
            scores = scores.reshape(len(scores))
        best = np.argmax(scores, axis=0)
        return cls(scores, [int(j) for j in best] if own else [int(best)] * targets, own)

    @property
    def best(self) -> Any:
        if self.per_target:
            return np.asarray([self.scores[i, j] for j, i in enumerate(self.index)])
        return self.scores[self.index[0]]

    def alpha(self, alphas: Sequence[float]) -> Any:
        chosen = [alphas[i] for i in self.index]
        return np.asarray(chosen) if self.per_target else np.float64(chosen[0])


def check_alphas(alphas: Any, *, strictly: bool) -> list[float]:
    """The penalties to try, as floats greater than 0 (at least 0 for cross-validation)."""
    values = numbers(alphas, "alphas").ravel().tolist()
    if not values:
        raise ValueError("alphas must have at least one penalty, got an empty array.")
    for i, a in enumerate(values):
        if not (a > 0 if strictly else a >= 0):
            bound = "> 0 for leave-one-out" if strictly else ">= 0"
            raise ValueError(f"alphas[{i}] == {a}, must be {bound}.")
    return values


def mean_square_scores(sums: Any, n: int, per_target: bool) -> Any:
    """-mean of w_i e_i^2 from their sums over rows, (t, k): (k,), or (k, t) per target."""
    scores = -to_numpy(sums).T / n
    return scores if per_target else scores.mean(axis=1)


def _scorer_scores(
    scorer: Callable[..., float], P: Any, Y: Any, w: Any, *, flat: bool, per_target: bool
) -> Any:
    """scorer(predictions, y) for predictions P (n, t, k) of every penalty."""
    P, Y = to_numpy(P), to_numpy(Y)
    params = {} if w is None else {"sample_weight": to_numpy(w)}
    model, (_, t, k) = Identity(), P.shape
    if per_target:
        return [[scorer(model, P[:, j, a], Y[:, j], **params) for j in range(t)] for a in range(k)]
    pick = (slice(None), 0) if flat else slice(None)
    return [scorer(model, P[:, :, a][pick], Y[pick], **params) for a in range(k)]


def as_scorer(estimator: BaseEstimator, scoring: Any) -> Callable[..., float] | None:
    """The scorer given by `scoring`; None for the mean squared error, which needs none."""
    if scoring is None:
        return None
    scorer = check_scoring(estimator, scoring=scoring)
    response = getattr(scorer, "_response_method", "predict")
    if response not in ("predict", "default"):
        raise ValueError(
            f"scoring={scoring!r} needs {response}, which a regression does not have. Use a scorer "
            "of predictions, such as 'r2' or 'neg_mean_absolute_error'."
        )
    return scorer


def choose(
    press: Press,
    residuals: Any,
    rows: RegressionData,
    scorer: Callable[..., float] | None,
    per_target: bool,
) -> PathChoice:
    """The best penalty by the scorer, or by the mean squared error of leave-one-out."""
    targets = press.squares.shape[0]
    if scorer is None:
        scores = mean_square_scores(press.squares, press.rows, per_target)
    else:
        P = rows.Y[:, :, None] - residuals
        flat = bool(rows.flat)
        scores = _scorer_scores(scorer, P, rows.Y, rows.w, flat=flat, per_target=per_target)
    return PathChoice.of(scores, targets, per_target)


def cv_results(residuals: Any, rows: RegressionData, scorer: Any) -> Any:
    """Weighted squared errors (n, t, k), or predictions if there is a scorer; (n, k) if flat."""
    if scorer is not None:
        kept = rows.Y[:, :, None] - residuals
    elif rows.w is None:
        kept = residuals * residuals
    else:
        kept = rows.w[:, None, None] * residuals * residuals
    return kept[:, 0, :] if rows.flat else kept


def check_folds(store_cv_results: bool, alpha_per_target: bool) -> None:
    """Refuse what only leave-one-out has."""
    if store_cv_results:
        raise ValueError("cv!=None and store_cv_results=True are incompatible")
    if alpha_per_target:
        raise ValueError("cv!=None and alpha_per_target=True are incompatible")


def best_by_folds(search: GridSearchCV, X: Any, y: Any, sample_weight: Any) -> BaseEstimator:
    """The best estimator of a search, fitted on all rows where they are.

    The folds of another library's arrays are cut on the host: scikit-learn takes rows out by NumPy
    indices, which not every library has.
    """
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not is_foreign(X):
        return search.fit(X, y, **weights).best_estimator_
    search.fit(to_numpy(X), to_numpy(y), **{key: to_numpy(w) for key, w in weights.items()})
    return clone(search.best_estimator_).fit(X, y, **weights)
