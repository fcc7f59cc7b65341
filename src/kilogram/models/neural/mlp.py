"""What the multi-layer perceptrons share: parameters, a fit of either solver, outputs of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from array_api_compat import device
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from kilogram.arrays.namespace import (
    MODERATE,
    is_numpy,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
)
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, ValidatedData, warn_if_unfinished
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Integer,
    InvalidParameterError,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.fitted import check_is_fitted
from kilogram.base.host_rows import rows_in_memory
from kilogram.base.progress import Tick, ticking
from kilogram.base.warnings import warn
from kilogram.functions.activations import HIDDEN
from kilogram.models.neural.network import Architecture, Backpropagation, forward
from kilogram.models.neural.optimizers import Adam, Optimizer, Sgd
from kilogram.models.neural.training import (
    NOT_FINITE,
    EpochOptions,
    History,
    LbfgsOptions,
    NetworkRows,
    Training,
    run_epochs,
    run_lbfgs,
)
from kilogram.operators.cost import rates
from kilogram.solvers.solution import Solution

ADVICE = "Raise max_iter or max_time, or scale the features (StandardScaler)."
STOCHASTIC = ("sgd", "adam")
# From which the batches of float64 rows are computed in float32, 1.4 times faster; fits of fewer
# take milliseconds an epoch.
MANY_ROWS = 5000
# Rows that decide whether float32 has the digits for it: a value in 0.3 % of the rows is seen with
# 95 %.
SAMPLE = 1000
FAR = 1e3  # largest value over standard deviation: float32 then keeps it to 1e-4 of the latter

NEURAL_LAWS = Laws(
    shift="initial weights and the penalty on them refer to the origin",
    permutation="initial weights are drawn for the columns in their order",
    partial_fit="each call is one epoch over its rows, fit makes many over all of them",
    budget=True,
    # a strong penalty and a smooth activation: a minimum that rounding does not change
    example={
        "hidden_layer_sizes": (4,),
        "activation": "tanh",
        "solver": "lbfgs",
        "alpha": 50.0,
        "tol": 1e-5,
        "max_iter": 5000,
        "random_state": 0,
    },
    budget_example={"solver": "adam", "alpha": 1e-4, "max_iter": 10000},
    rtol=1e-4,
)


class MultilayerPerceptron(Estimator):
    """A feed-forward network: `coefs_`, `intercepts_`, and how they are found."""

    coefs_: list[Any]
    intercepts_: list[Any]
    out_activation_: str
    t_: int
    hidden_layer_sizes: Any
    activation: str
    loss: str
    solver: str
    alpha: float
    batch_size: Any
    learning_rate: str
    learning_rate_init: float
    power_t: float
    max_iter: int
    shuffle: bool
    random_state: Any
    tol: float
    verbose: Any
    warm_start: bool
    momentum: float
    nesterovs_momentum: bool
    early_stopping: bool
    validation_fraction: float
    beta_1: float
    beta_2: float
    epsilon: float
    n_iter_no_change: float
    max_fun: int
    dropout: float
    fit_intercept: bool
    max_time: float | None

    laws: ClassVar[Laws] = NEURAL_LAWS
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "hidden_layer_sizes": Integer(1) | ArrayLike(),
        "activation": OneOf(*HIDDEN),
        "solver": OneOf("lbfgs", "sgd", "adam"),
        "alpha": Real(0, closed="left"),
        "batch_size": OneOf("auto") | Integer(1),
        "learning_rate": OneOf("constant", "invscaling", "adaptive"),
        "learning_rate_init": Real(0, closed="neither"),
        "power_t": Real(0, closed="left"),
        "max_iter": Integer(1),
        "shuffle": Boolean(),
        "random_state": RandomState(),
        "tol": Real(0, closed="left"),
        "verbose": Boolean() | Integer(0),
        "warm_start": Boolean(),
        "momentum": Real(0, 1),
        "nesterovs_momentum": Boolean(),
        "early_stopping": Boolean(),
        "validation_fraction": Real(0, 1, closed="left"),
        "beta_1": Real(0, 1, closed="left"),
        "beta_2": Real(0, 1, closed="left"),
        "epsilon": Real(0, closed="neither"),
        "n_iter_no_change": Integer(1) | OneOf(math.inf),
        "max_fun": Integer(1),
        "dropout": Real(0, 1, closed="left"),
        "fit_intercept": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    #: Whether float32 would lose digits of the targets, in training and in predictions.
    _targets_need_float64: bool = False

    def _check_data(self, X: Any, y: Any, w: Any, *, reset: bool) -> ValidatedData:
        """Validated rows, targets and weights, which may still stream."""
        raise NotImplementedError

    def _targets(self, y: Any, *, fresh: bool, classes: Any) -> Any:
        """Targets (n, t) as numbers; `classes` are those that partial_fit was given."""
        raise NotImplementedError

    def _output(self) -> str:
        """The activation of the outputs."""
        raise NotImplementedError

    def _score_outputs(self, F: np.ndarray, Y: np.ndarray, w: Any) -> float:
        """The score of validation rows, from their outputs and targets."""
        raise NotImplementedError

    def _stratify(self, Y: np.ndarray) -> Any:
        """Classes whose proportions the validation rows keep; None for a random choice."""
        return None

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, incremental: bool, classes: Any = None
    ) -> None:
        budget, hidden = Budget(self.max_time), hidden_sizes(self.hidden_layer_sizes)
        if self.dropout and self.solver == "lbfgs":
            raise ValueError(
                "dropout needs solver='sgd' or 'adam', got solver='lbfgs': its line search "
                "compares losses, which dropout makes random."
            )
        fresh = not hasattr(self, "coefs_") or not (self.warm_start or incremental)
        X, y, w = self._in_memory(X, y, sample_weight, reset=fresh)
        Y = self._targets(y, fresh=fresh, classes=classes)
        kept = not fresh and self._targets_need_float64  # by rows of an earlier call
        self._targets_need_float64 = kept or not _fits_float32(Y)
        rows = training_rows(self, X, Y, w)
        sizes = (int(rows.X.shape[1]), *hidden, int(rows.Y.shape[1]))
        arch = Architecture(
            sizes, self.activation, self._output(), self.loss, bool(self.fit_intercept)
        )
        rng = as_random_state(self.random_state)
        theta = like(arch.draw(rng), rows.reference) if fresh else self._last(arch, rows.reference)
        with ticking(self, "epoch", budget.deadline) as tick:
            if self.solver == "lbfgs":
                found = self._run_lbfgs(arch, theta, rows, tick, fresh=fresh)
            else:
                found = self._run_epochs(
                    arch, theta, rows, rng, tick, fresh=fresh, incremental=incremental
                )
        self._store(arch, found, rows)
        if not incremental:
            warn_if_unfinished(type(self).__name__, found, ADVICE)

    def _in_memory(self, X: Any, y: Any, w: Any, *, reset: bool) -> ValidatedData:
        """Validated rows in memory; rows that stream are gathered."""
        X, y, w = self._check_data(X, y, w, reset=reset)
        if not is_streamed(X):
            return ValidatedData(X, y, w)
        names = getattr(self, "feature_names_in_", None)
        X, y, w = rows_in_memory(X, y, w)
        found = self._check_data(X, y, w, reset=reset)
        if names is not None:  # the gathered array has none of its own
            self.feature_names_in_ = names
        return found

    def _last(self, arch: Architecture, ref: Any) -> Any:
        """theta of the last fit, in the library and float type of `ref`."""
        sizes = (self.coefs_[0].shape[0], *(W.shape[1] for W in self.coefs_))
        if sizes != arch.sizes:
            raise ValueError(
                f"the network has layers of {list(sizes)} units and would need {list(arch.sizes)} "
                "for these rows and parameters. Set warm_start=False, or fit a new estimator."
            )
        parts = [[like(a, ref) for a in group] for group in (self.coefs_, self.intercepts_)]
        return arch.pack(*parts)

    def _run_lbfgs(
        self, arch: Architecture, theta: Any, rows: NetworkRows, tick: Tick, *, fresh: bool
    ) -> Solution:
        step = Backpropagation(arch, float(self.alpha), rows.n)
        options = LbfgsOptions(
            int(self.max_iter), int(self.max_fun), float(self.tol), bool(self.verbose)
        )
        found, losses = run_lbfgs(step, theta, rows, options, tick)
        self.t_ = 0 if fresh else int(self.t_)
        self.loss_curve_ = losses
        for name in ("best_loss_", "validation_scores_", "best_validation_score_", "_optimizer"):
            if hasattr(self, name):
                delattr(self, name)
        return found

    def _run_epochs(
        self,
        arch: Architecture,
        theta: Any,
        rows: NetworkRows,
        rng: np.random.RandomState,
        tick: Tick,
        *,
        fresh: bool,
        incremental: bool,
    ) -> Solution:
        kept = None if fresh or not incremental else getattr(self, "_optimizer", None)
        optimizer = self._new_optimizer(theta) if kept is None else on_device(kept.copy(), theta)
        history = History.early_stopping() if self.early_stopping else History()
        if not fresh:
            known = getattr(self, "_history", None)
            if known is not None and (known.scores is None) == (history.scores is None):
                history = known.copy()
        score = None
        if self.early_stopping:
            rows, score = self._split(arch, rows, rng)
        options = EpochOptions(
            int(self.max_iter),
            float(self.tol),
            float(self.n_iter_no_change),
            batch_rows(self.batch_size, rows.n),
            bool(self.shuffle),
            bool(self.verbose),
            incremental,
        )
        draw = rng.random_sample if self.dropout else None
        step = Backpropagation(
            arch, float(self.alpha), options.batch, 1.0 - float(self.dropout), draw
        )
        training = Training(step, optimizer, rows, options, history, score, tick)
        found = run_epochs(training, theta, rng)
        self._optimizer, self._history = optimizer, history
        self.t_, self.loss_curve_ = history.seen, history.losses
        self.best_loss_, self.validation_scores_ = history.best_loss, history.scores
        self.best_validation_score_ = history.best_score
        return found

    def _new_optimizer(self, theta: Any) -> Optimizer:
        zeros = namespace(theta).zeros_like
        if self.solver == "adam":
            betas = float(self.beta_1), float(self.beta_2), float(self.epsilon)
            return Adam(zeros(theta), zeros(theta), float(self.learning_rate_init), *betas)
        return Sgd(
            zeros(theta),
            float(self.learning_rate_init),
            self.learning_rate,
            float(self.momentum),
            bool(self.nesterovs_momentum),
            float(self.power_t),
        )

    def _split(self, arch: Architecture, rows: NetworkRows, rng: Any) -> tuple[NetworkRows, Any]:
        """Training rows, and the score of theta on the validation rows."""
        Y = np.asarray(to_numpy(rows.Y))
        train, test = train_test_split(
            np.arange(rows.n),
            random_state=rng,
            test_size=self.validation_fraction,
            stratify=self._stratify(Y),
        )
        if len(test) < 2:
            raise ValueError(
                "The validation set is too small. Increase validation_fraction or the number of "
                "rows."
            )
        held = rows.subset(test)

        def score(theta: Any) -> float:
            X = held.X.astype(np.float32) if held.single else held.X
            F = to_numpy(forward(arch, *arch.unpack(theta), X))
            if not np.isfinite(F).all():
                return math.nan
            return self._score_outputs(F, Y[test], to_numpy(held.w))

        return rows.subset(train), score

    def _store(self, arch: Architecture, found: Solution, rows: NetworkRows) -> None:
        theta = found.value.astype(np.float64) if rows.single else found.value
        xp = namespace(theta)
        if not bool(xp.all(xp.isfinite(theta))):
            raise ValueError(NOT_FINITE)
        self.coefs_, self.intercepts_ = arch.unpack(theta)
        if not arch.fit_intercept:
            made = {"dtype": theta.dtype, "device": device(theta)}
            self.intercepts_ = [xp.zeros(size, **made) for size in arch.sizes[1:]]
        self.n_layers_, self.n_outputs_ = len(arch.sizes), arch.sizes[-1]
        self.out_activation_ = arch.output
        self.n_iter_, self.loss_ = found.n_iter, np.float64(found.objective)

    @property
    def _no_improvement_count(self) -> int:
        """Epochs since the last gain."""
        return self._history.stale

    def _outputs(self, X: Any, f: Any) -> Any:
        """f of the outputs (m, t) of the rows of X, as X came."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        sizes = (int(self.n_features_in_), *(int(W.shape[1]) for W in self.coefs_))
        arch = Architecture(sizes, self.activation, self.out_activation_, self.loss)

        def rows(block: Any) -> Any:
            block = as_wide(block) if self._targets_need_float64 else block
            ref = reference(block)
            coefs = [like(W, ref) for W in self.coefs_]
            return f(forward(arch, coefs, [like(b, ref) for b in self.intercepts_], block))

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        sizes = (d, *hidden_sizes(self.hidden_layer_sizes), 1)
        weights = sum(a * b for a, b in pairwise(sizes))
        size = 4 if dtype == "float32" else 8
        epochs = min(int(self.max_iter), 50)
        seconds = 3.0 * n * weights * epochs / rates(size).multiply_adds
        return self._costs(n, d, f"{self.solver}, {epochs} epochs", seconds, size * 5.0 * weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """The sizes of the hidden layers, from one number or several; no layer is a linear model."""
    sizes = [given] if np.ndim(given) == 0 else list(given)
    if not all(Integer(1).accepts(size) for size in sizes):
        raise InvalidParameterError(
            f"hidden_layer_sizes must be > 0, integers of at least 1, got {given!r}."
        )
    return tuple(int(size) for size in sizes)


def batch_rows(batch_size: Any, n: int) -> int:
    """Rows in a batch: "auto" is 200 or all."""
    if batch_size == "auto":
        return min(200, n)
    if batch_size > n:
        warn(
            f"Got `batch_size` less than 1 or larger than sample size: {batch_size} of {n} rows. "
            "It is going to be clipped."
        )
    return min(int(batch_size), n)


def as_random_state(random_state: Any) -> np.random.RandomState:
    """scikit-learn's random state, so that equal seeds draw what they draw there."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return check_random_state(random_state)


def reference(X: Any) -> Any:
    """An array whose library, device and float type those of the network follow."""
    return np.empty(0, dtype=X.dtype) if is_sparse(X) else X


def training_rows(model: MultilayerPerceptron, X: Any, Y: Any, w: Any) -> NetworkRows:
    """Rows of positive weight, with targets and weights in their library and float type."""
    if is_sparse(X):
        X = X.tocsr()
    elif is_numpy(X):
        X = np.ascontiguousarray(X)
    X = as_wide(X) if model._targets_need_float64 else X
    single = model.solver in STOCHASTIC and float32_suffices(X) and float32_suffices(Y)
    rows = NetworkRows(X, Y, w, single)
    ref = rows.reference
    Y = like(Y, ref)
    xp = namespace(Y)
    model._ensure_target(xp.sum(Y * Y))
    rows = NetworkRows(X, Y, None if w is None else like(w, ref), single)
    if w is not None and not np.all(to_numpy(w) > 0):
        rows = rows.subset(np.flatnonzero(to_numpy(w) > 0))
    return rows


def as_wide(A: Any) -> Any:
    """A in the widest float type of its device, if it is float32."""
    if "float32" not in str(A.dtype):
        return A
    xp = namespace(A)
    return A.astype(np.float64) if is_sparse(A) else xp.astype(A, sum_dtype(A, xp))


def float32_suffices(A: Any) -> bool:
    """Whether the steps of batches may see these float64 numbers in float32: their noise is larger.

    Only for many of them, where it matters, and not for columns far from 0 compared with their
    spread, in a sample of the rows.
    """
    if not is_numpy(A) or A.dtype != np.float64 or A.shape[0] < MANY_ROWS:
        return False
    sample = A[:: max(A.shape[0] // SAMPLE, 1)]
    far, spread = np.abs(sample).max(axis=0), sample.std(axis=0)
    moderate = (far < MODERATE) & ((far > 1.0 / MODERATE) | (far == 0))
    return bool(np.all(moderate & ((far <= FAR * spread) | (spread == 0))))


def _fits_float32(Y: Any) -> bool:
    """Whether float32 keeps the spread of each target, to 1e-4 of it."""
    Y = to_numpy(Y)
    if Y.dtype != np.float64:
        return True
    with np.errstate(over="ignore"):
        lost = np.abs(Y - Y.astype(np.float32)).max(axis=0, initial=0.0)
        return bool(np.all(lost <= 1e-4 * Y.std(axis=0)) or not lost.any())


def on_device(optimizer: Optimizer, theta: Any) -> Optimizer:
    """The state of an optimiser in the library and float type of theta."""
    for name in ("velocity", "first", "second"):
        if hasattr(optimizer, name):
            setattr(optimizer, name, like(getattr(optimizer, name), theta))
    return optimizer
