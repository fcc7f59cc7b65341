"""Training of a network: epochs of stochastic steps, or L-BFGS on all rows, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.base.progress import Tick
from kilogram.models.neural.network import Backpropagation
from kilogram.models.neural.optimizers import Optimizer
from kilogram.solvers.solution import Solution

TIME = "max_time is reached."
NOT_FINITE = (
    "Solver produced non-finite parameter weights. The input data may contain large values and "
    "need to be preprocessed (StandardScaler), or learning_rate_init is too large."
)


@dataclass(frozen=True)
class NetworkRows:
    """Rows (n, d), targets (n, t) and weights (n,) or None, in one array library.

    `single`: NumPy's float64 rows become float32 batch by batch, without a copy of all of them.
    """

    X: Any
    Y: Any
    w: Any = None
    single: bool = False
    _buffers: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def reference(self) -> Any:
        """An array whose library, device and float type those of the network follow."""
        if self.single or is_sparse(self.X):
            return np.empty(0, dtype=np.float32 if self.single else self.X.dtype)
        return self.X

    def subset(self, index: Any) -> NetworkRows:
        """A copy of the rows of an index array, which may be NumPy's."""
        if is_sparse(self.X):
            return NetworkRows(self.X[index], *_taken(index, self.Y, self.w))
        X, Y, w = _taken(like(index, self.X), self.X, self.Y, self.w)
        return NetworkRows(X, Y, w, self.single)

    def batch(self, order: Any, rows: slice) -> tuple[Any, Any, Any]:
        """Rows, targets and weights of a part of an order; None is the order they have.

        NumPy's lie in buffers that the next call writes into.
        """
        if order is None:
            X = self.X[rows, :].astype(np.float32) if self.single else self.X[rows, :]
            return X, self.Y[rows, :], None if self.w is None else self.w[rows]
        index = order[rows]
        (w,) = _taken(index, self.w)
        return self._rows("X", index), self._rows("Y", index), w

    def _rows(self, name: str, index: Any) -> Any:
        source = getattr(self, name)
        if is_sparse(source):
            return source[index]
        if not is_numpy(source):
            return _taken(index, source)[0]
        m = index.shape[0]
        # "clip" writes straight into the buffer; the indices are in range
        out = np.take(source, index, axis=0, out=self._room(name, m, source.dtype), mode="clip")
        if name == "X" and self.single:
            narrow = self._room("single", m, np.dtype(np.float32))
            np.copyto(narrow, out, casting="same_kind")
            return narrow
        return out

    def _room(self, name: str, m: int, dtype: Any) -> Any:
        """A buffer of m rows, kept from batch to batch."""
        if name not in self._buffers or self._buffers[name].shape[0] < m:
            width = (self.Y if name == "Y" else self.X).shape[1]
            self._buffers[name] = np.empty((m, width), dtype=dtype)
        return self._buffers[name][:m]


def _taken(index: Any, *arrays: Any) -> list[Any]:
    """Copies of some rows of arrays, which may be None."""
    return [None if a is None else namespace(a).take(a, index, axis=0) for a in arrays]


class EpochOptions(NamedTuple):
    """How many epochs, when they stop, and the size and order of their batches."""

    max_iter: int
    tol: float
    n_iter_no_change: float
    batch: int
    shuffle: bool
    verbose: bool
    incremental: bool  # one epoch, whatever it gains: partial_fit


@dataclass
class History:
    """What the epochs have reached so far; `seen` counts rows, `stale` epochs without a gain."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] | None = None
    best_loss: float | None = math.inf
    best_score: float | None = None
    stale: int = 0
    seen: int = 0

    @classmethod
    def early_stopping(cls) -> History:
        """With scores of validation rows instead of the training loss."""
        return cls(scores=[], best_loss=None, best_score=-math.inf)

    def copy(self) -> History:
        scores = None if self.scores is None else list(self.scores)
        return replace(self, losses=list(self.losses), scores=scores)

    def add(self, loss: float, score: float | None, tol: float) -> bool:
        """Count an epoch; whether its score is the best so far."""
        loss = np.float64(loss)
        self.losses.append(loss)
        if score is None or self.scores is None:
            best = math.inf if self.best_loss is None else self.best_loss
            self.stale = self.stale + 1 if loss > best - tol else 0
            self.best_loss = min(best, loss)
            return False
        best = -math.inf if self.best_score is None else self.best_score
        self.scores.append(score)
        self.stale = 0 if score >= best + tol else self.stale + 1
        self.best_score = max(best, score)
        return score > best


class Training(NamedTuple):
    """Everything that the epochs of one fit need."""

    step: Backpropagation
    optimizer: Optimizer
    rows: NetworkRows
    options: EpochOptions
    history: History
    score: Callable[[Any], float] | None  # of validation rows, for early stopping
    tick: Tick


def run_epochs(training: Training, theta: Any, rng: np.random.RandomState) -> Solution:
    """Epochs from theta, which is written into, until the loss or the score stops improving."""
    options, history, n = training.options, training.history, training.rows.n
    best = namespace(theta).asarray(theta, copy=True)
    order, message, epoch = np.arange(n), "", 0
    for epoch in range(1, options.max_iter + 1):
        if options.shuffle:
            order = order[_permutation(rng, n)]
        loss = _one_epoch(training, theta, order if options.shuffle else None)
        history.seen += n
        score = None if training.score is None else training.score(theta)
        if history.add(loss, score, options.tol):
            best = namespace(theta).asarray(theta, copy=True)
        _report(options, epoch, loss, score)
        training.optimizer.end_epoch(history.seen)
        if history.stale > options.n_iter_no_change:
            if not training.optimizer.slow_down():
                break
            history.stale = 0
        if options.incremental or not math.isfinite(loss):  # the best weights are kept
            break
        if training.tick(epoch, loss):
            message = TIME
            break
    else:
        message = f"max_iter is reached; the loss is {history.losses[-1]:.4g}."
    value = theta if training.score is None else best
    return Solution(value, epoch, history.losses[-1], not message, message)


def _one_epoch(training: Training, theta: Any, order: Any) -> float:
    """Batches of one pass over the rows; the mean of their losses, weighted by their size."""
    rows, size = training.rows, training.options.batch
    if order is not None and not is_numpy(theta):
        order = like(order, theta)
    grad = np.empty_like(theta) if is_numpy(theta) else None
    total: Any = 0.0
    for start in range(0, rows.n, size):
        X, Y, w = rows.batch(order, slice(start, min(start + size, rows.n)))
        loss, found = training.step(theta, X, Y, w, grad)
        total = total + loss * X.shape[0]  # on its device: a number is asked for once an epoch
        training.optimizer.step(theta, found)
    mean = float(total) / rows.n
    if not math.isfinite(mean) and training.score is None:
        raise ValueError(NOT_FINITE)
    return mean


def _permutation(rng: np.random.RandomState, n: int) -> np.ndarray:
    order = np.arange(n)
    rng.shuffle(order)
    return order


def _report(options: EpochOptions, epoch: int, loss: float, score: float | None) -> None:
    if options.verbose:
        print(f"Iteration {epoch}, loss = {loss:.8f}")
        if score is not None:
            print(f"Validation score: {score:f}")


class LbfgsOptions(NamedTuple):
    """Limits of L-BFGS: `tol` bounds the largest entry of the gradient."""

    max_iter: int
    max_fun: int
    tol: float
    verbose: bool


#: Relative fall of the loss that ends L-BFGS: SciPy's default. A small `tol` takes less, since the
#: loss is flat where the gradient is small.
LOSS_TOL = 2.2e-9


def run_lbfgs(
    step: Backpropagation, theta: Any, rows: NetworkRows, options: LbfgsOptions, tick: Tick
) -> tuple[Solution, list[float]]:
    """L-BFGS on the loss of all rows, and the loss after each of its iterations."""
    losses: list[float] = []
    stopped: list[str] = []

    def objective(packed: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = step(like(packed, theta), rows.X, rows.Y, rows.w)
        return float(value), np.asarray(to_numpy(grad), dtype=np.float64)

    def after(intermediate_result: Any) -> None:
        losses.append(np.float64(intermediate_result.fun))
        if options.verbose:
            print(f"Iteration {len(losses)}, loss = {losses[-1]:.8f}")
        if tick(len(losses), losses[-1]):
            stopped.append(TIME)
            raise StopIteration

    start = np.asarray(to_numpy(theta), dtype=np.float64)
    found = scipy.optimize.minimize(
        objective,
        start,
        method="L-BFGS-B",
        jac=True,
        callback=after,
        options={
            "maxfun": options.max_fun,
            "maxiter": options.max_iter,
            "gtol": options.tol,
            "ftol": min(LOSS_TOL, options.tol**1.5),
        },
    )
    message = ""
    if stopped or found.status == 1:  # 1: a limit of iterations or evaluations
        limit = "max_iter" if found.nit >= options.max_iter else "max_fun"
        message = stopped[0] if stopped else f"{limit} is reached; the loss is {found.fun:.4g}."
    n_iter = min(int(found.nit), options.max_iter)
    return Solution(like(found.x, theta), n_iter, float(found.fun), not message, message), losses
