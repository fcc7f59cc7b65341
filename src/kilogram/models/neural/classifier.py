"""Classification by a multi-layer perceptron.

Objective    sum_i w_i loss(y_i, p(x_i)) / sum_i w_i + alpha / 2 sum_l |W_l|^2 / sum_i w_i

with p the softmax of the outputs, or for two classes and for several labels a row the logistic
function of each. Over the rows of a batch for "sgd" and "adam", over all rows for "lbfgs".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from kilogram.arrays.namespace import is_array, is_sparse, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import ValidatedData
from kilogram.base.constraints import Constraint, OneOf
from kilogram.base.labels import all_classes, codes_of, validate_labels
from kilogram.base.progress import with_callbacks
from kilogram.models.neural.mlp import STOCHASTIC, MultilayerPerceptron


def has_epochs(model: MultilayerPerceptron) -> bool:
    """Whether the solver makes epochs, as `partial_fit` does."""
    if model.solver not in STOCHASTIC:
        raise AttributeError(
            f"partial_fit is only available for stochastic optimizers. {model.solver} is not "
            "stochastic."
        )
    return True


def _has_columns(y: Any) -> bool:
    """Whether labels come in several columns; of lists, by the first row."""
    if hasattr(y, "shape"):
        return len(y.shape) == 2 and y.shape[1] > 1
    return isinstance(y, (list, tuple)) and len(y) > 0 and np.ndim(y[0]) == 1 and len(y[0]) > 1


class MLPClassifier(ClassifierMixin, MultilayerPerceptron):
    """Multi-layer perceptron for classes, one or several labels a row.

    Minimises the mean loss plus ``alpha / 2`` times the squared weights, divided by the number of
    rows (of a batch). The same `random_state` gives the network of scikit-learn, up to rounding.
    Rows of torch, CuPy and other array libraries are trained on their device; rows in blocks are
    gathered: use `partial_fit` where they do not fit in memory. Batches of 5 000 and more float64
    rows are computed in float32 where it has the digits for them; "lbfgs" always keeps float64.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(100,)
        Units of each hidden layer; () is multinomial logistic regression.
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
        Hold out rows, stop when their score stops improving, and keep the best weights.
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
    loss : {"log_loss", "squared_error"}, default="log_loss"
        Cross-entropy, or half the squared error of the probabilities (Brier score).
    dropout : float, default=0.0
        Probability with which a hidden unit is left out of a training batch; those that stay are
        scaled up, so that predictions need no correction. Not for "lbfgs".
    fit_intercept : bool, default=True
        Offsets of all units. A network without them and an odd activation around its value at 0
        (tanh, logistic with one hidden layer) cannot learn XOR of inputs -1 and 1.
    max_time : float or None, default=None
        Seconds after which training stops with the weights reached.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
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
        Accuracies of the validation rows.
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
    MLPRegressor : For real targets.
    LogisticRegression : No hidden layer, and its optimum.

    Examples
    --------
    XOR, which no linear classifier learns:

    >>> from kilogram import MLPClassifier
    >>> X, y = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> model = MLPClassifier((6,), activation="tanh", solver="lbfgs", random_state=0)
    >>> model.fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **MultilayerPerceptron.parameter_constraints,
        "loss": OneOf("log_loss", "squared_error"),
    }

    def __init__(
        self,
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
        loss: str = "log_loss",
        dropout: float = 0.0,
        fit_intercept: bool = True,
        max_time: float | None = None,
    ):
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
        self.loss = loss
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
        y : array-like of shape (n,) or (n, n_labels)
            Classes, or 0 and 1 for each of several labels.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, incremental=False)
        return self

    @available_if(has_epochs)
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """One epoch over these rows, starting from the last weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, n_labels)
        sample_weight : float or array-like of shape (n,), default=None
        classes : array-like of shape (n_classes,), default=None
            All classes there will be; needed in the first call.

        Returns
        -------
        self
        """
        if self.early_stopping is True:
            raise ValueError("partial_fit does not support early_stopping=True")
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        given = None if classes is None else np.unique(to_numpy(classes))
        if not (first or given is None or np.array_equal(given, self.classes_)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_!r}"
            )
        self._fit(X, y, sample_weight, incremental=True, classes=given)
        return self

    def _check_data(self, X: Any, y: Any, w: Any, *, reset: bool) -> ValidatedData:
        if is_sparse(y):
            y = y.toarray()
        if is_array(y):
            y = to_numpy(y)
        if is_streamed(X) or y is None or not _has_columns(y):
            return validate_labels(self, X, y, w, reset=reset)
        found = self._validate(X, y, w, numeric_y=False, reset=reset)
        kind = type_of_target(found.y, input_name="y")
        if kind != "multilabel-indicator":
            raise ValueError(
                f"y has {found.y.shape[1]} columns of {kind} values: {type(self).__name__} takes "
                "one column of classes, or columns of 0 and 1."
            )
        return found

    def _targets(self, y: np.ndarray, *, fresh: bool, classes: Any) -> np.ndarray:
        several = y.ndim == 2
        found = np.arange(y.shape[1]) if several else all_classes(y)
        if fresh:
            self._several = several
            self.classes_ = found if classes is None else classes
        elif several != self._several:
            raise ValueError("y has classes where the last fit had several labels, or vice versa.")
        unknown = np.setdiff1d(found, self.classes_)
        if not fresh and self.warm_start and not np.array_equal(found, self.classes_):
            raise ValueError(
                "warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {self.classes_}, `y` has {found}"
            )
        if len(unknown):
            raise ValueError(
                f"`y` has classes not in `self.classes_`. `self.classes_` has {self.classes_}. "
                f"'y' has {found}."
            )
        if several:
            return np.asarray(y, dtype=np.float64)
        if len(self.classes_) == 1:
            raise ValueError(
                f"The labels have one class only, {self.classes_.tolist()[0]!r}; a classifier "
                "needs two classes or more."
            )
        codes = codes_of(y, self.classes_)
        if len(self.classes_) == 2:
            return codes.astype(np.float64)[:, None]
        return (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)

    def _output(self) -> str:
        return "softmax" if not self._several and len(self.classes_) > 2 else "logistic"

    def _stratify(self, Y: np.ndarray) -> Any:
        return Y[:, 0] > 0.5 if Y.shape[1] == 1 else None

    def _score_outputs(self, F: np.ndarray, Y: np.ndarray, w: Any) -> float:
        if self._output() == "softmax":
            return float(accuracy_score(Y.argmax(axis=1), F.argmax(axis=1), sample_weight=w))
        return float(accuracy_score(Y > 0.5, F > 0.5, sample_weight=w))

    def predict(self, X: Any) -> Any:
        """The class of the largest probability of each row, or its labels as 0 and 1.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,) or (m, n_labels)
        """
        if self.__sklearn_is_fitted__() and self._several:
            return self._outputs(X, lambda F: (to_numpy(F) > 0.5).astype(np.int64))

        def labels(F: Any) -> Any:
            P = to_numpy(F)
            codes = (P[:, 0] > 0.5).astype(np.intp) if P.shape[1] == 1 else P.argmax(axis=1)
            return self.classes_[codes]

        return self._outputs(X, labels)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, or of the label 1 of each of several labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        P : array of shape (m, n_classes) or (m, n_labels)
        """

        def of_both_classes(F: Any) -> Any:
            xp = namespace(F)
            return F if F.shape[1] > 1 or self._several else xp.concat([1.0 - F, F], axis=1)

        return self._outputs(X, of_both_classes)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        log_P : array of shape (m, n_classes) or (m, n_labels)
        """
        P = self.predict_proba(X)
        return map_rows(np.log, P) if is_streamed(P) else namespace(P).log(P)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coefs_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
