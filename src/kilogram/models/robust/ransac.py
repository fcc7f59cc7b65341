"""RANSAC: random sample consensus, for any regressor.

Fit as few rows as determine a model, count the rows near it, keep the largest set, refit on it.
A draw of D rows is clean with probability g^D at a fraction g of inliers, so that

    T >= log(1 - p) / log(1 - g^D)

draws contain a clean one with probability p; g is the largest fraction seen so far. Least squares
is drawn in batches: many subsets are solved and compared with all rows by one matrix product.

References: Fischler and Bolles 1981; Chum, Matas and Kittler 2003 (local optimisation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, take_rows
from kilogram.base import ConvergenceWarning, Estimator, Laws
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Function,
    HasMethods,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.base.warnings import warn
from kilogram.models.robust.in_memory_predictor import DRAWN
from kilogram.models.robust.subsets import MOST_ENTRIES, draw_subsets

Array = np.ndarray
ROUNDS = 5  # refits of a local optimisation at most: our choice; they end once the inliers stay
INFINITE = OneOf(np.inf)


def required_trials(n_inliers: int, n: int, size: int, probability: float) -> float:
    """Draws of `size` of n rows that contain one without outliers with this probability."""
    clean = (n_inliers / n) ** size
    if probability <= 0 or clean >= 1:
        return 0.0 if probability <= 0 else 1.0
    if probability >= 1 or clean <= 0:
        return np.inf
    return float(np.ceil(np.log1p(-probability) / np.log1p(-clean)))


@dataclass(frozen=True, eq=False)
class Draw:
    """The residuals (n,) of a drawn model, or the name of the counter of a draw that is void."""

    residuals: Array | None
    subset: Array
    model: Any = None
    void: str = ""


class RANSACRegressor(MetaEstimatorMixin, MultiOutputMixin, RegressorMixin, Estimator):
    """RANSAC: fit a regressor to the largest set of rows that agree with a model.

    Takes scikit-learn's parameters; `local_optimization` is Kilogram's. Tolerates more outliers
    than inliers, if a subset of `min_samples` rows is clean often enough.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Regressor fitted to the subsets; None is `LinearRegression`.
    min_samples : int, float or None, default=None
        Rows of a draw, or their fraction; None: one more than the features, for least squares.
    residual_threshold : float or None, default=None
        Largest loss of an inlier; None: the median absolute deviation of y.
    is_data_valid : callable or None, default=None
        ``is_data_valid(X_subset, y_subset)``; False rejects a draw.
    is_model_valid : callable or None, default=None
        ``is_model_valid(model, X_subset, y_subset)``; False rejects a model.
    max_trials : int or inf, default=100
        Maximum number of random subsets.
    max_skips : int or inf, default=inf
        Largest number of draws without result.
    stop_n_inliers : int or inf, default=inf
        Stop at this many inliers.
    stop_score : float, default=inf
        Stop at this R^2 of the inliers.
    stop_probability : float, default=0.99
        Stop when a clean draw was made with this probability, by the fraction of inliers found.
    loss : {"absolute_error", "squared_error"} or callable, default="absolute_error"
        Loss ``loss(y_true, y_pred)`` of each row.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed or generator for the subsets.
    local_optimization : bool, default=False
        Refit every new best set on its inliers until it stops to grow: fewer trials are needed,
        and the result depends less on the draws.

    Attributes
    ----------
    estimator_ : regressor
        The regressor fitted on the inliers.
    n_trials_ : int
        Number of random subsets tried.
    inlier_mask_ : ndarray of shape (n,)
        True for the rows that the model was fitted on.
    n_skips_no_inliers_, n_skips_invalid_data_, n_skips_invalid_model_ : int
        Draws with too few inliers, of invalid data, with an invalid model; like `n_trials_` also
        there after a fit that found no set.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    RobustRegressor : For less than half of outliers, with standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import RANSACRegressor
    >>> x = np.arange(20.0)[:, None]
    >>> y = 2 * x[:, 0] + 1
    >>> y[::3] = 70.0
    >>> model = RANSACRegressor(random_state=0, residual_threshold=1.0).fit(x, y)
    >>> model.predict([[100.0]]).round(6)
    array([201.])
    """

    laws: ClassVar[Laws] = Laws(
        weight=DRAWN + " whatever they weigh",
        permutation=DRAWN,
        budget="at most max_trials draws",
        textbook=True,
        example={"random_state": 0, "local_optimization": True},
    )
    kept_after_failure: ClassVar = (
        "n_trials_",
        "n_skips_no_inliers_",
        "n_skips_invalid_data_",
        "n_skips_invalid_model_",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "estimator": HasMethods(("fit", "score", "predict"), "a regressor") | Null(),
        "min_samples": Integer(1) | Real(0, 1, closed="neither") | Null(),
        "residual_threshold": Real(0, closed="left") | Null(),
        "is_data_valid": Function() | Null(),
        "is_model_valid": Function() | Null(),
        "max_trials": Integer(0) | INFINITE,
        "max_skips": Integer(0) | INFINITE,
        "stop_n_inliers": Integer(0) | INFINITE,
        "stop_score": Real(),
        "stop_probability": Real(0, 1),
        "loss": OneOf("absolute_error", "squared_error") | Function(),
        "random_state": RandomState(),
        "local_optimization": Boolean(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        min_samples: float | None = None,
        residual_threshold: float | None = None,
        is_data_valid: Any = None,
        is_model_valid: Any = None,
        max_trials: float = 100,
        max_skips: float = np.inf,
        stop_n_inliers: float = np.inf,
        stop_score: float = np.inf,
        stop_probability: float = 0.99,
        loss: Any = "absolute_error",
        random_state: Any = None,
        local_optimization: bool = False,
    ):
        self.estimator = estimator
        self.min_samples = min_samples
        self.residual_threshold = residual_threshold
        self.is_data_valid = is_data_valid
        self.is_model_valid = is_model_valid
        self.max_trials = max_trials
        self.max_skips = max_skips
        self.stop_n_inliers = stop_n_inliers
        self.stop_score = stop_score
        self.stop_probability = stop_probability
        self.loss = loss
        self.random_state = random_state
        self.local_optimization = local_optimization

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the largest set of agreeing rows and fit the estimator to it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,), default=None
            Passed to the estimator, which must take weights.

        Returns
        -------
        self
        """
        rows = gather_regression_data(self, validate_regression_data(self, X, y, sample_weight))
        flat = rows.flat is not False
        search = _Search(self, rows, flat)
        search.run()
        self.n_trials_ = search.trials
        for name, count in search.skips.items():
            setattr(self, f"n_skips_{name}_", count)
        if search.best is None:
            raise ValueError(search.failure())
        if sum(search.skips.values()) > self.max_skips:
            warn(
                "RANSAC found a valid consensus set but exited early due to skipping more "
                "iterations than `max_skips`. The model is usable as it is. See n_skips_*.",
                ConvergenceWarning,
            )
        self.inlier_mask_ = search.best
        self.estimator_ = search.refit(search.best)
        return self

    def predict(self, X: Any) -> Any:
        """Predict by the estimator fitted on the inliers.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,) or (m, n_targets)
        """
        check_is_fitted(self, "estimator_")
        rows = self._validate(X, reset=False).X
        return self.estimator_.predict(rows)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the estimator fitted on the inliers, by its own `score`."""
        check_is_fitted(self, "estimator_")
        rows = X if is_streamed(X) else self._validate(X, reset=False).X
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(rows, y, **weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = isinstance(self.estimator, BaseEstimator)
        tags.input_tags.sparse = not known or get_tags(self.estimator).input_tags.sparse
        return tags


class _Search:
    """The trials of one fit: draws, the best set so far, the counters."""

    def __init__(self, model: RANSACRegressor, rows: Any, flat: bool):
        self.m, self.rows = model, rows
        #: Rows on the host, in float64 unless they are sparse; the last fit has them as given.
        sparse = is_sparse(rows.X)
        self.X = rows.X.tocsr() if sparse else np.asarray(to_numpy(rows.X), dtype=np.float64)
        self.Y = np.asarray(to_numpy(rows.Y), dtype=np.float64)
        self.y = self.Y[:, 0] if flat else self.Y
        self.flat, self.n = flat, len(self.Y)
        default = import_module("kilogram").LinearRegression
        self.base = default() if model.estimator is None else clone(model.estimator)
        self.plain = type(self.base).__name__ == "LinearRegression"
        self.w = None if rows.w is None else to_numpy(rows.w)
        if self.w is not None and not has_fit_parameter(self.base, "sample_weight"):
            raise ValueError(
                f"{type(self.base).__name__} does not support sample_weight. Sample weights are "
                "passed to the estimator."
            )
        self.rng = as_generator(model.random_state)
        if "random_state" in self.base.get_params(deep=False):
            self.base.set_params(random_state=int(self.rng.integers(2**31)))
        self.size = self._subset_size()
        self.threshold = self._threshold()
        self.trials, self.skips = 0, {"no_inliers": 0, "invalid_data": 0, "invalid_model": 0}
        self.best: Array | None = None
        self.count, self.score = 1, -np.inf

    def _subset_size(self) -> int:
        given = self.m.min_samples
        if given is None:
            if not self.plain:
                raise ValueError(
                    "`min_samples` needs to be explicitly set when estimator is not a "
                    "LinearRegression."
                )
            size = self.X.shape[1] + 1
        else:
            size = int(given) if given >= 1 else int(np.ceil(given * self.n))
        if size > self.n:
            raise ValueError(
                f"`min_samples` may not be larger than number of samples: n_samples = {self.n}, "
                f"min_samples = {size}."
            )
        return size

    def _threshold(self) -> float:
        if self.m.residual_threshold is not None:
            return float(self.m.residual_threshold)
        # of rows with one target most residuals are rounding, and none of them need be exactly 0
        rounding = 1e3 * np.finfo(float).eps * float(np.abs(self.y).max(initial=0.0))
        return max(float(np.median(np.abs(self.y - np.median(self.y)))), rounding)

    def _loss(self, f: Array) -> Array:
        """Loss of predictions (n,) or (n, t), row by row."""
        if callable(self.m.loss):
            return np.asarray(self.m.loss(self.y, f))
        r = np.abs(self.y - f)
        r = r * r if self.m.loss == "squared_error" else r
        return r if r.ndim == 1 else r.sum(axis=1)

    def run(self) -> None:
        m, most = self.m, float(self.m.max_trials)
        if min(most, m.stop_n_inliers, m.stop_score) == np.inf and m.stop_probability == 1:
            raise ValueError(
                "max_trials=inf with stop_probability=1 never ends. Lower one of them, or give "
                "stop_n_inliers or stop_score."
            )
        draws = self._batched() if self._can_batch() else self._one_by_one()
        while self.trials < most:
            self.trials += 1
            if sum(self.skips.values()) > m.max_skips:
                break
            draw = next(draws)
            if draw.residuals is None:
                self.skips[draw.void] += 1
                continue
            if not self._improves(draw.residuals <= self.threshold, draw):
                continue
            most = min(most, required_trials(self.count, self.n, self.size, m.stop_probability))
            if self.count >= m.stop_n_inliers or self.score >= m.stop_score:
                break

    def _improves(self, mask: Array, draw: Draw) -> bool:
        """Keep a set of at least as many rows and at least the same score."""
        count = int(mask.sum())
        if count < self.count or count == 0:
            self.skips["no_inliers"] += 1
            return False
        if self.best is not None and np.array_equal(mask, self.best):
            return False
        if self.m.local_optimization:
            mask = self._grow(mask)
            count = int(mask.sum())
        score = self._score(draw, mask)
        if count == self.count and score < self.score:
            return False
        self.count, self.score, self.best = count, score, mask
        return True

    def _grow(self, mask: Array) -> Array:
        """Refits on the inliers, as long as their number grows."""
        for _ in range(ROUNDS):
            near = self._loss(self._predictions(self.refit(mask))) <= self.threshold
            if near.sum() <= mask.sum():
                break
            mask = near
        return mask

    def _score(self, draw: Draw, mask: Array) -> float:
        """R^2 of the drawn model on its inliers."""
        if not isinstance(draw.model, np.ndarray):
            return float(draw.model.score(self.X[mask], self.y[mask]))
        W: Array = draw.model
        f = self.X[mask] @ W[1:] + W[0]
        y = self.Y[mask]
        total = ((y - y.mean(axis=0)) ** 2).sum()
        return float(1.0 - ((y - f) ** 2).sum() / total) if total > 0 else 1.0

    def refit(self, mask: Array) -> Any:
        """The estimator fitted on these rows, in the array library of X."""
        at = np.flatnonzero(mask)
        weights = {} if self.w is None else {"sample_weight": self.w[at]}
        y = take_rows(self.rows.Y, at)
        X = take_rows(self.rows.X, at)
        return clone(self.base).fit(X, y[:, 0] if self.flat else y, **weights)

    def _predictions(self, model: BaseEstimator) -> Array:
        f = np.asarray(to_numpy(model.predict(self.rows.X)), dtype=np.float64)
        return f[:, 0] if self.flat and f.ndim == 2 else f

    def _subsets(self) -> Iterator[Array]:
        """Batches (B, size) of row indices, the same for every way to fit them."""
        most = max(1, min(64, MOST_ENTRIES // (self.n * self.Y.shape[1])))
        batch = min(8, most)
        while True:
            found = draw_subsets(self.n, self.size, batch, self.rng)
            if len(found) < batch:  # all there are
                found = found[self.rng.integers(len(found), size=batch)]
            yield found
            batch = min(2 * batch, most)

    def _one_by_one(self) -> Iterator[Draw]:
        """Draws of any estimator."""
        for at in chain.from_iterable(self._subsets()):
            X, y = self.X[at], self.y[at]
            if self.m.is_data_valid is not None and not self.m.is_data_valid(X, y):
                yield Draw(None, at, void="invalid_data")
                continue
            weights = {} if self.w is None else {"sample_weight": self.w[at]}
            model = clone(self.base).fit(X, y, **weights)
            if self.m.is_model_valid is not None and not self.m.is_model_valid(model, X, y):
                yield Draw(None, at, void="invalid_model")
                continue
            f = np.asarray(to_numpy(model.predict(self.X)), dtype=np.float64)
            yield Draw(self._loss(f[:, 0] if self.flat and f.ndim == 2 else f), at, model)

    def _can_batch(self) -> bool:
        """Plain least squares of dense rows without weights and without tests of the draws."""
        free = self.m.is_data_valid is None and self.m.is_model_valid is None
        plain = self.plain and not getattr(self.base, "positive", False)
        dense = isinstance(self.X, np.ndarray)
        minimal = self.size == self.X.shape[1] + 1 and getattr(self.base, "fit_intercept", False)
        return free and plain and dense and minimal and self.w is None

    def _batched(self) -> Iterator[Draw]:
        """Draws of least squares with an intercept through as many rows as unknowns."""
        A = np.column_stack([np.ones(self.n), self.X])
        columns = np.ascontiguousarray(A.T)
        d, t = A.shape[1], self.Y.shape[1]
        for subsets in self._subsets():
            batch = len(subsets)
            stack, Y = A[subsets], self.Y[subsets]
            sound = np.abs(np.linalg.det(stack)) > 1e-14 * np.prod(
                np.linalg.norm(stack, axis=2), axis=1
            )
            models = np.zeros((batch, d, t))
            models[sound] = np.linalg.solve(stack[sound], Y[sound])
            for bad in np.flatnonzero(~sound):
                models[bad] = np.linalg.lstsq(stack[bad], Y[bad], rcond=None)[0]
            # One row per model and target, so that the residuals of a draw lie together.
            F = (models.transpose(0, 2, 1).reshape(batch * t, d) @ columns).reshape(batch, t, -1)
            for f, at, model in zip(F, subsets, models, strict=True):
                yield Draw(self._loss(f[0] if self.flat else f.T), at, model)

    def failure(self) -> str:
        """Why no set was found."""
        if sum(self.skips.values()) > self.m.max_skips:
            return (
                "RANSAC skipped more iterations than `max_skips` without finding a valid consensus "
                "set: every drawn subset failed the passing criteria. Raise residual_threshold or "
                "max_skips."
            )
        return (
            "RANSAC could not find a valid consensus set. All `max_trials` iterations were skipped "
            "because each randomly chosen sub-sample failed the passing criteria. Raise "
            "residual_threshold or max_trials."
        )
