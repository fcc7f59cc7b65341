"""What SVC and SVR share: the door, the kernel, the memory, and f(x) = sum_i b_i k(x_i, x) + bias.

All binary machines of a model share the union of their support vectors, so one kernel block per
block of new rows answers for all of them at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks, take_rows
from kilogram.arrays.rows_stream import stack_rows
from kilogram.arrays.threads import blas_threads
from kilogram.base import Budget, Door, Estimate, Estimator, warn_if_unfinished
from kilogram.base.estimate import within
from kilogram.base.progress import ticking, with_callbacks
from kilogram.kernels import FromCallable, Kernel, Linear, Precomputed, as_kernel
from kilogram.kernels.widths import scale_rule
from kilogram.operators.memory_plan import rates
from kilogram.solvers.smo import BlockOptions, KernelRows, Machine, Problem, StoredRows, fit_machine
from kilogram.solvers.smo.rows import dense_is_cheaper

MEGABYTE = 2**20
LEAST_CACHE = 64 * MEGABYTE
ADVICE = (
    "Scale the columns (StandardScaler), lower C, or raise max_iter, max_time or tol: on unscaled "
    "columns or with a very large C the dual is badly conditioned."
)


def scale_gamma(X: Any, w: np.ndarray | None) -> float:
    """1 / (d var(X)) over all entries, rows counted by their weights; 1 if they are all equal."""
    if w is None and not is_sparse(X):
        return scale_rule(X)
    w = np.ones(X.shape[0]) if w is None else w.astype(np.float64)
    total = float(w.sum()) * X.shape[1]
    if is_sparse(X):
        once, twice = X.sum(axis=1), X.multiply(X).sum(axis=1)
        mean = float(w @ np.asarray(once, dtype=np.float64).ravel()) / total
        variance = float(w @ np.asarray(twice, dtype=np.float64).ravel()) / total - mean**2
    else:
        Z = to_numpy(X).astype(np.float64)
        mean = float(np.sum(w @ Z)) / total
        variance = float(np.sum(w @ (Z - mean) ** 2)) / total
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def refuse_overflow(model: Any, X: Any) -> None:
    """Refuse values whose inner products overflow: no kernel can be made of them."""
    values = X.data if is_sparse(X) else X
    if model.__dict__.get("kernel") == "precomputed" or 0 in values.shape:
        return
    xp = namespace(values)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    if largest > math.sqrt(float(xp.finfo(values.dtype).max) / (4 * X.shape[1])):
        raise ValueError(
            f"{type(model).__name__}: the values of X are finite, but their squares overflow "
            f"{values.dtype}. Divide the columns by their scale first (StandardScaler does)."
        )


def make_kernel(model: Any, X: Any, w: np.ndarray | None) -> Kernel:
    """The kernel a model asks for, with numbers for parameters; gamma as scikit-learn has it."""
    spec = model.kernel
    if isinstance(spec, Kernel):
        return spec.resolve(X)
    if callable(spec):
        return FromCallable(spec, on="blocks")
    if spec in ("linear", "precomputed"):
        return as_kernel(spec)
    gamma = model.gamma
    if gamma == "scale":
        gamma = scale_gamma(X, w)
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif not is_number(gamma) or not gamma >= 0:
        raise ValueError(f"gamma must be 'scale', 'auto' or a number >= 0, got {gamma!r}.")
    return as_kernel(spec, gamma=float(gamma), degree=model.degree, coef0=model.coef0).resolve(X)


def in_memory(door: Door) -> Door:
    """Streamed rows gathered: every pair of rows must meet."""
    if not is_streamed(door.X):
        return door
    blocks = list(row_blocks(*door))
    return Door(
        *(None if part[0] is None else stack_rows(list(part)) for part in zip(*blocks, strict=True))
    )


def entered(model: Any) -> dict[str, Any]:
    """What a model learnt at its door: names and numbers of columns, classes, the kernel."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def is_number(value: Any) -> bool:
    """A real number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_numbers(model: Any) -> None:
    """C, tol, max_iter and others, refused where they make no problem."""
    if not is_number(model.C) or not model.C > 0:
        raise ValueError(
            f"C must be a number greater than 0 (inf for a hard margin), got {model.C!r}."
        )
    if not is_number(model.tol) or not 0 < model.tol < math.inf:
        raise ValueError(f"tol must be a positive number, got {model.tol!r}.")
    if not isinstance(model.max_iter, Integral) or int(model.max_iter) < -1:
        raise ValueError(f"max_iter must be -1 (no limit) or at least 0, got {model.max_iter!r}.")
    if not is_number(model.cache_size) or not 0 < model.cache_size < math.inf:
        raise ValueError(f"cache_size must be megabytes above 0, got {model.cache_size!r}.")
    if model.slack not in (1, 2):
        raise ValueError(f"slack must be 1 (linear) or 2 (quadratic), got {model.slack!r}.")


def by_one_team(kernel: Kernel, X: Any) -> AbstractContextManager[None]:
    """BLAS on one thread where kernel rows are made by a compiled team.

    Woken for a sum now and then, its threads spin on, and take a core from the team.
    """
    return blas_threads(1) if kernel.is_compiled(X) else nullcontext()


class Setting(NamedTuple):
    """How every machine of one fit is solved."""

    kernel: Kernel
    options: BlockOptions
    limit: int

    def fit(
        self, X: Any, P: Problem, *, rows: KernelRows | None = None, start: Any = None
    ) -> Machine:
        """One machine on the points X."""
        return fit_machine(
            self.kernel, X, P, self.options, limit=self.limit, rows=rows, start=start
        )


class KernelMachine(Estimator, ABC):
    """A model f(x) = sum_i b_i k(x_i, x) + bias, one or several, on shared support vectors."""

    @abstractmethod
    def _enter_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        """Rows in memory, labels or targets, and weights or None on the host."""

    @abstractmethod
    def _machines(self, setting: Setting, rows: Any, factors: Sequence[float]) -> list[Any]:
        """Machines for penalties times each of the factors; each has a `summary`."""

    @abstractmethod
    def _keep(self, fitted: Any, rows: Any) -> None:
        """Store machines and certificate under scikit-learn's names."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or streamed rows of shape (n, d), or (n, n)
            Rows, or the kernel matrix for kernel="precomputed".
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of C; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit_along(X, y, sample_weight, [self])
        return self

    def _fit_along(self, X: Any, y: Any, sample_weight: Any, models: Sequence[Any]) -> None:
        """Fit models that differ from this one in C only, each from the one before it."""
        budget = Budget(self.max_time, self.max_memory)
        for model in models:
            check_numbers(model)
        rows = self._enter_rows(X, y, sample_weight, reset=True)
        refuse_overflow(self, rows.X)
        self.kernel_ = make_kernel(self, rows.X, rows.w)
        square_or_refuse(rows.X, self.kernel_)
        factors = [1.0 if m.C == self.C else m.C / self.C for m in models]
        with ticking(self, "block", budget.deadline) as tick, by_one_team(self.kernel_, rows.X):
            found = self._machines(self._setting(rows.X, tick, self.kernel_), rows, factors)
        for model, fitted in zip(models, found, strict=True):
            vars(model).update(entered(self))
            model._keep(fitted, rows)
            warn_if_unfinished(type(self).__name__, fitted.summary, ADVICE)

    def _setting(self, X: Any, tick: Callable | None, kernel: Kernel) -> Setting:
        """Budget and stopping rule as the parameters give them."""
        n = X.shape[0]
        size = 8 * (X.nnz if is_sparse(X) else n * X.shape[1])
        allowed = Budget(None, self.max_memory).bytes
        if self.max_memory is None:
            allowed = max(allowed, int(self.cache_size * MEGABYTE))
        spare = 3 * size + allowed // 20  # copies of the rows; squares, gradients and libraries
        limit = max(allowed - spare, min(LEAST_CACHE, allowed // 2))
        steps = max(10_000_000, 100 * n) if self.max_iter == -1 else int(self.max_iter)
        options = BlockOptions(float(self.tol), steps, tick, shrinking=bool(self.shrinking))
        return Setting(kernel, options, limit)

    def _keep_support(self, X: Any, support: np.ndarray) -> None:
        """Support vectors beside X: rows of X, nothing of a precomputed kernel."""
        self.support_ = support.astype(np.int32)
        if isinstance(self.kernel_, Precomputed):
            self.support_vectors_ = np.empty((0, 0), dtype=X.dtype)
        else:
            self.support_vectors_ = take_rows(X, support)

    def _values(self, X: Any, V: np.ndarray, bias: np.ndarray) -> Any:
        """f of the machines V (n_support, t), bias (t,), at the rows of X: (n, t), as X came."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        return map_rows(lambda block: self._block_values(block, V, bias), X)

    def _block_values(self, X: Any, V: np.ndarray, bias: np.ndarray) -> Any:
        if isinstance(self.kernel_, Precomputed):
            K = (
                X[:, self.support_]
                if is_numpy(X) or is_sparse(X)
                else take_columns(X, self.support_)
            )
            return K @ like(V, X) + like(bias, X)
        vectors: Any = self.support_vectors_
        if is_sparse(X) != is_sparse(vectors):
            X, vectors = same_form(X, vectors)
        elif not is_sparse(X):
            vectors = like(vectors, X)
        elif vectors.shape[0] and dense_is_cheaper(vectors, 2**32) and dense_is_cheaper(X, 2**32):
            X, vectors = X.toarray(), vectors.toarray()
        if vectors.shape[0] == 0:
            xp = namespace(X)
            zero = xp.zeros((X.shape[0], bias.shape[0]), dtype=X.dtype)
            return like(zero, X) + like(bias, X)
        return self.kernel_.matmul(X, vectors, like(V, X)) + like(bias, X)

    def _linear_coef(self, V: np.ndarray) -> Any:
        """W (t, d) of the linear kernel."""
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        if is_sparse(self.support_vectors_):
            return V.T @ self.support_vectors_
        return V.T.astype(self.support_vectors_.dtype) @ to_numpy(self.support_vectors_)

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        """Half of the rows as support vectors, each kernel row made once and read twice."""
        speed = rates(4)
        values = 0.5 * n * n
        seconds = values * (d / speed.multiply_adds + 1 / speed.values)
        size = min(2.0 * n * n, 0.8 * Budget(None, self.max_memory).bytes) + 16 * n * d
        return within(self, n, d, "block SMO", seconds, size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel) or isinstance(self.kernel, Kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(
            self.kernel, Precomputed
        )
        return tags


def take_columns(X: Any, columns: np.ndarray) -> Any:
    xp = namespace(X)
    return xp.take(X, like(columns.astype(np.int64), X), axis=1)


def same_form(X: Any, vectors: Any) -> tuple[Any, Any]:
    """Sparse rows met by dense ones: both dense."""
    if is_sparse(X):
        return X.toarray(), vectors
    return X, like(vectors.toarray(), X)


def precomputed_rows(X: Any, columns: np.ndarray) -> StoredRows:
    """The rows given of a kernel matrix, restricted to the columns that count."""
    K = to_numpy(X)
    K = K.toarray() if hasattr(K, "toarray") else K
    return StoredRows(K if K.shape[1] == columns.shape[0] else K[:, columns])


def square_or_refuse(X: Any, kernel: Kernel) -> None:
    """A precomputed kernel matrix has a row and a column for every point."""
    if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. "
            f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
        )
