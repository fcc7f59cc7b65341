"""Shared by SVC and SVR: validation, kernel, memory, and f(x) = sum_i b_i k(x_i, x) + bias.

All binary machines of a model share the union of their support vectors, so one kernel block per
block of new rows gives the values of all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from kilogram.arrays.namespace import (
    is_numpy,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
    wide_enough,
)
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks, take_rows
from kilogram.arrays.threads import blas_threads
from kilogram.base import Budget, Estimate, Estimator, ValidatedData, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    Real,
    check_parameters,
)
from kilogram.base.fitted import check_is_fitted
from kilogram.base.progress import ticking, with_callbacks
from kilogram.kernels import FromCallable, Kernel, Linear, Precomputed, as_kernel, is_precomputed
from kilogram.kernels.bandwidths import scale_rule
from kilogram.operators.cost import rates
from kilogram.solvers.smo import (
    BinaryMachine,
    BlockOptions,
    DualProblem,
    KernelRows,
    StoredRows,
    fit_machine,
)
from kilogram.solvers.smo.row_storage import dense_is_cheaper

MEGABYTE = 2**20  # the unit of `cache_size`
# Kernel rows of 1 000 points and 8 000 rows in float64: a few blocks of SMO.
LEAST_CACHE = 64 * MEGABYTE
ADVICE = (
    "Scale the features (StandardScaler), lower C, or raise max_iter, max_time or tol: on unscaled "
    "features or with a very large C the dual is badly conditioned."
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


def refuse_overflow(name: str, X: Any) -> None:
    """Refuse values whose inner products overflow: no kernel can be made of them."""
    values = X.data if is_sparse(X) else X
    if 0 in values.shape:
        return
    xp = namespace(values)
    largest = max(float(xp.max(values)), -float(xp.min(values)))
    if largest > math.sqrt(float(xp.finfo(values.dtype).max) / (4 * X.shape[1])):
        raise ValueError(
            f"{name}: the values of X are finite, but their squares overflow {values.dtype}. "
            "Divide the features by their scale first (StandardScaler does)."
        )


def in_memory(data: ValidatedData) -> ValidatedData:
    """Streaming input gathered into arrays: the kernel is needed for every pair of rows."""
    if not is_streamed(data.X):
        return data
    blocks = list(row_blocks(*data))
    return ValidatedData(
        *(None if part[0] is None else stack_rows(list(part)) for part in zip(*blocks, strict=True))
    )


def learnt_from_data(model: Estimator) -> dict[str, Any]:
    """Fitted attributes of validation: number and names of features, classes, the kernel."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def one_thread_for_blas(kernel: Kernel, X: Any) -> AbstractContextManager[None]:
    """BLAS on one thread where kernel rows are made by compiled threads.

    BLAS threads that are woken for a sum now and then keep spinning and take a core from them.
    """
    return blas_threads(1) if kernel.is_compiled(X) else nullcontext()


class SMOSettings(NamedTuple):
    """How every binary machine of one fit is solved: kernel, stopping rule, bytes for rows."""

    kernel: Kernel
    options: BlockOptions
    limit: int
    slack: int

    def fit(
        self, X: Any, P: DualProblem, *, rows: KernelRows | None = None, start: Any = None
    ) -> BinaryMachine:
        """One binary machine on the points X."""
        return fit_machine(
            self.kernel, X, P, self.options, limit=self.limit, rows=rows, start=start
        )


class KernelMachine(Estimator, ABC):
    """A model f(x) = sum_i b_i k(x_i, x) + bias, one or several, on shared support vectors."""

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "degree": Integer(0),
        "gamma": OneOf("scale", "auto") | Real(0, closed="left"),
        "coef0": Real(closed="neither"),
        "tol": Real(0, closed="neither"),
        "C": Real(0, closed="neither") | OneOf(math.inf),
        "shrinking": Boolean(),
        "cache_size": Real(0, closed="neither"),
        "verbose": Boolean() | Integer(0),
        "max_iter": Integer(-1),
        "slack": Integer(1, 2),
        "warm_start": Boolean(),
        "max_time": Real(0, closed="neither") | Null(),
    }

    @abstractmethod
    def _validate_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        """Rows in memory, labels or targets, and weights or None on the host."""

    @abstractmethod
    def _solve(self, settings: SMOSettings, rows: Any, factors: Sequence[float]) -> list[Any]:
        """Machines for penalties times each of the factors; each has a `summary`."""

    @abstractmethod
    def _store(self, fitted: Any, rows: Any) -> None:
        """Store machines and certificate under scikit-learn's names."""

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or streaming rows of shape (n, d), or (n, n)
            Rows, or the kernel matrix for kernel="precomputed".
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Factors of C; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit_path(X, y, sample_weight, [self])
        return self

    def _fit_path(self, X: Any, y: Any, sample_weight: Any, models: Sequence[Any]) -> None:
        """Fit models that differ from this one in C only, each from the one before it."""
        budget = Budget(self.max_time, self.max_memory)
        for model in models:
            check_parameters(model)
        rows = self._validate_rows(X, y, sample_weight, reset=True)
        if not (isinstance(self.kernel, str) and self.kernel == "precomputed"):
            refuse_overflow(type(self).__name__, rows.X)
        self.kernel_ = self._resolved_kernel(rows.X, rows.w)
        check_square(rows.X, self.kernel_)
        factors = [1.0 if m.C == self.C else m.C / self.C for m in models]
        with (
            ticking(self, "block", budget.deadline) as tick,
            one_thread_for_blas(self.kernel_, rows.X),
        ):
            found = self._solve(self._smo_settings(rows.X, tick), rows, factors)
        for model, fitted in zip(models, found, strict=True):
            vars(model).update(learnt_from_data(self))
            model._store(fitted, rows)
            warn_if_unfinished(type(self).__name__, fitted.summary, ADVICE)

    def _resolved_kernel(self, X: Any, w: np.ndarray | None) -> Kernel:
        """The kernel with numbers for its parameters; gamma as in scikit-learn."""
        kernel = self.kernel
        if isinstance(kernel, Kernel):
            return kernel.resolve(X)
        if callable(kernel):
            return FromCallable(kernel, on="blocks")
        if not isinstance(kernel, str) or kernel in ("linear", "precomputed"):
            return as_kernel(kernel)
        if self.gamma == "scale":
            gamma = scale_gamma(X, w)
        else:
            gamma = 1.0 / X.shape[1] if self.gamma == "auto" else float(self.gamma)
        return as_kernel(kernel, gamma=gamma, degree=self.degree, coef0=self.coef0).resolve(X)

    def _smo_settings(self, X: Any, tick: Callable | None) -> SMOSettings:
        """Memory limit and stopping rule from the parameters."""
        n = X.shape[0]
        size = 8 * (X.nnz if is_sparse(X) else n * X.shape[1])
        allowed = Budget(None, self.max_memory).bytes
        if self.max_memory is None:
            allowed = max(allowed, int(self.cache_size * MEGABYTE))
        spare = 3 * size + allowed // 20  # copies of the rows; squares, gradients and libraries
        limit = max(allowed - spare, min(LEAST_CACHE, allowed // 2))
        most = max(10_000_000, 100 * n) if self.max_iter == -1 else int(self.max_iter)
        options = BlockOptions(float(self.tol), most, tick, shrinking=bool(self.shrinking))
        return SMOSettings(self.kernel_, options, limit, int(self.slack))

    def _store_support(self, X: Any, support: np.ndarray) -> None:
        """Support vectors beside X: rows of X, nothing of a precomputed kernel."""
        self.support_ = support.astype(np.int32)
        if isinstance(self.kernel_, Precomputed):
            self.support_vectors_ = np.empty((0, 0), dtype=X.dtype)
        else:
            self.support_vectors_ = take_rows(X, support)

    def _values(self, X: Any, V: np.ndarray, bias: np.ndarray, *, wide: bool = False) -> Any:
        """f of the machines V (n_support, t), bias (t,), at the rows of X: (n, t).

        In the float type of X; with `wide` the bias is added in float64.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).X

        def values(block: Any) -> Any:
            f = self._kernel_sums(wide_enough(block, V), V)
            if wide:
                xp = namespace(f)
                f = xp.astype(f, sum_dtype(f, xp))
            return f + like(bias, f)

        return map_rows(values, X)

    def _kernel_sums(self, X: Any, V: np.ndarray) -> Any:
        """sum_i V_i k(x_i, x) of the rows of a block, (m, t), in its float type."""
        if isinstance(self.kernel_, Precomputed):
            K = (
                X[:, self.support_]
                if is_numpy(X) or is_sparse(X)
                else take_columns(X, self.support_)
            )
            return K @ like(V, X)
        vectors: Any = self.support_vectors_
        if is_sparse(X) != is_sparse(vectors):
            X, vectors = both_dense(X, vectors)
        elif not is_sparse(X):
            vectors = like(vectors, X)
        elif vectors.shape[0] and dense_is_cheaper(vectors, 2**32) and dense_is_cheaper(X, 2**32):
            X, vectors = X.toarray(), vectors.toarray()
        if vectors.shape[0] == 0:
            xp = namespace(X)
            return like(xp.zeros((X.shape[0], V.shape[1]), dtype=X.dtype), X)
        return self.kernel_.matmul(X, vectors, like(V, X))

    def _linear_coef(self, V: np.ndarray) -> Any:
        """W (t, d) of the linear kernel."""
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        if is_sparse(self.support_vectors_):
            return V.T @ self.support_vectors_
        return V.T.astype(self.support_vectors_.dtype) @ to_numpy(self.support_vectors_)

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        """Half of the rows as support vectors, each kernel row computed once and read twice."""
        speed = rates(4)
        values = 0.5 * n * n
        seconds = values * (d / speed.multiply_adds + 1 / speed.values)
        size = min(2.0 * n * n, 0.8 * Budget(None, self.max_memory).bytes) + 16 * n * d
        return self._costs(n, d, "block SMO", seconds, size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel) or isinstance(self.kernel, Kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def take_columns(X: Any, columns: np.ndarray) -> Any:
    xp = namespace(X)
    return xp.take(X, like(columns.astype(np.int64), X), axis=1)


def both_dense(X: Any, vectors: Any) -> tuple[Any, Any]:
    """Sparse rows beside dense ones: both dense."""
    if is_sparse(X):
        return X.toarray(), vectors
    return X, like(vectors.toarray(), X)


def precomputed_rows(X: Any, columns: np.ndarray) -> StoredRows:
    """The rows given of a kernel matrix, restricted to the columns of rows with weight."""
    K = to_numpy(X)
    K = K.toarray() if hasattr(K, "toarray") else K
    return StoredRows(K if K.shape[1] == columns.shape[0] else K[:, columns])


def check_square(X: Any, kernel: Kernel) -> None:
    """Raise unless a precomputed kernel matrix is square."""
    if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. "
            f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
        )
