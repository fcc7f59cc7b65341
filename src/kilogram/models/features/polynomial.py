"""Polynomial features: every product of up to p columns, as a linear method's columns.

    phi(x) = (1, x_1, ..., x_d, x_1^2, x_1 x_2, ..., x_d^p)          binomial(d + p, p) features

A linear method on phi is a polynomial in x. With `weights="kernel"` every monomial of degree k is
multiplied by sqrt(p! / ((p - k)! i_1! ... i_d!)); then <phi(x), phi(y)> = (1 + <x, y>)^p, and a
ridge on phi is kernel ridge with that kernel: both penalise the monomials alike.

A monomial of degree k is one of degree k - 1 times a column: one product each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.preprocessing import PolynomialFeatures as SparseFeatures
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import column_count
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Integer, OneOf
from kilogram.kernels.polynomial import MAX_FEATURES
from kilogram.models.features.row_features import RowFeatures

NATIVE_DEGREE = 3  # up to which scikit-learn multiplies sparse rows in compiled code
BLOCK_ENTRIES = 1 << 22  # of dense features at a time: 32 MiB
CACHED_ENTRIES = 1 << 18  # of features at a time, 2 MiB, which stay in the cache

Picks = tuple[tuple[int, ...], ...]


def monomial_picks(d: int, lowest: int, highest: int, *, interaction_only: bool) -> Picks:
    """The columns each feature is the product of, in scikit-learn's order: by degree."""
    pick = combinations if interaction_only else combinations_with_replacement
    return tuple(p for k in range(lowest, highest + 1) for p in pick(range(d), k))


def kernel_weight(pick: tuple[int, ...], degree: int) -> float:
    """Root of the coefficient of this monomial in (1 + <x, y>)^degree."""
    repeats = prod(factorial(pick.count(j)) for j in set(pick))
    return (factorial(degree) / (factorial(degree - len(pick)) * repeats)) ** 0.5


def monomials(X: Any, picks: Picks) -> Any:
    """The products of the columns of a dense X, (n, len(picks)); picks complete from degree to
    degree, each one longer than one before it.
    """
    xp = namespace(X)
    found: dict[tuple[int, ...], Any] = {(): xp.ones_like(X[:, 0])}
    for pick in picks:
        if pick and pick not in found:
            head = found.get(pick[:-1])
            if head is None:  # degrees below the lowest wanted one
                head = monomials(X, (pick[:-1],))[:, 0]
            found[pick] = head * X[:, pick[-1]]
    return xp.stack([found[pick] for pick in picks], axis=1)


class PolynomialFeatures(RowFeatures):
    """Products of columns up to a degree, for rows in any container.

    Takes scikit-learn's parameters and gives its columns, in its order.

    Parameters
    ----------
    degree : int or tuple (lowest, highest), default=2
        Degrees of the monomials.
    interaction_only : bool, default=False
        Whether to keep only products of different columns.
    include_bias : bool, default=True
        Whether to include the column of ones (degree 0).
    order : {"C", "F"}, default="C"
        Memory order of a dense NumPy result.
    weights : {"none", "kernel"}, default="none"
        "kernel" weighs the monomials so that their inner product is (1 + <x, y>)^degree; it needs
        all of them: one degree, the bias, and powers.

    Attributes
    ----------
    n_output_features_ : int
        Number of features computed.
    powers_ : ndarray of shape (n_output_features_, d)
        The exponent of every column in every feature.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Polynomial : The kernel, where the features are too many to write down.

    Examples
    --------
    >>> from kilogram import PolynomialFeatures
    >>> PolynomialFeatures(2).fit_transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    laws: ClassVar[Laws] = Laws(
        shift="powers of shifted columns are other columns",
        weight="nothing is estimated from the rows",
        permutation="the features follow the order of the columns",
        textbook="a list of monomials: summary A2.2, which tests/books compares it with",
        sparse="sparse rows give sparse features, as in scikit-learn; tests/models compares them",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "degree": Integer(0) | ArrayLike(),
        "interaction_only": Boolean(),
        "include_bias": Boolean(),
        "order": OneOf("C", "F"),
        "weights": OneOf("none", "kernel"),
    }

    def __init__(
        self,
        degree: Any = 2,
        *,
        interaction_only: bool = False,
        include_bias: bool = True,
        order: str = "C",
        weights: str = "none",
    ):
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.order = order
        self.weights = weights

    def _learn(self, X: Any) -> None:
        """Learn the number of columns."""
        lowest, highest = self._degrees()
        d = column_count(X)
        size = sum(
            comb(d, k) if self.interaction_only else comb(d + k - 1, k)
            for k in range(lowest, highest + 1)
        )
        if size > MAX_FEATURES:
            raise ValueError(
                f"degree {highest} of {d} columns has {size} features, more than {MAX_FEATURES}: "
                "use the kernel (Polynomial), or approximate it with Nystroem."
            )
        one = max(1, lowest)
        picks = monomial_picks(d, one, highest, interaction_only=self.interaction_only)
        picks = ((), *picks) if self.include_bias else picks
        if not picks:
            raise ValueError("degree=0 without the bias has no features: set include_bias=True.")
        self._picks, self.n_output_features_ = picks, len(picks)

    def _degrees(self) -> tuple[int, int]:
        pair = self.degree if isinstance(self.degree, tuple | list) else (0, self.degree)
        good = len(pair) == 2 and all(isinstance(k, Integral) and int(k) >= 0 for k in pair)
        if not good or pair[0] > pair[1]:
            raise ValueError(
                "degree must be an integer of at least 0 or a pair (lowest, highest), got "
                f"{self.degree!r}."
            )
        if self.weights == "kernel" and (
            pair[0] != 0 or self.interaction_only or not self.include_bias
        ):
            raise ValueError(
                "weights='kernel' needs every monomial: one degree, include_bias=True and "
                "interaction_only=False."
            )
        return int(pair[0]), int(pair[1])

    @property
    def powers_(self) -> np.ndarray:
        """Exponents (n_output_features_, d)."""
        check_is_fitted(self, "n_output_features_")
        found = np.zeros((self.n_output_features_, self.n_features_in_), dtype=np.int64)
        for i, pick in enumerate(self._picks):
            np.add.at(found[i], list(pick), 1)
        return found

    def _features(self) -> Callable[[Any], Any]:
        degree = self._degrees()[1]
        scale = None
        if self.weights == "kernel":
            scale = np.array([kernel_weight(p, degree) for p in self._picks])

        def phi(block: Any) -> Any:
            if is_sparse(block):
                Z = self._sparse(block)
                return Z if scale is None else Z.multiply(scale[None, :]).tocsr()
            if isinstance(block, np.ndarray):
                return self._dense(block, scale)
            Z = monomials(block, self._picks)
            if scale is None:
                return Z
            return Z * namespace(Z).asarray(scale, dtype=Z.dtype, device=Z.device)

        return phi

    def _dense(self, X: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
        """Features of NumPy rows, a few at a time: they stay in the cache, and Ctrl-C is heard."""
        out = np.empty(
            (len(X), self.n_output_features_),
            dtype=X.dtype,
            order="F" if self.order == "F" else "C",
        )
        rows = max(1, CACHED_ENTRIES // self.n_output_features_)
        for at in range(0, len(X), rows):
            part = out[at : at + rows]
            part[...] = monomials(X[at : at + rows], self._picks)
            if scale is not None:
                part *= scale
        return out

    def _sparse(self, block: Any) -> Any:
        """Sparse features, in scikit-learn's order.

        scikit-learn multiplies sparse rows natively up to degree 3; beyond it takes 0.3 ms for
        each column, so a few rows at a time are made dense.
        """
        if self._degrees()[1] > NATIVE_DEGREE:
            rows = max(1, BLOCK_ENTRIES // self.n_output_features_)
            blocks = (block[at : at + rows, :] for at in range(0, block.shape[0], rows))
            found = [scipy.sparse.csr_array(monomials(b.toarray(), self._picks)) for b in blocks]
            return scipy.sparse.vstack(found, format="csr")
        peer = SparseFeatures(
            self._degrees(), interaction_only=self.interaction_only, include_bias=self.include_bias
        )
        return peer.fit_transform(block.tocsr())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as "x0^2" and "x0 x1".

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; those seen in `fit` by default.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "n_output_features_")
        names = self._names(input_features)
        found = []
        for pick in self._picks:
            parts = [
                f"{names[j]}^{pick.count(j)}" if pick.count(j) > 1 else str(names[j])
                for j in sorted(set(pick))
            ]
            found.append(" ".join(parts) or "1")
        return np.array(found, dtype=object)

    def _names(self, given: Any) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{j}" for j in range(self.n_features_in_)] if known is None else list(known)
        if len(given) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}"
            )
        if known is not None and list(known) != list(given):
            raise ValueError("input_features is not equal to feature_names_in_")
        return [str(name) for name in given]
