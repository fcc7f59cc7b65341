"""Features from a list of functions: phi(x) = (1, f_1(x), f_2(x), ...).

The model stays linear in its coefficients whatever the functions are: (1, x, x^2, e^x, sin x) and
least squares fit a function that is none of these alone. A function is given by the name of an
elementwise one of the array API ("sin", "exp", "log", "sqrt", "square", ...; "identity" is x) or as
a callable that takes rows (n, d) and returns (n,) or (n, k) in the same library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import sample_rows
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint
from kilogram.models.features.row_features import RowFeatures

NAMES = (
    "identity",
    "abs",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
)


def columns_of(f: str | Callable[[Any], Any], X: Any) -> Any:
    """f of the rows of X as columns (n, k)."""
    xp = namespace(X)
    if isinstance(f, str):
        return X if f == "identity" else getattr(xp, f)(X)
    found = f(X)
    if getattr(found, "ndim", 0) == 1:
        found = found[:, None]
    if getattr(found, "ndim", 0) != 2 or found.shape[0] != X.shape[0]:
        raise ValueError(
            f"{getattr(f, '__name__', f)!s} returned {getattr(found, 'shape', type(found))} for "
            f"{X.shape[0]} rows: a function must return (n,) or (n, k)."
        )
    return found


class FunctionFeatures(RowFeatures):
    """The values of functions of the rows, as columns for a linear method.

    Parameters
    ----------
    functions : sequence of str or callable, default=("identity",)
        Names of elementwise functions of the array API, or callables from rows (n, d) to (n,) or
        (n, k).
    include_bias : bool, default=True
        Whether to add a column of ones in front.

    Attributes
    ----------
    n_columns_ : list of int
        Number of columns that each function returns.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PolynomialFeatures, RadialBasisFeatures : Two families of functions.

    Examples
    --------
    >>> from kilogram import FunctionFeatures
    >>> phi = FunctionFeatures(["identity", "square", lambda x: x[:, 0] * 10])
    >>> phi.fit_transform([[3.0]])
    array([[ 1.,  3.,  9., 30.]])
    """

    laws: ClassVar[Laws] = Laws(
        shift="the functions are the user's, and need not ignore a shift",
        weight="nothing is estimated from the rows",
        permutation="the features follow the order of the columns",
        textbook="a list of functions: summary A2.4, which tests/books compares it with",
        example={"functions": ("identity", "square", "sin")},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "functions": ArrayLike(),
        "include_bias": Boolean(),
    }

    def __init__(
        self,
        functions: Sequence[str | Callable[[Any], Any]] = ("identity",),
        *,
        include_bias: bool = True,
    ):
        self.functions = functions
        self.include_bias = include_bias

    def _learn(self, X: Any) -> None:
        """Learn how many columns each function gives, from one row."""
        if not len(self.functions):
            raise ValueError("functions must have at least one function, got an empty list.")
        for f in self.functions:
            if not callable(f) and f not in NAMES:
                raise ValueError(f"functions must be callables or one of {NAMES}, got {f!r}.")
        row = sample_rows(X, 1, np.random.default_rng(0))
        row = row.toarray() if is_sparse(row) else row
        self.n_columns_ = [columns_of(f, row).shape[1] for f in self.functions]

    def _features(self) -> Callable[[Any], Any]:

        def phi(block: Any) -> Any:
            block = block.toarray() if is_sparse(block) else block
            xp = namespace(block)
            parts = [columns_of(f, block) for f in self.functions]
            ones = [xp.ones_like(block[:, :1])] if self.include_bias else []
            return xp.concat([*ones, *parts], axis=1)

        return phi

    @property
    def _n_features_out(self) -> int:
        return sum(self.n_columns_) + int(self.include_bias)
