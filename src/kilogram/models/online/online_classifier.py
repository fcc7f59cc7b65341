"""Online linear classifiers: stochastic gradient descent, one row per step.

Objective    mean_i c_i loss(y_i, f(x_i)) + alpha / 2 |w|^2,      f(x) = <w, x> + b,  y = +-1

    step     w <- w - eta (loss'(y, f) x + alpha w),    eta = eta0 / (1 + s / tau)^power

Losses (functions/online_losses.py): perceptron, hinge, squared (Adaline), tanh, log (logistic
regression). More than two classes are one-vs-rest. With constant steps (power = 0) the iterates
fluctuate around the optimum by an amount that falls with eta0; with steps that decrease with a
power between 1/2 and 1 they converge (Robbins and Monro 1951), and so does the mean of the iterates
(`average`). Batches average the gradients of several rows.

The order of the rows matters, and a weight of 2 is one long step, not two: these methods are for
rows that are read once, or that are too many for several passes.

References: Rosenblatt 1958; Widrow and Hoff 1960; Polyak and Juditsky 1992.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.rows import column_count
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.labels import class_weights, distinct_classes, refuse_unknown, validate_labels
from kilogram.base.linear import LinearClassifier
from kilogram.base.progress import Tick, ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.functions.online_losses import LOSSES
from kilogram.models.online.training import (
    ADVICE,
    ONLINE_LAWS,
    OnlineSource,
    PassOptions,
    check_overflow,
    run_passes,
)
from kilogram.operators.cost import rates
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online import OnlineMachines, StepSchedule, UpdateRule, one_pass


class OnlinePredictor(LinearClassifier):
    """Shared by the online classifiers: passes over the rows and linear predictions."""

    loss: str
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Real(0, closed="left"),
        "eta0": Real(0, closed="neither"),
        "fit_intercept": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(closed="neither") | Null(),
        "n_iter_no_change": Integer(1),
        "shuffle": Boolean(),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
        "random_state": RandomState(),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }
    laws: ClassVar[Laws] = ONLINE_LAWS

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until the loss stops decreasing.

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
        X, y, w = validate_labels(self, X, y, sample_weight)
        classes = distinct_classes(y)
        factors = class_weights(self.class_weight, classes, y, w)
        source = OnlineSource(X, y, w, classes, factors)
        machines = self._machines(source, column_count(X), fresh=not self.warm_start)
        with ticking(self, "pass", budget.deadline) as tick:
            found = self._run(source, machines, tick)
        self._store(machines, classes, X)
        self.n_iter_, self.loss_ = found.n_iter, found.objective
        warn_if_unfinished(type(self).__name__, found, ADVICE)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One pass over these rows, in their order, starting from the last weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like of shape (n_classes,), default=None
            All classes there will be; needed in the first call.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = not hasattr(self, "machines_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, w = validate_labels(self, X, y, sample_weight, reset=first)
        known = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(
                f"classes={np.unique(classes).tolist()} is not the same as in the first call of "
                f"partial_fit: {known.tolist()}."
            )
        refuse_unknown(y, known)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows: pass the weights as a dict.")
        source = OnlineSource(X, y, w, known, class_weights(self.class_weight, known, y, w))
        machines = self._machines(source, column_count(X), fresh=first)
        for data in source.blocks():
            one_pass(data, np.arange(data.X.shape[0]), self._rule(), machines)
        check_overflow(machines, source)
        self._store(machines, known, X)
        self.n_iter_ = 1
        return self

    def _run(self, source: OnlineSource, machines: OnlineMachines, tick: Tick) -> Solution:
        return run_passes(self._pass_options(), source, machines, self._rule(), tick)

    def _pass_options(self) -> PassOptions:
        return PassOptions(
            int(self.max_iter),
            None if self.tol is None else float(self.tol),
            int(self.n_iter_no_change),
            bool(self.shuffle),
            as_generator(self.random_state),
        )

    def _rule(self) -> UpdateRule:
        pace = StepSchedule(float(self.eta0), float(self.tau), float(self.power), float(self.alpha))
        return UpdateRule(self.loss, pace, bool(self.fit_intercept), int(self.batch_size))

    def _machines(self, source: OnlineSource, d: int, *, fresh: bool) -> OnlineMachines:
        known = getattr(self, "machines_", None)
        if not fresh and known is not None and known.W.shape == (source.machines, d):
            return known.copy()
        return OnlineMachines.zero(source.machines, d, bool(self.average))

    def _store(self, machines: OnlineMachines, classes: np.ndarray, X: Any) -> None:
        W, b = machines.averaged()
        self.machines_, self.classes_ = machines, classes
        self._keep_linear(W, b, X)
        self.t_ = machines.steps

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        seconds = 4.0 * n * d * min(int(self.max_iter), 20) / rates(8).multiply_adds
        return self._costs(n, d, "passes of one step per row", seconds, 8.0 * (n + 4 * d))


class OnlineClassifier(OnlinePredictor):
    """A linear classifier fitted by stochastic gradient descent, one row (or batch) at a time.

    Minimises the mean loss plus ``alpha / 2 |w|^2``. Rows in blocks (a file, an iterable, a Dask
    collection) are shuffled within a block only and the blocks taken in their order: shuffle rows
    that are sorted by class beforehand.

    Parameters
    ----------
    loss : {"log", "perceptron", "hinge", "squared", "tanh"}, default="log"
        "log" is logistic regression, "squared" Adaline, "tanh" a bounded loss that is robust to
        outliers (and not convex).
    alpha : float, default=1e-4
        Penalty alpha / 2 |w|^2 beside the mean loss.
    eta0 : float, default=0.1
        Initial step size.
    power : float, default=0.5
        Step sizes are eta0 / (1 + s / tau)^power at step s; 0 keeps them constant.
    tau : float, default=100.0
        Number of steps after which the step size decreases.
    batch_size : int, default=1
        Number of rows per step.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    tol : float or None, default=1e-3
        `fit` stops when the mean loss has not decreased by this for `n_iter_no_change` passes; None
        makes all `max_iter` passes.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which the fit stops.
    shuffle : bool, default=True
        A new order for every pass; False is unsuitable for rows sorted by class.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same.
    random_state : int, RandomState or None, default=None
        Seed or generator for the order of the rows.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the weights reached.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the decision or regression function.
    n_iter_ : int
        Number of passes over the rows.
    loss_ : float
        Mean loss during the last pass of `fit`.
    t_ : float
        Number of steps.
    machines_ : OnlineMachines
        The state that `partial_fit` continues from.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LogisticRegression : The optimum of the log loss, for rows in memory or in files.
    Perceptron, Adaline : Two of the losses, as estimators of their own.

    Examples
    --------
    >>> from kilogram import OnlineClassifier
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> OnlineClassifier(random_state=0).fit(X, y).predict([[-3.0], [0.5]])
    array([0, 1])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **OnlinePredictor.parameter_constraints,
        "loss": OneOf(*LOSSES),
        "power": Real(0, closed="left"),
        "tau": Real(0, closed="neither"),
        "batch_size": Integer(1),
        "average": Boolean(),
    }

    def __init__(
        self,
        loss: str = "log",
        *,
        alpha: float = 1e-4,
        eta0: float = 0.1,
        power: float = 0.5,
        tau: float = 100.0,
        batch_size: int = 1,
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.loss = loss
        self.alpha = alpha
        self.eta0 = eta0
        self.power = power
        self.tau = tau
        self.batch_size = batch_size
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.max_time = max_time
