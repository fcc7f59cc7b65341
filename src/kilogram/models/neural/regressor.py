"""Regression by a multi-layer perceptron.

Objective    sum_i w_i loss(y_i, f(x_i)) / sum_i w_i + alpha / 2 sum_l |W_l|^2 / sum_i w_i

with loss |y - f|^2 / 2, or half the Poisson deviance of counts with f = exp(z). Over the rows of a
batch for "sgd" and "adam", over all rows for "lbfgs".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.base import ValidatedData
from kilogram.base.constraints import Constraint, OneOf
from kilogram.base.progress import with_callbacks
from kilogram.models.neural.classifier import has_epochs
from kilogram.models.neural.mlp import MultilayerPerceptron, as_wide


class MLPRegressor(MultiOutputMixin, RegressorMixin, MultilayerPerceptron):
    """Multi-layer perceptron for one or several real targets.

    Minimises the mean loss plus ``alpha / 2`` times the squared weights, divided by the number of
    rows (of a batch). The same `random_state` gives the network of scikit-learn, up to rounding;
    the loss of several targets is their sum, whose gradient the steps follow (scikit-learn reports
    the mean). Rows of torch, CuPy and other array libraries are trained on their device; rows in
    blocks are gathered: use `partial_fit` where they do not fit in memory. Batches of 5 000 and
    more float64 rows are computed in float32 where it has the digits; "lbfgs" always keeps float64.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}, default="squared_error"
        Half the squared error, or half the Poisson deviance for counts, with exp as output.
    hidden_layer_sizes : int or array-like of int, default=(100,)
        Units of each hidden layer; () is a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        Activation function of the hidden units.
    solver : {"adam", "sgd", "lbfgs"}, default="adam"
        "lbfgs" uses all rows in every iteration: for small data.
    alpha : float, default=0.0001
        Penalty on the squared weights; the offsets are not penalised.
    batch_size : int or "auto", default="auto"
        Rows in a batch; "auto" is 200, or all if there are fewer.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        For "sgd": `learning_rate_init`, that over the rows seen to the power `power_t`, or a fifth
        of the rate whenever the loss stops decreasing.
    learning_rate_init : float, default=0.001
        Initial step size.
    power_t : float, default=0.5
        Exponent of the step size with `learning_rate="invscaling"`.
    max_iter : int, default=200
        Maximum number of epochs, or of iterations of "lbfgs".
    shuffle : bool, default=True
        A new order of the rows in every epoch.
    random_state : int, RandomState, Generator or None, default=None
        For initial weights, the order of rows, validation rows and dropout.
    tol : float, default=1e-4
        Training stops when the loss (or validation score) has not improved by this for more than
        `n_iter_no_change` epochs; for "lbfgs" the largest entry of the gradient.
    verbose : bool or int, default=False
        Print the loss of every epoch.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    momentum : float, default=0.9
        Momentum of the steps with `solver="sgd"`.
    nesterovs_momentum : bool, default=True
        Whether "sgd" uses Nesterov's momentum.
    early_stopping : bool, default=False
        Hold out rows, stop when their R2 stops improving, and keep the best weights.
    validation_fraction : float, default=0.1
        The proportion of rows held out by `early_stopping`.
    beta_1, beta_2 : float, default=0.9, 0.999
        Decay of the mean gradient and squared gradient of "adam".
    epsilon : float, default=1e-8
        Constant added to the root of the second moment by "adam".
    n_iter_no_change : int or inf, default=10
        Number of epochs without improvement after which the fit stops.
    max_fun : int, default=15000
        Largest number of evaluations of "lbfgs".
    dropout : float, default=0.0
        Probability with which a hidden unit is left out of a training batch; those that stay are
        scaled up, so that predictions need no correction. Not for "lbfgs".
    fit_intercept : bool, default=True
        Offsets of all units. Without them one hidden layer of tanh or logistic units has
        f(x) + f(-x) = 2 f(0), and cannot fit x^2.
    max_time : float or None, default=None
        Seconds after which training stops with the weights reached.

    Attributes
    ----------
    coefs_ : list of arrays of shape (units of a layer, units of the next)
        Weight matrices, one for each layer.
    intercepts_ : list of arrays of shape (units of a layer,)
        Offset vectors, one for each layer.
    loss_ : float
        The loss of the last epoch (mean over its batches).
    best_loss_ : float or None
        The smallest loss of an epoch; None with `early_stopping`.
    loss_curve_ : list of float
        Training loss after every epoch.
    validation_scores_ : list of float or None
        R2 of the validation rows.
    best_validation_score_ : float or None
        Best score on the held-out rows; None without early stopping.
    n_iter_ : int
        Number of epochs, or of iterations of "lbfgs".
    t_ : int
        Number of rows seen in training.
    n_layers_ : int
        Number of layers, input and output included.
    n_outputs_ : int
        Number of outputs.
    out_activation_ : str
        Activation function of the output layer.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    MLPClassifier : For classes.
    KernelRidge : A smooth regression with one optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import MLPRegressor
    >>> X = np.linspace(-2.0, 2.0, 81)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=(20,), activation="tanh", solver="lbfgs",
    ...                      max_iter=1000, random_state=0)
    >>> bool(model.fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.999)
    True
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **MultilayerPerceptron.parameter_constraints,
        "loss": OneOf("squared_error", "poisson"),
    }

    _float64_target: bool = False

    def __init__(
        self,
        loss: str = "squared_error",
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: Any = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        dropout: float = 0.0,
        fit_intercept: bool = True,
        max_time: float | None = None,
    ):
        self.loss = loss
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.dropout = dropout
        self.fit_intercept = fit_intercept
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, incremental=False)
        return self

    @available_if(has_epochs)
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One epoch over these rows, starting from the last weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        if self.early_stopping is True:
            raise ValueError("partial_fit does not support early_stopping=True")
        self._fit(X, y, sample_weight, incremental=True)
        return self

    def _check_data(self, X: Any, y: Any, w: Any, *, reset: bool) -> ValidatedData:
        X, y, w = self._validate(X, y, w, reset=reset)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} requires y to be passed, but the target y is None")
        if not is_streamed(X) and is_numpy(y) and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return ValidatedData(X, y, w)

    def _targets(self, y: Any, *, fresh: bool, classes: Any) -> Any:
        if self.loss == "poisson" and bool(namespace(y).any(y < 0)):
            raise ValueError("Some value(s) of y are negative: loss='poisson' needs counts.")
        kept = not fresh and self._float64_target
        self._float64_target = kept or y.dtype != namespace(y).float32
        return y[:, None] if y.ndim == 1 else y

    def _output(self) -> str:
        return "exp" if self.loss == "poisson" else "identity"

    def _score_outputs(self, F: np.ndarray, Y: np.ndarray, w: Any) -> float:
        return float(r2_score(Y, F, sample_weight=w))

    def predict(self, X: Any) -> Any:
        """Targets of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,) or (m, n_targets)
            Float32 if the rows and the targets of `fit` were.
        """

        def targets(F: Any) -> Any:
            F = as_wide(F) if self._float64_target else F
            return F[:, 0] if F.shape[1] == 1 else F

        return self._outputs(X, targets)
