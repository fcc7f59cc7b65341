"""Adaline: least squares on labels +-1, one row at a time (Widrow and Hoff 1960).

Objective    mean_i (y_i - <w, x_i> - b)^2 / 2      step    w <- w + eta (y - f) x

Its optimum is least squares on the labels, whose direction is Fisher's. Correctly classified rows
far from the boundary are penalised too, unlike in `OnlineClassifier(loss="tanh")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from kilogram.base.constraints import Constraint
from kilogram.models.online.online_classifier import OnlineClassifier, OnlinePredictor


class Adaline(OnlinePredictor):
    """Adaptive linear neuron: squared loss by stochastic gradient descent.

    Minimises the mean of ``(y - f)^2 / 2`` plus ``alpha / 2 |w|^2``. The order of the rows matters.
    Rows in blocks (a file, an iterable, a Dask collection) are shuffled within a block only and the
    blocks taken in their order: shuffle rows that are sorted by class beforehand.

    Parameters
    ----------
    eta0 : float, default=0.01
        First step size; stable only below 2 over the mean squared length of the rows [x, 1].
    alpha : float, default=0.0
        Penalty alpha / 2 |w|^2.
    power : float, default=0.5
        Step sizes are eta0 / (1 + s / tau)^power at step s; 0 keeps them constant.
    tau : float, default=1000.0
        Number of steps after which the step size decreases.
    batch_size : int, default=1
        Number of rows per step.
    average : bool, default=False
        Predict with the mean of all iterates.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    tol : float or None, default=1e-4
        `fit` stops when the mean loss has not decreased by this for `n_iter_no_change` passes.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which the fit stops.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    warm_start : bool, default=False
        Start from the solution of the previous fit.
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
        Number of iterations.
    loss_ : float
        Mean loss over the training rows at the end of the fit.
    t_ : float
        Number of steps taken.
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> from kilogram import Adaline
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> Adaline(random_state=0).fit(X, y).predict([[-3.0], [0.5]])
    array([0, 1])
    """

    loss = "squared"
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        name: constraint
        for name, constraint in OnlineClassifier.parameter_constraints.items()
        if name != "loss"
    }

    def __init__(
        self,
        *,
        eta0: float = 0.01,
        alpha: float = 0.0,
        power: float = 0.5,
        tau: float = 1000.0,
        batch_size: int = 1,
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-4,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.eta0 = eta0
        self.alpha = alpha
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
