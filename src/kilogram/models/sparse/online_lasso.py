"""Lasso for rows that arrive one by one: stochastic proximal gradient steps.

    min_{b, c}  1/(2 W) sum_i w_i (y_i - <x_i, b> - c)^2 + alpha |b|_1             W = sum_i w_i

`solvers/stochastic/online_lasso.py` has the steps. Nothing of the rows is kept, so the memory is
that of two vectors of coefficients. Where the Gram matrix of the columns fits in memory, `Lasso`
reads rows in blocks once and finds the exact solution.

References: Bottou 2010; Duchi and Singer 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import column_count, is_streamed, row_blocks
from kilogram.base import Estimate, Laws, warn_if_unfinished
from kilogram.base.budget import Budget
from kilogram.base.constraints import Boolean, Integer, Null, RandomState, Real
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.sparse.elastic_net import SparseLinearModel
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online_lasso import (
    LassoRule,
    OnlineLassoState,
    online_lasso_steps,
)

Array = np.ndarray[Any, np.dtype[Any]]


class OnlineLasso(SparseLinearModel):
    """Lasso by stochastic gradients, one row a step.

    Minimises ``1/(2 W) sum_i w_i (y_i - f(x_i))^2 + alpha |b|_1``. For rows that arrive one by one
    and are not kept; if they are at hand, `Lasso` finds the optimum. The order of the rows matters.
    Rows in blocks (a file, an iterable, a Dask collection) are shuffled within a block only and the
    blocks taken in their order. Scale the columns first.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    eta0 : float, default=0.2
        Length of the first step; steps that would overshoot their row are shortened.
    power : float, default=0.6
        Step t has length eta0 / t^power. The iterates converge for powers above 1/2 and up to 1;
        0 keeps them constant, for rows whose distribution drifts (with ``average=False``).
    average : bool, default=True
        Whether the coefficients are the mean of the iterates, with weights that grow like the cube
        of the number of steps; False takes the last iterate.
    threshold : float, default=0.0
        Coefficients of this size or smaller are set to 0 in `coef_`, for a mean of iterates has few
        exact zeros. The iterates are not changed.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    max_iter : int, default=20
        Number of passes over the rows in `fit`.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of `fit`.
    random_state : int, RandomState or None, default=None
        Seed or generator of the orders; an int gives the same result every time.
    warm_start : bool, default=False
        Go on from the previous fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the coefficients reached.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    sparse_coef_ : sparse matrix of shape (1, d)
        The coefficients as a sparse matrix.
    intercept_ : float
        Intercept of the regression function.
    n_iter_ : int
        Number of passes over the rows.
    loss_ : float
        Mean of half the squared errors before each step of the last pass.
    t_ : int
        Number of steps taken.
    state_ : OnlineLassoState
        The state that `partial_fit` continues from.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Lasso : The optimum, for rows in memory or in files.
    OnlineClassifier : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import OnlineLasso
    >>> rng = np.random.default_rng(0)
    >>> model = OnlineLasso(alpha=0.2, threshold=0.05)
    >>> for _ in range(200):
    ...     X = rng.normal(size=(50, 5))
    ...     model = model.partial_fit(X, 2 * X[:, 0] - X[:, 1])
    >>> model.coef_.round(1)
    array([ 1.8, -0.8,  0. ,  0. ,  0. ])
    """

    laws: ClassVar[Laws] = Laws(
        shift="steps depend on the origin: their length is proportional to that of the row",
        weight="a weight is the length of a step; two rows are two steps",
        permutation="the order of the rows is the order of the steps",
        block="blocks are taken in their order, shuffled within: another order of steps",
        partial_fit="each call is one pass in the order given, fit makes several in shuffled order",
        backend="one row a step is no work for a device: rows are copied to the host",
        budget=True,
        example={"alpha": 0.05, "random_state": 0},
        budget_example={"max_iter": 1000},
    )
    l1_ratio: float = 1.0  # not a parameter of the lasso
    parameter_constraints: ClassVar = {
        "alpha": Real(0),
        "eta0": Real(0, closed="neither"),
        "power": Real(0, 1),
        "average": Boolean(),
        "threshold": Real(0),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "shuffle": Boolean(),
        "random_state": RandomState(),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        eta0: float = 0.2,
        power: float = 0.6,
        average: bool = True,
        threshold: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 20,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.eta0 = eta0
        self.power = power
        self.average = average
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows `max_iter` times.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of the steps.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = validate_regression_data(self, X, y, sample_weight)
        state = self._begin(column_count(rows.X), fresh=not self.warm_start)
        rng, rule = as_generator(self.random_state), self._rule()
        found = Solution(state, 0)
        with ticking(self, "pass", budget.deadline) as tick:
            for number in range(1, int(self.max_iter) + 1):
                mean = self._pass(rows, rule, state, rng if self.shuffle else None)
                late = tick(number, mean) and number < int(self.max_iter)
                message = "max_time is reached." if late else ""
                found = Solution(state, number, mean, not late, message)
                if late:
                    break
        self._store(state, rows)
        self.n_iter_, self.loss_ = found.n_iter, found.objective
        warn_if_unfinished(type(self).__name__, found, "Raise max_time, or fit fewer passes.")
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these rows, in their order, starting from the last coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of the steps.

        Returns
        -------
        self
        """
        first = not hasattr(self, "state_")
        rows = validate_regression_data(self, X, y, sample_weight, reset=first)
        state = self._begin(column_count(rows.X), fresh=first)
        loss = self._pass(rows, self._rule(), state, None)
        self._store(state, rows)
        self.n_iter_, self.loss_ = 1, loss
        return self

    def _rule(self) -> LassoRule:
        return LassoRule(
            float(self.alpha), float(self.eta0), float(self.power), bool(self.fit_intercept)
        )

    def _begin(self, d: int, *, fresh: bool) -> OnlineLassoState:
        known = None if fresh else getattr(self, "state_", None)
        if known is None or len(known.arrays.w) != d:
            return OnlineLassoState.zero(d)
        return known.copy()

    def _pass(
        self, rows: RegressionData, rule: LassoRule, state: OnlineLassoState, rng: Any
    ) -> float:
        """The mean loss of one pass over the rows, shuffled within their blocks."""
        total, weight = 0.0, 0.0
        for X, y, w in _host_blocks(rows):
            order = np.arange(len(y)) if rng is None else rng.permutation(len(y))
            total += online_lasso_steps(X, y, w, order, rule, state)
            weight += len(y) if w is None else float(w.sum())
        return total / weight if weight > 0 else 0.0

    def _store(self, state: OnlineLassoState, rows: RegressionData) -> None:
        w, b = state.solution(average=bool(self.average))
        kept = np.where(np.abs(w) > float(self.threshold), w, 0.0)
        self._store_linear((kept[:, None], np.array([b])), rows, flat=True)
        self.state_, self.t_ = state, state.steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        seconds = 6.0 * n * d * int(self.max_iter) / rates(8).multiply_adds
        return self._costs(n, d, "passes of one step per row", seconds, 8.0 * (n + 2 * d))


def _host_blocks(rows: RegressionData) -> Iterator[tuple[Any, Array, Array | None]]:
    """Rows (NumPy or CSR, of floats), targets of one column and weights, block by block."""
    blocks = row_blocks(*rows[:3]) if is_streamed(rows.X) else [rows[:3]]
    for X, y, w in blocks:
        X, y = to_numpy(X), np.asarray(to_numpy(y), dtype=np.float64)
        if not is_sparse(X):
            X = np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if y.ndim == 2:
            y = column_or_1d(y, warn=rows.flat is False)
        yield X, y, None if w is None else np.asarray(to_numpy(w), dtype=np.float64)
