"""Kernels given from outside: a matrix already computed, or any function of two rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels.base import Kernel
from kilogram.kernels.row_pairs import as_rows, dense


class Precomputed(Kernel):
    """The table given as X is the kernel matrix itself.

    Fit with K of the training rows, (n, n); predict with K of new rows against the training rows,
    (m, n).

    Examples
    --------
    >>> from kilogram import Precomputed
    >>> Precomputed()([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    uses_squares = False

    def __init__(self) -> None:
        pass

    def formula(self, X: Any, Y: Any) -> Any:
        K = dense(X)
        columns = K.shape[0] if Y is None else Y.shape[0]
        if K.shape[1] != columns:
            raise ValueError(
                f"a precomputed kernel matrix needs one column per training row ({columns}), "
                f"got shape {tuple(K.shape)}"
            )
        return K

    def __call__(self, X: Any, Y: Any = None) -> Any:
        return self.formula(as_rows(X), None if Y is X else Y)

    def diag(self, X: Any) -> Any:
        K = self(X)
        return namespace(K).linalg.diagonal(K)

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        return self(X, Y) @ V


class FromCallable(Kernel):
    """Any symmetric function of two rows, or of two blocks of rows, as a kernel.

    Parameters
    ----------
    function : callable
        With `on="rows"`, function(x, y) of two one-dimensional rows returns a number, as
        scikit-learn's kernel methods expect; it is called once per pair. With `on="blocks"`,
        function(X, Y) of two tables returns their (n, m) matrix, as scikit-learn's SVC expects.
    on : {"rows", "blocks"}, default="rows"
        Whether the function takes two rows or two tables.
    params : dict, default=None
        Keyword arguments passed to the function.

    Notes
    -----
    The function may not be positive semidefinite; `kilogram.kernels.check_psd` tests it.

    Examples
    --------
    >>> from kilogram import FromCallable
    >>> k = FromCallable(lambda x, y: min(x[0], y[0]))
    >>> k([[1.0], [3.0]])
    array([[1., 1.],
           [1., 3.]])
    """

    uses_squares = False

    def __init__(
        self,
        function: Callable[..., Any],
        on: Literal["rows", "blocks"] = "rows",
        params: dict[str, Any] | None = None,
    ):
        self.function = function
        self.on = on
        self.params = params

    def formula(self, X: Any, Y: Any) -> Any:
        kwargs = self.params or {}
        if self.on == "blocks":
            K = self.function(X, X if Y is None else Y, **kwargs)
            return of_shape(K, (X.shape[0], (X if Y is None else Y).shape[0]))
        if self.on != "rows":
            raise ValueError(f"on must be 'rows' or 'blocks', got {self.on!r}")
        return _pair_by_pair(self.function, dense(X), None if Y is None else dense(Y), kwargs)

    def diag(self, X: Any) -> Any:
        X = dense(as_rows(X))
        xp = namespace(X)
        if self.on == "blocks":
            single = [X[i : i + 1, :] for i in range(X.shape[0])]
            return xp.stack([self(x)[0, 0] for x in single])
        kwargs = self.params or {}
        values = [number(self.function(X[i, :], X[i, :], **kwargs)) for i in range(X.shape[0])]
        return xp.asarray(values, dtype=X.dtype, device=X.device)


def of_shape(K: Any, shape: tuple[int, int]) -> Any:
    """K, or an error with the shape that a function of two tables must return."""
    got = tuple(getattr(K, "shape", ()))
    if got != shape:
        raise ValueError(
            f"The kernel function returned an array of shape {got} for tables of {shape[0]} and "
            f"{shape[1]} rows; it must return their kernel matrix, of shape {shape}. A function of "
            "two single rows is a kernel as FromCallable(function, on='rows')."
        )
    return K.toarray() if is_sparse(K) else K  # a product of sparse rows


def number(value: Any) -> float:
    """The value, or an error: a function of two rows must return a number."""
    shape = tuple(getattr(value, "shape", ()))
    if math.prod(shape) != 1:
        raise ValueError(
            f"The kernel function returned an array of shape {shape} for two single rows; it must "
            "return a number. A function of two tables of rows is a kernel as "
            "FromCallable(function, on='blocks'), or as it is in SVC and SVR."
        )
    return float(value)


def _pair_by_pair(function: Callable[..., Any], X: Any, Y: Any, kwargs: dict[str, Any]) -> Any:
    """function of all pairs of rows; of the pairs i <= j only when Y is None."""
    xp, symmetric = namespace(X, Y), Y is None
    Y = X if symmetric else Y
    n, m = X.shape[0], Y.shape[0]
    values = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(i if symmetric else 0, m):
            values[i][j] = number(function(X[i, :], Y[j, :], **kwargs))
            if symmetric:
                values[j][i] = values[i][j]
    K = xp.asarray(values, dtype=X.dtype, device=X.device)
    return xp.reshape(K, (n, m))  # a list of no rows has forgotten its columns
